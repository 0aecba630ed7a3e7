"""`kvaudit replay`: a request log through a cache model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands import inputs
from kvaudit.commands.options import (
    ColorOption,
    ConfigOption,
    FailUnderOption,
    FormatOption,
    IsolatedOption,
    LogArgument,
    OutputOption,
    QuietOption,
    VerboseOption,
)
from kvaudit.core.budgets import judge, parse_fail_under
from kvaudit.core.console import Color, Screen, set_verbosity
from kvaudit.core.errors import Exit, UsageError
from kvaudit.core.output import check_format, default_format, parse_outputs, write_outputs
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.core.results import ReplayReport
    from kvaudit.core.settings import Settings
    from kvaudit.logs.read import LogReader
    from kvaudit.replay.comparison import ReplayResult
    from kvaudit.replay.plan import Plan
    from kvaudit.replay.prompts import Prompts

Text = Annotated[str | None, typer.Option(show_default=False)]


def replay(
    logs: LogArgument,
    input_format: Annotated[
        str | None,
        typer.Option(help="Format of the log. [default: auto]", rich_help_panel="Log"),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=PATH",
            help="Where a generic log has a field, such as prompt=body.text; may be repeated.",
            rich_help_panel="Log",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Read no more than so many requests.", rich_help_panel="Log"),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|hf:PATH|bytes",
            help="Vocabulary of the model. [default: o200k_base]",
            rich_help_panel="Log",
        ),
    ] = None,
    chat_template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            help="How messages become a prompt. [default: chatml]",
            rich_help_panel="Log",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="vllm|ideal",
            help="Cache to model. [default: vllm; ideal for a log of block hashes]",
            rich_help_panel="Cache",
        ),
    ] = None,
    engine_version: Annotated[
        str | None,
        typer.Option(help="Release to model. [default: newest]", rich_help_panel="Cache"),
    ] = None,
    block_size: Annotated[
        int | None,
        typer.Option(
            min=1, help="Tokens of a block. [default: the engine's]", rich_help_panel="Cache"
        ),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            metavar="600blocks|9600tokens|40GiB|inf",
            help="KV the cache can hold. [default: inf]",
            rich_help_panel="Cache",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            help="What is evicted first: lru; with --engine ideal also fifo, optimal.",
            rich_help_panel="Cache",
        ),
    ] = None,
    eagle: Annotated[
        bool,
        typer.Option(
            "--eagle",
            help="Speculative decoding that drops the last hit block.",
            rich_help_panel="Cache",
        ),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|config.json",
            help="Model, for a capacity in bytes.",
            rich_help_panel="Cache",
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(metavar="sequential", help="How requests meet.", rich_help_panel="Cache"),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            metavar="FIELDS",
            help="Fields beside model, lora and salt that part requests, such as tenant.",
            rich_help_panel="Cache",
        ),
    ] = None,
    warmup: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="First part that fills the cache uncounted: below 1 a share, else a count.",
            rich_help_panel="Cache",
        ),
    ] = None,
    per_request: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl|.parquet",
            help="Write one row a request.",
            rich_help_panel="Results",
        ),
    ] = None,
    engine_keys: Annotated[
        str | None,
        typer.Option(
            metavar="ALGORITHM[:SEED]",
            help="Add the engine's own block keys to the rows, such as sha256_cbor:0.",
            rich_help_panel="Results",
        ),
    ] = None,
    fail_under: FailUnderOption = None,
    format_: FormatOption = None,
    output: OutputOption = None,
    config: ConfigOption = None,
    isolated: IsolatedOption = False,
    color: ColorOption = Color.AUTO,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show what a prefix cache would have done on a request log, and what was possible."""
    from kvaudit.core.config import load_config
    from kvaudit.report.render import format_names, render_replay
    from kvaudit.report.rows.writer import check_path

    set_verbosity(quiet=quiet, verbose=verbose)
    settings = load_config(config or (), isolated=isolated).settings
    limits = parse_fail_under(fail_under or ())
    kind = check_format(format_ or default_format(sys.stdout), format_names())
    targets = parse_outputs(output or (), format_names())
    if per_request is not None:
        check_path(per_request)
    elif engine_keys is not None:
        raise UsageError("--engine-keys adds a column to the rows; say --per-request FILE too")
    _check_schedule(schedule or settings.replay.schedule)
    plan = _plan(
        settings,
        engine=engine,
        engine_version=engine_version,
        block_size=block_size,
        capacity=capacity,
        policy=policy,
        eagle=eagle,
        engine_keys=engine_keys,
        model=model,
        warmup=warmup,
    )
    reader = inputs.open_log(
        logs, settings, input_format=input_format, mapping=map_ or (), limit=limit
    )
    encoder = inputs.LazyEncoder(
        tokenizer or settings.tokenizer, chat_template or settings.chat_template
    )
    fields = inputs.parse_fields(namespace, settings.namespace)
    report = _run(logs, reader, encoder, plan, fields, per_request)
    report = replace(report, budgets=judge(report, limits))
    screen = Screen.of(sys.stdout, color)
    typer.echo(render_replay(report, kind, screen), nl=False, color=screen.color)
    write_outputs(targets, lambda name: render_replay(report, name))
    raise typer.Exit(_exit_code(report))


