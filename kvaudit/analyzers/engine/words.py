"""Words of a shell command, each with its place, without running or expanding anything.

Commands end at ``;``, ``&``, ``|``, a bracket or a line's end. An array, ``NAME=(...)``, is a
command of its own, whose first word is `NAME=(`. The bodies of here documents are passed over:
what they hold is another file's text. A script that a shell is given, ``bash -c "..."``, is read as
its commands, each behind the words in front of the shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kvaudit.core.sources import Span

MAX_WORDS = 20_000
ARRAY = "=("
"""What the first word of an array ends in."""
_TOKEN = re.compile(
    r"(?P<gap>[ \t]+|\\\r?\n[ \t]*)"
    r"|(?P<comment>(?<![^\s;&|()])\#[^\n]*)"
    r"|(?P<here><<-?[ \t]*[\"']?(?P<tag>\w+)[\"']?)"
    r"|(?P<end>\r?\n|;+|&&?|\|\|?|[()])"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^()\n]*\)|\$\{[^{}\n]*\}"
    r"|\$|[^\s;&|()\\'\"$]|[\\'\"])+?(?=[\s;&|()]|\Z))",
    re.DOTALL,
)
_ARRAY_NAME = re.compile(r"[A-Za-z_]\w*\+?=")
_COMMENT_LINES = re.compile(r"(?:(?<=\\\n)|(?<=\\\r\n))(?:[ \t]*[#;][^\n]*\n)+")
_PART = re.compile(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)|([^'\"\\]+|['\"\\])", re.DOTALL)
_SHELL = re.compile(r"(?:.*/)?(?:ba|z|da|a|k)?sh")
_GIVEN = re.compile(r"-[a-z]*c")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)


class Word(NamedTuple):
    """A word without its quotes, and where it stands."""

    text: str
    span: Span


def without_comment_lines(text: str) -> str:
    """Return a text of the same length, blank where comments stand within a continued line.

    Units and Dockerfiles go on behind such a line; a shell ends the command there.
    """
    return _COMMENT_LINES.sub(lambda found: " " * len(found[0]), text)


def shell_commands(text: str, at: Callable[[int, int], Span]) -> list[list[Word]]:
    """Return the commands of a script; ``at`` gives the place in the file of its characters."""
    commands: list[list[Word]] = [[]]
    tags: list[str] = []
    position, count, array = 0, 0, False
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            position += 1
            continue
        position = found.end()
        if found["word"] is not None:
            count += 1
            if count > MAX_WORDS:
                break
            if _QUOTED.fullmatch(found["word"]) and is_shell_given(commands[-1]):
                commands += _of_given(text, found.start() + 1, found.end() - 1, commands, at)
                continue
            commands[-1].append(Word(_unquoted(found["word"]), at(*found.span())))
        elif found["here"] is not None:
            tags.append(found["tag"])
        elif array and "\n" in (found["end"] or ""):
            continue
        elif found["end"] == "(" and _opens_array(text, found.start(), commands[-1]):
            name = commands[-1].pop().text
            start = found.start() - len(name)
            commands.append([Word(f"{name}(", at(start, found.end()))])
            array = True
        elif found["end"] is not None:
            array = False
            commands.append([])
            if "\n" in found["end"] and tags:
                position = _behind_documents(text, position, tags)
                tags = []
    return [command for command in commands if command]


def is_shell_given(words: Sequence[Word]) -> bool:
    """Whether what comes next is the script that a shell is given: ``bash -lc``."""
    return (
        len(words) > 1
        and _GIVEN.fullmatch(words[-1].text) is not None
        and _SHELL.fullmatch(words[-2].text) is not None
    )


def _of_given(
    text: str, start: int, end: int, commands: list[list[Word]], at: Callable[[int, int], Span]
) -> list[list[Word]]:
    """Return the commands of a script that a shell is given, in the place of the shell's own."""
    before = commands.pop()[:-2]
    inside = shell_commands(text[start:end], lambda first, last: at(start + first, start + last))
    return [*([*before, *command] for command in inside), []]


def _opens_array(text: str, bracket: int, words: Sequence[Word]) -> bool:
    name = words[-1].text if words else ""
    return bool(_ARRAY_NAME.fullmatch(name)) and text.endswith(name, 0, bracket)


def _behind_documents(text: str, position: int, tags: Sequence[str]) -> int:
    """Return where a script goes on behind its here documents."""
    for tag in tags:
        closing = re.compile(rf"^[ \t]*{tag}[ \t]*\r?$", re.MULTILINE).search(text, position)
        if closing is None:
            return len(text)
        position = closing.end()
    return position


def _unquoted(word: str) -> str:
    return "".join(
        single or double.replace('\\"', '"').replace("\\$", "$") or escaped or plain
        for single, double, escaped, plain in _PART.findall(word)
    )
