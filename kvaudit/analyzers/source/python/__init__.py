"""Python source: prompts as functions, constants and calls build them.

The package reads a module with the standard library's parser and follows text from where it
arises to where a model is asked. It executes nothing, looks at other modules of the project
only for names that the module imports, and counts its steps, so that it ends on any input.
Left out: text that is built by mutating objects from elsewhere, and types of attributes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.engine import may_route
from kvaudit.analyzers.keys import may_build_keys
from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.semantic import may_hold_policy
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_OF_PROMPTS = (
    "prompt", "instruction", "persona", "preamble", "system_", "_system", "\"system\"", "'system'",
    "cache_control", "cachepoint", "cache_point", "messages", "\"role\"", "'role'", "history",
    "llm", "list_tools", "arguments\"]", "arguments']", "prefix_caching", "systemmessage", "agent(",
    "memorybuffer", "memory(", "completioncontext(", "conversationmanager(",
    ".invoke(", ".ainvoke(", "completions.create",
)  # fmt: skip
_OF_PROMPTS_IN_CONTEXT = re.compile(r"system\s*[=(]|(?<![a-z])tools\b")
"""Words without which no file builds a prompt; plain ones are found faster than by a pattern."""

_OF_MODELS = (
    "assistant", "agent_", "_agent", "llm", "gpt", "claude", "gemini", "openai", "anthropic",
    "completion", "langchain", "dspy", "haystack", "\"role\"", "'role'", "list_tools",
    "cache_control", "prefix_caching", "system_prompt", "systemprompt", "user_prompt", "userprompt",
    "tool_call", "messages.create", "responses.create", "messages=",
    ".invoke(", ".ainvoke(",
)  # fmt: skip
_OF_MODELS_IN_CONTEXT = re.compile(r"\bagents?\b|\bchat")
"""Words without which a long file means other prompts, tools and messages."""

_SHORT = 6_000
"""Characters; a shorter file may say little and is quickly read."""


def _sniff(source: Source) -> Sniffed:
    return Sniffed.CERTAIN if source.path.endswith((".py", ".pyi")) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    found: list[Document] = []
    if _is_worth_parsing(source):
        from kvaudit.analyzers.source.python.reading import read_module

        found += read_module(source, project)
    else:
        # Nothing else looks at its grammar, and what is no Python may not count as checked.
        from kvaudit.analyzers.source.python.grammar import check_grammar

        check_grammar(source.text)
    if may_build_keys(source.text):
        from kvaudit.analyzers.keys.python import key_documents

        found += key_documents(source, project)
    if may_hold_policy(source.text):
        from kvaudit.analyzers.semantic.python import semantic_documents

        found += semantic_documents(source)
    if may_route(source.text):
        from kvaudit.analyzers.engine.python_code import routing_documents

        found += routing_documents(source)
    return found


def _is_worth_parsing(source: Source) -> bool:
    text = source.text.lower()
    worth = _speaks(text, _OF_PROMPTS, _OF_PROMPTS_IN_CONTEXT) or _speaks(
        source.path.lower(), _OF_PROMPTS, _OF_PROMPTS_IN_CONTEXT
    )
    return worth and (len(text) <= _SHORT or _speaks(text, _OF_MODELS, _OF_MODELS_IN_CONTEXT))


def _speaks(text: str, words: Sequence[str], in_context: re.Pattern[str]) -> bool:
    return any(word in text for word in words) or in_context.search(text) is not None


READER = Reader(
    name="python",
    title="Python source",
    suffixes=(".py", ".pyi"),
    sniff=_sniff,
    read=_read,
)
