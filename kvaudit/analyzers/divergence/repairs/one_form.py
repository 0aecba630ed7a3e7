"""One spelling and one order for what is sent again and again: the one that was met first.

Equal things in other bytes have one key: JSON with sorted keys, an example without its number, text
without white space. Whatever has a key that was met before is sent as it was then.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from kvaudit.analyzers.divergence.examples import is_example, label_of
from kvaudit.analyzers.divergence.json_texts import (
    canonical,
    in_lines,
    json_texts,
    members,
    unordered,
)
from kvaudit.analyzers.divergence.spelling import squeezed
from kvaudit.core.requests import SYSTEM_ROLES, Json, Request

_LEAST_BLOCKS = 2
_HEAD_CHARS = 24
_CONVERSATIONS = 3
"""In which the same question has the same answer, for both to be an example."""


class OneToolOrder:
    """The same tools always in the same order; with ``keys``, their JSON in the same bytes too."""

    def __init__(self, *, keys: bool) -> None:
        """Start with nothing met."""
        self._keys = keys
        self._order: dict[str, int] = {}
        self._tools: dict[str, Json] = {}
        self._arguments: dict[str, str] = {}
        self._values: dict[str, str] = {}

    def mend(self, request: Request) -> Request:
        """Return the request with its tools in one form, and past calls' arguments too."""
        request = with_texts(request, self._in_text)
        if self._keys:
            tools = [self._tools.setdefault(canonical(t), t) for t in request.tools or ()]
            messages = [self._with_arguments(m) for m in request.messages or ()]
            return _changed(request, tools, messages)
        tools = list(request.tools or ())
        for tool in tools:
            self._order.setdefault(canonical(tool), len(self._order))
        tools.sort(key=lambda tool: self._order[canonical(tool)])
        return _changed(request, tools, list(request.messages or ()))

    def _in_text(self, text: str) -> str:
        """Return a text with the values it holds as they were met first."""
        pieces, at = [], 0
        for each in json_texts(text):
            own = text[each.start : each.end]
            met = (
                self._members(own)
                if in_lines(each, text)
                else self._values.setdefault(unordered(each.value), own)
            )
            pieces += [text[at : each.start], met]
            at = each.end
        return "".join([*pieces, text[at:]])

    def _members(self, text: str) -> str:
        """Return tools that follow one another in one form; their set may differ."""
        tools, between = members(text)
        keys = [canonical(json.loads(tool)) for tool in tools]
        if self._keys:
            pairs = zip(keys, tools, strict=True)
            return between.join(self._values.setdefault(key, tool) for key, tool in pairs)
        ranks = [self._order.setdefault(key, len(self._order)) for key in keys]
        return between.join(tool for _, tool in sorted(zip(ranks, tools, strict=True)))

    def _with_arguments(self, message: Json) -> Json:
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            return message
        mended = [self._call(call) for call in calls]
        return (
            message
            if mended == calls and _same_bytes(mended, calls)
            else {
                **message,
                "tool_calls": mended,
            }
        )

    def _call(self, call: Any) -> Any:
        inner = call.get("function") if isinstance(call, dict) else None
        if not isinstance(inner, dict) or not isinstance(inner.get("arguments"), str):
            return call
        text = inner["arguments"]
        try:
            key = canonical(json.loads(text))
        except (ValueError, RecursionError):
            return call
        return {**call, "function": {**inner, "arguments": self._arguments.setdefault(key, text)}}


class OneSpelling:
    """Lines of instructions that differ in white space or Unicode form only, in the shortest
    spelling that was met, with the fewest empty lines between them."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Read all requests once, for the spellings they have."""
        self._shortest: dict[int, str] = {}
        for request in requests:
            for text in instructions_of(request):
                for key, written in _pieces(text):
                    if len(written) < len(self._shortest.get(key, written + " ")):
                        self._shortest[key] = written

    def mend(self, request: Request) -> Request:
        """Return the request with all its instructions in one spelling."""
        return with_texts(request, self._spelled)

    def _spelled(self, text: str) -> str:
        return "".join(self._shortest.get(key, written) for key, written in _pieces(text))


