"""Which fields of a request's record a value in source code is, by the names it goes by.

A name has several readings where logs differ: the prompt of a program is ``prompt`` in a log of
texts, and the last of the ``messages`` in a log of conversations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvaudit.analyzers.keys.logged.fields import OPTIONS, PARTS_OF_CONTENT
from kvaudit.analyzers.keys.sourced.reference import Nature, Reference
from kvaudit.analyzers.keys.vocabulary import (
    CONTEXT,
    NOT_KEYS,
    PARAMETERS,
    VOLATILE_NAME,
)
from kvaudit.core.requests import Request

SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "response_format", *OPTIONS)
BODY = ("model", "messages", "prompt", "tools", *SAMPLING)
Reading = tuple[str, ...]
"""Fields that a value stands for, all at once."""
_RECORD = frozenset(Request.record_fields())
_MESSAGES = re.compile(r"(\w+_)?messages|contents|(chat_)?history|conversation|turns|chat_messages")
_TEXT = re.compile(
    r"((user|final|full|rendered|raw|normali[sz]ed|clean|cleaned)_)?"
    r"(prompts?|question|query|text|input|message|utterance|content|q)|prompt_text"
)
_SYSTEM = CONTEXT["system prompt"]
_NAMES: Sequence[tuple[re.Pattern[str], tuple[Reading, ...]]] = (
    (re.compile(r"lora\w*|adapter\w*"), (("lora",),)),
    (re.compile(r"(cache_)?salt"), (("salt",),)),
    (re.compile(r"model|model_(name|id|slug|key)|llm_model|deployment(_name|_id)?"), (("model",),)),
    (
        re.compile(r"(tenant|org|organi[sz]ation|account|customer|workspace|team)(_id|_name)?"),
        (("tenant",),),
    ),
    (re.compile(r"(user|owner|current_user|account_user)(_id|_name)?|uid"), (("user",),)),
    (re.compile(r"(session|thread|conversation|chat)_?id|session"), (("session",),)),
    (CONTEXT["tools"], (("tools",),)),
    (CONTEXT["images"], (("media_hashes",),)),
    (re.compile(r"token_ids|tokens|input_ids"), (("token_ids",), ("messages",), ("prompt",))),
    (re.compile(r"tool_choice"), (("tool_choice",),)),
    (re.compile(r"thinking(_budget)?"), (("thinking",),)),
    (re.compile(r"reasoning"), (("reasoning",),)),
    (re.compile(r"(reasoning_)?effort"), (("reasoning_effort",), ("effort",))),
    *((PARAMETERS[name], ((name,),)) for name in ("temperature", "top_p", "seed", "max_tokens")),
    (PARAMETERS["response_format"], (("response_format",),)),
    (_SYSTEM, (("system_prompt",),)),
    (_MESSAGES, (("messages",), ("prompt",))),
    (_TEXT, (("prompt",), ("last_message",))),
    (re.compile(r"llm_string"), (("model", *SAMPLING),)),
    (
        re.compile(
            r"((model|llm|call|gen|generation|sampling|invocation|request|completion|api|extra)_)?"
            r"(kwargs|params|parameters|options|opts|config|settings|args)"
        ),
        (SAMPLING,),
    ),
    (re.compile(r"(request|req|chat)?_?(body|payload|request|req|data)|call_kwargs"), (BODY,)),
)
_ARGUMENTS = re.compile(r"(\w+_)?kwargs|inputs")
_A_KEY = re.compile(
    r"(\w+_)?(key|cache_?id|cache_?key|fingerprint|digest|slot|((cache|prompt|request)_)hash)"
    r"(_(for|of|from)_\w+)?"
)
"""One key; what is called a hash alone is a helper of one, or of something else."""
_ASKS_ABOUT = re.compile(
    r"^(has|is|supports|accepts|takes|without|check|allows|contains|should|needs|can|verify|from)_"
    r"|(^|_)matches_|_(for|by)_key$"
)
_SAID_BY_OWNER = frozenset((
    "id", "name", "value", "text", "content", "key", "email", "data", "role", "length", "type",
))  # fmt: skip
"""Names that say nothing without what they are a part of."""
_LAST, _FIRST = "-1", "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What a value is in a record."""

    readings: tuple[Reading, ...] = ()
    """The first of which the log has a field is taken; empty where it is no field."""
    unique: bool = False
    """It is another one for every request, where the log has none of the fields."""
    why: str = ""
    """Why it is no field."""

    @property
    def is_whole(self) -> bool:
        """Whether it is taken for all the fields that such a thing usually holds."""
        return any(len(reading) > 1 for reading in self.readings)


