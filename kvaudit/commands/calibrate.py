"""`kvaudit calibrate`: a semantic cache's threshold with a guarantee, or its policy on pairs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands import inputs, labelling, pair_trial
from kvaudit.commands.choosing import Promise, chosen
from kvaudit.commands.groups import grouped
from kvaudit.commands.label_options import LabelOptions
from kvaudit.commands.options import LogOptions, PrintOptions, RunOptions
from kvaudit.commands.pair_options import PairOptions
from kvaudit.core.errors import Exit, UsageError
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.core.settings import Settings
    from kvaudit.replay.semantic.policy import SemanticPolicy
    from kvaudit.replay.semantic.run import SemanticRun

DEFAULT_LIMIT, DEFAULT_DELTA = 0.02, 0.10


@grouped
def calibrate(
    logs: Annotated[
        list[Path] | None, typer.Argument(metavar="[LOG...]", help="Request logs with labels.")
    ] = None,
    *,
    semantic: Annotated[
        Path | None,
        typer.Option(
            metavar="POLICY.toml", help="The policy of the semantic cache, or preset:NAME."
        ),
    ] = None,
    max_false_hit_rate: Annotated[
        float,
        typer.Option(min=0.0001, max=0.9999, help="The share of hits that may be wrong."),
    ] = DEFAULT_LIMIT,
    delta: Annotated[
        float | None,
        typer.Option(
            min=0.0001,
            max=0.9999,
            help="How often what is proven may be wrong; unset, 0.10, and 0.05 of labels.",
        ),
    ] = None,
    hold_out: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.9,
            help="Share of the log, its end, that has no say in the threshold and bounds it again.",
        ),
    ] = 0.0,
    pair: PairOptions,
    label: LabelOptions,
    log: LogOptions,
    printed: PrintOptions,
    run: RunOptions,
) -> None:
    """Choose a threshold that a log's labels prove, or try a policy on labelled pairs."""
    from kvaudit.replay.semantic.policy_file import load_policy
    from kvaudit.report.render import format_names, render

    settings = run.start()
    printout = printed.printout(format_names("pairs"))
    read = [path for path in (semantic, pair.pairs, *label.read) if path is not None]
    made = {"--train-verifier": pair.train_verifier, "--sheet": label.sheet, "--label": label.label}
    written = [(name, path) for name, path in made.items() if path is not None]
    printout.check_apart([*(logs or ()), *read], written)
    limit, alpha = max_false_hit_rate, labelling.ALPHA if delta is None else delta
    if label.label is not None:
        typer.echo(labelling.in_terminal(label.label, limit=limit, alpha=alpha))
        raise typer.Exit(Exit.OK)
    if label.labels is not None or label.monitor is not None:
        seen = labelling.seen(label, limit=limit, alpha=alpha)
        kind = "labels" if label.monitor is None else "monitor"
        printout.show(partial(render, kind, seen))
        raise typer.Exit(labelling.code_of(seen))
    policy = None if semantic is None else load_policy(semantic)
    if label.sheet is not None:
        if not logs:
            raise UsageError("--sheet names the hits of a log: give the LOG too")
        run_of = _replayed(logs, log, settings, _needed(policy))
        if not labelling.hits_of(run_of):
            typer.echo(
                "no hits under this policy: there is nothing to label, and no sheet", err=True
            )
            raise typer.Exit(Exit.NOTHING_CHECKED)
        typer.echo(labelling.sheet_of(run_of, label, limit=limit, alpha=alpha))
        raise typer.Exit(Exit.OK)
    if logs:
        pair.refuse_beside_a_log()
        promise = Promise(limit, DEFAULT_DELTA if delta is None else delta, hold_out)
        found = chosen(logs, log, settings, _needed(policy), promise)
        printout.show(partial(render, "calibration", found))
        raise typer.Exit(Exit.OK if found.requests else Exit.NOTHING_CHECKED)
    if pair.train_verifier is not None:
        typer.echo(pair_trial.trained(pair.pairs, _needed(policy), pair.train_verifier))
        raise typer.Exit(Exit.OK)
    tried = pair_trial.tried(pair, policy)
    printout.show(partial(render, "pairs", tried))
    raise typer.Exit(pair_trial.code_of(tried))


def _needed(policy: SemanticPolicy | None) -> SemanticPolicy:
    if policy is None:
        raise UsageError("say --semantic POLICY.toml: the policy of the semantic cache")
    return policy


def _replayed(
    logs: list[Path], log: LogOptions, settings: Settings, policy: SemanticPolicy
) -> SemanticRun:
    from kvaudit.replay.semantic.gather import gather
    from kvaudit.replay.semantic.run import replay_semantic

    source = inputs.open_log(logs, log, settings, columns=policy.columns)
    with progress("replaying", source.reader.size_bytes) as bar:
        return replay_semantic(gather(source.watched(bar), policy), policy)
