"""Watching production: labels as they come in, against a limit, in both directions."""

from __future__ import annotations

import json
from pathlib import Path

from kvaudit.core.calibration import MonitorReport
from kvaudit.core.errors import InputError
from kvaudit.replay.semantic.betting import Standing, standing
from kvaudit.replay.semantic.sheet import DEPENDS, LABELS, WRONG


def watch(path: Path, *, limit: float, alpha: float) -> MonitorReport:
    """Follow a file of labels, one a line; each direction has a test of its own at alpha.

    A line is a word (same, wrong, depends), or an object of JSON with ``label`` or ``wrong``.
    Raises `InputError` that names the line.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8") from None
    labels = [_label(line, f"{path}:{n}") for n, line in enumerate(lines, 1) if line.strip()]
    wrong = [label == WRONG for label in labels if label != DEPENDS]
    found = standing(wrong, limit, alpha)
    return MonitorReport(
        labelled=len(wrong),
        wrong=sum(wrong),
        left_out=len(labels) - len(wrong),
        false_hit_rate=sum(wrong) / len(wrong) if wrong else None,
        anytime_upper=found.upper,
        proven_after=found.proven_after,
        over_after=found.over_after,
        limit=limit,
        alpha=alpha,
        verdict=_verdict(found),
    )


def _verdict(found: Standing) -> str:
    """Return what was proven last: a cache that was good may have gone bad."""
    under, over = found.proven_after, found.over_after
    if over is not None and (under is None or over > under):
        return "fail"
    return "undecided" if under is None else "pass"


def _label(line: str, place: str) -> str:
    word = line.strip()
    if word.startswith("{"):
        try:
            row = json.loads(word)
        except (ValueError, RecursionError):
            raise InputError(f"{place}: is not JSON") from None
        if "label" not in row and "wrong" not in row:
            raise InputError(f"{place}: has neither label nor wrong")
        given = row.get("label", row.get("wrong"))
        if isinstance(given, bool) and "label" not in row:
            given = "wrong" if given else "same"
        word = str(given)
    if word.lower() not in LABELS:
        raise InputError(f"{place}: {word!r} is none of same, wrong and depends")
    return LABELS[word.lower()]
