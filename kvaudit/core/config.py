"""Where settings come from: command line, environment, configuration file, default.

The file is the nearest ``kvaudit.toml``, or ``pyproject.toml`` with a ``[tool.kvaudit]``
table, in the current folder or above it, up to the root of the repository. In one folder
kvaudit.toml wins. What a later source does not say, an earlier one decides; `Config` knows of
each value where it came from.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from kvaudit import __version__
from kvaudit.core.console import LOGGER
from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean, nearest
from kvaudit.core.settings import Settings

ENV_PREFIX = "KVAUDIT_"
NOT_SETTINGS = frozenset({"KVAUDIT_FORMAT", "KVAUDIT_COLOR", "KVAUDIT_CACHE_DIR"})
"""Variables that stand for an option of the command line or a folder, not for a setting."""
DEFAULT = "default"
PATH_SETTINGS = ("tokenizer", "chat-template", "model")
"""Settings that may name a file, then meant from the folder of the configuration file."""
PLACE_SETTINGS = ("lint.baseline", "rules.folders", "gate.baseline")
"""Settings that always name a file or folder, whether it is there yet or not."""


class Layer(NamedTuple):
    """Settings from one source, by dotted key."""

    origin: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in force, and where each came from."""

    settings: Settings
    origins: Mapping[str, str]
    """Dotted key to a file, a variable or ``--config``; keys at their default are absent."""
    folder: Path | None = None
    """Where the configuration file lies; patterns in it are meant from there."""

    def rows(self) -> Iterator[tuple[str, Any, str]]:
        """Yield (dotted key, value, origin) of every setting."""
        for key, _ in setting_fields():
            value: Any = self.settings
            for part in key.split("."):
                value = getattr(value, part.replace("-", "_"))
            yield key, value, self.origins.get(key, DEFAULT)


