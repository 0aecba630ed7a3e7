"""Blocks: every tool, system text and content part on its own, in the order providers cache.

No provider publishes its template, and none is needed to say what two prompts share: their
caches speak of content blocks, tools first, then the system text, then the messages. Each block
ends in a control token, so where a block ends is known in tokens, and a marker moves no text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from kvaudit.core.prompts import Mark, Section
from kvaudit.core.requests import SYSTEM_ROLES, Json, Request
from kvaudit.tokens.pieces import Media, Piece, Special, merge_text
from kvaudit.tokens.templates.content import content_parts, role_of, to_json
from kvaudit.tokens.templates.media import media_of

END = Special("<|block|>")
MARKERS = ("cache_control", "cachePoint", "prompt_cache_breakpoint")
"""Names of markers: Anthropic's, that of Bedrock's Converse, OpenAI's since GPT-5.6."""
_RESULTS = ("tool", "function")


@dataclass(slots=True)
class Block:
    """One block of a request; ``joined`` if it goes on with a run of tool results."""

    section: Section
    pieces: list[Piece]
    role: str
    joined: bool = False
    ends_message: bool = False
    mark: tuple[str, str] | None = None
    """The marker's name and its ttl as written, empty where none is."""


class Shape(NamedTuple):
    """The blocks of a request without their text."""

    blocks: Sequence[Block]
    marks: Sequence[Mark]


class Blocks:
    """A chat template that keeps blocks apart."""

    control_tokens: frozenset[str] = frozenset((END.text,))
    end_of_turn: Special | None = END
    adds_bos = False
    renders_whole = False
    clock_dependent = False

    def __init__(self, name: str, *, tools_first: bool = True) -> None:
        """Put the tools before the system text, or behind it."""
        self.name = name
        self._tools_first = tools_first

    def render(self, request: Request) -> list[Piece]:
        """Pieces of the prompt, ending in the head of the assistant's message."""
        pieces: list[Piece] = []
        for block in self._blocks(request):
            pieces += (*merge_text(block.pieces), END)
        pieces.append("assistant\n")
        return pieces

    def shape(self, request: Request) -> Shape:
        """The blocks that `render` writes, in that order, and which of them are marked."""
        blocks = self._blocks(request)
        marks = [Mark(n, *block.mark) for n, block in enumerate(blocks) if block.mark is not None]
        return Shape(blocks, marks)

    def _blocks(self, request: Request) -> list[Block]:
        media = media_of(request)
        messages = list(request.messages or ())
        head = next(
            (n for n, m in enumerate(messages) if role_of(m) not in SYSTEM_ROLES), len(messages)
        )
        tools = list(_tool_blocks(request.tools or ()))
        system = [b for m in messages[:head] for b in _message(m, Section.SYSTEM, media)]
        rest = [b for m in messages[head:] for b in _message(m, Section.MESSAGES, media)]
        _join_results(rest)
        return [*tools, *system, *rest] if self._tools_first else [*system, *tools, *rest]


def _tool_blocks(tools: Sequence[Json]) -> Iterator[Block]:
    before: Block | None = None
    for tool in tools:
        mark = _mark(tool) or _mark(tool.get("function"))
        if _is_point(tool):
            if before is not None:
                before.mark = mark
            continue
        before = Block(Section.TOOLS, [to_json(_unmarked(tool))], "tools", mark=mark)
        yield before


def _message(message: Json, section: Section, media: Iterator[Media]) -> list[Block]:
    role = role_of(message)
    content = message.get("content")
    blocks: list[Block] = []
    for part in content if isinstance(content, list) else [content]:
        if part is None:
            continue
        mark = _mark(part)
        if _is_point(part):
            if blocks:
                blocks[-1].mark = mark
            continue
        pieces = [piece for run in content_parts([_unmarked(part)], media) for piece in run]
        result = isinstance(part, dict) and part.get("type") == "tool_result"
        own_role = "tool" if result or "toolResult" in _keys(part) else role
        blocks.append(Block(section, pieces, own_role, mark=mark))
    calls = message.get("tool_calls")
    blocks += [
        Block(section, [to_json(call)], role)
        for call in (calls if isinstance(calls, list | tuple) else ())
    ]
    if not blocks:
        blocks.append(Block(section, [], role))
    blocks[0].pieces.insert(0, f"{role}\n")
    blocks[-1].ends_message = True
    blocks[-1].mark = blocks[-1].mark or _mark(message)
    return blocks


def _join_results(blocks: Sequence[Block]) -> None:
    for before, block in pairwise(blocks):
        block.joined = before.role in _RESULTS and block.role in _RESULTS


def _keys(part: Any) -> Any:
    return part.keys() if isinstance(part, dict) else ()


def _is_point(part: Any) -> bool:
    """Whether a part is a marker and nothing else, as in Converse."""
    return isinstance(part, dict) and part.keys() == {"cachePoint"}


def _mark(part: Any) -> tuple[str, str] | None:
    if not isinstance(part, dict):
        return None
    for name in MARKERS:
        given = part.get(name)
        if given is not None:
            ttl = given.get("ttl") if isinstance(given, dict) else None
            return name, ttl if isinstance(ttl, str) else ""
    if part.get("type") == "tool_result" and isinstance(part.get("content"), list):
        return next((mark for inner in part["content"] if (mark := _mark(inner))), None)
    return None


def _unmarked(part: Any) -> Any:
    if isinstance(part, dict) and not part.keys().isdisjoint(MARKERS):
        part = {key: value for key, value in part.items() if key not in MARKERS}
    if isinstance(part, dict) and isinstance(part.get("function"), dict):
        part = {**part, "function": _unmarked(part["function"])}
    return part


TEMPLATE = Blocks("blocks")
