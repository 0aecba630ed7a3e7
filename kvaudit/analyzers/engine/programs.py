"""Which program a command or an image starts, and what is known of it, from ``data/*.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
_VERSION = re.compile(r"v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc|dev)\d+)?)(?![\d.])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is known of one program."""

    name: str
    commands: Sequence[str]
    """Words that start it, as patterns: ``vllm serve`` or ``-m vllm.entrypoints``."""
    images: Sequence[str]
    """Patterns of images whose entry point it is."""
    versioned: Sequence[str]
    """Patterns of images whose tag is its own version."""
    switches: frozenset[str]
    """Flags that take no value."""
    model: Sequence[str]
    """Flags that name the model."""
    facts: Mapping[str, Any]
    """The rest of the file, for those who look for faults."""


@cache
def all_programs() -> Mapping[str, Program]:
    """Return every program that is known, by name."""
    found = {}
    for path in sorted(DATA.glob("*.toml")):
        facts = tomllib.loads(path.read_text("utf-8"))
        found[path.stem] = Program(
            name=path.stem,
            commands=facts.get("commands", ()),
            images=facts.get("images", ()),
            versioned=facts.get("versioned", ()),
            switches=frozenset(facts.get("switches", ())),
            model=facts.get("model", ()),
            facts=facts,
        )
    return found


@cache
def _starts() -> Sequence[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(command), program.name)
        for program in all_programs().values()
        for command in program.commands
    ]


def started_by(words: str) -> tuple[str, int, int] | None:
    """Return the program that a command starts, and which characters of the command say so.

    ``words`` are joined by one blank each.
    """
    first: tuple[int, int, str] | None = None
    for pattern, name in _starts():
        found = pattern.search(words)
        if found is not None and (first is None or found.start() < first[0]):
            first = (found.start(), found.end(), name)
    return None if first is None else (first[2], first[0], first[1])


def of_image(image: str) -> str | None:
    """Return the program that an image starts by itself."""
    for program in all_programs().values():
        if any(re.search(pattern, image) for pattern in program.images):
            return program.name
    return None


def version_of_image(program: str, image: str) -> str | None:
    """Return a program's version where an image's tag is one."""
    name, _, tag = image.rpartition(":")
    if not name or not any(re.search(p, name) for p in all_programs()[program].versioned):
        return None
    found = _VERSION.match(tag)
    return found[1] if found else None


@lru_cache(maxsize=32)
def version_of_pin(program: str, text: str) -> str | None:
    """Return a program's version where an installation in the same text pins it."""
    package = all_programs()[program].facts.get("package")
    if package is None:
        return None
    found = re.search(rf"(?<![\w-]){re.escape(package)}(?:\[[^\]\s]*\])?==(\S+)", text)
    version = _VERSION.match(found[1]) if found else None
    return version[1] if version else None
