"""The prefix cache's own key, its namespace: who shares KV, and what keeping them apart costs.

The log is replayed as `kvaudit replay --isolate` does; a model's FLOPs need a second replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvaudit.commands import inputs
from kvaudit.commands.cost_options import CostOptions
from kvaudit.commands.isolation_options import IsolationOptions
from kvaudit.commands.options import CacheOptions
from kvaudit.commands.schedule_options import ScheduleOptions
from kvaudit.core.keys import LEAK_FIELDS

if TYPE_CHECKING:
    from kvaudit.core.keys import KeysReport, NamespaceAudit, NamespaceFlops
    from kvaudit.core.results import ReplayReport
    from kvaudit.core.settings import Settings
    from kvaudit.core.summaries import Note
    from kvaudit.replay.plan import Plan


@dataclass(frozen=True, slots=True)
class PrefixCache:
    """The prefix cache that the command line names."""

    plan: Plan
    namespace: tuple[str, ...]
    isolation: IsolationOptions
    notes: Sequence[Note]
    """What must be said of its price."""
    hosted: bool
    """Whether a provider runs it, whose customers have nothing of each other's."""

    @classmethod
    def of(
        cls,
        cache: CacheOptions,
        scheduler: ScheduleOptions,
        isolation: IsolationOptions,
        cost: CostOptions,
        settings: Settings,
    ) -> PrefixCache:
        """Read the options. Raises `UsageError` where they contradict each other."""
        from kvaudit.commands.costing import costing_of
        from kvaudit.commands.planning import fields_of, is_hosted, plan_of, shape_of

        hosted = is_hosted(cache, settings)
        priced = costing_of(cost, shape_of(cache, settings), settings, hosted=hosted)
        plan = replace(scheduler.applied(plan_of(cache, settings)), costing=priced.costing)
        return cls(plan, fields_of(cache, settings), isolation, priced.notes, hosted)


def with_namespace(report: KeysReport, prefix: PrefixCache, source: inputs.OpenLog) -> KeysReport:
    """Return the report with the prefix cache; as it is where nobody is told apart."""
    from kvaudit.commands.replaying import replayed, rows_to

    plan, namespace = prefix.plan, prefix.namespace
    isolation = _isolation(report, prefix)
    if isolation is None:
        return report
    parted = isolation.plan(namespace, source.encoder)
    replay = replayed(source, replace(plan, isolation=parted), namespace, rows_to(None), None)
    apart = None
    if plan.costing is not None and parted is not None:
        apart = replayed(source, plan, (*namespace, *parted.fields), rows_to(None), None)
    notes = [note for note in (*replay.notes, *prefix.notes) if note not in report.notes]
    return replace(
        report, namespace=_audit(replay, apart, namespace), notes=[*report.notes, *notes]
    )


def _isolation(report: KeysReport, prefix: PrefixCache) -> IsolationOptions | None:
    """Return who is to be kept apart: what was asked for, else tenants, else users."""
    asked = prefix.isolation
    if not report.log.requests:
        return None
    if asked.isolate is not None or asked.share_prefix:
        return asked
    if prefix.hosted:
        return None
    several = [each.field for each in report.judged if each.distinct > 1]
    parties = [field for field in LEAK_FIELDS if field in several and field not in prefix.namespace]
    return replace(asked, isolate=parties[0]) if parties else None


def _audit(
    replay: ReplayReport, apart: ReplayReport | None, namespace: Sequence[str]
) -> NamespaceAudit | None:
    from kvaudit.core.keys import NamespaceAudit

    if replay.prefix is None or replay.engine is None:
        return None
    return NamespaceAudit(
        fields=namespace,
        engine=replay.engine,
        prompt_tokens=replay.prefix.prompt_tokens,
        hit_tokens=replay.prefix.hit_tokens,
        hit_rate=replay.prefix.hit_rate,
        isolation=replay.isolation,
        flops=_flops(replay, apart),
    )


def _flops(replay: ReplayReport, apart: ReplayReport | None) -> NamespaceFlops | None:
    from kvaudit.core.keys import NamespaceFlops

    if replay.savings is None or apart is None or apart.savings is None:
        return None
    saved, saved_apart = replay.savings.saved_flops, apart.savings.saved_flops
    if saved is None or saved_apart is None:
        return None
    return NamespaceFlops(saved=saved, saved_apart=saved_apart, lost=saved - saved_apart)
