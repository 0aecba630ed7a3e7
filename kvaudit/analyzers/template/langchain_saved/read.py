"""From LangChain's saved objects to documents: templates, few-shot prompts, chats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.template.messages.builder import PromptBuilder
from kvaudit.analyzers.template.messages.read import roots_of
from kvaudit.analyzers.template.structure.holes import FORMAT, MUSTACHE, pieces, value_of
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.document import Document, Origin, Position
from kvaudit.core.sources import Source

MAX_PROMPTS = 200
MAX_LEVELS = 12
_ROLE_OF_CLASS = (
    (re.compile(r"^System"), "system"),
    (re.compile(r"^(?:Human|Chat)Message"), "user"),
    (re.compile(r"^AI"), "assistant"),
    (re.compile(r"^MessagesPlaceholder"), "history"),
)


def read_saved(source: Source, project: Project) -> list[Document]:
    """Return a document for every prompt in a saved object. Raises `Unreadable`."""
    found: list[Document] = []
    for prompt, name in _prompts(roots_of(source)):
        builder = PromptBuilder(
            source, "langchain-saved", project.variables, syntax=_syntax(prompt)
        )
        chat = prompt.get("messages")
        if chat is not None and chat.kind is Kind.LIST:
            goes_on = _chat(chat, builder)
        else:
            goes_on = _completion(prompt, builder)
        document = builder.document(
            name or PurePosixPath(source.path).name, provider=None, model=None, multi_turn=goes_on
        )
        if document is not None and len(found) < MAX_PROMPTS:
            found.append(document)
    return found


def _prompts(roots: Sequence[Node]) -> Iterator[tuple[Node, str]]:
    """Yield the prompts in a tree, the outermost only."""
    waiting = [(root, "", 0) for root in reversed(roots)]
    seen: set[int] = set()
    while waiting:
        node, name, level = waiting.pop()
        if id(node) in seen or node.kind not in (Kind.MAP, Kind.LIST) or level > MAX_LEVELS:
            continue
        seen.add(id(node))
        unwrapped = _unwrapped(node)
        if _is_prompt(unwrapped):
            yield unwrapped, name
        elif node.kind is Kind.MAP:
            below = [(item, f"{name}.{key}".strip("."), level + 1) for key, item in node.pairs()]
            waiting += reversed(below)
        else:
            waiting += [(item, name, level + 1) for item in reversed(node.items)]


def _unwrapped(node: Node) -> Node:
    """Return the arguments of a serialised constructor, or the value itself."""
    inner = node.get("kwargs")
    return inner if inner is not None and node.get("lc") is not None else node


def _class(node: Node) -> str:
    words = node.get("id")
    if words is not None and words.kind is Kind.LIST and words.items:
        return str(words.items[-1].value)
    return node.word("_type", "type") or ""


def _is_prompt(node: Node) -> bool:
    if node.word("template") is not None:
        return node.get("input_variables", "template_format", "_type") is not None
    if node.word("suffix") is not None and node.get("examples", "input_variables") is not None:
        return True
    chat = node.get("messages")
    if chat is None or chat.kind is not Kind.LIST or not chat.items:
        return False
    first = chat.items[0]
    return first.get("prompt") is not None or first.get("lc") is not None


def _syntax(prompt: Node) -> re.Pattern[str]:
    word = prompt.word("template_format") or _inner_format(prompt)
    return MUSTACHE if word in ("jinja2", "mustache") else FORMAT


def _inner_format(prompt: Node) -> str | None:
    chat = prompt.get("messages")
    for message in chat.items if chat is not None else []:
        inner = _unwrapped(message).get("prompt")
        if inner is not None:
            return _unwrapped(inner).word("template_format")
    return None


def _completion(prompt: Node, builder: PromptBuilder) -> bool:
    """Add a template of one text; tell whether it holds a conversation."""
    builder.next_block()
    for name in ("prefix", "template"):
        given = prompt.get(name)
        if given is not None:
            builder.add(given, Position.SYSTEM)
    examples = prompt.get("examples")
    for example in examples.items if examples is not None and examples.kind is Kind.LIST else []:
        for value in example.items or [example]:
            builder.add(value, Position.SYSTEM)
    suffix = prompt.get("suffix")
    if suffix is not None:
        builder.add(suffix, Position.SYSTEM)
    return any(segment.origin is Origin.HISTORY for segment in builder.segments)


def _chat(chat: Node, builder: PromptBuilder) -> bool:
    """Add the messages of a chat; tell whether a history stands in it."""
    roles = [_role(message) for message in chat.items]
    users = [index for index, role in enumerate(roles) if role == "user"]
    newest = users[-1] if users else len(roles)
    for index, (message, role) in enumerate(zip(chat.items, roles, strict=True)):
        inner = _unwrapped(message)
        builder.next_block()
        if role == "history" or _only_history(inner, builder):
            name = inner.get("variable_name") or _template(inner)
            if name is not None:
                builder.add(Node(Kind.HOLE, name.span, f"{{{name.value}}}"), Position.HISTORY)
            continue
        text = _template(inner)
        if text is None:
            continue
        leads = all(other == "system" for other in roles[:index])
        if role == "system":
            position = Position.SYSTEM if leads else Position.FEWSHOT
        else:
            position = Position.NEWEST if index >= newest else Position.FEWSHOT
        builder.add(text, position)
    return "history" in roles or any(s.origin is Origin.HISTORY for s in builder.segments)


def _role(message: Node) -> str:
    inner = _unwrapped(message)
    word = _class(message)
    for pattern, role in _ROLE_OF_CLASS:
        if pattern.match(word):
            return role
    return "history" if inner.get("variable_name") is not None else (inner.word("role") or "user")


def _template(message: Node) -> Node | None:
    prompt = message.get("prompt")
    if prompt is not None:
        inner = _unwrapped(prompt)
        return inner.get("template") if inner.kind is Kind.MAP else None
    found = message.get("template", "content")
    return found if found is not None and found.kind is Kind.TEXT else None


def _only_history(message: Node, builder: PromptBuilder) -> bool:
    text = _template(message)
    parts = [] if text is None else list(pieces(text.text or "", builder.syntax))
    return (
        len(parts) == 1
        and parts[0].expression is not None
        and value_of(parts[0].expression, builder.said).origin is Origin.HISTORY
    )
