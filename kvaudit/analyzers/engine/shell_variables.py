"""Variables of a script in the words that use them, where the script itself says their value.

Only a variable that is set once, to a text without another in it, is filled in: what is set in
two branches, or falls back on a default, is known where the script runs and not here. So is an
array that is set once and not added to; one that holds a whole command is judged where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from kvaudit.analyzers.engine.flags import assignments, invoked
from kvaudit.analyzers.engine.words import ARRAY, Word

_USE = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))")
_WHOLE = re.compile(r"\$\{(\w+)\[[@*]\]\}")
_ADDED = "+="
Command = Sequence[Word]


def filled(commands: Iterable[Command]) -> list[list[Word]]:
    """Return the commands with the values of variables that are set once, in front of their use."""
    listed = [list(command) for command in commands]
    values = _set_once(command for command in listed if not _is_array(command))
    arrays = _arrays(listed)
    known: dict[str, str] = {}
    found = []
    for command in listed:
        words = [word for each in command for word in _spread(each, arrays)]
        found.append([word._replace(text=_with(word.text, known)) for word in words])
        for given in assignments(command):
            if given.name in values:
                known[given.name] = values[given.name]
    return found


def _is_array(command: Command) -> bool:
    return command[0].text.endswith(ARRAY)


def _arrays(commands: Sequence[Command]) -> dict[str, Command]:
    """Return the words of each array whose words are known where it is used."""
    found: dict[str, list[Command]] = {}
    for command in commands:
        name, *_ = command[0].text.partition("=")
        if _is_array(command):
            found.setdefault(name.removesuffix("+"), []).append(command)
    return {
        name: given[0][1:]
        for name, given in found.items()
        if len(given) == 1 and _ADDED not in given[0][0].text and invoked(given[0]) is None
    }


def _spread(word: Word, arrays: Mapping[str, Command]) -> Command:
    used = _WHOLE.fullmatch(word.text)
    return arrays.get(used[1], [word]) if used else [word]


def _set_once(commands: Iterable[Command]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for command in commands:
        for given in assignments(command):
            found.setdefault(given.name, set()).add(given.value or "")
    return {
        name: value
        for name, values in found.items()
        if len(values) == 1 and (value := next(iter(values))) and not re.search(r"[$`]", value)
    }


def _with(text: str, known: dict[str, str]) -> str:
    if "$" not in text or not known:
        return text
    return _USE.sub(lambda use: known.get(use[1] or use[2], use[0]), text)
