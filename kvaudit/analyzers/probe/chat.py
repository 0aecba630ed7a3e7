"""Chat templates under test: does a longer conversation begin with the shorter one?

A request is what ``add_generation_prompt`` renders. Without what that adds, it must be the
beginning of the next request's text; and what it adds must be printed again, before the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from typing import Any

from kvaudit.analyzers.probe import conversations as talk
from kvaudit.analyzers.probe.conversations import Case, Message
from kvaudit.analyzers.probe.sandbox import REFUSALS, Trace, TracedTemplate

MAX_SOURCE = 200_000
"""Characters of a template that is still compiled; the longest known has a quarter of them."""
NOW = datetime(2024, 7, 26, 9, 30)
"""A clock that stands still, since here only the conversation may change the text."""

_REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")
_SWITCHES: Mapping[str, Sequence[Any]] = {
    "enable_thinking": (True, False),
    "thinking": (True, False),
    "think": (True, False),
    "reasoning_effort": ("low", "high"),
    "effort": ("low", "high"),
    "thinking_budget": (512, 4096),
    "language": ("English", "German"),
}
_UNTHOUGHT = re.compile(r"<(think\w*|reasoning)>\s*</\1>\s*$")
"""A prompt for the answer that ends so leaves the model no room to think."""
_HEAD_SHARE = 0.25
"""Two values of a switch that share less of a text than this stand at its head."""


class NotProbed(Exception):
    """A template that the conversations cannot be rendered with; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A place of a template that keeps a prefix from being shared."""

    kind: str
    """A word of the vocabulary of observations."""
    offset: int
    """Where in the template the tag begins that printed the first different byte."""
    detail: str
    graver: bool = False


def probe(source: str, named_tokens: Mapping[str, str]) -> list[Break]:
    """Return the breaks of a chat template, one of a kind; raises `NotProbed`."""
    found: dict[str, Break] = {}
    for seen in _Probe(source, named_tokens).breaks():
        known = found.get(seen.kind)
        if known is None or (seen.graver and not known.graver):
            found[seen.kind] = seen
    return list(found.values())


@dataclass(slots=True)
class _Probe:
    source: str
    named_tokens: Mapping[str, str]
    template: TracedTemplate = field(init=False)
    in_parts: bool = field(init=False, default=False)
    only_with_tools: bool = field(init=False, default=False)
    """The template is for requests with tools, and expects some."""

    def __post_init__(self) -> None:
        if len(self.source) > MAX_SOURCE:
            raise NotProbed(f"it has more than {MAX_SOURCE} characters")
        try:
            self.template = TracedTemplate(self.source, NOW)
        except REFUSALS as error:
            raise NotProbed(_first_line(error)) from None
        except (SyntaxError, MemoryError):
            raise NotProbed("it is nested too deeply") from None
        self._find_shape()

    def _find_shape(self) -> None:
        """Find what form of request is rendered; raises `NotProbed` if none is."""
        error: BaseException | None = None
        for self.only_with_tools, self.in_parts in product((False, True), repeat=2):
            try:
                text = self._render([talk.user(0)], {}, prompt=True).text
            except REFUSALS as refusal:
                error = error or refusal
                continue
            if talk.FIRST_QUESTION in text:
                return
        if error is not None:
            raise NotProbed(_first_line(error))
        raise NotProbed("it does not print the messages that it is given")

    def breaks(self) -> Iterator[Break]:
        """Yield what every conversation shows."""
        for case in talk.plain_cases():
            yield from self._compared(case, {})
        for field_name in self._reasoning_fields():
            for case in talk.reasoning_cases(field_name):
                yield from self._compared(case, {})
                yield from self._unprinted(case)
        for name, values in _SWITCHES.items():
            if name in self.template.names:
                for value in values:
                    yield from self._compared(next(talk.plain_cases()), {name: value})
                yield from self._at_head(name, values)

    def _reasoning_fields(self) -> list[str]:
        fields = [name for name in _REASONING_FIELDS if _field(name).search(self.source)]
        return [*fields, "content"] if "</think>" in self.source else fields

    def _compared(self, case: Case, switches: Mapping[str, Any]) -> Iterator[Break]:
        try:
            closed = self._render(case.before, switches, tools=case.tools)
            asked = self._render(case.before, switches, tools=case.tools, prompt=True)
            longer = self._render(case.after, switches, tools=case.tools)
        except REFUSALS:
            return  # a conversation that the template refuses is none that it breaks
        # What stands behind an unfinished conversation only, such as an end of text, is not
        # part of any request.
        kept = shared_length(closed.text, asked.text)
        shared = shared_length(asked.text[:kept], longer.text)
        if shared < kept:
            yield self._classified(case, asked, longer, shared, kept)
        elif case.answered:
            yield from self._head_of_answer(case, asked, longer, kept, switches)

    def _classified(self, case: Case, asked: Trace, longer: Trace, at: int, kept: int) -> Break:
        tools = asked.text.find(talk.TOOL_TEXT, at, kept)
        late = longer.text.find(talk.LATE_SYSTEM)
        gone = [r for r in talk.REASONS if r in asked.text[at:kept] and r not in longer.text]
        if tools >= 0 and longer.text.find(talk.TOOL_TEXT) != tools:
            return Break(
                kind="tools-follow-last-user",
                offset=asked.offset_of(tools),
                detail="the definitions stand elsewhere one turn later",
            )
        if 0 <= late < longer.text.find(talk.FIRST_QUESTION):
            return Break(
                kind="system-hoisted",
                offset=longer.offset_of(late),
                detail="a system message of a later turn is printed before the first question",
            )
        if gone:
            return Break(
                kind="reasoning-stripped",
                offset=longer.offset_of(at),
                detail=f"the reasoning of {len(gone)} step{'s' * (len(gone) > 1)} is gone one "
                f"turn later",
                graver=len(gone) > 1 and self._thinks(),
            )
        return Break(
            kind="not-append-only",
            offset=(longer if at < len(longer.text) else asked).offset_of(at),
            detail=f"{case.name}: {_seen(asked.text, at)} becomes {_seen(longer.text, at)} "
            "one turn later",
        )

    def _thinks(self) -> bool:
        """Whether the model is ever asked to think: of what it never wrote nothing is lost."""
        asked = [talk.user(0)]
        for switches in ({}, *({n: True} for n in _SWITCHES if n in self.template.names)):
            try:
                text = self._render(asked, switches, tools=self.only_with_tools, prompt=True).text
            except REFUSALS:
                continue
            if _UNTHOUGHT.search(text) is None:
                return True
        return False

    def _head_of_answer(
        self, case: Case, asked: Trace, longer: Trace, kept: int, switches: Mapping[str, Any]
    ) -> Iterator[Break]:
        """Yield a break where the generation prompt is not what the answer stands behind."""
        head, history = asked.text[kept:], longer.text[kept:]
        if history.startswith(head) or any(
            text[kept:].startswith(head) for text in self._reasoned_texts(case, switches)
        ):
            return
        same = shared_length(head, history)
        same -= head[:same].endswith("<")  # a tag is shown whole
        if not head[same:].strip():
            return  # white space that the model writes itself
        again = history.find(head.strip(), 0, len(head) + 200)
        if again >= 0:
            yield Break(
                kind="not-append-only",
                offset=longer.offset_of(kept + same),
                detail=f"{case.name}: {history[:again][:40]!r} is added behind a message "
                "once another follows",
            )
            return
        yield Break(
            kind="generation-prompt-not-repeated",
            offset=asked.offset_of(kept + same),
            detail=f"{head[same:][:40]!r} stands before the answer while it is written, and "
            f"{history[same:][:40]!r} once it is history",
        )

    def _reasoned_texts(self, case: Case, switches: Mapping[str, Any]) -> Iterator[str]:
        """Yield the longer conversation with reasoning in the answer that follows."""
        for name in self._reasoning_fields():
            answered = [*case.before, talk.answer(1, name), talk.user(2)]
            try:
                yield self._render(answered, switches, tools=case.tools).text
            except REFUSALS:
                continue

    def _unprinted(self, case: Case) -> Iterator[Break]:
        """Yield that reasoning is printed nowhere, once a question has followed."""
        if case.after[-1]["role"] != "user" or case.tools:
            return
        try:
            longer = self._render(case.after, {}, tools=case.tools)
        except REFUSALS:
            return
        answered = longer.text.find(talk.ANSWERS[0])
        if answered >= 0 and talk.REASONS[0] not in longer.text:
            yield Break(
                kind="reasoning-stripped",
                offset=longer.offset_of(answered),
                detail="an answer stands in the history without what was thought before it",
            )

    def _at_head(self, name: str, values: Sequence[Any]) -> Iterator[Break]:
        case = list(talk.plain_cases())[2]
        try:
            first, second = (
                self._render(case.after, {name: value}, tools=True, prompt=True)
                for value in values[:2]
            )
        except REFUSALS:
            return
        shared = shared_length(first.text, second.text)
        if first.text != second.text and shared < _HEAD_SHARE * len(first.text):
            yield Break(
                kind="effort-at-head",
                offset=first.offset_of(shared),
                detail=f"two values of {name} share {shared} of {len(first.text)} characters",
            )

    def _render(
        self,
        messages: Sequence[Message],
        switches: Mapping[str, Any],
        *,
        tools: bool = False,
        prompt: bool = False,
    ) -> Trace:
        variables = {
            **{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": ""},
            **self.named_tokens,
            **switches,
            "tools": list(talk.TOOLS) if tools or self.only_with_tools else None,
            "documents": None,
            "add_generation_prompt": prompt,
        }
        shaped = [self._shaped(message) for message in messages]
        try:
            return self.template.render({**variables, "messages": shaped})
        except REFUSALS:
            if not any("tool_calls" in message for message in messages):
                raise
            written = [talk.arguments_written(message) for message in shaped]
            return self.template.render({**variables, "messages": written})

    def _shaped(self, message: Message) -> Message:
        if not self.in_parts or not message["content"]:
            return message
        return {**message, "content": [{"type": "text", "text": message["content"]}]}


def shared_length(first: str, second: str) -> int:
    """Return how many characters two texts share from their beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (one, other) in pairs if one != other), min(len(first), len(second)))


def _field(name: str) -> re.Pattern[str]:
    """A field of a message, and no variable or word of the same name."""
    return re.compile(rf"""\.{name}\b|\[\s*["']{name}["']|["']{name}["']\s+in\b""")


def _seen(text: str, at: int) -> str:
    return repr(text[at : at + 24]) if at < len(text) else "the end"


def _first_line(error: BaseException) -> str:
    return (str(error).partition("\n")[0] or type(error).__name__)[:200]
