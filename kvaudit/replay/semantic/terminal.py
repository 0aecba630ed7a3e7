"""Labelling in the terminal: one hit after the other, each answer saved at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kvaudit.replay.semantic.betting import standing
from kvaudit.replay.semantic.sampling import MAIN
from kvaudit.replay.semantic.sheet import LABELS, WRONG, Row, read_sheet, write_sheet

LOOK_EVERY = 50
KEYS = "s same · w wrong · d depends · q stop"


def label_in_terminal(
    path: Path,
    *,
    limit: float,
    alpha: float,
    ask: Callable[[str], str],
    tell: Callable[[str], None],
) -> int:
    """Ask about every hit that has no label, in the sheet's order; return how many were given.

    ``ask`` returns an answer, or raises `EOFError` to stop. The sheet is rewritten after each.
    """
    rows = read_sheet(path)
    given = 0
    for place, row in enumerate(rows):
        if row.label:
            continue
        tell(_shown(row, place + 1, len(rows)))
        label = _answer(ask, tell)
        if label is None:
            break
        rows[place] = replace(row, label=label)
        write_sheet(path, rows)
        given += 1
        if row.sample == MAIN and (place + 1) % LOOK_EVERY == 0:
            tell(_so_far(rows[: place + 1], limit, alpha))
    return given


def _shown(row: Row, number: int, count: int) -> str:
    differs = f" · differ in {row.differs}" if row.differs else ""
    lines = [
        f"\n{number} of {count} · {row.sample} · cosine {row.similarity:.3f}{differs}",
        f"  asked now     {row.asked}",
        f"  asked before  {row.asked_before}",
    ]
    return "\n".join([*lines, *([f"  answer        {row.answer}"] if row.answer else [])])


def _answer(ask: Callable[[str], str], tell: Callable[[str], None]) -> str | None:
    while True:
        try:
            word = ask(f"  does the answer serve? ({KEYS}) ").strip().lower()
        except EOFError:
            return None
        if word in ("q", "quit"):
            return None
        if word in LABELS:
            return LABELS[word]
        tell(f"  {word!r} is none of {KEYS}")


def _so_far(rows: Sequence[Row], limit: float, alpha: float) -> str:
    wrong = [row.label == WRONG for row in rows]
    found = standing(wrong, limit, alpha / 2, rows[0].population)
    if found.proven_after is not None:
        return f"  proven: under {100 * limit:g} % after {found.proven_after} labels"
    if found.over_after is not None:
        return f"  proven: over {100 * limit:g} % after {found.over_after} labels"
    return f"  {found.wrong} of {found.looked_at} wrong: at most {100 * found.upper:.1f} % so far"