def meant(reference: Reference) -> Meant:
    """Return which fields a value is."""
    if reference.nature is Nature.CLOCK:
        return _clock(reference)
    if reference.nature is Nature.RANDOM:
        return Meant(unique=True)
    words = reference.words
    if any(_MESSAGES.fullmatch(word) for word in words):
        part = _part_of_messages(words)
        if part is not None:
            return part
    named = next((word for word in reversed(words) if not _says_nothing(word)), words[-1])
    if found := _named(named):
        return Meant(readings=found)
    if VOLATILE_NAME.fullmatch(named):
        return _volatile(named)
    return Meant(readings=((named,),), why="no field of the record, and no column of this log")


def _says_nothing(word: str) -> bool:
    return word in _SAID_BY_OWNER or word.lstrip("-").isdigit()


def _clock(reference: Reference) -> Meant:
    if reference.partly:
        return Meant(why="a clock that is cut, which some requests share")
    return Meant(readings=(("arrived_s",), ("arrive_step",)), unique=True)


def _volatile(name: str) -> Meant:
    if name.endswith("id") or name.endswith("key"):
        return Meant(readings=((name,), ("id",)), unique=True)
    return Meant(readings=((name,), ("arrived_s",), ("arrive_step",)), unique=True)


def _part_of_messages(words: tuple[str, ...]) -> Meant | None:
    if _LAST in words:
        return Meant(readings=(("last_message",), ("prompt",)))
    if "system" in words or "developer" in words:
        return Meant(readings=(("system_prompt",),))
    if _FIRST in words or "user" in words:
        return Meant(why="a part of the messages that is no field")
    return None


def _named(word: str) -> tuple[Reading, ...]:
    found = next((readings for pattern, readings in _NAMES if pattern.fullmatch(word)), ())
    exact = ((word,),) if word in _RECORD and word != "id" else ()
    return tuple(dict.fromkeys((*exact, *found)))


def is_called_a_key(name: str) -> bool:
    """Whether a function's name is that of a key, and not of a question about one."""
    return (
        _A_KEY.fullmatch(name) is not None
        and NOT_KEYS.fullmatch(name) is None
        and _ASKS_ABOUT.search(name) is None
    )


def whole_calls(references: Sequence[Reference]) -> list[Reference]:
    """Return references in which the arguments of a call are all of the request.

    They are its parameters where the question stands beside them, as in ``key(prompt, **kwargs)``.
    """
    if is_of_a_question(references):
        return list(references)
    return [
        one.below("request_body") if _ARGUMENTS.fullmatch(one.words[-1]) else one
        for one in references
    ]


def is_of_a_question(references: Sequence[Reference]) -> bool:
    """Whether what a model is asked flows into a key: other caches are nobody's business."""
    asked = {name for one in references for reading in meant(one).readings for name in reading}
    return not asked.isdisjoint(PARTS_OF_CONTENT)


def taken(readings: Sequence[Reading], present: Callable[[str], bool]) -> Reading:
    """Return the fields of the first reading that a log has some of."""
    for reading in readings:
        found = tuple(name for name in reading if present(name))
        if found:
            return found
    return ()
