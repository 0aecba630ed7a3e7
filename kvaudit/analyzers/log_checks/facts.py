"""What the checks of a log need of every request, collected while it is read.

Grows by about 100 bytes a request and 17 a message. Texts are kept as 64-bit hashes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from kvaudit.core.requests import Request

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
UNKNOWN = -1
_COUNTERS = ("prompt_tokens", "cached_tokens", "output_tokens")
_ANSWERED = ("assistant", "model", "ai", "gpt")


class Seen:
    """The requests of a log, each noted as it passes; reading again starts over."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Take the log; iterating over this reads it."""
        self._requests = requests
        self._start()

    def _start(self) -> None:
        self._counts = {name: array("q") for name in (*_COUNTERS, "written")}
        self._times = {name: array("d") for name in ("arrived_s", "ttft_s")}
        self._hashes = {name: array("q") for name in ("id", "session", "text", "row", "response")}
        self._chain, self._content, self._ends = array("q"), array("q"), array("q", [0])
        self._answer = array("b")

    def __iter__(self) -> Iterator[Request]:
        """Read the log from its beginning."""
        self._start()
        for request in self._requests:
            self._see(request)
            yield request

    def _see(self, request: Request) -> None:
        for name in _COUNTERS:
            value = getattr(request, name)
            self._counts[name].append(UNKNOWN if value is None else value)
        written = (request.cache_write_5m_tokens, request.cache_write_1h_tokens)
        known = [count for count in written if count is not None]
        self._counts["written"].append(sum(known) if known else UNKNOWN)
        for name, times in self._times.items():
            value = getattr(request, name)
            times.append(np.nan if value is None else value)
        for name in ("id", "session", "response"):
            value = getattr(request, name)
            self._hashes[name].append(0 if value is None else hash(value))
        text = self._follow(request)
        self._hashes["text"].append(text)
        same = (request.arrived_s, request.finished_s, request.session, request.response)
        is_told = request.arrived_s is not None and same[1:] != (None, request.session, None)
        self._hashes["row"].append(hash((text, *same)) if text and is_told else 0)

    def _follow(self, request: Request) -> int:
        """Note the history; return a hash of all that was sent, 0 where that is not known."""
        chain = 0
        for message in request.messages or ():
            content = message.get("content")
            content_hash = hash(content) if isinstance(content, str) else _json_hash(content)
            calls = message.get("tool_calls")
            calls_hash = _json_hash(calls) if calls else 0
            chain = hash((chain, message.get("role"), content_hash, calls_hash))
            self._content.append(content_hash if content else 0)
            self._chain.append(chain)
            self._answer.append(str(message.get("role", "")).lower() in _ANSWERED)
        self._ends.append(len(self._chain))
        if request.messages is not None:
            return hash((chain, _json_hash(request.tools)))
        if request.prompt is not None:
            return hash(request.prompt)
        for ids in (request.token_ids, request.block_ids):
            if ids is not None:
                # kvaudit: ignore[builtin-hash] it ends with the run, and no answer is served by it
                return hash(np.asarray(ids).tobytes())
        return 0

    def facts(self) -> LogFacts:
        """Return what was noted, complete once the log has been read."""
        columns: dict[str, Any] = {
            name: np.array(values, np.int64) for name, values in self._counts.items()
        }
        columns |= {name: np.array(values, np.float64) for name, values in self._times.items()}
        columns |= {name: np.array(values, np.int64) for name, values in self._hashes.items()}
        return LogFacts(
            **columns,
            chain=np.array(self._chain, np.int64),
            content=np.array(self._content, np.int64),
            answer=np.array(self._answer, np.bool_),
            ends=np.array(self._ends, np.int64),
        )


def _json_hash(value: Any) -> int:
    try:
        return hash(orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=list))
    except TypeError:  # half of a surrogate pair, or a number beyond 64 bits
        return hash(repr(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """Columns over the requests in file order; counts that are not known are `UNKNOWN`."""

    prompt_tokens: Ints
    """By the log's own counter."""
    cached_tokens: Ints
    output_tokens: Ints
    written: Ints
    """Tokens that the log says were written to a cache."""
    arrived_s: Floats
    ttft_s: Floats
    id: Ints
    session: Ints
    """0 for none, here and below."""
    response: Ints
    text: Ints
    """Hash of all that was sent."""
    row: Ints
    """Hash of that, the times, the session and the answer; 0 where too little of it is logged."""
    chain: Ints
    """Hash of the history up to each message of each request."""
    content: Ints
    """Hash of each message's own content; 0 where it has none."""
    answer: NDArray[np.bool_]
    """Whether a message is the model's."""
    ends: Ints
    """Where each request's messages end in ``chain``."""

    def __len__(self) -> int:
        """Return how many requests there are."""
        return len(self.prompt_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Modelled:
    """What a replay says of the same log, for the checks that hold one against the other."""

    counted: Ints
    """Prompt tokens by the tokenizer of the replay, by number in the log; `UNKNOWN` where the
    request was not replayed."""
    hit_rate: float | None
    """The least that the modelled cache can have hit."""
    possible_rate: float | None
    """The most that any cache could have."""
    hits: Ints
    """Hit tokens in the modelled cache, by number in the log; 0 where it was not replayed."""
    bounded: bool
    """Whether the modelled cache must evict."""
