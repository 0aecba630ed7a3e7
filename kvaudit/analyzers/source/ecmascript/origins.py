"""Where values arise: calls and attributes by their dotted name, and names as a last resort.

The tables are data, in ``sources.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kvaudit.analyzers.naming import origin_of_name, snake_case
from kvaudit.analyzers.source.arising import lookup_in
from kvaudit.analyzers.source.ecmascript.values import Shape
from kvaudit.core.document import Origin

GUESSED_TOKENS = 300
"""Size of a fixed text that is defined elsewhere, where its name says that it is one."""

_FIXED = re.compile(
    r"(\w+_)?(rules|instructions?|guidelines?|handbook|guide|polic(y|ies)|skills(_\w+)?|examples"
    r"|few_?shots?|schemas?|preamble|persona|boilerplate|conventions|documentation"
    r"|static(_\w+)?|base_(prompt|text|system)|readonly(_\w+)?|shared_\w+|fixed_\w+)"
    r"(_(text|str|string|prompt|block|md|files))?"
)
_SMALL = re.compile(
    r".*(SEP(ARATOR)?|NEWLINE|EOS|BOS|EOL|TAGS?|TOKENS?|NAMES?|VERSION|MODELS?|IDS?|URLS?|KEYS?|LIMIT"
    r"|MAX\w*|MIN\w*|PREFIX|SUFFIX|MARK(ER)?|DELIM\w*|PATH|DIR|FILE|COUNT|SIZE|TYPE|LENGTH)"
)
_GENERIC = frozenset((
    "id", "name", "email", "plan", "role", "locale", "language", "city", "country", "region",
    "tier", "type", "info", "data", "details", "key", "title", "text", "content", "value",
    "path", "dir", "url", "ip", "agent", "time", "date", "string", "number", "zone", "state",
    "context", "input", "output", "count", "index", "message", "body", "description",
))  # fmt: skip
"""Last parts of a dotted name that say nothing without the part before them."""
_OF_SOMETHING = (Origin.IDENTITY, Origin.SESSION, Origin.HEADER, Origin.HOST, Origin.DEPLOY)
_BAGS = frozenset((
    "args", "params", "options", "opts", "props", "vars", "variables", "values", "body",
    "settings", "payload", "arguments", "ctx", "env",
))  # fmt: skip
"""Objects that only carry other things; what is in them speaks for itself."""
_PLAIN = frozenset((
    "content", "text", "message", "arguments", "arg", "request", "memory", "data", "step",
    "cost", "budget", "port", "code", "source",
))  # fmt: skip
"""Words that name anything at all in code, though they say something in a template."""
_OF_A_RECORD = (Origin.CLOCK, Origin.DATE, Origin.RANDOM, Origin.COUNTER)
_THIS_MOMENT = re.compile(r"(^|_)(now|current|today|clock)($|_)")
"""A record's time and number are those of the record, and not of the request."""
_RECALLED = re.compile(
    r"memories|recall(ed)?(_\w+)?|\w+_memories|open_(tabs|files)|weather|memory_(context|text|block|string)"
)
_CONSTANT_NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Named:
    """What only a name says."""

    origin: Origin
    tokens: int | None = None


arising = lookup_in(Path(__file__).with_name("sources.toml"), Shape)
"""What the table says of a ``call`` or an ``attribute`` by its dotted name; None for others."""


def named(dotted: str, said: Mapping[str, Origin]) -> Named:
    """Return what a name alone says; a general last part is read with the one before it."""
    found = _named(dotted, said) if said else _named_by_words(dotted)
    # An object that keeps an address keeps its own, and not that of a request.
    own = found.origin is Origin.HEADER and dotted.startswith(("self.", "this."))
    return Named(Origin.HOST, found.tokens) if own else found


@lru_cache(maxsize=8192)
def _named_by_words(dotted: str) -> Named:
    return _named(dotted, {})


def _named(dotted: str, said: Mapping[str, Origin]) -> Named:
    parts = [part for part in re.split(r"[^\w$]+", dotted) if part and part != "this"]
    if not parts:
        return Named(Origin.UNKNOWN)
    last = parts[-1]
    if last in said:
        return Named(said[last])
    if len(last) > 1 and _CONSTANT_NAME.fullmatch(last):
        return Named(Origin.CONSTANT, 4 if _SMALL.fullmatch(last) else GUESSED_TOKENS)
    spelled = snake_case(last)
    if spelled in _GENERIC and parts[1:] and parts[-2] not in _BAGS:
        joined = origin_of_name(f"{snake_case(parts[-2])}_{spelled}", said)
        return Named(joined if joined in _OF_SOMETHING else Origin.UNKNOWN)
    if _FIXED.fullmatch(spelled):
        return Named(Origin.CONSTANT, GUESSED_TOKENS)
    origin = origin_of_name(last, said)
    if parts[1:] and origin in _OF_A_RECORD and parts[-2] not in _BAGS:
        return Named(origin if _THIS_MOMENT.search(spelled) else Origin.UNKNOWN)
    if spelled in _PLAIN or (origin is Origin.LIVE_STATE and not _RECALLED.fullmatch(spelled)):
        return Named(Origin.UNKNOWN)
    return Named(origin)