def _exit_code(report: ReplayReport) -> Exit:
    if not report.log.requests:
        return Exit.NOTHING_CHECKED
    if not all(budget.passed for budget in report.budgets):
        return Exit.FINDINGS
    return Exit.OK


def _check_schedule(schedule: str | None) -> None:
    if schedule not in (None, "sequential"):
        raise UsageError(
            f"--schedule {schedule} is not modelled yet; requests are replayed one after the "
            "other: leave it out, or say sequential"
        )


def _plan(
    settings: Settings,
    *,
    engine: str | None,
    engine_version: str | None,
    block_size: int | None,
    capacity: str | None,
    policy: str | None,
    eagle: bool,
    engine_keys: str | None,
    model: str | None,
    warmup: float | None,
) -> Plan:
    """Join what was asked for with the settings."""
    from kvaudit.core.quantities import Capacity
    from kvaudit.replay.engine import find_engine
    from kvaudit.replay.plan import Plan

    name = engine or settings.engine.kind
    if name is not None:
        find_engine(name)
    model = model or settings.model
    if model is not None:
        from kvaudit.cost.catalogue import load_model_shape
    shape = load_model_shape(model) if model is not None else None
    return Plan(
        engine=name,
        engine_version=engine_version or settings.engine.version,
        block_size=block_size or settings.engine.block_size,
        capacity=Capacity.parse(capacity or settings.capacity),
        kv_bytes_per_token=shape.kv_bytes_per_token if shape is not None else None,
        model=model,
        model_note=shape.note if shape is not None else None,
        policy=policy,
        eagle=eagle,
        engine_keys=engine_keys,
        warmup=settings.replay.warmup if warmup is None else warmup,
    )


def _run(
    logs: Sequence[Path],
    reader: LogReader,
    encoder: inputs.LazyEncoder,
    plan: Plan,
    namespace: Sequence[str],
    per_request: Path | None,
) -> ReplayReport:
    """Replay the log and join what the reader, the tokenizer and the caches say."""
    from kvaudit.replay.prompts import Prompts
    from kvaudit.replay.run import replay_log
    from kvaudit.report.rows.writer import RowWriter

    with progress("replaying", reader.size_bytes) as bar:
        prompts = Prompts(inputs.Watched(reader, bar), encoder=encoder, namespace=namespace)
        result = replay_log(
            prompts, plan, lambda: nullcontext() if per_request is None else RowWriter(per_request)
        )
    return _report(logs, reader, encoder, prompts, plan, result)


def _report(
    logs: Sequence[Path],
    reader: LogReader,
    encoder: inputs.LazyEncoder,
    prompts: Prompts,
    plan: Plan,
    result: ReplayResult | None,
) -> ReplayReport:
    from kvaudit.core.results import Note, ReplayReport
    from kvaudit.replay.tally import reported

    log = inputs.log_summary(logs, reader, encoder, prompts, result)
    notes = [*reader.notes, *(encoder.loaded.notes() if encoder.loaded else ())]
    if plan.model_note is not None:
        notes.append(Note(topic="model", text=plan.model_note))
    if result is None:
        counts = prompts.counts()
        return ReplayReport(
            log=log,
            engine=None,
            prefix=None,
            ideal=None,
            reported=reported(counts.prompt_tokens, counts.reported_hits),
            notes=[*notes, inputs.no_rate_note(log)],
        )
    return ReplayReport(
        log=log,
        engine=result.engine,
        prefix=result.prefix,
        ideal=result.ideal,
        reported=result.reported,
        lost=result.lost,
        namespaces=result.namespaces,
        sessions=result.sessions,
        notes=notes,
    )
