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
from kvaudit.analyzers.source.python.values import Shape
from kvaudit.core.document import Origin

GUESSED_TOKENS = 300
"""Size of a fixed text that is defined elsewhere, where its name says that it is one."""

_FIXED = re.compile(
    r"(\w+_)?(rules|instructions?|guidelines?|handbook|guide|polic(y|ies)|skills(_\w+)?|examples"
    r"|few_?shots?|schemas?|sections?|preamble|persona|boilerplate|conventions|documentation"
    r"|static(_\w+)?|base_(prompt|text|system)|readonly(_\w+)?|shared_\w+|fixed_\w+)"
    r"(_(text|str|string|prompt|block|md|files))?"
)
_SMALL = re.compile(
    r".*(SEP(ARATOR)?|NEWLINE|EOS|BOS|TAG|TOKEN|NAME|VERSION|MODEL|ID|URL|KEY|LIMIT|MAX\w*|PREFIX|SUFFIX|MARK(ER)?|DELIM\w*)"
)
_OF_A_PERSON = frozenset((
    "id", "name", "email", "plan", "role", "locale", "language", "city", "country", "tier",
    "timezone", "preferences", "details", "profile", "title",
))  # fmt: skip
"""Attributes that say whose they are only by the name of their owner."""
_SAYS_NOTHING = re.compile(
    r"(\w+_)?memory|content|text|message|messages|input|inputs|request|task|tasks|arguments?|topic|source|sources"
    r"|steps?|turns?|cost|port|shell|platform|context|documents?|docs|version|time|date|day|clock"
    r"|memory_(limit|size|mb|gb|usage|type|config|path|dir|key|id|bytes)\w*|(call|run)_?id|environment"
    r"|model|client|agent|account|company|product|budget|attempts?|articles?"
)
"""Names that mean anything at all in code, whatever they mean in a template."""

_PERSON = re.compile(
    r"(current_|auth(enticated)?_)?(user|customer|tenant|account|org(ani[sz]ation)?|employee|member"
    r"|person|patient|student)(_(info|profile|data|record))?"
)
_SUB_DAY = re.compile(r"%[-#]?[HIklMSpPfXcTRrs]")
_DAY = re.compile(r"%[-#]?[aAbBdDeFGhjmuUVwWxyY]")
_SUB_DAY_WORDS = re.compile(r"\b(HH?|hh?|mm?|ss?|S+|A|LTS?|LLLL?|X|x)\b")
_DAY_WORDS = re.compile(r"\b(YYYY|YY|MM?M?M?|DD?o?|dddd?)\b")


@dataclass(frozen=True, slots=True)
class Named:
    """What only a name says."""

    origin: Origin
    tokens: int | None = None


arising = lookup_in(Path(__file__).with_name("sources.toml"), Shape)
"""What the table says of a ``call`` or an ``attribute`` by its dotted name; None for others."""


def is_person(owner: str) -> bool:
    """Whether a name is that of a user, a customer or whoever else a request is made for."""
    return _PERSON.fullmatch(snake_case(owner)) is not None


def precision(pattern: str) -> Origin | None:
    """Return how fine a time is once it went through a format; None where the format is odd."""
    fine, coarse = (_SUB_DAY, _DAY) if "%" in pattern else (_SUB_DAY_WORDS, _DAY_WORDS)
    if fine.search(pattern):
        return Origin.CLOCK
    return Origin.DATE if coarse.search(pattern) else None


def named_hole(name: str, said: Mapping[str, Origin]) -> Named:
    """Return what the name of a hole says: in a template, unlike in code, it is a caption."""
    found = named(name, said)
    if found.origin is not Origin.UNKNOWN:
        return found
    return Named(origin_of_name(name, said))


def named(name: str, said: Mapping[str, Origin]) -> Named:
    """Return what a name alone says; ``said`` is what the user's configuration says."""
    owner, _, last = name.rpartition(".")
    if last in said or name in said:
        return Named(said[name] if name in said else said[last])
    own = _by_words(last)
    if own.origin is Origin.UNKNOWN and owner and last in _OF_A_PERSON:
        of = _by_words(re.sub(r"^(current|auth|logged_in)_", "", owner.rpartition(".")[2]))
        return of if of.origin is Origin.IDENTITY else own
    return own


@lru_cache(maxsize=20_000)
def _by_words(last: str) -> Named:
    if last.isupper() and len(last) > 1:
        return Named(Origin.CONSTANT, 4 if _SMALL.fullmatch(last) else GUESSED_TOKENS)
    spelled = snake_case(last)
    if _FIXED.fullmatch(spelled):
        return Named(Origin.CONSTANT, GUESSED_TOKENS)
    return Named(Origin.UNKNOWN if _SAYS_NOTHING.fullmatch(spelled) else origin_of_name(last, {}))
