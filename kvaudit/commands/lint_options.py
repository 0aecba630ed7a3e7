"""The options of `kvaudit lint` beside those that all commands share, in groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

FILES, RULES, TRAFFIC = "Files", "Rules", "Traffic"
KNOWN, FIXES, RESULTS = "Known findings", "Fixes", "Results"
"""Panels of the help."""

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        envvar="KVAUDIT_FORMAT",
        metavar="full|concise|json|sarif|github|gitlab|junit",
        help="How results are printed (default: by place: GitHub Actions, terminal, pipe).",
        rich_help_panel=RESULTS,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """Which files are looked at, beside what the settings say."""

    stdin_filename: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What standard input would be called.", rich_help_panel=FILES
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Leave these files out, as in .gitignore; may be repeated.",
            rich_help_panel=FILES,
        ),
    ] = None
    force_exclude: Annotated[
        bool,
        typer.Option(
            "--force-exclude",
            help="Leave excluded files out even where they are named.",
            rich_help_panel=FILES,
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOptions:
    """Which rules are used; None leaves it to the settings."""

    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE,...",
            help="Use these rules only, by name, code or how codes begin: KV4.",
            rich_help_panel=RULES,
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE,...", help="Leave these rules out.", rich_help_panel=RULES),
    ] = None
    rules: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Use the rule files there too.", rich_help_panel=RULES),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficOptions:
    """What the prompts meet; None leaves it to the settings."""

    provider: Annotated[
        str | None,
        typer.Option(help="Whose API the prompts go to.", rich_help_panel=TRAFFIC),
    ] = None
    model: Annotated[
        str | None, typer.Option(help="Model the prompts go to.", rich_help_panel=TRAFFIC)
    ] = None
    multi_turn: Annotated[
        bool | None,
        typer.Option(
            "--multi-turn/--single-turn",
            help="Whether prompts grow turn by turn (default: as it looks).",
            rich_help_panel=TRAFFIC,
        ),
    ] = None
    isolate: Annotated[
        str | None,
        typer.Option(
            metavar="none|tenant",
            help="tenant: no prefix is to be shared between tenants.",
            rich_help_panel=TRAFFIC,
        ),
    ] = None
    retention_days: Annotated[
        float | None,
        typer.Option(
            min=0, help="How long KV lives, where it outlives a day.", rich_help_panel=TRAFFIC
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOptions:
    """Which findings are known and not reported."""

    since: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Report only what lines new since this commit brought.",
            rich_help_panel=KNOWN,
        ),
    ] = None
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Do not report what stands there.", rich_help_panel=KNOWN
        ),
    ] = None
    write_baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write today's findings as a baseline.", rich_help_panel=KNOWN
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions:
    """What is changed in the files."""

    fix: Annotated[
        bool, typer.Option("--fix", help="Make the safe fixes.", rich_help_panel=FIXES)
    ] = False
    unsafe_fixes: Annotated[
        bool,
        typer.Option(
            "--unsafe-fixes",
            help="Make also fixes that change what is rendered.",
            rich_help_panel=FIXES,
        ),
    ] = False
    diff: Annotated[
        bool,
        typer.Option(
            "--diff",
            help="Show what --fix would change, and exit 1 if anything.",
            rich_help_panel=FIXES,
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictOptions:
    """When a run fails; None leaves it to the settings."""

    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="error|warning|info|never",
            help="The lowest severity that ends in exit code 1 (default: warning).",
            rich_help_panel=RESULTS,
        ),
    ] = None
    exit_zero: Annotated[
        bool,
        typer.Option("--exit-zero", help="Exit 0 also with findings.", rich_help_panel=RESULTS),
    ] = False
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty", help="Exit 0 also if nothing was checked.", rich_help_panel=RESULTS
        ),
    ] = False
