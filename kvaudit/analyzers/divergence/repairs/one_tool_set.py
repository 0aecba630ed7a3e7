"""All tools of an application from the first request of a conversation on, in one order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson

from kvaudit.analyzers.divergence.json_texts import JsonText, canonical, is_tools, json_texts
from kvaudit.analyzers.divergence.repairs.one_form import instructions_of, with_texts
from kvaudit.core.requests import Json, Request

_HEAD_CHARS = 200


class OneToolSet:
    """Sends every tool that requests with the same instructions ever had."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Read all requests once, for the tools they have."""
        self._tools: dict[str, dict[bytes, Json]] = {}
        self._in_texts: dict[str, dict[str, Any]] = {}
        self._longest: dict[str, str] = {}
        """The text that holds most of them, as it is spelled."""
        for request in requests:
            for text in instructions_of(request):
                self._read(text)
            if request.tools:
                known = self._tools.setdefault(_application(request), {})
                for tool in request.tools:
                    known.setdefault(orjson.dumps(tool, default=str), tool)

    def mend(self, request: Request) -> Request:
        """Return the request with all tools, where its text lists them too."""
        request = with_texts(request, self._in_text)
        known = self._tools.get(_application(request))
        tools = [] if known is None else list(known.values())
        return request if tools == list(request.tools or ()) else replace(request, tools=tools)

    def _read(self, text: str) -> None:
        """Note the tools that a text lists."""
        for each in json_texts(text):
            if is_tools(each.value):
                key, own = _around(text, each), text[each.start : each.end]
                known = self._in_texts.setdefault(key, {})
                for tool in each.value:
                    known.setdefault(canonical(tool), tool)
                self._longest[key] = max(self._longest.get(key, ""), own, key=len)

    def _in_text(self, text: str) -> str:
        """Return a text with all tools wherever it lists some."""
        pieces, at = [], 0
        for each in json_texts(text):
            known = self._in_texts.get(_around(text, each)) if is_tools(each.value) else None
            if known is not None:
                pieces += [text[at : each.start], self._list_of(known, _around(text, each))]
                at = each.end
        return "".join([*pieces, text[at:]])

    def _list_of(self, known: dict[str, Any], key: str) -> str:
        """Return all tools as a text: one that was sent, if it has them all."""
        longest = self._longest[key]
        if len(json.loads(longest)) >= len(known):
            return longest
        indent = len(longest.partition("{")[0].rpartition("\n")[2]) if "\n" in longest else None
        return json.dumps(list(known.values()), ensure_ascii=False, indent=indent)


def _around(text: str, tools: JsonText) -> str:
    """Return the text around a list, without what is filled in."""
    ends = text[: tools.start][-_HEAD_CHARS:], text[tools.end :][:_HEAD_CHARS]
    return re.sub(r"[\W\d_]+", " ", "|".join(ends))


def _application(request: Request) -> str:
    """Return what the instructions begin with, without what is filled in."""
    first = next(iter(request.messages or ()), None)
    content = "" if first is None or first.get("role") == "user" else first.get("content")
    return re.sub(r"[\W\d_]+", " ", str(content)[:_HEAD_CHARS])
