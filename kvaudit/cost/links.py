"""How fast the tiers of KV can be read, where the machine is not known."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import NamedTuple


class Link(NamedTuple):
    """What a tier hangs on."""

    title: str
    gb_s: float
    """10^9 bytes a second, one way, at most."""
    source: str
    """Where the figure is from, and when it was read."""


@cache
def links() -> dict[str, Link]:
    """Return the table by tier: ``dram``, ``disk``, ``remote``."""
    text = resources.files("kvaudit.cost").joinpath("links.toml").read_text("utf-8")
    return {
        entry["tier"]: Link(
            entry["title"], entry["gb_s"], f"{entry['source']}, read {entry['date']}"
        )
        for entry in tomllib.loads(text)["link"]
    }
