"""Variables of a script in the words that use them, where the script itself says their value.

Only a variable that is set once, to a text without another in it, is filled in: what is set in
two branches, or falls back on a default, is known where the script runs and not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kvaudit.analyzers.engine.flags import assignments
from kvaudit.analyzers.engine.words import Word

_USE = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))")


def filled(commands: Iterable[Sequence[Word]]) -> list[list[Word]]:
    """Return the commands with the values of variables that are set once, in front of their use."""
    listed = [list(command) for command in commands]
    values = _set_once(listed)
    known: dict[str, str] = {}
    found = []
    for command in listed:
        found.append([word._replace(text=_with(word.text, known)) for word in command])
        for given in assignments(command):
            if given.name in values:
                known[given.name] = values[given.name]
    return found


def _set_once(commands: Iterable[Sequence[Word]]) -> dict[str, str]:
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
