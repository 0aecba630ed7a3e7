"""Values that are written out in a configuration file."""

from __future__ import annotations

import re

from kvaudit.analyzers.template.structure.node import Kind, Node

LITERALS = (Kind.TEXT, Kind.NUMBER, Kind.FLAG)


def number_or_word(item: Node) -> object:
    """Return a literal's value, a number also where it is quoted; None for anything else."""
    if item.kind is Kind.TEXT and re.fullmatch(r"-?\d+(\.\d+)?", str(item.value)):
        return float(item.value)
    return item.value if item.kind in LITERALS else None
