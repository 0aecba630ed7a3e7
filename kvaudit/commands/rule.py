"""`kvaudit rule`: what a rule finds and why, or whether a rule file's own examples hold."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands.options import ColorOption
from kvaudit.core.console import Color, Screen
from kvaudit.core.errors import Exit, UsageError
from kvaudit.core.nearest import did_you_mean

if TYPE_CHECKING:
    from kvaudit.core.rulebook import Rule


class PageFormat(StrEnum):
    """How a page is printed."""

    MD = "md"
    JSON = "json"


def rule(
    name: Annotated[
        str | None,
        typer.Argument(help="Name or code (default: list all rules).", show_default=False),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Print the pages of all rules.")] = False,
    format_: Annotated[
        PageFormat | None,
        typer.Option("--format", help="Print Markdown or JSON (default: by place)."),
    ] = None,
    rules: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Know the rule files there too."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Run the examples of a rule file."),
    ] = None,
    color: ColorOption = Color.AUTO,
) -> None:
    """Explain a rule, list all, or test a rule file."""
    from kvaudit.analyzers.ruleset import packaged_folders
    from kvaudit.core.rulebook import load_rules

    folders = [*packaged_folders(), *(rules or ())]
    if check is not None:
        raise typer.Exit(_checked(check, folders))
    known = load_rules(folders)
    chosen = known if name is None else [_named(known, name)]
    text = _text(chosen, format_, short=name is None and not all_, color=color)
    typer.echo(text, nl=False, color=True)


def _named(known: Sequence[Rule], name: str) -> Rule:
    words = {word: rule for rule in known for word in (rule.name, rule.code)}
    found = words.get(name) or words.get(name.upper())
    if found is None:
        nearest = did_you_mean(name, words) or "; kvaudit rule lists all"
        raise UsageError(f"{name} is no rule{nearest}")
    return found


def _text(rules: Sequence[Rule], format_: PageFormat | None, *, short: bool, color: Color) -> str:
    from kvaudit.report import rule_page

    screen = Screen.of(sys.stdout, color)
    if format_ is PageFormat.JSON:
        return rule_page.as_json(rules)
    if short and format_ is None:
        return rule_page.listed(rules, screen)
    if format_ is None and screen.terminal:
        return rule_page.shown(rules, screen)
    return rule_page.pages(rules)


def _checked(path: Path, folders: Sequence[Path]) -> Exit:
    """Run a rule file's examples beside all rules there are, and say what does not hold."""
    from kvaudit.analyzers.examples import faults
    from kvaudit.analyzers.vetting import vet
    from kvaudit.core.rulebook import load_rules, read_rule

    rule = read_rule(path)
    vet(rule)
    others = [other for other in load_rules(folders) if other.name != rule.name]
    taken = next((other.name for other in others if other.code == rule.code), None)
    if taken is not None:
        raise UsageError(f"{path}: {rule.code} is the code of {taken}; take one that is free")
    found = list(faults(rule, [*others, rule]))
    for fault in found:
        typer.echo(fault)
    if found:
        return Exit.FINDINGS
    count = len(rule.examples)
    typer.echo(f"{path}: {count} {'example holds' if count == 1 else 'examples hold'}")
    return Exit.OK
