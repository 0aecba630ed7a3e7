"""All tools of an application from the first request of a conversation on, in one order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import orjson

from kvaudit.core.requests import Json, Request

_HEAD_CHARS = 200


class OneToolSet:
    """Sends every tool that requests with the same instructions ever had."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Read all requests once, for the tools they have."""
        self._tools: dict[str, dict[bytes, Json]] = {}
        for request in requests:
            if request.tools:
                known = self._tools.setdefault(_application(request), {})
                for tool in request.tools:
                    known.setdefault(orjson.dumps(tool, default=str), tool)

    def mend(self, request: Request) -> Request:
        """Return the request with all tools."""
        known = self._tools.get(_application(request))
        tools = [] if known is None else list(known.values())
        return request if tools == list(request.tools or ()) else replace(request, tools=tools)


def _application(request: Request) -> str:
    """Return what the instructions begin with, without what is filled in."""
    first = next(iter(request.messages or ()), None)
    content = "" if first is None or first.get("role") == "user" else first.get("content")
    return re.sub(r"[\W\d_]+", " ", str(content)[:_HEAD_CHARS])
