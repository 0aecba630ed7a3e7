"""Comments that silence a rule at one place: ``kvaudit: ignore[rule-name] why``.

The comment stands on the line of the finding, or alone on the line above it, in the comment syntax
of the file. Of a long string in Python or a template literal it may also stand above, or behind,
the statement. Names that are no rule, comments that silence nothing and, where the configuration
asks for them, missing reasons are findings themselves. So are comments that mean to silence, but
are spelled as other linters have it: ``kvaudit: disable=rule-name``.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from kvaudit.analyzers.reader import is_called
from kvaudit.core.sources import Source, Span

_MARK = "kvaudit"
_HASH = (
    ".py",
    ".pyi",
    ".ipynb",
    ".yaml",
    ".yml",
    ".toml",
    ".prompty",
    ".sh",
    "modelfile",
    ".bash",
    ".service",
    ".container",
    ".pbtxt",
    "dockerfile",
    "containerfile",
)
_SLASHES = (
    ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".go", ".rs", ".baml", ".java",
    ".kt", ".cs", ".jsonc", ".json5",
)  # fmt: skip
_CLOSERS = {"{#": "#}", "{{!--": "--}}", "{{!": "}}", "{{/*": "*/", "<!--": "-->", "/*": "*/"}
# Bounded runs: a long row of signs would be looked through anew from each of them.
_OPENER = r"(?P<open>\{#|\{\{!(?:--)?|\{\{-?[ \t]{0,9}/\*|<!--|/\*|\#{1,40}|/{2,40})[-\s]{0,40}"
_OPENED = re.compile(_OPENER + r"kvaudit:[ \t]*ignore\b(?P<names>\[[^\]\n]*\])?")
_NEARLY = re.compile(
    _OPENER + r"kvaudit[ \t]*[:.-]?[ \t]*(?P<word>[a-z]+)(?:-(?:next-)?(?:line|file))?[ \t]*"
    r"(?P<names>[\[(=:]?)(?P<behind>[\w-]*)",
    re.IGNORECASE | re.MULTILINE,
)
"""Such a comment in another spelling."""
_WORDS = ("allow", "disable", "exclude", "ignore", "nolint", "noqa", "off", "skip", "suppress")


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """One rule's name or code, as a comment gives it."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """One such comment."""

    source: Source
    span: Span
    """The comment, from its opening to its end."""
    names: Sequence[Name]
    reason: str
    lines: tuple[int, int]
    """The first and last line it speaks of."""
    alone: bool
    """Whether nothing else stands on its lines."""
    prose: bool
    """Whether it may be a sentence about kvaudit, unless it names a rule."""


def directives_of(source: Source) -> list[Directive]:
    """Return the suppressions in a file, in order."""
    if _MARK not in source.text.lower():
        return []
    return [d for start in _comments(source) if (d := _directive(source, start)) is not None]


def _comments(source: Source) -> Iterator[int]:
    """Yield the offsets at which a comment with a suppression may begin."""
    name = source.path.lower()
    if name.endswith((".py", ".pyi")):
        real = _python_comments(source)
        if real is not None:
            yield from real
            return
    for match in re.finditer(_OPENER + "kvaudit", source.text, re.IGNORECASE):
        opener = match["open"]
        if opener.startswith("#") and not is_called(name, _HASH):
            continue
        if opener.startswith("//") and not name.endswith(_SLASHES):
            continue
        yield match.start()


def _python_comments(source: Source) -> list[int] | None:
    """Return where Python sees comments: text in a string is none. None if it cannot be read."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source.text, newline="").readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    return [
        source.offset(token.start[0], token.start[1] + 1)
        for token in tokens
        if token.type == tokenize.COMMENT
    ]


def _directive(source: Source, start: int) -> Directive | None:
    match = _OPENED.match(source.text, start) or _misspelled(source.text, start)
    if match is None:
        return None
    end, reason_end = _end(source.text, match)
    first, last = source.place(start).line, source.place(max(end - 1, start)).line
    before = source.text[source.offset(first) : start]
    behind = source.text[end : source.offset(last) + len(source.line(last))]
    alone = not before.strip() and not behind.strip()
    target = _next_line(source, last, match["open"]) if alone else last
    return Directive(
        source=source,
        span=Span(start, end),
        names=list(_names(match)),
        reason=" ".join(source.text[match.end() : reason_end].split()).strip(" -:"),
        lines=(first, target),
        alone=alone,
        prose=match.re is _NEARLY and match["names"] == "" and bool(match["behind"]),
    )


def _misspelled(text: str, start: int) -> re.Match[str] | None:
    match = _NEARLY.match(text, start)
    if match is None or not get_close_matches(match["word"].lower(), _WORDS, 1, 0.75):
        return None
    return match


def _end(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Return where a comment ends, and where what it says ends."""
    opener = re.sub(r"[-\s]", "", match["open"]) if "/*" in match["open"] else match["open"]
    closer = _CLOSERS.get(opener)
    if closer is None:
        line_end = text.find("\n", match.end())
        end = len(text) if line_end < 0 else line_end
        return end - (text[end - 1] == "\r"), end
    closed = text.find(closer, match.end())
    if closed < 0:
        return len(text), len(text)
    end = closed + len(closer)
    if opener == "{{/*":
        tail = re.compile(r"[ \t]*-?\}\}").match(text, end)
        end = tail.end() if tail else end
    return end, closed


def _names(match: re.Match[str]) -> Iterator[Name]:
    if match.re is not _OPENED or match["names"] is None:
        return
    for word in re.finditer(r"[^\s,\[\]]+", match["names"]):
        at = match.start("names") + word.start()
        yield Name(text=word[0], span=Span(at, at + len(word[0])))


def _next_line(source: Source, line: int, opener: str) -> int:
    """Return the line below a comment; further lines of comment in between are passed over."""
    below = line + 1
    while source.line(below).lstrip().startswith(opener) and source.offset(below) < len(
        source.text
    ):
        below += 1
    return below
