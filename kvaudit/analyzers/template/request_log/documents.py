"""From changes to documents: each kind of change once a file, with how often it was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.template.messages.builder import NO_HOLES, PromptBuilder
from kvaudit.analyzers.template.messages.directives import observe_directives
from kvaudit.analyzers.template.messages.oddities import Oddity
from kvaudit.analyzers.template.messages.rendered import render
from kvaudit.analyzers.template.messages.shapes import Body, parts_of
from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.compare import compare
from kvaudit.analyzers.template.request_log.records import records
from kvaudit.analyzers.template.request_log.request import Path, Record
from kvaudit.analyzers.template.request_log.token_prefix import TokenPrefixes
from kvaudit.analyzers.template.structure.json_scan import scan_json
from kvaudit.analyzers.template.structure.node import Kind, Node, inner_span
from kvaudit.core.document import Document, Observation, Origin, Position, Step
from kvaudit.core.sources import Source, Span

MAX_OF_A_KIND = 3
"""Places that are shown of one kind of change; the rest are counted."""
_OF_PARAMETERS = ("invalidating-parameter-varies", "bad-routing-key", "routing-key-overflows")
_BESIDE = 100
_ROWS = 3


def read_log(source: Source, project: Project) -> list[Document]:
    """Return the documents of a log. Raises `Unreadable`."""
    seen = _Seen()
    changes = _kept(compare(seen.watch(records(source))))
    if seen.is_data_set or not (seen.requests or seen.counted or seen.tokens.found):
        return []
    documents = [
        found
        for record in seen.samples()
        if (found := _as_sent(source, record, project)) is not None
    ]
    values = [change for change, _ in changes if change.origin is not None]
    for record in {id(change.later): change.later for change in values}.values():
        of_record = [change for change in values if change.later is record]
        documents.append(_with_values(source, record, of_record, project))
    noted = [_observation(source, c, times) for c, times in changes if c.kind is not None]
    documents += seen.tokens.documents(source)
    model = seen.first.model if seen.first is not None else None
    documents.append(
        Document(source=source, kind="request-log", name="log", observations=noted, model=model)
    )
    return documents


class _Seen:
    """The requests of a log that are looked at on their own: the first, and the most marked."""

    def __init__(self) -> None:
        self.requests = self.counted = self.answered = 0
        self.first: Record | None = None
        self.tokens = TokenPrefixes()
        self._most: tuple[int, Record] | None = None

    def watch(self, log: Iterable[Record]) -> Iterable[Record]:
        for record in log:
            if record.has_request:
                self.requests += 1
                self.first = self.first or record
                self.answered += _has_its_answer(record)
                marks = record.source.text.count('"cache_control"', record.start, record.end)
                if marks and (self._most is None or marks > self._most[0]):
                    self._most = (marks, record)
            self.counted += record.usage.read is not None
            self.tokens.add(record)
            yield record

    @property
    def is_data_set(self) -> bool:
        """Whether all rows end with the answer, as for training: they were never sent."""
        return self.requests >= _ROWS and self.answered == self.requests

    def samples(self) -> Sequence[Record]:
        most = [] if self._most is None else [self._most[1]]
        first = [] if self.first is None or self.first in most else [self.first]
        return [*first, *most]


def _has_its_answer(record: Record) -> bool:
    if record.model is not None or record.usage.read is not None or not record.messages:
        return False
    last = record.messages[-1]
    return last.role == "assistant" and bool(last.texts) and not last.calls


def _kept(changes: Iterable[Change]) -> list[tuple[Change, int]]:
    """Keep the first places of each kind of change, with the number of all."""
    times: Counter[tuple[object, ...]] = Counter()
    kept: list[tuple[Change, tuple[object, ...]]] = []
    for change in changes:
        where = () if change.position is Position.TOOLS else _shape(change.path)
        key = (change.kind, change.origin, change.position, where)
        if change.origin is Origin.LIVE_STATE and any(_beside(change, other) for other, _ in kept):
            continue  # the same value, once of a known kind and once not
        times[key] += 1
        of_kind = sum(1 for other, _ in kept if (other.kind, other.origin) == key[:2])
        if times[key] == 1 and of_kind < MAX_OF_A_KIND:
            kept.append((change, key))
    return [(change, times[key]) for change, key in kept]


def _beside(change: Change, other: Change) -> bool:
    if other.origin in (None, Origin.LIVE_STATE) or _shape(change.path) != _shape(other.path):
        return False
    return abs(change.start - other.start) <= _BESIDE


def _shape(path: Path) -> Path:
    """Return a path without the numbers in it: the tenth message is like the ninth."""
    return tuple("" if isinstance(step, int) else step for step in path)


def _node(source: Source, record: Record) -> Node:
    return scan_json(source.text, record.start, record.end)


def _place(source: Source, change: Change, root: Node) -> Span:
    node = root.at(change.path)
    if change.kind in _OF_PARAMETERS:
        owner = root.at(change.path[:-1])
        return owner.entry(str(change.path[-1])) or node.span
    if node.kind is not Kind.TEXT:
        return node.span
    text = str(node.value)
    end = len(text) if change.end is None else change.end
    start = min(change.start, end)
    if not text:
        return node.span
    if start == end:  # something is gone from here: point at what stands there now
        start, end = (start, end + 1) if end < len(text) else (max(start - 1, 0), end)
    return inner_span(source.text, node, start, end)


def _observation(source: Source, change: Change, times: int) -> Observation:
    assert change.kind is not None
    root = _node(source, change.later)
    again = "" if times == 1 else f" ({times} times in this log)"
    return Observation(
        kind=change.kind,
        source=source,
        span=_place(source, change, root),
        detail=change.detail + again,
        evidence=change.evidence,
        position=change.position,
        lost_tokens=None if change.lost is None else -(-change.lost // 4),
        trail=[_before(source, change)],
    )


def _before(source: Source, change: Change) -> Step:
    """Point at the same place in the request before."""
    earlier = change.earlier
    node = _node(source, earlier).at(change.path)
    span, was = node.span, change.was
    at = str(node.value).find(was) if node.kind is Kind.TEXT and was else -1
    if at >= 0:
        span = inner_span(source.text, node, at, at + len(was))
    return Step(source=source, span=span, label="in the request before")


def _as_sent(source: Source, record: Record, project: Project) -> Document | None:
    """Return the document of one request, for what a single one can show."""
    try:
        body = _body(source, record)
    except Unreadable:
        return None
    builder = PromptBuilder(source, "request-log", project.variables, syntax=NO_HOLES)
    render(body, builder)
    observe_directives(body, builder)
    return builder.document(
        f"line {record.number}", provider=body.provider, model=body.model, multi_turn=True
    )


def _with_values(
    source: Source, record: Record, changes: Sequence[Change], project: Project
) -> Document:
    """Return the document of a request in which values are known to have changed."""
    body = _body(source, record)
    root = _node(source, record)
    builder = PromptBuilder(source, "request-log", project.variables, syntax=NO_HOLES)
    trails: dict[Span, Sequence[Step]] = {}
    for change in changes:
        node = root.at(change.path)
        if node.kind is not Kind.TEXT:
            continue
        end = len(str(node.value)) if change.end is None else change.end
        start = change.start if change.start < end else max(change.start - 1, 0)
        end = max(end, start + 1)
        builder.changed.setdefault(node.span.start, []).append(
            Oddity(start, end, change.origin, change.evidence)
        )
        trails[inner_span(source.text, node, start, end)] = [_before(source, change)]
    render(body, builder)
    segments = [
        replace(s, trail=trails[s.span]) if s.span in trails else s for s in builder.segments
    ]
    # Markers and the like were looked at in the requests that stand for all.
    return Document(
        source=source,
        kind="request-log",
        name=f"line {record.number}",
        segments=segments,
        markers=builder.markers,
        provider=body.provider,
        model=body.model,
    )


def _body(source: Source, record: Record) -> Body:
    node = _node(source, record).at(record.path)
    body = parts_of(node)
    # A prompt that is one text stands where system texts do: at the head of all.
    return replace(body, system=body.system or node.get("prompt"))
