"""Rule files: one Markdown file a rule, with TOML front matter and examples that are its tests.

A rule file is data. It names a check and gives it parameters, and it never holds code that
runs, because a linter is run on other people's changes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kvaudit.core.errors import UsageError
from kvaudit.core.findings import Severity
from kvaudit.core.sources import Span

OPEN, CLOSE = "⟦", "⟧"
"""Marks in an example around the text that the finding must point at; removed before the check."""

_FAMILY = re.compile(r"KV\d{0,3}")
_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*(.*)$")


class Header(BaseModel):
    """The front matter of a rule file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    code: str = Field(pattern=r"^KV\d{3}$")
    summary: str
    severity: str = Field(pattern="^(error|warning|info)$")
    inputs: list[str]
    """Kinds of file the rule looks at, for the index."""
    check: str
    since: str
    help: str
    """What to write instead, as one sentence."""
    fix: str | None = None
    """Name of the fixer, where there is one."""
    params: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A fenced example: text that a rule must find something in, or nothing."""

    language: str
    """The first word of the fence, which decides the file name unless ``file`` does."""
    file: str | None
    text: str
    """Without the marks."""
    spans: Sequence[Span]
    """What must be found, in order; empty for a good example."""
    good: bool
    fixed: str | None
    """What the fix of a bad example must give."""
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule."""

    name: str
    family: str
    path: Path
    code: str
    summary: str
    severity: Severity
    inputs: Sequence[str]
    check: str
    since: str
    help: str
    fix: str | None
    params: Mapping[str, Any]
    page: str
    """The Markdown after the front matter."""
    examples: Sequence[Example] = field(default=())
    insisted: bool = False
    """The user says how grave it is, whether a finding is proved or not."""


def rules_folder() -> Path:
    """Return where the rules lie: inside the installed package, or beside it in a checkout."""
    packaged = Path(__file__).parents[1] / "_rules"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "rules"


def load_rules(folders: Sequence[Path] = ()) -> list[Rule]:
    """Return kvaudit's own rules and those of more folders, by code.

    Raises `UsageError` for a file that is no rule, and for a name or code used twice.
    """
    rules = [rule for folder in (rules_folder(), *folders) for rule in _in_folder(folder)]
    seen: dict[str, Rule] = {}
    for rule in rules:
        for word in (rule.name, rule.code):
            if word in seen:
                raise UsageError(f"{rule.path}: {word} is already used by {seen[word].path}")
            seen[word] = rule
    return sorted(rules, key=lambda rule: rule.code)


def names_of(rules: Iterable[Rule], word: str) -> set[str]:
    """Return the names of the rules that a word means: a name, a code, or how codes begin.

    ``KV4`` means all from KV400 to KV499; nothing is returned for a word that means no rule.
    """
    code = word.upper() if _FAMILY.fullmatch(word.upper()) else None
    return {
        rule.name
        for rule in rules
        if rule.name == word or (code is not None and rule.code.startswith(code))
    }


def read_rule(path: Path) -> Rule:
    """Read one rule file; its name is the file's, its family the folder's."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8: {error.reason}; save it as UTF-8") from None
    header, page, first_line = _split(path, text)
    return Rule(
        name=path.stem,
        family=path.parent.name,
        path=path,
        code=header.code,
        summary=header.summary,
        severity=Severity(header.severity),
        inputs=tuple(header.inputs),
        check=header.check,
        since=header.since,
        help=header.help,
        fix=header.fix,
        params=header.params,
        page=page,
        examples=_examples(path, page, first_line),
    )


def _in_folder(folder: Path) -> list[Rule]:
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder of rules")
    paths = sorted(p for p in folder.glob("**/*.md") if p.name != "README.md")
    return [read_rule(path) for path in paths]


def _split(path: Path, text: str) -> tuple[Header, str, int]:
    match = re.match(r"\+\+\+\r?\n(.*?)^\+\+\+[ \t]*\r?\n", text, re.DOTALL | re.MULTILINE)
    if match is None:
        raise UsageError(f"{path}: a rule begins with front matter between lines of +++")
    try:
        header = Header.model_validate(tomllib.loads(match[1]))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: the front matter is not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {place}: {first['msg']}") from None
    return header, text[match.end() :], match[0].count("\n") + 1


def _examples(path: Path, page: str, first_line: int) -> list[Example]:
    examples: list[Example] = []
    for line, info, body in _fences(page, first_line):
        words = info.split()
        kind = words[1] if len(words) > 1 else None
        if kind == "fixed":
            if not examples or examples[-1].good:
                raise UsageError(f"{path}:{line}: a fixed example follows a bad one")
            last = examples.pop()
            examples.append(Example(**{**_fields(last), "fixed": body}))
        elif kind in ("bad", "good"):
            try:
                text, spans = unmarked(body)
            except ValueError as error:
                raise UsageError(f"{path}:{line}: {error}") from None
            named = [word.removeprefix("file=") for word in words[2:] if word.startswith("file=")]
            examples.append(
                Example(
                    language=words[0],
                    file=named[0] if named else None,
                    text=text,
                    spans=spans,
                    good=kind == "good",
                    fixed=None,
                    line=line,
                )
            )
    return examples


def _fields(example: Example) -> dict[str, Any]:
    return {name: getattr(example, name) for name in Example.__slots__}


def _fences(page: str, first_line: int) -> Iterator[tuple[int, str, str]]:
    """Yield (line, info string, body) of every fenced block."""
    lines = page.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at].rstrip("\r\n"))
        if opened is None:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and not lines[end].startswith(opened[1]):
            end += 1
        yield first_line + at, opened[2].strip(), "".join(lines[at + 1 : end])
        at = end + 1


def unmarked(marked: str) -> tuple[str, list[Span]]:
    """Return the text without marks, and the spans that were marked. Raises `ValueError`."""
    text: list[str] = []
    spans: list[Span] = []
    opened: list[int] = []
    length = 0
    for part in re.split(f"([{OPEN}{CLOSE}])", marked):
        if part == OPEN:
            opened.append(length)
        elif part == CLOSE:
            if not opened:
                raise ValueError(f"a mark {CLOSE} stands in the example without {OPEN} before it")
            spans.append(Span(opened.pop(), length))
        else:
            text.append(part)
            length += len(part)
    if opened:
        raise ValueError(f"a mark {OPEN} stands in the example without {CLOSE} behind it")
    return "".join(text), sorted(spans)
