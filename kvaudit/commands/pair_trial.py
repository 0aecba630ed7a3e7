"""Labelled pairs through a policy, or through the user's own cache: `kvaudit calibrate --pairs`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kvaudit.core.errors import Exit, InputError, UsageError
from kvaudit.core.foreign import ForeignFunction

if TYPE_CHECKING:
    from kvaudit.commands.pair_options import PairOptions
    from kvaudit.core.calibration import PairsReport
    from kvaudit.replay.semantic.pairs import Pair
    from kvaudit.replay.semantic.policy import SemanticPolicy


def read(path: Path | None) -> list[Pair]:
    """Return the file's pairs; the bundled ones where no file is named."""
    from kvaudit.replay.semantic.pairs import read_pairs
    from kvaudit.replay.semantic.traps import BUNDLED, bundled_pairs

    if path is None or (str(path) == BUNDLED and not path.exists()):
        return bundled_pairs()
    return read_pairs(path)


def tried(options: PairOptions, policy: SemanticPolicy | None) -> PairsReport:
    """Try a policy on pairs, or a function of the user's."""
    from kvaudit.replay.semantic.pairs import try_pairs

    pairs, check = read(options.pairs), options.check
    if check is not None:
        notes = [] if policy is None else ["--check tries your own cache, and no policy"]
        return _report(pairs, _checked(check, pairs), check, notes, options.max_wrong)
    if policy is None:
        raise UsageError(
            "say --semantic POLICY.toml, or --check MODULE:FUNCTION for your own cache"
        )
    outcome = try_pairs(pairs, policy)
    notes = [note.text for note in outcome.run.notes]
    title = described(outcome.run.encoder, policy)
    return _report(pairs, outcome.served, title, notes, options.max_wrong)


def trained(path: Path | None, policy: SemanticPolicy, out: Path) -> str:
    """Train a verifier on the pairs, write it, and say how well it ranks."""
    from kvaudit.replay.semantic.pairs import cosines_of
    from kvaudit.replay.semantic.verifiers.logistic import train

    if path is None:
        raise UsageError("--train-verifier learns from your own labels; name them by --pairs FILE")
    pairs = read(path)
    if not pairs:
        raise InputError(f"{path}: holds no pairs")
    texts, cosines, encoder = cosines_of(pairs, policy)
    verifier = train(texts, cosines, [pair.same for pair in pairs], encoder)
    try:
        verifier.write(out)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror}") from None
    return (
        f"{out}: a verifier from {verifier.pairs:,} pairs, of which {verifier.same:,} share an "
        f"answer; area under the ROC curve {verifier.auc:.3f} in ten-fold cross-validation, with "
        f"the similarities of {encoder}"
    )


def code_of(report: PairsReport) -> Exit:
    """Return how the command ends."""
    if not report.same + report.traps:
        return Exit.NOTHING_CHECKED
    return Exit.OK if report.passed else Exit.FINDINGS


def described(encoder: str, policy: SemanticPolicy) -> str:
    """Return a policy in one line."""
    check = ", entity check" if policy.entity_check else ""
    verifier = f", verifier {policy.verifier}" if policy.verifier is not None else ""
    return f"{encoder}, threshold {policy.threshold:g} {policy.scale}{check}{verifier}"


def _checked(name: str, pairs: Sequence[Pair]) -> list[bool]:
    """Ask the user's function about each pair: true, or an answer, is served."""
    from kvaudit.replay.semantic.pairs import text_of

    with ForeignFunction(name) as function:
        return [_is_served(function(text_of(p.a), text_of(p.b)), name) for p in pairs]


def _is_served(answer: object, name: str) -> bool:
    """Return whether an answer was served; a score says nothing without its threshold."""
    if isinstance(answer, float) or (isinstance(answer, int) and answer not in (0, 1)):
        raise InputError(
            f"{name}: gives the number {answer!r}; return true or the answer where the cache serves"
            " the second text, else false or None"
        )
    return bool(answer)


def _report(
    pairs: Sequence[Pair],
    served: Sequence[bool],
    policy: str,
    notes: list[str],
    max_wrong: float | None,
) -> PairsReport:
    from kvaudit.core.calibration import PairsReport
    from kvaudit.replay.semantic.pairs import count, count_by

    both = list(zip(pairs, served, strict=True))
    whole = count(both)
    rate = whole.wrong / whole.traps if whole.traps else None
    return PairsReport(
        same=whole.same,
        served=whole.served,
        traps=whole.traps,
        wrong=whole.wrong,
        wrong_rate=rate,
        by_kind=count_by(pairs, served, lambda pair: pair.kind),
        by_language=count_by(pairs, served, lambda pair: pair.language),
        wrong_ids=[pair.id for pair, hit in both if hit and not pair.same],
        refused_ids=[pair.id for pair, hit in both if not hit and pair.same],
        policy=policy,
        max_wrong=max_wrong,
        # Without a trap nothing was served wrong, and nothing was tried either.
        passed=max_wrong is None or (rate is not None and rate <= max_wrong),
        notes=notes,
    )
