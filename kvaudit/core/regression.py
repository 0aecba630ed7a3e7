"""Runs held against a baseline: exact on the same log, by an interval on another one.

The same log is told by ``log.digest``, of the bytes of its files, and by as many requests counted.
On another log a figure differs by chance alone. It is then held against the interval of the
difference at 95 %, and fails only where all of that is worse than allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kvaudit.core.errors import UsageError
from kvaudit.core.gate import Change
from kvaudit.core.gate_figures import FIGURES, Figure, Unit, find_figure, sweep_rates
from kvaudit.core.intervals import Interval, between, between_proportions
from kvaudit.core.runs import Kind, Run

COMPARED = (
    "hit-rate",
    "saved-flops",
    "false-hit-rate",
    "wrong-rate",
    "lost-share",
    "leaks",
    "wrong-hits",
)
"""Figures that a baseline is compared by."""
LEAST_UNITS = 20
"""With fewer sessions or requests the standard error of a rate is itself too uncertain."""
_ROUNDING = 1e-12
"""0.62 - 0.6 is a little more than 0.02."""
_SETTINGS = ("name", "version", "block_size", "capacity_blocks", "policy", "schedule", "model")


class _Pair(NamedTuple):
    run: Run
    base: Run

    @property
    def same_log(self) -> bool:
        digests = {one.text("log", "digest") for one in self}
        counted = {one.number(*place) for one in self for place in [_counted_at(one)]}
        return len(digests) == 1 and None not in digests and len(counted) == 1


def _counted_at(run: Run) -> tuple[str, ...]:
    return ("prefix", "requests") if run.kind is Kind.REPLAY else ("requests",)


def changes(runs: Sequence[Run], bases: Sequence[Run], max_drop: float) -> list[Change]:
    """Return how the figures of the runs differ from those of the baselines of the same kind."""
    made: list[Change] = []
    for base in bases:
        alike = [run for run in runs if run.kind is base.kind]
        if not alike:
            raise UsageError(
                f"--baseline {base.path} is a run of kvaudit {base.kind}, and none of the runs is"
            )
        for run in alike:
            made += _between(_Pair(run, base), max_drop)
    return made


def remarks(runs: Sequence[Run], bases: Sequence[Run]) -> list[str]:
    """Return in what the modelled caches of a run and its baseline differ."""
    said = []
    for base in bases:
        for run in (run for run in runs if run.kind is base.kind):
            apart = [
                f"{name.replace('_', ' ')} {_shown(base, name)} then, {_shown(run, name)} now"
                for name in _SETTINGS
                if run.at("engine", name) != base.at("engine", name)
            ]
            if run.text("log", "tokenizer") != base.text("log", "tokenizer"):
                apart.append("another tokenizer")
            if apart:
                said.append(f"{run.path} and {base.path} differ in: {'; '.join(apart)}")
    return said


def _shown(run: Run, name: str) -> str:
    value = run.at("engine", name)
    return "none" if value is None else str(value)


def _between(pair: _Pair, max_drop: float) -> Iterator[Change]:
    if pair.run.kind is Kind.LINT:
        yield _new_findings(pair)
        return
    names = [name for name in COMPARED if pair.run.kind in FIGURES[name].read]
    if pair.run.kind is Kind.SWEEP:
        names = [name for name in sweep_rates(pair.run) if name in sweep_rates(pair.base)]
    for name in names:
        figure = find_figure(name)
        assert figure is not None, "all compared figures are known"
        value, before = (figure.value(one) for one in pair)
        if value is not None and before is not None:
            yield _change(pair, figure, value, before, max_drop)


def _change(pair: _Pair, figure: Figure, value: float, before: float, max_drop: float) -> Change:
    difference = value - before
    allowed = max_drop if figure.unit is Unit.SHARE else 0.0
    worse = difference if figure.at_most else -difference
    within: Interval | None = None
    passed: bool | None
    if pair.same_log:
        basis, passed = "exact", worse <= allowed + _ROUNDING
    else:
        within, basis = _interval(pair, figure.name, difference)
        least = None if within is None else within.low if figure.at_most else -within.high
        passed = None if least is None else least <= allowed + _ROUNDING
    return Change(
        name=figure.name,
        run=pair.run.path,
        baseline=pair.base.path,
        value=value,
        baseline_value=before,
        difference=difference,
        low=None if within is None else within.low,
        high=None if within is None else within.high,
        allowed=allowed,
        at_most=figure.at_most,
        passed=passed,
        basis=basis,
    )


def _interval(pair: _Pair, name: str, difference: float) -> tuple[Interval | None, str]:
    """Return the interval of a difference, and what it rests on; or None and why there is none."""
    rest = _INTERVALS.get(name)
    if rest is None:
        return None, "another log, and a run does not hold what an interval of this figure needs"
    return rest(pair, difference)


def _of_hit_rates(pair: _Pair, difference: float) -> tuple[Interval | None, str]:
    errors, units = [], set()
    for one in pair:
        error, count = one.number("sampling", "standard_error"), one.number("sampling", "units")
        unit = one.text("sampling", "unit") or "request"
        if error is None or count is None:
            return None, f"another log, and {one.path} holds no standard error of its hit rate"
        if count < LEAST_UNITS:
            return None, (
                f"another log, and {one.path} has {int(count)} {unit}s, fewer than the "
                f"{LEAST_UNITS} that an interval needs"
            )
        errors.append(error)
        units.add(unit)
    alike = " and ".join(sorted(f"{unit}s" for unit in units))
    basis = (
        f"interval: another log; normal, from the standard errors of two ratios, {alike} taken as "
        "independent"
    )
    return between(difference, errors[0], errors[1]), basis


def _of_false_hits(pair: _Pair, _: float) -> tuple[Interval | None, str]:
    counts: list[float] = []
    for one in pair:
        place = ("semantic",) if one.kind is Kind.REPLAY else ()
        false, labelled = one.number(*place, "false_hits"), one.number(*place, "labelled")
        if false is None or not labelled:
            return None, f"another log, and {one.path} says of no hit whether it was wrong"
        # False hits cluster on their donors, and count for fewer than they are.
        effect = max(one.number(*place, "design_effect") or 1.0, 1.0) if place else 1.0
        counts += [false / effect, labelled / effect]
    basis = "interval: another log; Newcombe's, from Wilson's of both"
    return between_proportions(*counts), basis


_INTERVALS: dict[str, Callable[[_Pair, float], tuple[Interval | None, str]]] = {
    "hit-rate": _of_hit_rates,
    "false-hit-rate": _of_false_hits,
}


def _new_findings(pair: _Pair) -> Change:
    """Compare two runs of lint by the fingerprints of their findings."""
    now, then = (
        Counter(
            f.text("fingerprint") or f"{f.text('rule')} {f.text('path')}"
            for f in one.rows("findings")
        )
        for one in pair
    )
    new = (now - then).total()
    return Change(
        name="new-findings",
        run=pair.run.path,
        baseline=pair.base.path,
        value=now.total(),
        baseline_value=then.total(),
        difference=new,
        low=None,
        high=None,
        allowed=0,
        at_most=True,
        passed=not new,
        basis="exact",
    )
