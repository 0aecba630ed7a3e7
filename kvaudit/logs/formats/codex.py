"""Codex rollouts: what was said as items, and a count after each request.

Every ``token_count`` event with a new total ends one request: its prompt is all items before
the answer, its counts are ``last_token_usage``. Tools are not logged, so the text under-states
every prompt by the same prefix. After a compaction the history is what the rollout says
replaced it; where it does not say, the requests that follow are marked.
"""

from collections import Counter
from collections.abc import Iterable

from kvaudit.core.requests import Json, Mark, Request, Status
from kvaudit.core.summaries import Note
from kvaudit.logs.api.answers import answer_text
from kvaudit.logs.api.bodies import make_request, system_message
from kvaudit.logs.api.envelope import first_time
from kvaudit.logs.api.items import item_to_message
from kvaudit.logs.format import Fields, LogFormat, Row, Sureness
from kvaudit.logs.parsers.conversation import Conversation
from kvaudit.logs.values.lookup import child, count, label

_KINDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
# What the model writes; everything else in a rollout was sent to it.
_WRITTEN = frozenset(
    {"reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"}
)
_NOTE = Note(
    topic="prompt-understated",
    text="Codex logs no tools: hit rates from the text leave them out; the counts that the log "
    "reports have them",
)


def recognise(row: Row) -> Sureness:
    """Tell it by the kind of line beside its payload."""
    if label(row, "type") in _KINDS and isinstance(row.get("payload"), dict):
        return Sureness.UNMISTAKABLE
    return Sureness.NO


class Rollout:
    """Follows one session's history and returns a request at each count."""

    def __init__(self) -> None:
        """Begin a session without history."""
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []
        self._own: Fields = {}
        self._sent = Conversation()
        self._said: list[Json] = []
        self._sent_s: float | None = None
        self._counted: Json = {}
        self._requests = 0
        self._marks: frozenset[Mark] = frozenset()

    def parse(self, row: Row) -> Iterable[Request]:
        """Follow one line."""
        payload = child(row, "payload")
        kind = row.get("type")
        if kind == "session_meta":
            self._begin(payload)
        elif kind == "turn_context":
            self._own["model"] = label(payload, "model")
        elif kind == "response_item":
            self._add(payload, first_time(row, "timestamp"))
        elif kind == "compacted":
            self._compact(payload)
        elif payload.get("type") == "token_count":
            return self._count(payload, first_time(row, "timestamp"))
        return ()

    def finish(self) -> Iterable[Request]:
        """Return nothing; an answer that was not counted did not finish."""
        if self._requests:
            self.notes.append(_NOTE)
        return ()

    def _begin(self, payload: Json) -> None:
        self._own = {"session": label(payload, "id", "session_id"), "model": None}
        told = child(payload, "base_instructions").get("text") or payload.get("instructions")
        self._sent = Conversation().then(system_message(told if isinstance(told, str) else None))
        self._said = []
        self._counted, self._marks, self._requests = {}, frozenset(), 0

    def _add(self, item: Json, moment: float | None) -> None:
        if item.get("type") == "ghost_snapshot":
            return  # for undo; never sent
        self._said.append(item_to_message(item))
        if not (label(item, "type") in _WRITTEN or item.get("role") == "assistant"):
            self._sent, self._said = self._sent.then(self._said), []
            self._sent_s = moment

    def _compact(self, payload: Json) -> None:
        kept = payload.get("replacement_history")
        if not isinstance(kept, list):
            kept = []
            self._marks = frozenset({Mark.HISTORY_NOT_LOGGED})
        items = [item_to_message(item) for item in kept if isinstance(item, dict)]
        self._sent, self._said = Conversation().then(items), []

    def _count(self, payload: Json, moment: float | None) -> Iterable[Request]:
        info = child(payload, "info")
        total, last = child(info, "total_token_usage"), child(info, "last_token_usage")
        if not last or total == self._counted:
            self.skipped["token count without a new request"] += 1
            return ()
        self._counted = total
        self._requests += 1
        sent, said = self._sent, self._said
        self._sent, self._said = sent.then(said), []
        texts = [text for message in said if (text := answer_text(message.get("content")))]
        session = self._own.get("session") or "session"
        own = {
            "id": f"{session}-{self._requests}",
            "parent": f"{session}-{self._requests - 1}" if self._requests > 1 else None,
            "arrived_s": moment if self._sent_s is None else self._sent_s,
            "finished_s": moment,
            "status": Status.OK,
            "prompt_tokens": count(last, "input_tokens"),
            "output_tokens": count(last, "output_tokens"),
            "cached_tokens": count(last, "cached_input_tokens"),
            "response": "".join(texts) or None,
            "marks": self._marks,
        }
        return (make_request(own, self._own, sent.fields()),)


FORMAT = LogFormat(
    name="codex",
    title="Codex rollouts (without tools)",
    recognise=recognise,
    parser=Rollout,
)
