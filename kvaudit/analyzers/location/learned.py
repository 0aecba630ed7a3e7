"""What a log says of the variables of a project's prompts: how often each one changes.

A variable's values are the texts between the fixed text before and behind it. A document whose text
is found in none of a sample of requests is not looked for in the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kvaudit.analyzers.location.anchors import LEAST_FIXED, letters, plain
from kvaudit.analyzers.location.levels import LEAST_REQUESTS, Met, level_of
from kvaudit.core.document import Document, Evidence, Segment, Volatility
from kvaudit.core.requests import Request

SAMPLE_REQUESTS = 200
_ANCHOR_CHARS = 80
_VALUE_CHARS = 2_000
_LAST_CHARS = 80
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_HEAD_MESSAGES = 3
"""Templates fill the head of a prompt, and its newest message."""


@dataclass(slots=True)
class Variable:
    """A variable of a template, between two fixed texts."""

    name: str
    segment: Segment
    before: str
    """Empty where it begins a message."""
    after: str
    """Empty where it ends one."""
    met: list[Met] = field(default_factory=list)

    def value(self, text: str) -> str | None:
        """Return the value in a text of single blanks; None where the surroundings differ."""
        start = text.find(self.before)
        if start < 0 or (start and not self.before):
            return None
        start += len(self.before)
        end = text.find(self.after, start) if self.after else len(text)
        # Behind a template's end the message may go on with what another one writes.
        if end < start or end - start > (_VALUE_CHARS if self.after else _LAST_CHARS):
            return None
        return text[start:end].strip()


@dataclass(frozen=True, slots=True)
class Learned:
    """How often a variable changes in the log."""

    variable: Variable
    level: Volatility
    requests: int
    values: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the log, with what its record of texts does not hold."""

    request: Request
    arrived_s: float | None


def variables_of(documents: Iterable[Document]) -> list[Variable]:
    """Return every variable that only its name speaks of, and that fixed text tells from others."""
    found: dict[tuple[str, int, int], Variable] = {}
    for document in documents:
        for at, segment in enumerate(document.segments):
            name = segment.expression or ""
            weak = segment.evidence is Evidence.NAME and _NAME.fullmatch(name) is not None
            if segment.text is not None or not weak:
                continue
            before = _beside(document.segments[at - 1 :: -1] if at else (), segment, back=True)
            after = _beside(document.segments[at + 1 :], segment, back=False)
            if letters(before) + letters(after) >= LEAST_FIXED:
                place = (segment.source.path, *segment.span)
                found.setdefault(place, Variable(name, segment, before, after))
    return [found[place] for place in sorted(found)]


def _beside(segments: Iterable[Segment], by: Segment, *, back: bool) -> str:
    """Return the nearest fixed text on one side of an expression; empty at a message's end.

    No further than to the first that has letters: what follows it may stand in a branch.
    """
    whole = ""
    for segment in segments:
        if segment.text is None or segment.block != by.block:
            break
        whole = segment.text + whole if back else whole + segment.text
        if letters(whole):
            break
    # The blanks beside a value may be trimmed, and those at the ends of a message are.
    if back:
        return plain(whole).rstrip()[-_ANCHOR_CHARS:].lstrip()
    return plain(whole).lstrip()[:_ANCHOR_CHARS].rstrip()


def learn(
    variables: Sequence[Variable], numbers: Sequence[int], asked: Callable[[int], Asked]
) -> list[Learned]:
    """Return the level of every variable that the requests have often enough, by their numbers."""
    step = max(1, len(numbers) // SAMPLE_REQUESTS)
    met: set[int] = set()
    for number in numbers[::step]:
        texts = list(_texts(asked(number).request))
        met |= {i for i, v in enumerate(variables) if any(v.value(t) is not None for t in texts)}
    used = [variables[i] for i in sorted(met)]
    for number in numbers if used else ():
        _note(used, asked(number))
    return [
        Learned(variable, level, len(variable.met), len({each.value for each in variable.met}))
        for variable in used
        if len(variable.met) >= LEAST_REQUESTS and (level := level_of(variable.met)) is not None
    ]


def _note(variables: Sequence[Variable], asked: Asked) -> None:
    request = asked.request
    texts = list(_texts(request))
    day = None if asked.arrived_s is None else int(asked.arrived_s // 86_400)
    owner = (request.tenant, request.user) if request.tenant or request.user else None
    for variable in variables:
        value = next((v for t in texts if (v := variable.value(t)) is not None), None)
        if value is not None:
            variable.met.append(Met(hash(value), day, owner, request.session))


def _texts(request: Request) -> Iterator[str]:
    """Yield the texts in which a template's values are looked for."""
    if request.prompt is not None:
        yield plain(request.prompt)
    messages = list(request.messages or ())
    for message in [*messages[:_HEAD_MESSAGES], *messages[_HEAD_MESSAGES:][-1:]]:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        for part in parts:
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                yield plain(text).strip()
