"""`kvaudit init`: a first configuration, with all that `kvaudit lint` can be told, as comments."""

from __future__ import annotations

import tomllib
from pathlib import Path

import typer

from kvaudit.core.errors import UsageError
from kvaudit.core.output import replacing

TOML = Path("kvaudit.toml")
PYPROJECT = Path("pyproject.toml")

# Each table's name and lines; a line of it is a comment until somebody wants it.
TABLES = {
    "": (
        ('exclude = ["evals/"]', "files that are not linted, as in .gitignore"),
        ('include = ["prompts/**"]', "lint only these"),
        ("force-exclude = true", "exclude holds for files that a call names, too"),
        ('required-version = ">=0.1,<1"', "other versions refuse to run"),
    ),
    "lint": (
        ('fail-on = "error"', "or warning (the default), info, never"),
        ('baseline = "kvaudit.baseline.json"', "made with: kvaudit lint --write-baseline FILE"),
        ("require-reasons = true", "a suppression must say why"),
        ('provider = "anthropic"', "whose API the prompts go to"),
        ('model = "claude-sonnet-4-5"', "the model they go to"),
        ("multi-turn = false", "prompts do not grow turn by turn"),
        ('isolate = "tenant"', "no prefix is to be shared between tenants"),
        ("retention-days = 3", "how long KV lives, where it outlives a day"),
        ("block-tokens = 16", "tokens of a block of the engine"),
    ),
    "variables": (
        ('plan_tier = "identity"', "what a name in a prompt holds: constant, deploy, date,"),
        ('today = "date"', "identity, session, turn, request, clock, random, ..."),
    ),
    "rules": (
        ('select = ["sub-day-clock"]', "use these rules only; kvaudit rule lists all"),
        ('ignore = ["host-dependent-text"]', "leave these out"),
        ('severity = { calendar-date-in-prefix = "warning" }', ""),
        ('folders = ["lint-rules"]', "rule files of your own"),
        ('per-file = { "prompts/legacy/**" = ["user-input-first"] }', ""),
    ),
}


def init() -> None:
    """Write a commented configuration, to pyproject.toml where there is one."""
    if TOML.exists():
        raise UsageError(f"{TOML} is there already; change it, or remove it first")
    if not PYPROJECT.exists():
        _write(TOML, _commented(""))
        return
    text = PYPROJECT.read_text("utf-8")
    try:
        tool = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{PYPROJECT}: is not valid TOML: {error}") from None
    if "kvaudit" in tool:
        raise UsageError(f"{PYPROJECT} has a [tool.kvaudit] table already; change that one")
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    _write(PYPROJECT, f"{text}{gap}{_commented('tool.kvaudit')}")


def _commented(prefix: str) -> str:
    tables = []
    for name, lines in TABLES.items():
        header = ".".join(part for part in (prefix, name) if part)
        width = max(len(line) for line, _ in lines)
        shown = [f"[{header}]"] if header else []
        shown += [f"# {line:{width}}  # {why}" if why else f"# {line}" for line, why in lines]
        tables.append("\n".join(shown))
    return "\n\n".join(tables) + "\n"


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())
    typer.echo(f"wrote {path}; what is there is a comment until you want it\nnext: kvaudit lint")
