"""The figures of a run that `kvaudit gate` can hold against a limit.

A figure is a name, which way is worse, and how it is read from the runs that have it. What the log
bounds only is taken at its worse end: a budget is met only for certain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kvaudit.core.errors import InputError
from kvaudit.core.runs import Kind, Run

Read = Callable[[Run], float | None]


class Unit(StrEnum):
    """What a figure counts."""

    SHARE = "share"
    COUNT = "count"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure."""

    name: str
    what: str
    unit: Unit
    at_most: bool
    """Whether more is worse."""
    read: Mapping[Kind, Read]

    def value(self, run: Run) -> float | None:
        """Return it from a run. Raises `InputError` for a share that is none and would pass."""
        found = self.read[run.kind](run)
        least = 0.0 if self.at_most else float("-inf")
        if found is not None and self.unit is Unit.SHARE and not least <= found <= 1:
            raise InputError(
                f"{run.path}: {self.name} is {found:g}, and should be from 0 to 1; give the JSON "
                "that a command of kvaudit printed"
            )
        return found


def _at(*keys: str) -> Read:
    return lambda run: run.number(*keys)


def _replay_hit_rate(run: Run) -> float | None:
    low = run.number("prefix", "bounds", "low")
    return run.number("prefix", "hit_rate") if low is None else low


def _point_hit_rate(point: Run) -> float | None:
    low = point.number("bounds", "low")
    return point.number("hit_rate") if low is None else low


def _least_hit_rate(run: Run) -> float | None:
    """Return the least of all capacities."""
    rates = [_point_hit_rate(point) for point in run.rows("curve")]
    return min((rate for rate in rates if rate is not None), default=None)


def sweep_rates(run: Run) -> dict[str, float]:
    """Return the hit rate of each capacity by the name that asks for it, hit-rate@BLOCKS."""
    rates = {}
    for point in run.rows("curve"):
        blocks, rate = point.number("capacity_blocks"), _point_hit_rate(point)
        if rate is not None:
            rates[f"hit-rate@{'inf' if blocks is None else int(blocks)}"] = rate
    return rates


def _semantic_false(run: Run) -> float | None:
    """Return the share of wrong semantic hits; no hit is none that was wrong."""
    if run.at("semantic") is None:
        return None
    return run.number("semantic", "false_hit_rate") if run.number("semantic", "hits") else 0.0


def _calibrated_false(run: Run) -> float | None:
    false, labelled = run.number("false_hits"), run.number("labelled")
    if run.number("threshold") is None or false is None or not labelled:
        return None
    return false / labelled


def _worst_key(field: str) -> Read:
    def read(run: Run) -> float | None:
        counts = [key.number(field) for key in run.rows("keys")]
        return max((count for count in counts if count is not None), default=None)

    return read


def _share(part: str, whole: str) -> Read:
    def read(run: Run) -> float | None:
        counted, total = run.number(part), run.number(whole)
        return None if counted is None or not total else counted / total

    return read


def _severity(*severities: str) -> Read:
    def read(run: Run) -> float:
        return sum(f.text("severity") in severities for f in run.rows("findings"))

    return read


def _log_checks(run: Run) -> float:
    return len(run.rows("log_checks"))


def _floor(name: str, what: str, unit: Unit, read: Mapping[Kind, Read]) -> Figure:
    return Figure(name, what, unit, at_most=False, read=read)


def _ceiling(name: str, what: str, unit: Unit, read: Mapping[Kind, Read]) -> Figure:
    return Figure(name, what, unit, at_most=True, read=read)


_ALL = (
    _floor(
        "hit-rate",
        "hit tokens / prompt tokens; of a sweep the least of its capacities",
        Unit.SHARE,
        {
            Kind.REPLAY: _replay_hit_rate,
            Kind.WHY: _at("hit_rate"),
            Kind.SWEEP: _least_hit_rate,
        },
    ),
    _floor(
        "reported-hit-rate",
        "what the log's own counters say",
        Unit.SHARE,
        {Kind.REPLAY: _at("reported", "hit_rate")},
    ),
    _floor(
        "saved-flops",
        "share of the prefill FLOPs that hits save; needs a model",
        Unit.SHARE,
        {Kind.REPLAY: _at("savings", "share")},
    ),
    _floor(
        "semantic-hit-rate",
        "semantic hits / lookups",
        Unit.SHARE,
        {Kind.REPLAY: _at("semantic", "hit_rate")},
    ),
    _ceiling(
        "false-hit-rate",
        "wrong semantic hits / those of which it is known",
        Unit.SHARE,
        {Kind.REPLAY: _semantic_false, Kind.CALIBRATE: _calibrated_false},
    ),
    _ceiling(
        "false-hit-rate-upper95",
        "its upper bound, from labels only",
        Unit.SHARE,
        {Kind.REPLAY: _at("semantic", "false_hit_rate_upper95")},
    ),
    _ceiling(
        "errors-per-request",
        "wrong semantic hits / lookups",
        Unit.SHARE,
        {Kind.REPLAY: _at("semantic", "errors_per_request")},
    ),
    _ceiling(
        "wrong-rate",
        "pairs that are served and should not be / such pairs",
        Unit.SHARE,
        {Kind.PAIRS: _at("wrong_rate")},
    ),
    _ceiling(
        "lost-tokens",
        "prompt tokens that a cause kept from being shared",
        Unit.COUNT,
        {Kind.WHY: _at("lost_tokens")},
    ),
    _ceiling(
        "lost-share",
        "lost tokens / prompt tokens",
        Unit.SHARE,
        {Kind.WHY: _share("lost_tokens", "prompt_tokens")},
    ),
    _ceiling(
        "log-checks",
        "kinds of things that are wrong with the log",
        Unit.COUNT,
        {Kind.WHY: _log_checks},
    ),
    _ceiling(
        "leaks",
        "answers served across tenants or users; of several keys the most",
        Unit.COUNT,
        {Kind.KEYS: _worst_key("leaks"), Kind.REPLAY: _at("semantic", "cross_tenant_hits")},
    ),
    _ceiling(
        "wrong-hits",
        "hits of a key on another request; of several keys the most",
        Unit.COUNT,
        {Kind.KEYS: _worst_key("wrong_hits")},
    ),
    _ceiling(
        "findings",
        "findings of any severity",
        Unit.COUNT,
        {Kind.LINT: _severity("error", "warning", "info")},
    ),
    _ceiling("errors", "findings that are errors", Unit.COUNT, {Kind.LINT: _severity("error")}),
    _ceiling(
        "warnings", "findings that are warnings", Unit.COUNT, {Kind.LINT: _severity("warning")}
    ),
    _ceiling(
        "ttft-p50",
        "median time to first token with the cache; needs an accelerator",
        Unit.SECONDS,
        {Kind.REPLAY: _at("savings", "ttft_s", "on", "p50")},
    ),
    _ceiling(
        "ttft-p99",
        "its 99 % quantile",
        Unit.SECONDS,
        {Kind.REPLAY: _at("savings", "ttft_s", "on", "p99")},
    ),
)
FIGURES: Mapping[str, Figure] = {figure.name: figure for figure in _ALL}
"""All figures by name."""

AT = "hit-rate@"


def find_figure(name: str) -> Figure | None:
    """Return a figure by name; ``hit-rate@BLOCKS`` is that of one capacity of a sweep."""
    if name.startswith(AT):
        return Figure(
            name,
            "hit rate of one capacity of a sweep",
            Unit.SHARE,
            at_most=False,
            read={Kind.SWEEP: lambda run: sweep_rates(run).get(name)},
        )
    return FIGURES.get(name)
