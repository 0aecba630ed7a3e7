"""The part of the reports about a semantic cache."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.redact import one_line
from kvaudit.core.results import ReplayReport
from kvaudit.core.semantic import (
    AnswerProxy,
    SamplingPlan,
    SemanticPolicySummary,
    SemanticSummary,
    ServedPair,
)
from kvaudit.report.figures import NONE, percent, plural
from kvaudit.report.linted import hanging

SHOWN_PAIRS = 3


def semantic_lines(report: ReplayReport, width: int) -> Iterator[Text]:
    """Yield what was served, how much of it was wrong, and examples."""
    semantic = report.semantic
    if semantic is None:
        return
    yield from hanging("  semantic   ", semantic_sentence(semantic), width)
    for sentence in semantic_sentences(semantic):
        yield from hanging("    ", sentence, width)
    for pair in semantic.false_examples[:SHOWN_PAIRS]:
        yield from hanging("    wrong  ", _pair(pair), width)
    for pair in semantic.cross_tenant[:SHOWN_PAIRS]:
        tenants = f" (tenant {_name(pair.tenant)} from {_name(pair.donor_tenant)})"
        yield from hanging("    tenant ", _pair(pair) + tenants, width)


def semantic_sentence(semantic: SemanticSummary) -> str:
    """Return the hits and how many of them are wrong, in one sentence."""
    hits = f"{plural(semantic.hits, 'hit')} ({percent(semantic.hit_rate)})"
    if semantic.exact_hits:
        hits += f" behind {plural(semantic.exact_hits, 'exact hit')}"
    if semantic.false_hit_rate is None:
        return hits
    of = f"of {semantic.labelled:,} with a verdict {semantic.false_hits:,} wrong"
    rate = f"{hits}; {of}: {percent(semantic.false_hit_rate)}"
    if semantic.false_hit_rate_upper95 is None:
        return f"{rate} (by {semantic.basis}, no bound)"
    whose = "of this log" if semantic.population == "log" else "of traffic like it"
    return f"{rate}, at most {percent(semantic.false_hit_rate_upper95)} {whose} (95 %)"


def semantic_sentences(semantic: SemanticSummary) -> Iterator[str]:
    """Yield what else is to be said."""
    yield policy_sentence(semantic.policy)
    yield from _of_hits(semantic)
    yield from _of_wrong_hits(semantic)
    yield from _of_what_it_saves(semantic)


def _of_hits(semantic: SemanticSummary) -> Iterator[str]:
    if semantic.hits and semantic.false_hits is None:
        yield semantic.basis_definition
    if semantic.proxy is not None and semantic.hits:
        yield _proxy_sentence(semantic.proxy)
    if semantic.suspected_false_hits:
        some = semantic.compared_hits < semantic.hits
        of = f" of {semantic.compared_hits:,} drawn at random" if some else ""
        yield (
            f"{plural(semantic.suspected_false_hits, 'hit')}{of} suspected by the entity rule: the "
            "texts differ in a number, a date, a name, a negation or the like"
        )
    if semantic.repeated_hits:
        yield (
            f"{semantic.repeated_hits:,} of the hits repeat the donor's text word for word; an "
            "exact cache has these"
        )
    if semantic.vetoed:
        yield f"{plural(semantic.vetoed, 'lookup')} near enough, and refused by the entity check"
    if semantic.bypassed:
        yield f"{plural(semantic.bypassed, 'request')} kept out by scenario or admission"


def _of_wrong_hits(semantic: SemanticSummary) -> Iterator[str]:
    if semantic.false_by_cause:
        causes = ", ".join(f"{cause} {n:,}" for cause, n in semantic.false_by_cause.items())
        yield f"wrong by cause: {causes}"
    if semantic.stale_hits is not None:
        yield f"{plural(semantic.stale_hits, 'hit')} with an answer older than stale_after"
    if semantic.sampling is not None:
        yield _sampling_sentence(semantic.sampling)
    if semantic.design_effect is not None and semantic.design_effect > 1:
        effect = f"wrong hits cluster on their donors (design effect {semantic.design_effect:.1f})"
        bounded = semantic.false_hit_rate_upper95 is not None
        yield f"{effect}: the bound is too narrow by about its root" if bounded else effect
    if semantic.cross_tenant_hits:
        yield f"{plural(semantic.cross_tenant_hits, 'hit')} served from another tenant's entry"


def _of_what_it_saves(semantic: SemanticSummary) -> Iterator[str]:
    layer = semantic.prefix_layer
    if layer is not None:
        yield (
            f"the prefix cache hits {percent(layer.hit_rate_behind)} of the tokens behind it, "
            f"{percent(layer.hit_rate_alone)} alone; the semantic cache takes "
            f"{layer.hit_tokens_taken:,} hit tokens from it"
        )
        flops = layer.prefill_flops
        if flops is not None:
            yield (
                f"prefill left to do: {flops.no_cache:.3g} FLOPs without a cache, "
                f"{flops.prefix_alone:.3g} with the prefix cache alone, {flops.semantic_alone:.3g} "
                f"with the semantic cache alone, {flops.together:.3g} with both"
            )
    saved = semantic.saved_flops
    if saved.prefill is not None:
        decode = NONE if saved.decode is None else f"{saved.decode:.3g}"
        yield (
            f"saves {saved.prefill:.3g} prefill FLOPs beyond the prefix cache, and {decode} of "
            "decode"
        )


def semantic_facts(semantic: SemanticSummary) -> Iterator[tuple[str, object]]:
    """Yield the figures by name."""
    yield "semantic lookups", semantic.lookups
    yield "semantic exact hits", semantic.exact_hits
    yield "semantic hits", semantic.hits
    yield "semantic hit rate", _share(semantic.hit_rate)
    yield "false hits", NONE if semantic.false_hits is None else semantic.false_hits
    yield "false-hit rate", _share(semantic.false_hit_rate)
    yield "false-hit rate, upper 95 %", _share(semantic.false_hit_rate_upper95)
    yield "errors per request", _share(semantic.errors_per_request)
    yield "cross-tenant hits", semantic.cross_tenant_hits
    yield "semantic", semantic_sentence(semantic)
    yield from (("semantic", sentence) for sentence in semantic_sentences(semantic))


def _share(value: float | None) -> str:
    return NONE if value is None else f"{value:.4f}"


def _proxy_sentence(proxy: AnswerProxy) -> str:
    """Say what logged answers are worth on this log."""
    if proxy.alarm_rate is None:
        return (
            f"no verdict from logged answers: only {plural(proxy.repeats, 'question')} came again "
            "word for word under the same parameters, too few to measure false alarms on; label "
            "hits with answer_group"
        )
    seen = "" if proxy.sensitivity is None else f", and {percent(proxy.sensitivity)} of "
    seen += f"{plural(proxy.random_pairs, 'random pair')}" if seen else ""
    return (
        f"logged answers as a proxy (rho {proxy.rho:.3f}): it calls {percent(proxy.alarm_rate)} of "
        f"{plural(proxy.repeats, 'exact repeat')} different{seen}; it supports no verdict below "
        f"{percent(proxy.alarm_rate)}, label hits with answer_group for one"
    )


def _sampling_sentence(plan: SamplingPlan) -> str:
    """Say whether the policy's sample is large enough."""
    enough = "enough" if plan.expected_labels >= plan.needed_labels else "too few"
    return (
        f"sampling {percent(plan.rate)} of the hits is {plural(plan.expected_labels, 'label')} on "
        f"a log like this, {enough} to prove at most {percent(plan.limit)} wrong: that takes "
        f"{plan.needed_labels:,} without a wrong one ({percent(1 - plan.alpha)})"
    )


def policy_sentence(policy: SemanticPolicySummary) -> str:
    """Return encoder, threshold and what keeps entries apart."""
    asked = f"{policy.threshold:g} {policy.scale}"
    cosine = "" if policy.scale == "cosine_sim" else f" = cosine {policy.cosine:g}"
    apart = ", ".join((*policy.namespace, *policy.key))
    if policy.per_entry_delta is not None:
        cosine += f", each entry its own from there (delta {policy.per_entry_delta:g})"
    return f"{one_line(policy.encoder)}, threshold {asked}{cosine}, insert {policy.insert}, " + (
        f"apart by {apart}" if apart else "one namespace for all"
    )


def _pair(pair: ServedPair) -> str:
    differs = f": {', '.join(pair.differs)}" if pair.differs else ""
    request, donor = one_line(pair.request), one_line(pair.donor)
    return f"{request} was given the answer of {donor}, cosine {pair.similarity:.3f}{differs}"


def _name(tenant: str | None) -> str:
    return NONE if tenant is None else one_line(tenant)
