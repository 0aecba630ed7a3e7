"""What an expression of a template is worth: fixed text, or a kind of thing that changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kvaudit.analyzers.naming import origin_of_name, snake_case
from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin, Step, Volatility

_GETTER = re.compile(r"^(get|fetch|load|read|current|format|render|list|build)_(?=\w)")
_SUB_DAY = re.compile(r"%[-_0^#]?[HIMSpfXcTRrs]|%s")
_DAY_FORMAT = re.compile(r"%[-_0^#]?[aAbBdDeFjmyYuwxGUVW]")
# Every record has such fields (``order.date``); only those of the run itself
# (``runtime.date``) are read anew for each prompt.
_ANY_RECORD = frozenset(
    {Origin.CLOCK, Origin.DATE, Origin.COUNTER, Origin.RANDOM, Origin.HEADER, Origin.HOST}
)
# The same holds for what a record's text is called, unless its owner adds to the name.
_CONTENT = frozenset({Origin.USER_INPUT, Origin.RETRIEVED})
# Whatever belongs to such a thing changes with it.
_OWNERS = frozenset(
    {Origin.IDENTITY, Origin.SESSION, Origin.HISTORY, Origin.RETRIEVED, Origin.USER_INPUT}
    | {Origin.LIVE_STATE}
)
_RUN = re.compile(
    r"^_*(?:ctx|context|run|runtime|env|environment|system|sys|vars?|variables|inputs?|state|config"
    r"|params?|session|globals?|current|info|self|this|prompt|template|agent|args|request|time"
    r"|datetime|clock|client|values?)(?:_\w+)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What is known of a value that a template prints."""

    origin: Origin = Origin.UNKNOWN
    evidence: Evidence = Evidence.NAME
    text: str | None = None
    """The text itself, where it is always the same and known."""
    trail: Sequence[Step] = ()

    @property
    def volatility(self) -> Volatility:
        """How often it changes."""
        return VOLATILITY_OF[self.origin]


CONSTANT = Value(origin=Origin.CONSTANT, evidence=Evidence.DATAFLOW)
UNKNOWN = Value()


def fixed(text: str) -> Value:
    """Return a value that is always this text."""
    return replace(CONSTANT, text=text)


def known(origin: Origin) -> Value:
    """Return a value that is certainly of this kind."""
    return Value(origin=origin, evidence=Evidence.DATAFLOW)


def named(path: Sequence[str], said: Mapping[str, Origin], *, of_item: bool = False) -> Value:
    """Return what a dotted name says; ``said`` is what the user's configuration says of names.

    The nearest reading wins: ``session.id`` is a session id, ``user.plan`` belongs to a user.
    ``of_item`` says that the path leads from an element of a list, whose owner is not named.
    """
    parts = [part for part in path if part and not part.isdigit()]
    if not parts:
        return UNKNOWN
    whole = ".".join(parts)
    for spelled in (whole, parts[-1]):
        if spelled in said:
            return Value(origin=said[spelled], evidence=Evidence.BINDING)
    of_record = of_item or (len(parts) > 1 and _RUN.search(parts[-2]) is None)
    for reading in ("_".join(parts[-2:]), parts[-1]):
        origin = origin_of_name(reading, {})
        if of_record and (origin in _ANY_RECORD or (reading == parts[-1] and origin in _CONTENT)):
            continue
        if origin is not Origin.UNKNOWN:
            return Value(origin=origin)
    for owner in reversed(parts[:-1]):
        origin = origin_of_name(owner, {})
        if origin in _OWNERS:
            return Value(origin=origin)
    return UNKNOWN


def named_call(path: Sequence[str], said: Mapping[str, Origin]) -> Value:
    """Return what the name of a function says about what it gives."""
    last = _GETTER.sub("", snake_case(path[-1])) if path else ""
    return named([*path[:-1], last], said)


def dated(pattern: str) -> Value:
    """Return what a clock gives through a format of ``strftime``: the time, or only the day."""
    if _SUB_DAY.search(pattern):
        return known(Origin.CLOCK)
    return known(Origin.DATE) if _DAY_FORMAT.search(pattern) else fixed(pattern)


def joined(values: Iterable[Value]) -> Value:
    """Return what several values are together: as changeable as the worst of them."""
    worst = CONSTANT
    for value in values:
        if (value.volatility, value.evidence is not Evidence.NAME) > (
            worst.volatility,
            worst.evidence is not Evidence.NAME,
        ):
            worst = value
    return replace(worst, text=None) if worst.text is not None else worst
