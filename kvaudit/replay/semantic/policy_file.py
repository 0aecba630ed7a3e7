"""Policy files of semantic caches: read, and every mistake in them told by its key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.scales import SCALES
from kvaudit.replay.semantic.policy import (
    AUTO,
    COLUMN,
    KEY_FIELDS,
    SCENARIOS,
    Admission,
    Context,
    PerEntry,
    PolicyFile,
    Sampling,
    SemanticPolicy,
    Ttl,
)
from kvaudit.replay.semantic.preset import PREFIX, find_preset


def load_policy(path: Path) -> SemanticPolicy:
    """Read a policy file, or take the preset that ``preset:NAME`` names.

    Raises `InputError` or `UsageError` that names the key.
    """
    if str(path).startswith(PREFIX):
        name = str(path).removeprefix(PREFIX)
        return SemanticPolicy.model_validate({**find_preset(name).semantic, "preset": name})
    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8, which TOML must be") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not valid TOML: {error}") from None
    if not isinstance(document.get("semantic"), dict):
        raise UsageError(f"{path}: a semantic policy is a table [semantic], and there is none")
    preset = document["semantic"].get("preset")
    if isinstance(preset, str):
        document["semantic"] = {**find_preset(preset).semantic, **document["semantic"]}
    try:
        policy = PolicyFile.model_validate(document).semantic
    except ValidationError as error:
        raise UsageError(f"{path}: {_sentence(error)}") from None
    _check(policy, path)
    return policy


def _sentence(error: ValidationError) -> str:
    """Say the first thing that is wrong, an unknown key before what it may have left out."""
    errors = error.errors(include_url=False)
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    key, value = ".".join(str(part) for part in first["loc"]), first["input"]
    if first["type"] == "extra_forbidden":
        *tables, name = (str(part) for part in first["loc"])
        return f"{key} is not a key of a policy{did_you_mean(name, _known(tables))}"
    if first["type"] == "missing":
        return f"{key} is missing; a policy needs encoder and threshold"
    if first["type"] == "literal_error":
        known = SCALES if key.endswith("scale") else first["ctx"]["expected"].replace("'", "")
        words = known if key.endswith("scale") else known.split(" or ")  # type: ignore[union-attr]
        return f"{key} = {value!r} is not known{did_you_mean(str(value), words)}"
    wanted = _WANTED.get(first["type"], first["msg"].lower())
    if key == "semantic.ttl":
        wanted = "must be a number of seconds, or a table"
    return f"{key} = {value!r}: {wanted}"


_WANTED = {
    "tuple_type": 'must be a list of names, such as ["tenant"]',
    "model_type": "must be a table",
    "dict_type": "must be a table",
}


def _known(tables: list[str]) -> list[str]:
    model: Any = {
        (): PolicyFile,
        ("semantic",): SemanticPolicy,
        ("semantic", "ttl"): Ttl,
        ("semantic", "context"): Context,
        ("semantic", "per_entry"): PerEntry,
        ("semantic", "admission"): Admission,
        ("semantic", "sampling"): Sampling,
    }.get(tuple(tables), SemanticPolicy)
    return list(model.model_fields)


def _check(policy: SemanticPolicy, path: Path) -> None:
    """Raise `UsageError` for keys that are well formed and cannot be meant."""
    for field in policy.parts:
        if field not in KEY_FIELDS:
            raise UsageError(
                f"{path}: {field} is not a field that can part entries"
                f"{did_you_mean(field, KEY_FIELDS)}"
            )
    try:
        _ = policy.cosine, policy.cosines
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    lives = policy.ttls or policy.stale_after
    needs = policy.thresholds or policy.allow is not None or policy.deny or lives
    if needs and policy.scenario is None:
        raise UsageError(
            f"{path}: thresholds, allow, deny, ttls and stale_after speak of scenarios; say where "
            "a request has its "
            'own, such as scenario = "column:scenario"'
        )
    if policy.scenario not in (None, AUTO) and not policy.scenario.startswith(COLUMN):
        raise UsageError(
            f'{path}: scenario = "{policy.scenario}" must name a column of the log, such as '
            '"column:scenario", or be "auto"'
        )
    if policy.scenario == AUTO:
        _check_scenarios(policy, path)
    both = set(policy.allow or ()) & set(policy.deny)
    if both:
        raise UsageError(f"{path}: {', '.join(sorted(both))} is both allowed and denied")
    if policy.per_entry is not None:
        _check_per_entry(policy, path)
    if policy.encoder == COLUMN:
        raise UsageError(f"{path}: column: must be followed by the name of a column of the log")


def _check_per_entry(policy: SemanticPolicy, path: Path) -> None:
    """Refuse rules that entries with a threshold of their own are modelled without."""
    others = {
        "ttl": policy.ttl,
        "ttls": policy.ttls or None,
        "capacity": policy.capacity,
        "admission.sightings": None if policy.admission.sightings == 1 else True,
        "exact_tier": policy.exact_tier or None,
        "entity_check": policy.entity_check or None,
        "verifier": policy.verifier,
        'insert = "always"': None if policy.insert == "on-miss" else policy.insert,
    }
    for name, value in others.items():
        if value is not None:
            raise UsageError(f"{path}: per_entry is modelled without {name}; leave one of them out")


def _check_scenarios(policy: SemanticPolicy, path: Path) -> None:
    """Refuse scenarios that the classifier never says."""
    tables = (policy.thresholds, policy.ttls, policy.stale_after, policy.allow or (), policy.deny)
    for name in (name for table in tables for name in table):
        if name not in SCENARIOS:
            raise UsageError(
                f'{path}: with scenario = "auto" there is no scenario {name}'
                f"{did_you_mean(name, SCENARIOS)}"
            )
