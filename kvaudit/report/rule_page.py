"""A rule's page on a terminal, as Markdown, and as JSON; and the list of all rules."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

from kvaudit.core.console import Screen, rich_console
from kvaudit.core.rule_pages import body, readable
from kvaudit.core.rulebook import Rule
from kvaudit.report.frames import cut


def pages(rules: Sequence[Rule]) -> str:
    """Return the pages of rules as Markdown, one after the other."""
    return "\n".join(readable(rule) for rule in rules)


def shown(rules: Sequence[Rule], screen: Screen) -> str:
    """Return the pages as a terminal shows Markdown."""
    from rich.markdown import Markdown

    file = io.StringIO()
    rich_console(file, screen).print(Markdown(pages(rules)))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def listed(rules: Sequence[Rule], screen: Screen) -> str:
    """Return one line a rule, on a terminal as much of it as fits."""
    width = max((len(rule.name) for rule in rules), default=0)
    lines = (
        f"{rule.code}  {rule.severity.value:7}  {rule.name:{width}}  {rule.summary}"
        for rule in rules
    )
    return "".join(f"{cut(line, screen.width) if screen.terminal else line}\n" for line in lines)


def as_json(rules: Sequence[Rule]) -> str:
    """Return the rules as a list."""
    return json.dumps([_plain(rule) for rule in rules], ensure_ascii=False, indent=2) + "\n"


def _plain(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "severity": rule.severity.value,
        "summary": rule.summary,
        "help": rule.help,
        "inputs": list(rule.inputs),
        "fix": rule.fix,
        "since": rule.since,
        "page": body(rule).strip(),
    }
