"""Claude Code transcripts: one line a content block, chained by ``parentUuid``.

A request is one assistant message; its lines repeat its usage and are joined by their message
id. Its prompt is the conversation above it, followed up the chain. The transcript has neither
system prompt nor tools, so the text under-states every prompt by the same prefix, while the
counts are whole. Sub-agents (``isSidechain``) are sessions of their own.

A file's lines are held until its end, since a later line may continue any earlier one.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from kvaudit.core.requests import Json, Request, Status
from kvaudit.core.summaries import Note
from kvaudit.logs.api.answers import answer_text
from kvaudit.logs.api.bodies import make_request
from kvaudit.logs.api.envelope import first_time
from kvaudit.logs.api.usage import read_usage
from kvaudit.logs.format import BadRecord, LogFormat, Row, Sureness
from kvaudit.logs.parsers.conversation import Conversation
from kvaudit.logs.values.lookup import child, label

_NOTE = Note(
    topic="prompt-understated",
    text="Claude Code logs neither system prompt nor tools: hit rates from the text leave them "
    "out; the counts that the log reports have them",
)


@dataclass(slots=True, eq=False)
class _Line:
    """One line, where it stands, and what it follows."""

    place: int
    message: Json
    """Empty where the line is no message of the conversation."""
    parent: "_Line | None"
    session: str
    aside: bool
    moment: float | None
    failed: bool
    answer: "_Answer | None" = None


@dataclass(slots=True, eq=False)
class _Answer:
    """One assistant message: its lines, and the tool results that were sent back."""

    id: str
    lines: list[_Line]
    results: list[_Line] = field(default_factory=list)
    prompt: Conversation = field(default_factory=Conversation)

    @property
    def place(self) -> int:
        """Return where it begins."""
        return self.lines[0].place

    def as_message(self) -> Json:
        """Return the message with the content of all its lines."""
        contents = [line.message.get("content") for line in self.lines]
        parts = [part for c in contents for part in (c if isinstance(c, list) else [c])]
        return {"role": "assistant", "content": parts}


def recognise(row: Row) -> Sureness:
    """Tell it by the ids that chain a session's lines; some lines have only their type."""
    if {"sessionId", "uuid", "type"} <= row.keys():
        return Sureness.UNMISTAKABLE
    kind = row.get("type")
    if (kind == "summary" and "leafUuid" in row) or kind == "file-history-snapshot":
        return Sureness.CHARACTERISTIC
    return Sureness.NO


class Transcript:
    """Turns the lines of one file into requests."""

    def __init__(self) -> None:
        """Begin with no lines."""
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []
        self._lines: dict[str, _Line] = {}
        self._answers: dict[tuple[str, str], _Answer] = {}

    def parse(self, row: Row) -> Iterable[Request]:
        """Hold the line; requests come at the end of the file."""
        uuid = label(row, "uuid")
        if uuid is None or uuid in self._lines:
            # A resumed session begins with copies of the lines before it.
            self.skipped["line that is no message" if uuid is None else "line seen before"] += 1
            return ()
        line = self._line(row, uuid)
        self._lines[uuid] = line
        if line.message.get("role") == "assistant":
            key = (line.session, label(line.message, "id") or uuid)
            line.answer = self._answers.setdefault(key, _Answer(key[1], []))
            line.answer.lines.append(line)
        elif line.parent is not None and line.parent.answer and _is_tool_result(line):
            line.parent.answer.results.append(line)
        return ()

    def finish(self) -> Iterable[Request]:
        """Return the requests, in the order in which their answers began."""
        if self._answers:
            self.notes.append(_NOTE)
        steps = [(answer, *_above(answer.lines[0])) for answer in self._answers.values()]
        followers = Counter(before.place for _, before, _ in steps if before)
        for answer, before, new in steps:
            yield _request(answer, before, new)
            if before:
                followers[before.place] -= 1
            for done in (answer, before):
                if done and not followers[done.place]:
                    done.prompt = Conversation()  # nothing more will continue it

    def _line(self, row: Row, uuid: str) -> _Line:
        parent = self._lines.get(label(row, "parentUuid") or "")
        aside = row.get("isSidechain") is True
        if parent is not None and aside and not parent.aside:
            parent = None  # a sub-agent knows nothing of the conversation that called it
        session = label(row, "sessionId") or ""
        if aside and parent is not None:
            session = parent.session
        elif aside:
            session = f"{session}/{label(row, 'agentId') or uuid}"
        return _Line(
            place=len(self._lines),
            message=self._message(row),
            parent=parent,
            session=session,
            aside=aside,
            moment=first_time(row, "timestamp"),
            failed=bool(row.get("isApiErrorMessage")),
        )

    def _message(self, row: Row) -> Json:
        message = child(row, "message") if row.get("type") in ("user", "assistant") else {}
        if row.get("type") == "assistant" and not message:
            raise BadRecord("message is missing")
        if label(message, "model") == "<synthetic>":
            self.skipped["message that Claude Code wrote itself"] += 1
            return {}
        if not message:
            self.skipped["line that is no message"] += 1
        return message


def _request(answer: _Answer, before: _Answer | None, new: list[_Line]) -> Request:
    first, last = answer.lines[0], answer.lines[-1]
    start = before.prompt.then([before.as_message()]) if before else Conversation()
    answer.prompt = start.then(_as_sent(line) for line in new)
    failed = any(line.failed for line in answer.lines)
    return make_request(
        {
            "id": answer.id,
            "arrived_s": (new[-1] if new else first).moment,
            "finished_s": last.moment,
            "status": Status.ERROR if failed else Status.OK,
            "model": label(first.message, "model"),
            "session": first.session,
            "parent": before.id if before else None,
            "response": answer_text(answer.as_message()),
        },
        read_usage(child(last.message, "usage")),
        answer.prompt.fields(),
    )


def _above(first: _Line) -> tuple[_Answer | None, list[_Line]]:
    """Return the answer that a line follows, and what was said since, oldest first.

    Results of tools that ran side by side follow each its own line of the answer; only the
    last of them is in the chain, but all were sent.
    """
    new: dict[int, _Line] = {}
    line = first.parent
    while line is not None:
        if line.answer is not None and line.answer is not first.answer:
            new |= {r.place: r for r in line.answer.results if r.place < first.place}
            return line.answer, [new[place] for place in sorted(new)]
        if line.message and line.answer is None:
            new[line.place] = line
        line = line.parent
    return None, [new[place] for place in sorted(new)]


def _as_sent(line: _Line) -> Json:
    role, content = line.message.get("role"), line.message.get("content")
    return {"role": role if isinstance(role, str) else "user", "content": content}


def _is_tool_result(line: _Line) -> bool:
    content = line.message.get("content")
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") == "tool_result" for part in content
    )


FORMAT = LogFormat(
    name="claude-code",
    title="Claude Code transcripts (without system prompt and tools)",
    recognise=recognise,
    parser=Transcript,
)
