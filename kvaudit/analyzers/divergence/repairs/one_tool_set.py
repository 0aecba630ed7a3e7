"""All tools of an application from the first request of a conversation on.

They come in the order in which they are sent, with those that are missing where other requests have
them. A request that has its tools in an order of its own keeps it: that is another fault.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import orjson

from kvaudit.analyzers.divergence.json_texts import (
    JsonText,
    canonical,
    in_lines,
    is_tools,
    json_texts,
    members,
)
from kvaudit.analyzers.divergence.repairs.applications import Applications
from kvaudit.analyzers.divergence.repairs.one_form import instructions_of, with_texts
from kvaudit.core.requests import Json, Request

_HEAD_CHARS = 200
_ALIKE = 0.5


class _Known:
    """The tools of one application."""

    def __init__(self) -> None:
        self._tools: dict[str, Json] = {}
        """As they were met first, by what their JSON has in any order of its keys."""
        self._lists: Counter[tuple[str, ...]] = Counter()
        self._keys: dict[bytes, str] = {}
        self._order: list[str] = []

    def add(self, tools: Sequence[Json]) -> None:
        """Note a list that was sent."""
        keys = self._keys_of(tools)
        self._lists[tuple(keys)] += 1
        for key, tool in zip(keys, tools, strict=True):
            self._tools.setdefault(key, tool)

    def is_of(self, tools: Sequence[Json]) -> bool:
        """Whether a list has tools in common with these: half of the shorter one."""
        common = sum(key in self._tools for key in self._keys_of(tools))
        return common >= _ALIKE * min(len(tools), len(self._tools))

    def all_with(self, tools: Sequence[Json]) -> list[Json]:
        """Return all tools, those of a request as they are."""
        own = dict(zip(self._keys_of(tools), tools, strict=True))
        order = self._in_order()
        if [key for key in order if key in own] != list(own):
            order = [*own, *(key for key in order if key not in own)]
        return [own.get(key, self._tools[key]) for key in order]

    def _keys_of(self, tools: Sequence[Json]) -> list[str]:
        bare = [orjson.dumps(tool, default=str) for tool in tools]
        for each, tool in zip(bare, tools, strict=True):
            if each not in self._keys:
                self._keys[each] = canonical(tool)
        return [self._keys[each] for each in bare]

    def _in_order(self) -> list[str]:
        """Return all tools in the order in which most lists have them."""
        if not self._order:
            for keys, _ in self._lists.most_common():
                at = 0
                for key in keys:
                    if key in self._order:
                        at = self._order.index(key) + 1
                    else:
                        self._order.insert(at, key)
                        at += 1
        return self._order


class OneToolSet:
    """Sends every tool that requests of the same application ever had."""

    def __init__(self, requests: Callable[[], Iterable[Request]]) -> None:
        """Read all requests, for the tools they have."""
        self._applications = Applications(requests())
        self._known: dict[int, list[_Known]] = {}
        self._in_texts: dict[str, _Known] = {}
        self._longest: dict[str, str] = {}
        """The text that holds most of them, as it is spelled."""
        for request in requests():
            for text in instructions_of(request):
                self._read(text)
            if request.tools:
                self._tools_of(request).add(request.tools)

    def mend(self, request: Request) -> Request:
        """Return the request with all tools, where its text lists them too."""
        request = with_texts(request, self._in_text)
        sent = list(request.tools or ())
        tools = self._tools_of(request).all_with(sent) if sent else []
        return request if tools == sent else replace(request, tools=tools)

    def _tools_of(self, request: Request) -> _Known:
        known = self._known.setdefault(self._applications.of(request), [])
        found = next((each for each in known if each.is_of(request.tools or ())), None)
        if found is None:
            found = _Known()
            known.append(found)
        return found

    def _read(self, text: str) -> None:
        """Note the tools that a text lists."""
        for each in json_texts(text):
            if is_tools(each.value):
                key, own = _around(text, each), text[each.start : each.end]
                self._in_texts.setdefault(key, _Known()).add(each.value)
                self._longest[key] = max(self._longest.get(key, ""), own, key=len)

    def _in_text(self, text: str) -> str:
        """Return a text with all tools wherever it lists some."""
        pieces, at = [], 0
        for each in json_texts(text):
            key = _around(text, each)
            known = self._in_texts.get(key) if is_tools(each.value) else None
            if known is not None:
                own = _spelled(known.all_with(each.value), each, text, self._longest[key])
                pieces += [text[at : each.start], own]
                at = each.end
        return "".join([*pieces, text[at:]])


def _spelled(tools: list[Json], sent: JsonText, text: str, longest: str) -> str:
    """Return tools as a text: one that was sent, if it has them all in their order."""
    if tools == sent.value:
        return text[sent.start : sent.end]
    if in_lines(sent, text):
        own, between = members(text[sent.start : sent.end])
        spelled = {canonical(json.loads(each)): each for each in (*members(longest)[0], *own)}
        return between.join(
            spelled.get(canonical(tool)) or json.dumps(tool, ensure_ascii=False) for tool in tools
        )
    if tools == json.loads(longest):
        return longest
    indent = len(longest.partition("{")[0].rpartition("\n")[2]) if "\n" in longest else None
    return json.dumps(tools, ensure_ascii=False, indent=indent)


def _around(text: str, tools: JsonText) -> str:
    """Return the text in front of a list, without what is filled in; else the one behind it.

    Behind the tools of a prompt that is one text stands what is asked.
    """
    front, behind = text[: tools.start][-_HEAD_CHARS:], text[tools.end :][:_HEAD_CHARS]
    return re.sub(r"[\W\d_]+", " ", front if front.strip() else behind)
