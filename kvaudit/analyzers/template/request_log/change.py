"""What differs between two requests, before anything is reported."""

from __future__ import annotations

from dataclasses import dataclass

from kvaudit.analyzers.template.request_log.request import Path, Record
from kvaudit.core.document import Evidence, Origin, Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A difference at a place of the later request; ``kind`` or ``origin`` says what it is."""

    later: Record
    earlier: Record
    path: Path
    """To the value in the later request that differs."""
    kind: str | None = None
    """An observation's kind."""
    origin: Origin | None = None
    """What kind of value changed, where it is a value in the prompt's text."""
    start: int = 0
    end: int | None = None
    """Characters within the string at ``path``; None means all of the value."""
    detail: str = ""
    was: str = ""
    """What stood there before."""
    position: Position = Position.SYSTEM
    evidence: Evidence = Evidence.DATAFLOW
    lost: int | None = None
    """Characters that were there before and are computed again."""
