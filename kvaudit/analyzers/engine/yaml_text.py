"""YAML of deployments with places, Helm templates included.

A template's tags are blanked out at the same width, so that the rest parses and every place holds;
what they would print is unknown to whoever reads the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.template.structure.node import Node, character_starts
from kvaudit.analyzers.template.structure.yaml_events import scan_yaml
from kvaudit.core.sources import Span

_ALONE = re.compile(r"^[ \t]*(?:-[ \t]+)?\{\{[^\n]*\}\}[ \t]*\r?$", re.MULTILINE)
_TAG = re.compile(r"\{\{[^\n{}]{0,400}\}\}")
_FILLER = "$X"


def roots_of(text: str) -> list[Node]:
    """Return the documents of a file. Raises `Unreadable`."""
    try:
        return scan_yaml(text)
    except Unreadable:
        if "{{" not in text:
            raise
    return scan_yaml(_TAG.sub(_filled, _ALONE.sub(_blank, text)))


def _blank(tag: re.Match[str]) -> str:
    return " " * len(tag[0].rstrip("\r")) + "\r" * tag[0].endswith("\r")


def _filled(tag: re.Match[str]) -> str:
    return _FILLER + "x" * (len(tag[0]) - len(_FILLER))


def places(text: str, node: Node) -> Callable[[int, int], Span]:
    """Return what gives the place in the file of characters of a string's value."""
    if not node.escaped:
        # Looked for once: a long script asks for the place of each of its words.
        shift = max(text.find(str(node.value), *node.span), node.span.start)
        return lambda start, end: Span(shift + start, shift + end)
    starts = character_starts(text, node)
    if starts is None:
        return lambda start, end: node.span
    last = len(starts) - 1

    def place(start: int, end: int) -> Span:
        # The end is that of the last character: behind it a line may go on in the next.
        first = starts[min(start, last)]
        return Span(first, max(first, starts[min(max(end - 1, start), last)] + 1))

    return place
