"""BAML: functions whose prompts are raw strings (``#"..."#``) in Jinja."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvaudit.analyzers.reader import Project, Reader, Sniffed, Unreadable
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.core.document import Document
from kvaudit.core.sources import Source, Span

MAX_FUNCTIONS = 2_000

_DECLARED = re.compile(
    r"^(?P<kind>function|template_string|test|class|enum|client|generator|retry_policy)\b"
    r"(?:<\w+>)?[ \t]*(?P<name>\w+)?[ \t]*(?:\((?P<parameters>[^()]{0,2000})\))?",
    re.MULTILINE,
)
_RAW = re.compile(r'(#+)"')
_PROMPT = re.compile(r"\bprompt\s*(?=#+\")")
_CLIENT = re.compile(r"\bclient\s+[\"']?([\w./:-]+)")


class _Declared(NamedTuple):
    kind: str
    name: str
    parameters: str
    span: Span


def _sniff(source: Source) -> Sniffed:
    return Sniffed.CERTAIN if source.path.lower().endswith(".baml") else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.template.jinja.render import rendered, tree_of
    from kvaudit.analyzers.template.jinja.tags import Macro

    refuse_giants(len(source.text))
    macros: dict[str, Macro] = {}
    documents: list[Document] = []
    for declared in _declarations(source):
        body = _raw_string(source.text, declared)
        if body is None:
            continue
        if declared.kind == "template_string":
            names = re.findall(r"(\w+)\s*:", declared.parameters)
            macros[declared.name] = Macro(source, tuple(names), tree_of(source, body))
        else:
            items = rendered(source, project, part=body, macros=macros)
            client = _CLIENT.search(source.text, declared.span.start, body.start)
            documents += compose(
                source,
                "baml",
                items,
                header_lines=False,
                name=declared.name,
                model=client[1] if client else None,
            )
    return documents


def _declarations(source: Source) -> Iterator[_Declared]:
    """Yield template strings, then functions, each up to where the next thing begins."""
    found = list(_DECLARED.finditer(source.text))
    if len(found) > MAX_FUNCTIONS:
        raise Unreadable(f"it declares more than {MAX_FUNCTIONS} things")
    ends = [*(one.start() for one in found), len(source.text)][1:]
    for wanted in ("template_string", "function"):
        for one, end in zip(found, ends, strict=True):
            if one["kind"] == wanted:
                span = Span(one.end(), end)
                yield _Declared(wanted, one["name"] or "", one["parameters"] or "", span)


def _raw_string(text: str, declared: _Declared) -> Span | None:
    """Return where the prompt's text stands."""
    start = declared.span.start
    if declared.kind == "function":
        prompt = _PROMPT.search(text, *declared.span)
        if prompt is None:
            return None
        start = prompt.end()
    opened = _RAW.search(text, start, declared.span.end)
    if opened is None:
        return None
    end = text.find('"' + opened[1], opened.end())
    return None if end < 0 else Span(opened.end(), end)


READER = Reader(
    name="baml",
    title="BAML files (.baml)",
    suffixes=(".baml",),
    sniff=_sniff,
    read=_read,
)
