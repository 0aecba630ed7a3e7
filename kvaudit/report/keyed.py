"""What keys of an answer cache do on a log, as a person reads it and as named lines."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.keys import (
    LEAK_FIELDS,
    Bearing,
    Collision,
    KeyAudit,
    KeysReport,
    NamespaceAudit,
    ProposedKey,
    Split,
)
from kvaudit.core.redact import one_line
from kvaudit.report import wording
from kvaudit.report.figures import NONE, percent, plural
from kvaudit.report.isolation import isolation_sentences
from kvaudit.report.linted import hanging
from kvaudit.report.log_lines import left_out_lines

_BEARINGS = {
    Bearing.AT_MOST: "more than is counted here parts its requests: it hits no more often",
    Bearing.AT_LEAST: "it may take requests for the same that are parted here: it hits no less",
    Bearing.UNKNOWN: "it parts requests in another way than is counted here: an estimate",
}
Lines = Iterator[Text]
Facts = Iterator[tuple[str, object]]


def keys_parts(report: KeysReport, width: int) -> list[Lines]:
    """Return the parts of the screen, of which some may be empty."""
    return [
        _head(report, width),
        *(_key(key, width) for key in report.keys),
        _proposal(report, width),
        _namespace(report.namespace, width),
        left_out_lines(report.log, width),
        _remarks(report, width),
    ]


def keys_facts(report: KeysReport) -> Facts:
    """Yield all that is known, by name."""
    yield "run", wording.heading(report.log, "keys")
    yield "records", report.log.records
    yield from ((f"left out, {reason}", count) for count, reason in wording.left_out(report.log))
    yield "requests", report.log.requests
    for key in report.keys:
        name = one_line(key.key)
        yield f"{name}, hits", f"{key.hits} of {key.requests} requests"
        yield f"{name}, wrong hits", key.wrong_hits
        yield f"{name}, leaks", key.leaks
        yield from ((f"{name}, {label}", text) for label, text in _of_source(key))
        yield from ((f"{name}, {label}", text) for label, text in _troubles(key))
    if report.proposed is not None:
        yield from _proposed_facts(report.proposed)
    yield from (("prefix cache", text) for text in _namespace_sentences(report.namespace))
    yield from _judged(report)
    yield "wrong hit", report.definition
    yield from (("note", wording.note_text(note)) for note in report.notes)


def keys_sentence(report: KeysReport) -> str:
    """Return the result in one sentence."""
    if report.proposed is None:
        return "no request of this log could be compared"
    found = ", ".join(map(one_line, report.proposed.fields)) or "any constant"
    if not report.keys:
        return f"proposed key: {found}"
    return f"no wrong hit and no split; proposed key: {found}"


def keys_trouble(report: KeysReport) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the keys, each with how bad that is."""
    for key in report.keys:
        name = one_line(key.key)
        for each in key.collisions:
            yield "error", f"key {name}: {collision_sentence(each, key)}"
        for split in key.splits:
            yield "warning", f"key {name}: {split_sentence(split, key)}"
        if key.stable is False:
            yield "warning", f"key {name}: another key for the same request in another process"


def collision_sentence(collision: Collision, key: KeyAudit) -> str:
    """Return how many hits differ in a field."""
    leak = ", which is somebody else's answer" if collision.field in LEAK_FIELDS else ""
    return (
        f"{collision.requests:,} of {key.hits:,} hits differ in {one_line(collision.field)}{leak}"
    )


def split_sentence(split: Split, key: KeyAudit) -> str:
    """Return what a field keeps apart."""
    said = f"{one_line(split.field)} has {plural(split.distinct, 'value')} in {key.requests:,}"
    said += " requests" if key.requests != 1 else " request"
    if split.lost_hits is None:
        return f"{said}, and keeps nearly all of them apart"
    return f"{said}; without it {plural(split.lost_hits, 'hit')} more"


def _head(report: KeysReport, width: int) -> Lines:
    yield Text(wording.heading(report.log, "keys"), "bold")
    pieces = [plural(report.log.requests, "request"), report.log.format]
    yield from map(Text, wording.joined([piece for piece in pieces if piece], width))


def _key(key: KeyAudit, width: int) -> Lines:
    yield from hanging("key ", one_line(key.key), width, "bold")
    if key.stable is not None or key.source is not None:
        fields = ", ".join(map(one_line, key.fields)) or "not known"
        yield from hanging("  made of     ", fields, width)
    for label, text in _of_source(key):
        yield from hanging(f"  {label:<12}", text, width)
    yield Text(f"  hits        {key.hits:,} of {key.requests:,}, {percent(key.hit_rate)}")
    style = "bold red" if key.wrong_hits else "green"
    yield Text(f"  wrong hits  {key.wrong_hits:,}", style)
    yield Text(f"  leaks       {key.leaks:,}", "bold red" if key.leaks else "green")
    for label, text in _troubles(key):
        yield from hanging(f"    {label:<10}", text, width)


