"""From an open log and candidate keys to the report of `kvaudit keys`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvaudit.commands import inputs
from kvaudit.commands.key_functions import UserKey
from kvaudit.commands.key_options import ChosenKey, check_columns, columns_among
from kvaudit.commands.key_sources import Held, SourceKey
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.analyzers.keys.logged.audit import Candidate, FoundKey, KeyAudits
    from kvaudit.analyzers.keys.logged.reach import Reach
    from kvaudit.analyzers.keys.logged.table import KeyTable
    from kvaudit.core.keys import JudgedField, KeyAudit, KeysReport, ProposedKey
    from kvaudit.core.requests import Request
    from kvaudit.core.summaries import LogSummary, Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the command line asks of a log."""

    keys: Sequence[ChosenKey]
    in_source: Sequence[SourceKey] = ()
    notes: Sequence[Note] = ()
    """What is to be said of the reading of source."""
    matters: tuple[str, ...]
    warmup: float
    timeout_s: float
    show_text: bool

    def names(self) -> tuple[str, ...]:
        """Return all fields that are looked at."""
        named = (name for key in self.keys for name in key.fields)
        built = (name for key in self.in_source for name in key.names())
        return tuple(dict.fromkeys((*self.matters, *named, *built)))


def audited(source: inputs.OpenLog, asked: Asked) -> KeysReport:
    """Hold the keys against the log, which is read once, and again for the examples."""
    from kvaudit.analyzers.keys.logged.audit import DEFINITION, KeyAudits
    from kvaudit.core.keys import KeysReport
    from kvaudit.replay.plan import first_counted

    table, reaches = _table(source, asked)
    log = _log(source, table)
    absent = [name for name in columns_among(asked.names()) if not table.present(name)]
    if len(table):
        for key in asked.keys:
            check_columns(f"--key {key.text}", key.fields, absent)
        check_columns("--matters", asked.matters, absent)
    first = first_counted(asked.warmup, len(table))
    audits = KeyAudits(table, asked.matters, first)
    held = [key.on(lambda name: table.present(name) > 0) for key in asked.in_source]
    candidates = [*_candidates(asked.keys, reaches), *(one.candidate for one in held)]
    found = [audits.of(candidate) for candidate in candidates]
    notes = [*source.reader.notes, *asked.notes, *_notes(asked, candidates, reaches, table)]
    notes += inputs.warmup_notes(asked.warmup, len(table))
    examples = _examples(source, found)
    proposed = _proposed(table, asked.matters, audits, first) if len(table) else None
    every = [
        _audit(candidate, one, reaches, examples, show_text=asked.show_text)
        for candidate, one in zip(candidates, found, strict=True)
    ]
    return KeysReport(
        log=log,
        keys=_with_sources(every, held),
        proposed=proposed,
        judged=_judged(table, asked.matters),
        not_judged=[name for name in asked.matters if not table.present(name)],
        namespace=None,
        definition=DEFINITION,
        notes=notes,
    )


def _with_sources(audits: Sequence[KeyAudit], held: Sequence[Held]) -> list[KeyAudit]:
    """Return the audits; those of keys in source are the last, and say where these stand."""
    others = len(audits) - len(held)
    told = [
        replace(audit, source=one.source, stable=one.stable)
        for audit, one in zip(audits[others:], held, strict=True)
    ]
    return [*audits[:others], *told]


def _table(source: inputs.OpenLog, asked: Asked) -> tuple[KeyTable, dict[str, Reach]]:
    from kvaudit.analyzers.keys.logged.table import KeyTable

    with ExitStack() as stack:
        made = [UserKey(key.text, asked.timeout_s) for key in asked.keys if key.is_function]
        for function in made:
            stack.callback(function.close)
        with progress("reading", source.reader.size_bytes) as bar:
            table = KeyTable(source.watched(bar), _fields(asked, made), made)
        return table, {function.name: function.reach() for function in made}


def _fields(asked: Asked, functions: Sequence[UserKey]) -> tuple[str, ...]:
    """Return the columns to make: a function's key may be made of any field of the record."""
    from kvaudit.core.requests import Request

    more = Request.record_fields() if functions else ()
    return tuple(dict.fromkeys((*asked.names(), *more)))


