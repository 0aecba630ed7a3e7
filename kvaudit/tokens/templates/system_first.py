"""The blocks of `kvaudit.tokens.templates.blocks` with the tools behind the system text."""

from __future__ import annotations

from kvaudit.tokens.templates.blocks import Blocks

TEMPLATE = Blocks("system_first", tools_first=False)
