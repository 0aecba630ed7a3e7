"""The part about an engine in time."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.core.schedule import ScheduleSummary
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.parts.part import Ledgers, Part, Served
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.scheduling import schedule_summary
from kvaudit.replay.setup import Setup


def schedule_part(setup: Setup, _cache: CacheModel) -> SchedulePart | None:
    """Return the part; None where requests take no time."""
    return None if setup.settings.schedule == "sequential" else SchedulePart(setup)


class SchedulePart(Part):
    """Sums up what the engine noted of its steps."""

    def __init__(self, setup: Setup) -> None:
        """Take how the engine was set up."""
        self._setup = setup
        self._summary: ScheduleSummary | None = None

    def feed(self, served: Served) -> None:
        """Take the log, which an engine in time is given as one batch."""
        clock = self._setup.clock
        self._summary = schedule_summary(
            self._setup.settings,
            served.outcome,
            served.batch.prompt_tokens,
            step_time=None if clock is None else clock.words,
        )

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result with the schedule."""
        return replace(result, schedule=self._summary)
