"""`kvaudit probe`: render many times, and report the first byte that is not stable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvaudit.core.errors import Exit, UsageError

if TYPE_CHECKING:
    from kvaudit.analyzers.probe.builder import Stability
    from kvaudit.core.findings import Finding


def probe(
    target: Annotated[
        str,
        typer.Argument(
            help="A chat template, a folder with one, or MODULE:FUNCTION, which is then called.",
        ),
    ],
    arguments: Annotated[
        str, typer.Option(metavar="JSON", help="Keyword arguments of the function.")
    ] = "{}",
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="What one process may take.")
    ] = 30.0,
    format_: Annotated[
        str, typer.Option("--format", metavar="text|json", help="How the result is printed.")
    ] = "text",
) -> None:
    """Render a chat template, or call a prompt builder, and find what is not stable.

    A chat template is rendered with a family of conversations, each at one turn and at the next.

    A function is called in fresh processes that differ in hash seed, clock and random numbers.

    Naming a function runs its code.
    """
    if format_ not in ("text", "json"):
        raise UsageError(f"--format {format_}: text or json")
    path = Path(target)
    if path.exists() and ":" not in path.name and path.suffix != ".py":
        unstable = _templates(path, as_json=format_ == "json")
    else:
        unstable = _builder(target, arguments, timeout, as_json=format_ == "json")
    raise typer.Exit(Exit.FINDINGS if unstable else Exit.OK)


def _builder(target: str, arguments: str, timeout_s: float, *, as_json: bool) -> bool:
    from kvaudit.analyzers.probe.builder import parse_target, stability
    from kvaudit.analyzers.probe.words import explained

    found = stability(parse_target(target, _kwargs(arguments)), timeout_s=timeout_s)
    if as_json:
        typer.echo(json.dumps(_as_json(target, found), ensure_ascii=False, indent=1))
    elif found.unstable:
        typer.echo(f"{target} is not stable\n{explained(found)}")
    else:
        size = len(found.text.encode())
        bytes_ = f"{size:,} byte{'s' * (size != 1)}"
        typer.echo(f"{target} is stable: {bytes_}, the same each time")
    return bool(found.unstable)


def _kwargs(arguments: str) -> Mapping[str, Any]:
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise UsageError(f"--arguments is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise UsageError('--arguments must be an object, such as {"tenant": "acme"}')
    return given


def _as_json(target: str, found: Stability) -> dict[str, Any]:
    return {
        "schema": 1,
        "target": target,
        "stable": not found.unstable,
        "unstable": [
            {
                "cause": one.cause,
                "offset_bytes": one.offset_bytes,
                "line": one.line,
                "before": one.before,
                "first": one.first,
                "second": one.second,
            }
            for one in found.unstable
        ],
    }


def _templates(path: Path, *, as_json: bool) -> bool:
    """Print what chat templates break; true where one counts as a warning or more."""
    from kvaudit.core.findings import Severity

    findings = [finding for source in _files(path) for finding in _breaks(source)]
    if as_json:
        rows = [_row(finding) for finding in findings]
        typer.echo(json.dumps({"schema": 1, "target": str(path), "breaks": rows}, indent=1))
    for finding in () if as_json else findings:
        place = finding.source.place(finding.span.start)
        shown = finding.source.text[slice(*finding.span)]
        typer.echo(
            f"{finding.source.path}:{place.line}:{place.column}: "
            f"{finding.severity} {finding.rule} ({finding.code})\n"
            f"  {finding.message}\n  printed by {shown[:100]!r}"
        )
    if not findings and not as_json:
        typer.echo(f"{path}: every conversation begins with the one before it")
    return any(finding.severity.rank >= Severity.WARNING.rank for finding in findings)


def _row(finding: Finding) -> dict[str, Any]:
    place = finding.source.place(finding.span.start)
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity,
        "path": finding.source.path,
        "line": place.line,
        "column": place.column,
        "message": finding.message,
    }


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    names = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json", "*.jinja")
    found = sorted({file for name in names for file in path.glob(name)})
    if not found:
        raise UsageError(f"{path} holds no chat template: no *.jinja, no tokenizer_config.json")
    return found


def _breaks(path: Path) -> Iterator[Finding]:
    """Yield the findings in one file, its kind not asked: the user says that it is one."""
    from kvaudit.analyzers.decode import Undecodable, decode
    from kvaudit.analyzers.profile import Profile
    from kvaudit.analyzers.project import FolderProject, project_root
    from kvaudit.analyzers.reader import Unreadable
    from kvaudit.analyzers.run import lint_document
    from kvaudit.analyzers.template import chat_template
    from kvaudit.core.errors import InputError
    from kvaudit.core.rulebook import load_rules
    from kvaudit.core.sources import Source

    try:
        source = Source(path.as_posix(), decode(path.read_bytes()).text)
        documents = chat_template.READER.read(source, FolderProject(project_root(path), {}))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (Undecodable, Unreadable) as reason:
        raise InputError(f"{path} was not probed: {reason}") from None
    rules = [rule for rule in load_rules() if rule.inputs == ("chat-template",)]
    for document in documents:
        yield from lint_document(document, rules, Profile())
