"""The defaults of known semantic caches, one file each in ``presets``, with source and date.

A policy takes one with ``preset = "NAME"`` and says what differs; ``--semantic preset:NAME`` takes
it whole. No preset brings its product's encoder: they are hosted, or not to be had offline.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

PREFIX = "preset:"


class Preset(NamedTuple):
    """What a product does unless told otherwise."""

    name: str
    about: str
    date: str
    """When its sources were read."""
    sources: tuple[str, ...]
    leaves_out: str
    """What the product does and the replay does not."""
    semantic: dict[str, Any]
    """Keys of a policy."""

    @property
    def remark(self) -> str:
        """What a reader must know of figures made with it."""
        return f"{self.about}, as of {self.date}; left out: {self.leaves_out}"


@cache
def preset_names() -> list[str]:
    """Return the presets there are."""
    folder = resources.files(__package__).joinpath("presets")
    return sorted(
        f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")
    )


def find_preset(name: str) -> Preset:
    """Return the preset of that name. Raises `UsageError` where there is none."""
    if name not in preset_names():
        raise UsageError(
            f"{name} is no preset{did_you_mean(name, preset_names())}; "
            f"there are {', '.join(preset_names())}"
        )
    text = resources.files(__package__).joinpath("presets", f"{name}.toml").read_text("utf-8")
    document = tomllib.loads(text)
    return Preset(
        name=name,
        about=document["about"],
        date=document["date"],
        sources=tuple(document["sources"]),
        leaves_out=document["leaves_out"],
        semantic=document["semantic"],
    )
