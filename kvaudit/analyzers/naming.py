"""What a name says about a value, where nothing nearer is known.

Names are weak evidence: a finding that rests on one is information. The words are
data, in ``names.toml``; a name that no word fits is unknown, which counts as a value of the
user.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from kvaudit.core.document import Origin


def origin_of_name(name: str, said: Mapping[str, Origin]) -> Origin:
    """Return what a variable's name says; ``said`` is what the user's configuration says."""
    if name in said:
        return said[name]
    spelled = snake_case(name)
    for origin, words in _patterns():
        if words.fullmatch(spelled):
            return origin
    return Origin.UNKNOWN


def snake_case(name: str) -> str:
    """Return the last part of a dotted name, in lower case with underscores."""
    last = [part for part in re.split(r"[^\w]+", name) if part]
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last[-1]) if last else ""
    return parted.strip("_").lower()


@cache
def _patterns() -> tuple[tuple[Origin, re.Pattern[str]], ...]:
    text = Path(__file__).with_name("names.toml").read_text("utf-8")
    return tuple(
        (Origin(origin), re.compile("|".join(f"(?:{pattern})" for pattern in patterns)))
        for origin, patterns in tomllib.loads(text).items()
    )
