"""From the words of a command to its settings and its environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from kvaudit.analyzers.engine.invocation import Invocation, Setting
from kvaudit.analyzers.engine.programs import (
    all_programs,
    of_image,
    started_by,
    version_of_image,
)
from kvaudit.analyzers.engine.words import Word
from kvaudit.core.sources import Span

_FLAG = re.compile(r"--?[A-Za-z][\w.-]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEVERAL = {"worker-urls", "prefill", "decode", "static-backends"}
"""Flags with several values behind them."""
_PREFIXES = ("export", "env", "exec", "nohup", "sudo", "time", "set", "ENV")


def kebab(name: str) -> str:
    """Return a flag's or key's name in the one form that settings have."""
    return _CAMEL.sub("-", name.lstrip("-")).replace("_", "-").lower()


def assignments(words: Sequence[Word]) -> list[Setting]:
    """Return the variables that a command sets in front, or with ``export``."""
    found = []
    for word in words:
        given = _ASSIGNMENT.fullmatch(word.text)
        if given is not None:
            found.append(variable(given[1], given[2], word.span))
        elif word.text not in _PREFIXES and not word.text.startswith("-"):
            break
    return found


def variable(name: str, value: str | None, span: Span) -> Setting:
    """Return a variable of the environment."""
    return Setting(name=name, value=value, span=span, written=name)


def invoked(words: Sequence[Word], assumed: str | None = None) -> Invocation | None:
    """Return what a command starts; ``assumed`` is the program of an image that has none."""
    starting = _starting(words)
    contained = _contained(words) if starting is None else None
    version = None
    if starting is not None:
        program, at, behind = starting
    elif contained is not None:
        program, at, behind, version = contained
    elif assumed is not None and words and words[0].text.startswith("-"):
        program, at, behind = assumed, 0, 0
    else:
        return None
    environment = assignments(words[:at])
    environment += _docker_variables(words[:at])
    run = Invocation(
        program=program,
        span=words[at].span,
        settings=settings(words[behind:], all_programs()[program].switches),
        environment=environment,
        version=version,
    )
    return replace(run, model=_model(run, words[behind:]))


def _starting(words: Sequence[Word]) -> tuple[str, int, int] | None:
    """Return the program, the word that names it, and the first word behind."""
    joined = " ".join(word.text.replace("\n", " ") for word in words)
    found = started_by(joined)
    if found is None:
        return None
    program, start, end = found
    offset, at, behind = 0, 0, len(words)
    for number, word in enumerate(words):
        if offset <= start:
            at = number
        if offset >= end:
            behind = number
            break
        offset += len(word.text) + 1
    return program, at, behind


def _contained(words: Sequence[Word]) -> tuple[str, int, int, str | None] | None:
    """Return the same for ``docker run IMAGE``, and the version that the image has."""
    if len(words) < 3 or not any(
        one.text in ("docker", "podman", "nerdctl") and other.text == "run"
        for one, other in pairwise(words)
    ):
        return None
    for at, word in enumerate(words):
        program = None if word.text.startswith("-") else of_image(word.text)
        if program is not None:
            return program, at, at + 1, version_of_image(program, word.text)
    return None


def settings(words: Sequence[Word], switches: frozenset[str]) -> list[Setting]:
    """Return the flags among words; what follows a flag that is no switch is its value."""
    found: list[Setting] = []
    at = 0
    while at < len(words):
        text, span = words[at]
        at += 1
        flag = _FLAG.match(text)
        if flag is None:
            continue
        name, equals, value = text.partition("=")
        negated = name.startswith("--no-")
        plain = kebab(name.removeprefix("--no-") if negated else name)
        given: str | None = value if equals else None
        switch = negated or plain in switches
        if not equals and not switch and at < len(words) and not _FLAG.match(words[at].text):
            given = words[at].text
            span = Span(span.start, max(span.end, words[at].span.end))
            at += 1
            while plain in _SEVERAL and at < len(words) and not _FLAG.match(words[at].text):
                given = f"{given} {words[at].text}"
                span = Span(span.start, max(span.end, words[at].span.end))
                at += 1
        found.append(Setting(name=plain, value=given, span=span, written=name, negated=negated))
    return found


def _docker_variables(words: Sequence[Word]) -> list[Setting]:
    """Return what ``docker run -e NAME=VALUE`` sets."""
    found = []
    for flag, word in pairwise(words):
        given = _ASSIGNMENT.fullmatch(word.text)
        if flag.text in ("-e", "--env") and given is not None:
            found.append(variable(given[1], given[2], word.span))
    return found


def _model(run: Invocation, words: Sequence[Word]) -> str | None:
    named = run.get(*all_programs()[run.program].model)
    if named is not None:
        return named.value if named.known else None
    if words and not words[0].text.startswith("-"):
        return words[0].text
    return None