def load_config(
    given: Sequence[str] = (),
    *,
    isolated: bool = False,
    folder: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Config:
    """Find and check the settings.

    ``given`` are the values of ``--config``: a file, or ``KEY=VALUE``. ``isolated`` ignores
    files and environment.
    """
    files = [value for value in given if not _is_assignment(value)]
    if len(files) > 1:
        raise UsageError(f"--config names two files, {files[0]} and {files[1]}; give one")
    if isolated and files:
        raise UsageError(f"--isolated ignores configuration files; leave out --config {files[0]}")
    layers = []
    found: Path | None = None
    if not isolated:
        found = Path(files[0]) if files else find_config(folder or Path.cwd())
        if found is not None:
            layers.append(_file_layer(found, named=bool(files)))
        layers += _environment_layers(environ)
    layers += [_assignment_layer(value) for value in given if _is_assignment(value)]
    return _joined(layers, found.parent if found is not None else None)


def find_config(folder: Path) -> Path | None:
    """Return the nearest configuration file, not looking above a repository's root."""
    for place in (folder, *folder.parents):
        if (place / "kvaudit.toml").is_file():
            return place / "kvaudit.toml"
        pyproject = place / "pyproject.toml"
        if pyproject.is_file() and "kvaudit" in _tool_tables(_parsed(pyproject), pyproject):
            return pyproject
        if (place / ".git").exists():
            return None
    return None


def setting_fields(
    model: type[BaseModel] = Settings, prefix: str = ""
) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the dotted key and the field of every setting, tables taken apart."""
    for name, field in model.model_fields.items():
        key = prefix + name.replace("_", "-")
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from setting_fields(field.annotation, f"{key}.")
        else:
            yield key, field


def _is_assignment(value: str) -> bool:
    return "=" in value and not Path(value).is_file()


def _file_layer(path: Path, *, named: bool) -> Layer:
    document = _parsed(path)
    if path.name == "pyproject.toml" or (named and "tool" in document):
        document = _tool_tables(document, path).get("kvaudit", {})
    if not isinstance(document, dict):
        raise UsageError(f"{path}: tool.kvaudit must be a table")
    values = dict(_flat(document))
    for key in PATH_SETTINGS:
        if isinstance(values.get(key), str):
            values[key] = _anchored(values[key], path.parent)
    for key in PLACE_SETTINGS:
        if isinstance(values.get(key), str):
            values[key] = _relative(path.parent / values[key])
        elif isinstance(values.get(key), list):
            values[key] = [_relative(path.parent / str(place)) for place in values[key]]
    return Layer(_relative(path), values)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8, which TOML must be") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: is not valid TOML: {error}") from None


def _tool_tables(document: dict[str, Any], path: Path) -> dict[str, Any]:
    tables = document.get("tool", {})
    if not isinstance(tables, dict):
        raise UsageError(f"{path}: tool must be a table")
    return tables


def _relative(path: Path) -> str:
    try:
        return os.path.relpath(path)
    except ValueError:  # another drive, on Windows
        return str(path)


def _anchored(value: str, folder: Path) -> str:
    """Return ``value`` with the path in it, if it is one, as seen from the current folder."""
    scheme, colon, rest = value.rpartition(":")
    is_path = "/" in rest or rest.endswith((".json", ".jinja"))
    if is_path and not Path(rest).is_absolute() and (folder / rest).exists():
        return f"{scheme}{colon}{_relative(folder / rest)}"
    return value


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys; a table that is itself a setting's value stays whole."""
    settings = {key for key, _ in setting_fields()}
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and key not in settings:
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def _environment_layers(environ: Mapping[str, str]) -> Iterator[Layer]:
    variables = {
        ENV_PREFIX + key.upper().replace("-", "_").replace(".", "_"): (key, field)
        for key, field in setting_fields()
    }
    for name in sorted(environ):
        if not name.startswith(ENV_PREFIX) or name in NOT_SETTINGS:
            continue
        if name in variables:
            key, field = variables[name]
            yield Layer(name, {key: _typed(environ[name], field)})
        elif nearest(name, variables):
            LOGGER.warning(
                "%s is not a setting and is ignored%s",
                name,
                did_you_mean(name, variables),
            )


def _assignment_layer(text: str) -> Layer:
    key, _, value = text.partition("=")
    key = key.strip()
    fields = dict(setting_fields())
    if key not in fields:
        raise UsageError(f"--config {text}: {key} is not a setting{did_you_mean(key, fields)}")
    return Layer("--config", {key: _typed(value.strip(), fields[key])})


def _typed(text: str, field: FieldInfo) -> Any:
    """Read a value as TOML would, or as it stands where the setting is a text."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    takes_text = "str" in str(field.annotation)
    return text if takes_text and not isinstance(value, str | list | dict) else value


def _joined(layers: Sequence[Layer], folder: Path | None) -> Config:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        # Each source is checked on its own, so that an error names the right one.
        _checked(layer)
        values |= layer.values
        origins |= dict.fromkeys(layer.values, layer.origin)
    settings = _checked(Layer(DEFAULT, values))
    _check_version(settings.required_version, origins.get("required-version", DEFAULT))
    return Config(settings, origins, folder)


def _checked(layer: Layer) -> Settings:
    known = [key for key, _ in setting_fields()]
    nested: dict[str, Any] = {}
    for key, value in layer.values.items():
        # The name of a table, given a value, is left to the check of types.
        if not any(name == key or name.startswith(f"{key}.") for name in known):
            raise UsageError(f"{layer.origin}: {key} is not a setting{did_you_mean(key, known)}")
        *tables, last = key.split(".")
        place = nested
        for table in tables:
            place = place.setdefault(table, {})
        place[last] = value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        raise UsageError(_sentence(layer.origin, error)) from None


def _sentence(origin: str, error: ValidationError) -> str:
    """Say the first thing that is wrong, as a reader of the file would."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    wanted = _WANTED.get(first["type"])
    if wanted is not None:
        return f"{origin}: {key} must be {wanted}, not {first['input']!r}"
    return f"{origin}: {key} = {first['input']!r}: {first['msg'].lower()}"


_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list of texts",
    "dict_type": "a table",
    "model_type": "a table",
}


def _check_version(required: str | None, origin: str) -> None:
    if required is None:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        allowed = SpecifierSet(required)
    except InvalidSpecifier:
        raise UsageError(
            f"{origin}: required-version = {required!r} is not a version range such as >=0.1,<0.2"
        ) from None
    if not allowed.contains(__version__, prereleases=True):
        raise UsageError(
            f"{origin}: needs kvaudit {required}, and this is {__version__}; "
            f"install one that fits: pip install 'kvaudit{required}'"
        )
