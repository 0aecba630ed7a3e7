"""Which format a log is in, told from its first records; a doubt is an error, not a guess."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from kvaudit.core.errors import InputError
from kvaudit.core.redact import shown
from kvaudit.logs.format import LINE, LogFormat, Row, Sureness

SAMPLE_RECORDS = 50
_NAME = re.compile(r"[\w.@:/ -]{1,32}")


def detect(
    rows: Sequence[Row], formats: Sequence[LogFormat], name: str, *, show_text: bool = False
) -> LogFormat:
    """Return the one format that recognises the rows of file ``name`` best.

    Each row votes for the formats that are surest of it, with their sureness as weight. A
    marker that names its format decides alone, on however few rows it stands: a header line
    may be the only one that has it. Raises `InputError` for a tie and where nothing matches.
    """
    votes = {sure: Counter[str]() for sure in Sureness}
    for row in rows:
        sure_of = {log_format.name: sureness(log_format, row) for log_format in formats}
        best = max(sure_of.values())
        votes[best].update(found for found, sure in sure_of.items() if sure == best)
    for sure in (Sureness.OWN, Sureness.UNMISTAKABLE):
        if votes[sure]:
            return _winner(votes[sure], formats, name)
    weighed: Counter[str] = Counter()
    for sure in (Sureness.CHARACTERISTIC, Sureness.GENERIC):
        weighed.update({found: int(sure) * rows for found, rows in votes[sure].items()})
    if not weighed:
        raise InputError(_nothing_matches(rows, name, show_text))
    return _winner(weighed, formats, name)


def sureness(log_format: LogFormat, row: Row) -> Sureness:
    """Return how sure a format is of a row; nobody knows one that is nested without end."""
    try:
        return log_format.recognise(row)
    except RecursionError:
        return Sureness.NO


def _winner(votes: Counter[str], formats: Sequence[LogFormat], name: str) -> LogFormat:
    most = max(votes.values())
    first, *others = (each for each in formats if votes[each.name] == most)
    if others:
        both = [first.name, *(other.name for other in others)]
        raise InputError(
            f"{name} could be {' or '.join(both)}; "
            f"say which with --input-format, for example --input-format {first.name}"
        )
    return first


def _nothing_matches(rows: Sequence[Row], name: str, show_text: bool) -> str:
    keys: dict[str, None] = {}
    for row in rows:
        keys |= dict.fromkeys(row)
    if LINE in keys:
        return f"{name} is a text log of no known server; kvaudit reads JSON, CSV and Parquet logs"
    # A CSV without a header has its first row as names, and that may be a prompt.
    named = [key if _NAME.fullmatch(key) else shown(key, show_text=show_text) for key in keys]
    listed = ", ".join(named[:12]) + (", ..." if len(named) > 12 else "")
    return (
        f"{name} is in no log format that kvaudit knows; its records have the fields: "
        f"{listed or 'none'}; say where a prompt is found in them, "
        "for example --map prompt=FIELD or --map messages=body.messages"
    )
