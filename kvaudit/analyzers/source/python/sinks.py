"""Where a prompt reaches a model: calls of SDKs, constructors of agents, templates of libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kvaudit.analyzers.source.python.drafts import (
    Draft,
    Entry,
    blocks,
    earlier_turns,
    message_entries,
    tool_entries,
)
from kvaudit.analyzers.source.python.engine import Engine, Seen
from kvaudit.analyzers.source.python.messages import (
    added_role,
    content_of,
    has_roles,
    role_of,
)
from kvaudit.analyzers.source.python.templates import open_template
from kvaudit.analyzers.source.python.turns_behind import inserted_before, turns
from kvaudit.analyzers.source.python.values import NOTHING, Shape, Value
from kvaudit.core.document import Position

_SYSTEM_KEYWORDS = (
    "system", "system_prompt", "system_message", "system_instruction", "system_instructions",
    "instructions", "instruction", "sys_prompt", "system_template", "additional_instructions",
    "backstory", "extra_system_prompt", "system_text", "developer_message", "system_content",
    "system_msgs", "system_messages", "sys_msgs",
)  # fmt: skip
_NEEDS_MODEL = ("system", "instruction", "instructions")
"""Keywords that mean a system text only where a model is spoken of."""

_CREW_KEYWORDS = ("role", "goal", "backstory")
_MESSAGE_KEYWORDS = ("messages", "input", "contents", "chat_history", "history", "chat_messages")
_HISTORY = re.compile(r"(\w+_)?(history|conversation)(_messages)?")
"""Keywords under which earlier turns are given beside a system text."""
_TEMPLATES = re.compile(
    r"(.*\.)?(Rich)?(Chat)?Prompt(Template|Builder)?(\.from_(template|messages))?"
    r"|(.*\.)?(ChatPromptBuilder|PromptBuilder|PromptTemplate|SelectorPromptTemplate|RichPromptTemplate)"
)
NO_SINK = re.compile(
    r"(.*\.)?(append\w*|extend|insert\w*|persist\w*|store\w*|create_many\w*|print|len|dumps|info|debug|warning|error|exception|log|str|list|copy"
    r"|deepcopy|isinstance|assert\w*|count\w*|token\w*|num_tokens\w*|save\w*|write\w*|sorted|enumerate"
    r"|zip|pop|remove|index|update|setdefault|add|dict|tuple|encode|hash|validate\w*|mock\w*|record\w*"
    r"|apply_chat_template_len|get|field|Field|Param)"
)
_CAME_BACK = re.compile(r"[A-Z]\w*(Output|Result|Response|Record|Event)")
"""Classes of what a run gave: their messages and tools are kept, and not sent."""
_MODEL_CALL = re.compile(
    r"(.*\.)?(a?completion|a?chat|(a|async_)?generate\w*|a?invoke|a?stream\w*|create|parse|a?complete\w*"
    r"|a?predict\w*|converse\w*|a?ask\w*|call_?llm|query_?llm|llm|_?call_?(llm|model|api|openai|anthropic)\w*"
    r"|run_llm|respond\w*|send_?message\w*|responses?)"
)
_AGENT = re.compile(r"(\w*\.)*\w*(Agent|Assistant|Crew)\w*")


def makes_agent(draft: Draft) -> bool:
    """Whether a prompt is that of an agent which a call constructs."""
    return draft.call is not None and _AGENT.fullmatch(draft.call.dotted) is not None


def drafts_of_call(engine: Engine, seen: Seen) -> Iterator[Draft]:
    """Yield the prompts that one call sends or sets."""
    last = seen.dotted.rsplit(".", 1)[-1]
    if _TEMPLATES.fullmatch(seen.dotted):
        yield from _template(engine, seen)
        return
    role = added_role(seen.dotted)
    if role == "system" and seen.args:
        entry = Entry(Position.SYSTEM, seen.args[0])
        yield Draft(last, seen.unit, [entry], loops=seen.loops, call=seen, sent=True)
        return
    if last in ("append", "insert", "extend") and seen.args:
        yield from _added_message(seen)
    if NO_SINK.fullmatch(seen.dotted) or _CAME_BACK.fullmatch(last):
        return
    given = _with_bodies(seen)
    entries, multi_turn = _request(seen, last, given)
    if entries:
        yield Draft(
            seen.dotted or last,
            seen.unit,
            entries,
            multi_turn=multi_turn,
            loops=seen.loops,
            call=seen,
            sent=_is_model_call(seen, given),
        )


def _is_model_call(seen: Seen, given: Mapping[str, Value]) -> bool:
    """Whether a call asks a model or makes an agent, by what it is given or what it is."""
    return (
        any(has_roles(v) or role_of(v) == "system" for v in (*seen.args, *given.values()))
        or _MODEL_CALL.fullmatch(seen.dotted) is not None
        or _AGENT.fullmatch(seen.dotted) is not None
    )


def _with_bodies(seen: Seen) -> dict[str, Value]:
    """Return keyword arguments, and the entries of a request body that is passed as one."""
    given = dict(seen.named)
    for value in (*seen.args, *seen.named.values()):
        if value.fields is not None and "messages" in value.fields and "role" not in value.fields:
            given = {**value.fields, **given}
    return given


def _request(seen: Seen, last: str, given: Mapping[str, Value]) -> tuple[list[Entry], bool]:
    messages = next(
        (given[name] for name in _MESSAGE_KEYWORDS if name in given and _are_messages(given[name])),
        None,
    )
    if messages is None and "messages" in given:
        messages = given["messages"]
    if messages is None:
        given_in_order = (value for value in seen.args if value.shape is not Shape.PROMPT)
        messages = next(filter(has_roles, given_in_order), None)
    asks = _MODEL_CALL.fullmatch(seen.dotted) is not None
    agent = _AGENT.fullmatch(seen.dotted) is not None
    near = agent or "model" in given or "tools" in given
    entries: list[Entry] = []
    if "tools" in given and (messages is not None or agent or asks):
        entries += tool_entries(given["tools"])
    for name in _SYSTEM_KEYWORDS:
        if name in given and (name not in _NEEDS_MODEL or messages is not None or asks or near):
            entries += blocks(Position.SYSTEM, given[name])
    if agent and "goal" in given:
        entries += [
            Entry(Position.SYSTEM, given[name]) for name in _CREW_KEYWORDS[:2] if name in given
        ]
    system = any(entry.position is Position.SYSTEM for entry in entries)
    multi_turn = system and messages is None and (agent or "prompt" not in given)
    earlier = next((v for name, v in given.items() if _HISTORY.fullmatch(name) and v.parts), None)
    if system and messages is None and earlier is not None:
        entries.append(Entry(Position.HISTORY, earlier_turns(earlier)))
    elif messages is not None:
        more, multi_turn = message_entries(messages)
        entries += more
    elif asks and not agent:
        prompt = given.get("prompt", seen.args[0] if seen.args else NOTHING)
        alone = prompt.parts[0].param if len(prompt.parts) == 1 else None
        if prompt.shape is Shape.TEXT or alone is not None:
            entries.append(Entry(Position.NEWEST, prompt))
            multi_turn = False
    return entries, multi_turn


def _are_messages(value: Value) -> bool:
    return has_roles(value) or (value.items is not None and any(i.spread for i in value.items))


def _added_message(seen: Seen) -> Iterator[Draft]:
    before = inserted_before(seen.node)
    behind = turns(seen.unit, before) if before is not None else None
    for value in seen.args:
        if role_of(value) == "system":
            entries = blocks(Position.SYSTEM, content_of(value))
            if behind is not None:
                entries.append(Entry(Position.HISTORY, behind))
            yield Draft(
                "system message", seen.unit, entries, loops=seen.loops, call=seen, sent=True
            )


def _template(engine: Engine, seen: Seen) -> Iterator[Draft]:
    """Yield the prompt of a template class, its holes known by name."""
    messages = next((v for v in (*seen.args, *seen.named.values()) if has_roles(v)), None)
    if messages is not None:
        entries, multi_turn = message_entries(messages)
        opened = [Entry(e.position, open_template(engine, e.value), e.marked) for e in entries]
        yield Draft(seen.dotted, seen.unit, opened, multi_turn=multi_turn, call=seen, sent=True)
        return
    texts = [seen.named[n] for n in ("template", "template_str") if n in seen.named] or seen.args[
        :1
    ]
    for text in texts:
        if any(part.text for part in text.parts):
            entry = Entry(Position.NEWEST, open_template(engine, text))
            yield Draft(seen.dotted, seen.unit, [entry], multi_turn=False, call=seen, sent=True)