def _of_source(key: KeyAudit) -> Iterator[tuple[str, str]]:
    """Yield what of a key in source is not just a field, and what that does to the counts."""
    if key.source is None:
        return
    for part in key.source.parts:
        text = one_line(part.text)
        if not part.fields:
            yield "no field", f"{text}, line {part.line}: {one_line(part.note)}"
        elif part.note:
            fields = ", ".join(map(one_line, part.fields))
            yield "taken for", f"{fields}: {text}, line {part.line}; {one_line(part.note)}"
    if key.source.hits_are in _BEARINGS:
        yield "so", _BEARINGS[key.source.hits_are]


def _troubles(key: KeyAudit) -> Iterator[tuple[str, str]]:
    for each in key.collisions:
        yield "collision", collision_sentence(each, key)
        yield "example", _example(each)
    for split in key.splits:
        yield "split", split_sentence(split, key)
    if key.stable is False:
        yield "split", "another key for the same request in another process"


def _example(collision: Collision) -> str:
    example = collision.example
    tenants = {True: ", of another tenant", False: "", None: ""}[example.cross_tenant]
    return (
        f"request {one_line(example.request)} with {one_line(example.a)} would be given the answer "
        f"to {one_line(example.stored)} with {one_line(example.b)}{tenants}"
    )


def _proposal(report: KeysReport, width: int) -> Lines:
    made = report.proposed
    if made is None:
        return
    yield from hanging("proposed ", _named(made), width, "bold green")
    yield Text(f"  hits        {made.hits:,} of {made.requests:,}, {percent(made.hit_rate)}")
    for label, text in _advice(made):
        yield from hanging(f"  {label:<12}", text, width)


def _named(made: ProposedKey) -> str:
    return (
        ", ".join(map(one_line, made.fields)) or "no field: no two requests differ in what matters"
    )


def _advice(made: ProposedKey) -> Iterator[tuple[str, str]]:
    if made.constant:
        yield (
            "also",
            f"{', '.join(map(one_line, made.constant))}: of one value here, so the log cannot "
            "show the need; leave out what will never change",
        )
    if made.implied:
        yield (
            "implied",
            f"{', '.join(map(one_line, made.implied))}: never different here where the key is "
            "the same, which other traffic may not keep to",
        )
    if not made.smallest:
        yield "smallest", "not all smaller keys were tried; no field of it can be left out"
    if not made.hits:
        yield "evidence", "nothing that is counted repeats, so this log says little about any key"


def _proposed_facts(made: ProposedKey) -> Facts:
    yield "proposed key", _named(made)
    yield "proposed key, hits", f"{made.hits} of {made.requests} requests"
    yield from ((f"proposed key, {label}", text) for label, text in _advice(made))


def _namespace(namespace: NamespaceAudit | None, width: int) -> Lines:
    for number, sentence in enumerate(_namespace_sentences(namespace)):
        label = "prefix cache  " if number == 0 else " " * 14
        yield from hanging(label, sentence, width)


def _namespace_sentences(namespace: NamespaceAudit | None) -> Iterator[str]:
    if namespace is None:
        return
    yield " · ".join(wording.engine_pieces(namespace.engine))
    yield f"simulated hit rate {percent(namespace.hit_rate)}"
    if namespace.isolation is None:
        return
    if not namespace.isolation.hit_tokens:
        yield f"no hit tokens, so no {namespace.isolation.field} has any of another's"
        return
    yield from isolation_sentences(namespace.isolation)
    if namespace.isolation.cross_requests:
        yield (
            f"in {plural(namespace.isolation.cross_requests, 'request')} the time to first token "
            f"tells that another {namespace.isolation.field} had sent the same beginning"
        )
    if namespace.flops is not None:
        lost, saved = namespace.flops.lost, namespace.flops.saved
        share = f", {percent(lost / saved)} of what is saved" if saved and lost > 0 else ""
        change = "more" if lost >= 0 else "fewer"
        yield f"kept apart: {abs(lost):.3g} prefill FLOPs {change}{share}"


def _judged(report: KeysReport) -> Facts:
    judged = ", ".join(one_line(each.field) for each in report.judged)
    yield "judged by", judged or NONE
    if report.not_judged:
        yield "not judged", f"{', '.join(map(one_line, report.not_judged))}: not in this log"


def _remarks(report: KeysReport, width: int) -> Lines:
    for name, text in _judged(report):
        yield from hanging(f"  {name:<12} = ", str(text), width, "dim")
    yield from hanging(f"  {'wrong hit':<12} = ", report.definition, width, "dim")
    for note in report.notes:
        yield from hanging(f"  {'note':<12} = ", wording.note_text(note), width, "dim")
