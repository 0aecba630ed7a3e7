"""What a rule file may tell its check, so that a slip in one is a sentence and never a crash.

Each check module lists its parameters as ``PARAMETERS``; the table in ``rules/README.md`` is made
from them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kvaudit.core.nearest import did_you_mean

_CALLED = {
    bool: "true or false",
    int: "a whole number",
    str: "a text",
    list: "a list of texts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One key of ``[params]``."""

    what: str
    """What it decides, as a phrase."""
    of: type
    """bool, int, str, or list, which is one of texts."""
    needed: bool = False
    words: Collection[str] = ()
    """The texts that mean something; any, where there are none."""
    patterns: bool = False
    """Its texts are regular expressions."""


Parameters = Mapping[str, Parameter]


def slips(given: Mapping[str, Any], parameters: Parameters) -> Iterator[str]:
    """Yield what is wrong with the ``[params]`` of a rule, as clauses."""
    for name, value in given.items():
        if name in parameters:
            yield from (f"params.{name}: {slip}" for slip in _of_value(value, parameters[name]))
        else:
            yield f"params.{name} is nothing that this check is told{_nearest(name, parameters)}"
    for name, parameter in parameters.items():
        if parameter.needed and name not in given:
            yield f"params.{name} is missing: {parameter.what}"


def _of_value(value: Any, parameter: Parameter) -> Iterator[str]:
    texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    # True is an int to Python, and a list may hold anything to TOML.
    if type(value) is not parameter.of or not all(isinstance(text, str) for text in texts):
        yield f"{value!r} is not {_CALLED[parameter.of]}"
        return
    for text in texts:
        if parameter.words and text not in parameter.words:
            yield f"{text!r} means nothing here{_nearest(text, parameter.words)}"
        if parameter.patterns:
            try:
                re.compile(text)
            except re.error as error:
                yield f"{text!r} is no regular expression: {error}"


def _nearest(word: str, words: Collection[str]) -> str:
    if not words:
        return "; it takes no parameters"
    return did_you_mean(word, words) or f"; known: {', '.join(words)}"
