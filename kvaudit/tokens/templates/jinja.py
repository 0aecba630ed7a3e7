"""A Jinja chat template from a file, or that of a Hugging Face model folder.

The rendered text is split at the control tokens of the vocabulary and the template, so the
memo stays exact. Media become one unit where their part of the content stands; the control
tokens that a template itself writes around a picture are not rendered. A file alone does not
say what ``bos_token`` is: if it asks for it, the vocabulary's own stands in front.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from kvaudit.core.errors import UsageError
from kvaudit.core.requests import Json, Request
from kvaudit.tokens.pieces import Media, Piece, Special, TemplateRefused, merge_text
from kvaudit.tokens.templates.content import content_parts, content_pieces, reasoning_of, tool_calls
from kvaudit.tokens.templates.files import DEFAULT, WITH_TOOLS, TemplateFiles, read_template_files
from kvaudit.tokens.templates.media import media_of

FIXED_NOW = datetime(2024, 7, 26)
"""What ``strftime_now`` shows: the day that Llama 3's templates name when there is no clock."""
# Spellings of control tokens that templates write literally.
_LITERAL_TOKEN = re.compile(r"<\|[^|<>\s]{1,40}\|>|<(?:start|end)_of_\w{1,20}>|\[/?INST\]")
# Media on their way through a template, between characters that Unicode keeps out of text.
_MEDIA_MARK = re.compile("\ufdd0(\\d+)\ufdd1")


class JinjaTemplate:
    """Chat templates as transformers renders them."""

    renders_whole = True

    def __init__(self, name: str, files: TemplateFiles, *, now: datetime = FIXED_NOW) -> None:
        """Compile all templates of ``files``; raises `UsageError` where one is no Jinja."""
        self.name = name
        text = "".join(files.sources.values())
        self.control_tokens = (
            files.added_tokens | {*files.named_tokens.values()} | {*_LITERAL_TOKEN.findall(text)}
        )
        eos = files.named_tokens.get("eos_token")
        self.end_of_turn = None if eos is None else Special(eos)
        self.adds_bos = "bos_token" in text and "bos_token" not in files.named_tokens
        self.clock_dependent = "strftime_now" in text
        self._named_tokens = files.named_tokens
        self._templates = {
            key: _compile(source, f"{name} ({key})", now) for key, source in files.sources.items()
        }

    def render(self, request: Request) -> list[Piece]:
        """Pieces of the prompt with the head of the answer (``add_generation_prompt``)."""
        shown: list[Media] = []
        wanted = WITH_TOOLS if request.tools and WITH_TOOLS in self._templates else DEFAULT
        template = self._templates[wanted]
        media = media_of(request)
        messages = [_as_vllm(m, media, shown, template.takes_parts) for m in request.messages or ()]
        variables = {
            **self._named_tokens,
            "messages": messages,
            "tools": list(request.tools) if request.tools else None,
            "documents": None,
            "add_generation_prompt": True,
        }
        return _without_marks(template.text(variables), shown)


@dataclass(frozen=True, slots=True)
class _Compiled:
    render: Callable[[Mapping[str, Any]], str]
    takes_parts: bool

    def text(self, variables: Mapping[str, Any]) -> str:
        from jinja2 import TemplateError

        try:
            return self.render(variables)
        except (TemplateError, TypeError, ValueError, KeyError, OverflowError) as error:
            first_line = str(error).partition("\n")[0]
            raise TemplateRefused(first_line[:200] or type(error).__name__) from error


def _compile(source: str, name: str, now: datetime) -> _Compiled:
    from jinja2 import TemplateSyntaxError

    from kvaudit.tokens.jinja_sandbox import compile_template, takes_parts

    try:
        return _Compiled(compile_template(source, now=now), takes_parts(source))
    except TemplateSyntaxError as error:
        raise UsageError(f"chat template {name}, line {error.lineno}: {error.message}") from None


def _as_vllm(message: Json, media: Iterator[Media], shown: list[Media], takes_parts: bool) -> Json:
    """The message as vLLM hands it to a template: content in its form, arguments parsed."""
    content: Any
    if takes_parts:
        parts = content_parts(message.get("content"), media)
        content = [{"type": "text", "text": _marked(part, shown)} for part in parts]
    else:
        content = _marked(content_pieces(message.get("content"), media), shown)
    prepared = {key: value for key, value in message.items() if value is not None}
    prepared["content"] = content
    if (reasoning := reasoning_of(message)) is not None:
        prepared = {"thinking": reasoning, **prepared, "reasoning_content": reasoning}
    if calls := tool_calls(message):
        prepared["tool_calls"] = [{"type": "function", "function": call} for call in calls]
    else:
        prepared.pop("tool_calls", None)
    return prepared


def _marked(pieces: Sequence[Piece], shown: list[Media]) -> str:
    texts = []
    for piece in pieces:
        if isinstance(piece, Media):
            texts.append(f"\ufdd0{len(shown)}\ufdd1")
            shown.append(piece)
        elif isinstance(piece, str):
            texts.append(piece)
    return "".join(texts)


def _without_marks(text: str, shown: Sequence[Media]) -> list[Piece]:
    pieces: list[Piece] = []
    for place, part in enumerate(_MEDIA_MARK.split(text)):
        if place % 2 == 0:
            pieces.append(part)
        elif int(part) < len(shown):
            pieces.append(shown[int(part)])
    return merge_text(pieces)


def load(path: Path, *, now: datetime = FIXED_NOW) -> JinjaTemplate:
    """The template of a Jinja file or a model folder."""
    return JinjaTemplate(path.name, read_template_files(path), now=now)
