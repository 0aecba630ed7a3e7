"""vLLM's text log with ``--enable-log-requests``: prompts and token ids at level DEBUG.

Up to two lines belong to a request: one with the prompt, then one with the parameters; older
versions write one line with both. Dates have no year, so times count from an arbitrary one.
Read from vllm/entrypoints/logger.py at 0.33.0 and 0.8.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from kvaudit.core.requests import Mark, Request
from kvaudit.core.summaries import Note
from kvaudit.logs.format import LINE, BadRecord, LogFormat, Row, Sureness
from kvaudit.logs.values import fields

# A text as Python's repr writes it, without backtracking: prompts are long.
_TEXT = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
_PROMPT = rf"prompt: (?P<prompt>None|{_TEXT}), "
_IDS = r"prompt_token_ids: (?P<ids>None|\[[\d, ]*\])"
_DETAILS = re.compile(rf"Request (?P<id>\S+) details: {_PROMPT}{_IDS}")
_RECEIVED = re.compile(
    rf"Received request (?P<id>\S+): (?:{_PROMPT})?params: (?P<params>.*?), "
    rf"(?:{_IDS}, )?(?:prompt_embeds shape: [^,]*, )?lora_request: (?P<lora>.*)"
)
_BEGINNINGS = ("Received request ", "Request ")
_DAY = re.compile(r"\b\d\d-\d\d \d\d:\d\d:\d\d\b")
_PARAMETERS = {
    "temperature": (re.compile(r"\btemperature=([-\d.e]+)"), fields.number),
    "top_p": (re.compile(r"\btop_p=([-\d.e]+)"), fields.number),
    "seed": (re.compile(r"\bseed=(-?\d+)"), fields.signed),
    "max_tokens": (re.compile(r"\bmax_tokens=(\d+)"), fields.integer),
}
_LORA_NAME = re.compile(r"lora_name='([^']*)'")

# Requests whose prompt was read and whose parameters may still come.
_WAITING = 256
_HALF_YEAR_S = 180 * 86_400.0
# A leap year, so that every date exists in it.
_YEAR = 2000


def _recognise(row: Row) -> Sureness:
    line = row.get(LINE)
    return Sureness.UNMISTAKABLE if isinstance(line, str) and _match(line) else Sureness.NO


def _match(line: str) -> re.Match[str] | None:
    """Return what the line says about a request, if it does."""
    for beginning, pattern in zip(_BEGINNINGS, (_RECEIVED, _DETAILS), strict=True):
        at = line.find(beginning)
        if at >= 0 and (found := pattern.match(line, at)):
            return found
    return None


class _Lines:
    """Joins the two lines of a request; holds at most `_WAITING` of them back."""

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []
        self._waiting: dict[str, dict[str, Any]] = {}
        self._last_s = 0.0
        self._years = 0

    def parse(self, row: Row) -> Iterable[Request]:
        line = row.get(LINE)
        if not isinstance(line, str):
            raise BadRecord("not a line of text")
        found = _match(line)
        if found is None and " details: prompt: " in line:
            raise BadRecord("a request's prompt that is not written as vLLM writes it")
        if found is None:
            self.skipped["line that is not about a request's prompt"] += 1
            return ()
        return self._prompt(found) if found.re is _DETAILS else self._parameters(found)

    def finish(self) -> Iterable[Request]:
        waiting, self._waiting = self._waiting, {}
        self.notes.append(
            Note(topic="time-unit", text="vLLM logs have no year; times count from year 2000")
        )
        return [Request(**found) for found in waiting.values()]

    def _prompt(self, line: re.Match[str]) -> Iterable[Request]:
        found = {"id": line["id"], "arrived_s": self._arrival(line), **_prompt_of(line)}
        self._waiting[line["id"]] = found
        if len(self._waiting) <= _WAITING:
            return ()
        return (Request(**self._waiting.pop(next(iter(self._waiting)))),)

    def _parameters(self, line: re.Match[str]) -> Iterable[Request]:
        found = self._waiting.pop(line["id"], None)
        if found is None:
            found = {"id": line["id"], "arrived_s": self._arrival(line), **_prompt_of(line)}
        if "prompt" not in found and "token_ids" not in found:
            self.skipped["request without a prompt, which vLLM logs at level DEBUG only"] += 1
            return ()
        for name, (pattern, read) in _PARAMETERS.items():
            if value := pattern.search(line["params"]):
                found[name] = read(value[1], name)
        if adapter := _LORA_NAME.search(line["lora"]):
            found["lora"] = adapter[1]
        return (Request(**found),)

    def _arrival(self, line: re.Match[str]) -> float | None:
        day = _DAY.search(line.string, 0, line.start())
        if day is None:
            return None
        try:
            moment = datetime.strptime(f"{_YEAR}-{day[0]}", "%Y-%m-%d %H:%M:%S")
        except ValueError:
            raise BadRecord(f"{day[0]} is not a date and time") from None
        seconds = moment.replace(tzinfo=UTC).timestamp() + self._years * 366 * 86_400
        if seconds < self._last_s - _HALF_YEAR_S:
            self._years += 1
            seconds += 366 * 86_400
        self._last_s = seconds
        return seconds


def _prompt_of(line: re.Match[str]) -> dict[str, Any]:
    prompt = line["prompt"]
    ids = line["ids"]
    found: dict[str, Any] = {}
    if prompt is not None and prompt != "None":
        try:
            found["prompt"] = str(ast.literal_eval(prompt))
            found["prompt"].encode()  # half a surrogate pair fails here
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise BadRecord("the prompt is not a Python text") from None
    if ids is not None and ids != "None":
        found["token_ids"] = fields.token_ids(ids, "prompt_token_ids")
        # --max-log-len N cuts both to N; text is never as long in tokens as in characters.
        if len(found["token_ids"]) == len(found.get("prompt", "")) > 1:
            found["marks"] = frozenset({Mark.TRUNCATED_PROMPT})
    return found


FORMAT = LogFormat(
    name="vllm-log",
    title="vLLM's text log with --enable-log-requests at level DEBUG",
    recognise=_recognise,
    parser=_Lines,
    reads_text=True,
)