def _candidates(keys: Sequence[ChosenKey], reaches: dict[str, Reach]) -> list[Candidate]:
    from kvaudit.analyzers.keys.logged.audit import Candidate

    places = {name: number for number, name in enumerate(reaches)}
    return [
        Candidate(
            name=key.text,
            fields=reaches[key.text].fields if key.is_function else key.fields,
            column=places.get(key.text) if key.is_function else None,
        )
        for key in keys
    ]


def _examples(source: inputs.OpenLog, found: Sequence[FoundKey]) -> dict[int, Request]:
    from kvaudit.analyzers.keys.logged.examples import picked

    numbers = {n for one in found for c in one.collisions for n in (c.request, c.stored)}
    return picked(source.reader, numbers)


def _audit(
    candidate: Candidate,
    found: FoundKey,
    reaches: dict[str, Reach],
    examples: dict[int, Request],
    *,
    show_text: bool,
) -> KeyAudit:
    from kvaudit.analyzers.keys.logged.examples import collision
    from kvaudit.core.keys import KeyAudit

    return KeyAudit(
        key=candidate.name,
        fields=candidate.fields,
        requests=found.requests,
        hits=found.hits,
        hit_rate=found.hits / found.requests if found.requests else None,
        wrong_hits=found.wrong_hits,
        leaks=found.leaks,
        distinct_keys=found.distinct_keys,
        collisions=[collision(each, examples, show_text=show_text) for each in found.collisions],
        splits=found.splits,
        stable=reaches[candidate.name].stable if candidate.column is not None else None,
    )


def _proposed(
    table: KeyTable, matters: Sequence[str], audits: KeyAudits, first: int
) -> ProposedKey:
    from kvaudit.analyzers.keys.logged.proposal import proposed
    from kvaudit.core.keys import ProposedKey

    made = proposed(table, matters)
    hits, requests = audits.hits(made.fields), len(table) - first
    return ProposedKey(
        fields=made.fields,
        requests=requests,
        hits=hits,
        hit_rate=hits / requests if requests else None,
        constant=made.constant,
        implied=made.implied,
        smallest=made.smallest,
    )


def _judged(table: KeyTable, matters: Sequence[str]) -> list[JudgedField]:
    from kvaudit.analyzers.keys.logged.table import distinct
    from kvaudit.core.keys import JudgedField

    return [
        JudgedField(field=name, present=present, distinct=distinct(table.columns[name]))
        for name in matters
        if (present := table.present(name))
    ]


def _notes(
    asked: Asked,
    candidates: Sequence[Candidate],
    reaches: dict[str, Reach],
    table: KeyTable,
) -> list[Note]:
    from kvaudit.core.summaries import Note

    notes = []
    for candidate in candidates:
        empty = [name for name in candidate.fields if not table.present(name)]
        if empty and len(table):
            text = f"no request of the log has {', '.join(empty)}, a part of {candidate.name}"
            notes.append(Note(topic="absent-field", text=text))
    for name, reach in reaches.items():
        if not reach.stable:
            text = (
                f"{name} gives another key for the same request in another process: it holds a "
                "clock, a random number or Python's own hash; what reaches it was not looked for"
            )
            notes.append(Note(topic="unstable-key", text=text))
    if table.present("block_ids"):
        text = "prompts are compared by their block hashes and lengths, as the log has no text"
        notes.append(Note(topic="block-hashes", text=text))
    return notes


def _log(source: inputs.OpenLog, table: KeyTable) -> LogSummary:
    from kvaudit.core.summaries import LogSummary

    reader = source.reader
    reasons = reader.skipped + table.skipped
    if reader.broken:
        reasons["broken record"] = reader.broken
    return LogSummary(
        files=[str(path) for path in source.paths],
        format=reader.format_name,
        records=reader.records,
        skipped=sum(reasons.values()),
        skipped_reasons=dict(sorted(reasons.items())),
        broken=reader.broken_examples,
        requests=len(table),
        span_s=table.span_s,
        tokenizer=None,
        chat_template=None,
        prompt_lengths=None,
        output_lengths=None,
        digest=reader.digest(),
    )
