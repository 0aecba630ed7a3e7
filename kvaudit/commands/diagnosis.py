"""One replay of a log with the analysis that follows it, joined to a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import isnan

import numpy as np

from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.recorded import RecordedTexts, RecordedUnits
from kvaudit.analyzers.divergence.settling import settle
from kvaudit.analyzers.divergence.summary import DEFINITION, summary
from kvaudit.analyzers.location.learned import Asked
from kvaudit.analyzers.log_checks.facts import UNKNOWN, LogFacts, Modelled, Seen
from kvaudit.analyzers.log_checks.run import log_checks, other_notes
from kvaudit.commands import inputs
from kvaudit.commands.fixes import with_what_ifs
from kvaudit.commands.loss_prices import with_prices
from kvaudit.commands.recording import Recording
from kvaudit.commands.rendering import render_with
from kvaudit.commands.trims import with_trims
from kvaudit.core.requests import Request
from kvaudit.core.summaries import Note
from kvaudit.core.why import WhyReport
from kvaudit.replay.engine import find_engine
from kvaudit.replay.plan import Plan, first_counted
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.run import replay_log

REENCODED = (
    "answers are held as text, and which tokens they were made of is not known: here a generated "
    "token never hits, which is the lower bound that kvaudit replay prints"
)


class Diagnosis:
    """A log replayed through one cache, and every request's story."""

    def __init__(
        self,
        source: inputs.OpenLog,
        requests: Iterable[Request],
        plan: Plan,
        namespace: Sequence[str],
    ) -> None:
        """Read the log once. Raises `UsageError` for a plan that does not fit it."""
        self.source, self.plan = source, plan
        self._seen = Seen(requests)
        self.texts, self._units = RecordedTexts(self._seen), RecordedUnits()
        self.prompts = prompts_of(self.texts, source, plan, namespace)
        self.recording = self._follower()
        self.numbers: Sequence[int] = ()
        """Of the reported groups among those that were followed; -1 for what the cache lost."""
        try:
            self.result = replay_log(self.prompts, plan, follow=self._follow)
            settle(self.found)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Diagnosis:
        """Keep what was recorded until the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go what was recorded."""
        self.close()

    def close(self) -> None:
        """Let go what was recorded."""
        self.texts.close()
        self._units.close()

    @property
    def found(self) -> Divergences:
        """What became of every request."""
        return self.recording.found

    def _follow(self) -> Recording:
        self._units.start_over()
        self.recording = self._follower()
        return self.recording

    def _follower(self) -> Recording:
        engine = find_engine(self.plan.engine or "vllm")
        found = Divergences(
            self.texts,
            self._units,
            lambda: render_with(self.source.encoder()),
            block_size=self.plan.block_size or engine.block_size,
        )
        return Recording(found, self._units)

    def report(self, *, show_text: bool, fixes: int | None = 0) -> WhyReport:
        """Return what was found; texts of the log only where they may be shown.

        ``fixes`` is how many faults are replayed with their fix, the most costly first; None is
        all of them.
        """
        log = inputs.log_summary(self.source, self.prompts, self.result)
        said = self.source.notes()
        notes, checks = other_notes(said), log_checks(self._facts, self._modelled(), said)
        if self.plan.model_note is not None:
            notes.append(Note(topic="model", text=self.plan.model_note))
        if self.result is None:
            return WhyReport(
                log=log,
                engine=None,
                requests=0,
                prompt_tokens=0,
                hit_tokens=0,
                hit_rate=None,
                lost_tokens=0,
                engine_rule_tokens=0,
                log_checks=checks,
                notes=[*notes, inputs.no_rate_note(log)],
            )
        notes += [Note(topic="engine", text=text) for text in self.result.remarks]
        notes += inputs.warmup_notes(self.plan.warmup, log.requests)
        if self.prompts.outputs_reencoded:
            notes.append(Note(topic="bounds", text=REENCODED))
        first = first_counted(self.plan.warmup, len(self.found))
        found = summary(self.found, first_counted=first, show_text=show_text)
        self.numbers = found.numbers
        tokens = found.prompt_tokens
        groups, more = with_what_ifs(self, found.groups, fixes)
        groups = with_prices(self, with_trims(self, groups))
        return WhyReport(
            log=log,
            engine=self.result.engine,
            requests=found.requests,
            prompt_tokens=tokens,
            hit_tokens=found.hit_tokens,
            hit_rate=found.hit_tokens / tokens if tokens else None,
            lost_tokens=found.lost_tokens,
            engine_rule_tokens=found.engine_rule_tokens,
            causes=found.causes,
            groups=groups,
            log_checks=checks,
            sampling=self.result.sampling,
            definition=DEFINITION,
            notes=[*notes, *more],
        )

    def rendered(self, request: Request) -> list[str]:
        """Return a request as the pieces of its prompt."""
        return list(render_with(self.source.encoder())(request))

    def asked(self, number: int) -> Asked:
        """Return a request of the log by its number."""
        arrived_s = float(self._facts.arrived_s[number])
        return Asked(self.texts.request(number), None if isnan(arrived_s) else arrived_s)

    @cached_property
    def _facts(self) -> LogFacts:
        return self._seen.facts()

    def models(self) -> Sequence[str]:
        """Return the models that requests name, in the order in which they are met."""
        facts = (f for batch in self.recording.batches for f in batch.requests)
        return list(dict.fromkeys(f.model for f in facts if f.model))

    def _modelled(self) -> Modelled | None:
        """Return what the log's own counters are held against; rates only of a whole log."""
        if self.result is None:
            return None
        columns = self.found.columns()
        counted = np.full(len(self._facts), UNKNOWN, np.int64)
        counted[columns["number"]] = columns["prompt"]
        hits = np.zeros(len(self._facts), np.int64)
        hits[columns["number"]] = columns["hit"]
        prefix, ideal = self.result.prefix, self.result.ideal
        whole = first_counted(self.plan.warmup, len(self.found)) == 0
        low = prefix.hit_rate if prefix.bounds is None else prefix.bounds.low
        high = ideal.hit_rate if ideal.bounds is None else ideal.bounds.high
        return Modelled(
            counted=counted,
            hit_rate=low if whole else None,
            possible_rate=high if whole else None,
            hits=hits,
            bounded=self.result.engine.capacity_blocks is not None,
        )


def prompts_of(
    requests: Iterable[Request], source: inputs.OpenLog, plan: Plan, namespace: Sequence[str]
) -> Prompts:
    """Return the requests as a replay wants them."""
    engine = find_engine(plan.engine) if plan.engine else None
    return Prompts(
        requests,
        encoder=source.encoder,
        namespace=namespace,
        shared_across=engine.shared_across if engine is not None else (),
        block_tokens=plan.block_size,
        outlined=engine is not None and engine.provider is not None,
    )
