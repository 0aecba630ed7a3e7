"""What a chat template must do, and which one a name means."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Protocol, cast

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.requests import Request
from kvaudit.tokens import templates
from kvaudit.tokens.pieces import Piece, Special


class ChatTemplate(Protocol):
    """Renders messages and tools to the prompt that the model reads.

    ``control_tokens`` are those it writes, ``end_of_turn`` the one that closes an answer.
    ``adds_bos`` says that the vocabulary's first token stands in front as with a raw prompt,
    ``renders_whole`` that texts come with control tokens still spelled in them, and
    ``clock_dependent`` that the prompt holds the current date or time.
    """

    name: str
    control_tokens: frozenset[str]
    end_of_turn: Special | None
    adds_bos: bool
    renders_whole: bool
    clock_dependent: bool

    def render(self, request: Request) -> list[Piece]:
        """Pieces of the prompt, ready for the answer; no two texts stand side by side.

        Raises `TemplateRefused` for messages that a server would answer with an error.
        """
        ...


def template_names() -> list[str]:
    """Built-in templates: the modules of this folder that define ``TEMPLATE``."""
    names = (module.name for module in iter_modules(templates.__path__))
    return sorted(name for name in names if hasattr(_module(name), "TEMPLATE"))


def load_template(spec: str) -> ChatTemplate:
    """Load a built-in template by name, a Jinja file, or the template of a model folder.

    Raises `UsageError` where there is none.
    """
    names = template_names()
    if spec in names:
        return cast(ChatTemplate, _module(spec).TEMPLATE)
    if Path(spec).exists():
        from kvaudit.tokens.templates.jinja import load

        return load(Path(spec))
    raise UsageError(
        f"chat template {spec!r} is neither built in nor a file or folder"
        f"{did_you_mean(spec, names)}"
    )


def _module(name: str) -> ModuleType:
    return import_module(f"{templates.__name__}.{name}")
