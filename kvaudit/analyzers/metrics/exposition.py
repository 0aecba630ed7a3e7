"""Prometheus's text format, and OpenMetrics, as samples.

A file may hold several expositions one after the other, as a loop of `curl >> file` leaves them: a
new sample starts where a series comes again, or after ``# EOF``. Exemplars are passed over. Values
that are no number (NaN, as some gauges show before their first use) are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Sorted by name."""

_NAME = re.compile(r"[A-Za-z_:][\w:]*")
_LABEL = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|(?=\}))')
_TYPED = re.compile(r"#\s*(?:TYPE|HELP)\s+(\S+)")
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_COUNTER_SUFFIX = "_total"


@dataclass(slots=True)
class Sample:
    """One exposition."""

    series: dict[str, dict[Labels, float]] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    """Families with a TYPE or HELP line: they exist, also where no series does yet."""

    def has(self, name: str) -> bool:
        """Whether the engine knows the metric."""
        return name in self.series or bool(
            {name, name.removesuffix(_COUNTER_SUFFIX)} & self.declared
        )


@dataclass(slots=True)
class Exposition:
    """What a text holds."""

    samples: list[Sample]
    unread_lines: int


def read_exposition(text: str) -> Exposition:
    """Return the samples of a text, in order; none where nothing in it is a metric."""
    samples, unread = [Sample()], 0
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("#"):
            typed = _TYPED.match(line)
            if typed is not None:
                samples[-1].declared.add(typed[1])
            elif line.removeprefix("#").strip() == "EOF" and samples[-1].series:
                samples.append(Sample())
        elif line:
            parsed = _parsed(line)
            if parsed is None:
                unread += 1
                continue
            name, labels, value = parsed
            if labels in samples[-1].series.get(name, {}):
                samples.append(Sample(declared=set(samples[-1].declared)))
            if math.isfinite(value):
                samples[-1].series.setdefault(name, {})[labels] = value
    return Exposition([sample for sample in samples if sample.series], unread)


def _parsed(line: str) -> tuple[str, Labels, float] | None:
    """Return name, labels and value of a line; None for a line that is no metric."""
    name = _NAME.match(line)
    if name is None:
        return None
    labels: list[tuple[str, str]] = []
    at = name.end()
    if line[at : at + 1] == "{":
        at += 1
        while line[at : at + 1] != "}":
            label = _LABEL.match(line, at)
            if label is None:
                return None
            labels.append((label[1], _unescaped(label[2])))
            at = label.end()
        at += 1
    fields = line[at:].partition("#")[0].split()
    try:
        value = float(fields[0])
    except (IndexError, ValueError):
        return None
    # What may follow is a time stamp.
    return (name[0], tuple(sorted(labels)), value) if len(fields) <= 2 else None


def _unescaped(text: str) -> str:
    return re.sub(r'\\[n"\\]', lambda found: _ESCAPES[found[0]], text)


def series_of(sample: Sample, name: str, where: Labels = ()) -> Iterator[tuple[Labels, float]]:
    """Yield the series of a metric that have these labels among theirs."""
    for labels, value in sample.series.get(name, {}).items():
        if set(where) <= set(labels):
            yield labels, value
