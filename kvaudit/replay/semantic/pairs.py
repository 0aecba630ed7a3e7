"""Labelled pairs of texts through a policy: would the answer to the one be served for the other?

The file is JSON lines with ``a``, ``b`` and ``same_answer`` (0, 1, true or false), and if wanted
``id``, ``kind`` or ``category``, and ``lang``. A text may also be a list of messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kvaudit.core.calibration import PairCounts
from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.requests import Request
from kvaudit.replay.semantic.encoder import find_encoder, row_product
from kvaudit.replay.semantic.gather import Asked, Gathered
from kvaudit.replay.semantic.policy import COLUMN, Context, SemanticPolicy
from kvaudit.replay.semantic.run import SemanticRun, replay_semantic
from kvaudit.replay.semantic.texts import embedded_text
from kvaudit.replay.semantic.vectors import encode_all


class Pair(NamedTuple):
    """Two texts, and whether one answer serves both."""

    id: str
    a: Request
    b: Request
    same: bool
    kind: str
    language: str


def read_pairs(path: Path) -> list[Pair]:
    """Read the file. Raises `InputError` that names the line."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8") from None
    lines = enumerate(text.split("\n"), 1)
    return [_pair(line, f"{path}:{number}", number) for number, line in lines if line.strip()]


def _pair(line: str, place: str, number: int) -> Pair:
    try:
        row = json.loads(line)
        json.dumps(row, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError):
        raise InputError(f"{place}: is not JSON; a pair is an object on one line") from None
    if not isinstance(row, dict):
        raise InputError(f"{place}: is not an object with a, b and same_answer")
    same = row.get("same_answer")
    if same not in (0, 1):  # also false and true
        raise InputError(f"{place}: same_answer must be 0, 1, true or false, and is {same!r}")
    return Pair(
        id=str(row.get("id", number)),
        a=_request(row.get("a"), f"{place}: a"),
        b=_request(row.get("b"), f"{place}: b"),
        same=bool(same),
        kind=str(row.get("kind") or row.get("category") or "pair"),
        language=str(row.get("lang") or "not said"),
    )


def _request(value: Any, place: str) -> Request:
    if isinstance(value, str):
        return Request(id="", prompt=value)
    if isinstance(value, list) and value and all(isinstance(m, dict) for m in value):
        return Request(id="", messages=value)
    raise InputError(f"{place} is neither a text nor a list of messages")


class Tried(NamedTuple):
    """What became of each pair."""

    served: Sequence[bool]
    run: SemanticRun


def text_of(request: Request, context: Context | None = None) -> str:
    """Return a side of a pair as one text; ``context`` as a policy has it."""
    text = embedded_text(request, context or Context(messages=1 << 20, system_prompt=True))
    if text is None:
        raise InputError("a side of a pair has no message of a user")
    return text


def cosines_of(
    pairs: Sequence[Pair], policy: SemanticPolicy
) -> tuple[list[tuple[str, str]], list[float], str]:
    """Return the pairs as texts, their similarities under the policy's encoder, and its name."""
    texts = [(text_of(p.a, policy.context), text_of(p.b, policy.context)) for p in pairs]
    found = find_encoder(policy.encoder).encoder
    vectors = encode_all(found, [side for pair in texts for side in pair])
    products = [row_product(vectors, 2 * i, 2 * i + 1) for i in range(len(texts))]
    return texts, products, found.title


def try_pairs(pairs: Sequence[Pair], policy: SemanticPolicy) -> Tried:
    """Ask the policy's cache for each ``b`` when it holds the answer to ``a`` and nothing else."""
    if policy.encoder.startswith(COLUMN) or policy.scenario is not None:
        raise UsageError("--pairs has no columns; name an encoder, and leave scenario out")
    if policy.per_entry is not None:
        raise UsageError(
            "per_entry learns from a log what to serve; a pair by itself teaches nothing"
        )
    gathered = Gathered()
    for number, pair in enumerate(pairs):
        for side, request in (("a", pair.a), ("b", pair.b)):
            text = embedded_text(request, policy.context)
            if text is None:
                raise InputError(f"pair {pair.id}: {side} has no message of a user")
            gathered.asked.append(_asked(2 * number + (side == "b"), number, text, policy.cosine))
    run = replay_semantic(gathered, policy)
    return Tried(run.answered[1::2].tolist(), run)


def _asked(number: int, pair: int, text: str, cosine: float) -> Asked:
    return Asked(
        number=number,
        id=str(number),
        text=text,
        key=(str(pair),),  # of its own, so that no other pair's text is seen
        arrived_s=None,
        finished_s=None,
        storable=True,
        tenant=None,
        answer_group=None,
        response=None,
        looked_up=True,
        cosine=cosine,
    )


def count(pairs: Iterable[tuple[Pair, bool]]) -> PairCounts:
    """Return the counts of pairs, each with whether it was served."""
    same = served = traps = wrong = 0
    for pair, hit in pairs:
        same, traps = same + pair.same, traps + (not pair.same)
        served, wrong = served + (pair.same and hit), wrong + (not pair.same and hit)
    return PairCounts(same=same, served=served, traps=traps, wrong=wrong)


def count_by(
    pairs: Sequence[Pair], served: Sequence[bool], group: Callable[[Pair], str]
) -> dict[str, PairCounts]:
    """Return the counts of each group, by its name."""
    names = sorted({group(pair) for pair in pairs})
    both = list(zip(pairs, served, strict=True))
    return {name: count(item for item in both if group(item[0]) == name) for name in names}