_SPACE_BETWEEN = re.compile(r"(\s*\n\s*)")


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text's lines and what stands between two of them, each with what it has in common
    with other spellings of it."""
    pieces = _SPACE_BETWEEN.split(text)
    bare = [squeezed(piece) for piece in pieces[::2]]
    for n, piece in enumerate(pieces):
        if n % 2:
            yield hash((bare[n // 2], bare[n // 2 + 1])), piece
        else:
            yield hash(bare[n // 2]), piece


def instructions_of(request: Request) -> Iterator[str]:
    """Yield the texts of an application: a prompt, or the first message."""
    if request.prompt is not None:
        yield request.prompt
    for message in list(request.messages or ())[:1]:
        content = message.get("content")
        for part in content if isinstance(content, list) else [content]:
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str):
                yield text


class OneExampleOrder:
    """The same examples always in the same order, in a text or as turns."""

    def __init__(self, requests: Iterable[Request] = ()) -> None:
        """Read all requests once, for the turns that several conversations have."""
        self._rank: dict[str, int] = {}
        self._lines: dict[int, str] = {}
        self._turns: dict[str, int] = {}
        """Examples that are turns, by when they were met."""
        met: dict[str, set[str | None]] = {}
        for request in requests:
            for pair in _turns(request)[1]:
                where = met.setdefault(_key(pair), set())
                if len(where) < _CONVERSATIONS:
                    where.add(request.session or request.id)
        for key, where in met.items():
            if len(where) >= _CONVERSATIONS:
                self._turns[key] = len(self._turns)

    def mend(self, request: Request) -> Request:
        """Return the request with its examples in the order in which they were met first."""
        asks = request.messages is None
        request = with_texts(request, partial(self._ordered, asks=asks))
        first, pairs = _turns(request)
        count = next((n for n, pair in enumerate(pairs) if _key(pair) not in self._turns), None)
        known = list(pairs if count is None else pairs[:count])
        if len(known) < _LEAST_BLOCKS:
            return request
        messages = list(request.messages or ())
        known.sort(key=lambda pair: self._turns[_key(pair)])
        turns = [message for pair in known for message in pair]
        rest = messages[first + len(turns) :]
        return _changed(request, list(request.tools or ()), [*messages[:first], *turns, *rest])

    def _ordered(self, text: str, *, asks: bool) -> str:
        """Return a text with its examples in order; what it ``asks`` last is none of them."""
        blocks = text.split("\n\n")
        paragraphs = [_line_groups(block) for block in blocks]
        if asks:
            pieces, places = paragraphs.pop()
            paragraphs.append((pieces, places[:-1]))
        if any(len(places) >= _LEAST_BLOCKS for _, places in paragraphs):
            return "\n\n".join("\n".join(self._sorted(*each)) for each in paragraphs)
        places = [n for n in _examples(blocks) if not asks or n < len(blocks) - 1]
        if len(places) >= _LEAST_BLOCKS:
            return "\n\n".join(self._sorted(blocks, places))
        return self._lines.setdefault(hash(tuple(sorted(text.split("\n")))), text)

    def _sorted(self, blocks: Sequence[str], places: Sequence[int]) -> list[str]:
        """Return blocks with those at some places in the order in which they were met first."""
        for place in places:
            self._rank.setdefault(_body(blocks[place]), len(self._rank))
        ordered = sorted((blocks[p] for p in places), key=lambda block: self._rank[_body(block)])
        mended = list(blocks)
        for place, block in zip(places, ordered, strict=True):
            mended[place] = _head(blocks[place]) + _body(block)
        return mended


def _line_groups(paragraph: str) -> tuple[list[str], list[int]]:
    """Return a paragraph's lines in groups, and which of these are examples.

    An example begins where the label of the first one comes again: ``Question: ...``.
    """
    lines = paragraph.split("\n")
    labels = [label_of(line) for line in lines]
    often = Counter(labels)
    first = next((label for label in labels if label and often[label] >= _LEAST_BLOCKS), None)
    starts = [n for n, label in enumerate(labels) if label == first]
    if first is None:
        return [paragraph], []
    groups = ["\n".join(lines[a:b]) for a, b in pairwise(sorted({0, *starts, len(lines)}))]
    return groups, list(range(len(groups) - len(starts), len(groups)))


def _examples(blocks: Sequence[str]) -> list[int]:
    """Return the places of a text's examples: they say so, or have a label in common."""
    labels = [label_of(_body(block)) for block in blocks]
    often = Counter(labels)
    return [
        n
        for n, block in enumerate(blocks)
        if is_example(block) or (labels[n] and often[labels[n]] >= _LEAST_BLOCKS)
    ]


def _turns(request: Request) -> tuple[int, list[tuple[Json, Json]]]:
    """Return how many messages are instructions, and the pairs of turns between them and the
    newest message."""
    messages = list(request.messages or ())
    first = 1 if messages and messages[0].get("role") in SYSTEM_ROLES else 0
    turns = messages[first:-1]
    return first, list(zip(turns[::2], turns[1::2], strict=False))


def _key(pair: tuple[Json, Json]) -> str:
    return "\x00".join(map(canonical, pair))


def _head(block: str) -> str:
    """Return the first line of an example where that only counts: it stays at its place."""
    line, newline, _ = block.partition("\n")
    counts = len(line) <= _HEAD_CHARS and any(c.isdigit() for c in line)
    return line + newline if counts and newline else ""


def _body(block: str) -> str:
    return block[len(_head(block)) :]


def with_texts(request: Request, mended: Callable[[str], str]) -> Request:
    """Return the request with every text of its messages, or its prompt, mended."""
    if request.messages is None:
        return (
            request if request.prompt is None else replace(request, prompt=mended(request.prompt))
        )
    messages = [_with_content(message, mended) for message in request.messages]
    return _changed(request, list(request.tools or ()), messages)


def _with_content(message: Json, mended: Callable[[str], str]) -> Json:
    content = message.get("content")
    if isinstance(content, str):
        text = mended(content)
        return message if text == content else {**message, "content": text}
    if not isinstance(content, list):
        return message
    parts = [
        {**part, "text": mended(part["text"])}
        if isinstance(part, dict) and isinstance(part.get("text"), str)
        else part
        for part in content
    ]
    return message if parts == content else {**message, "content": parts}


def _changed(request: Request, tools: list[Json], messages: list[Json]) -> Request:
    """Return the request with other parts, or itself where they are the same bytes."""
    same_tools = _same_bytes(tools, list(request.tools or ()))
    same_messages = _same_bytes(messages, list(request.messages or ()))
    if same_tools and same_messages:
        return request
    return replace(
        request,
        tools=request.tools if same_tools else tools,
        messages=request.messages if same_messages else messages,
    )


def _same_bytes(one: list[Any], other: list[Any]) -> bool:
    return all(a is b or json.dumps(a) == json.dumps(b) for a, b in zip(one, other, strict=True))
