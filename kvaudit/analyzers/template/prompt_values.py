"""Prompts that are values of a configuration: ``system_prompt: |`` in YAML, a string in JSON.

Agents keep them so, filled in by Jinja. Told by the key's name; workflows of CI, manifests and
other files that are full of templates are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from kvaudit.analyzers.reader import Project, Reader, Sniffed, Unreadable
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

MAX_VALUES = 100
MAX_LEVELS = 8
HEAD_CHARS = 200_000
LEAST_CHARS = 200
"""A shorter value is a title, a file's name or a label."""

_NAME = (
    r"(?:\w+_)?(?:system_?)?(?:prompt|instructions?|preamble|persona|system_message|backstory)"
    r"(?:_(?:template|text))?|(?:system|instance|user|agent|chat)_template"
)
_WORDS = ("prompt", "instruction", "preamble", "persona", "system_mess", "backstory", "_template")
_KEY = re.compile(rf"(?:^|[{{{{,])[ \t]*(?:-[ \t]+)?[\"']?(?:{_NAME})[\"']?[ \t]*:", re.MULTILINE)
_WHOLE = re.compile(_NAME, re.IGNORECASE)
_FILE = re.compile(r"(?:.*[_.-])?prompts?(?:[_.-].*)?\.ya?ml")
_FOLDERS = frozenset(("prompts", "prompt"))
_TRANSLATIONS = frozenset(("i18n", "l10n", "locales", "locale", "translations", "intl"))
_LANGUAGE = re.compile(r"(?:messages|langs?|languages)/[a-z]{2,3}(?:[-_][a-z]{2,4})?\.\w+")
_OTHER_KINDS = re.compile(
    r"^(?:apiVersion|jobs|services|openapi|swagger|stages|pipeline|interactions)[ \t]*:|\$\{\{"
    r"|^[ \t]*\"(?:openapi|swagger|\$schema)\"",
    re.MULTILINE,
)


def _sniff(source: Source) -> Sniffed:
    if not source.path.lower().endswith(tuple(READER.suffixes)):
        return Sniffed.NO
    if _is_translation(source):
        return Sniffed.NO
    head = source.text[:HEAD_CHARS].lower()
    expected = _of_prompts(source) or _among_prompts(source)
    if not expected and not any(word in head for word in _WORDS):
        return Sniffed.NO  # most files end here, and patterns cost more
    if not (expected or _KEY.search(head)):
        return Sniffed.NO
    return Sniffed.NO if _OTHER_KINDS.search(source.text, 0, HEAD_CHARS) else Sniffed.NAME


def _of_prompts(source: Source) -> bool:
    """Whether a file's name says that it holds nothing but prompts, whatever their keys are."""
    return _FILE.fullmatch(PurePosixPath(source.path).name.lower()) is not None


def _is_translation(source: Source) -> bool:
    """Whether a file holds what a page says in one language: its prompts are for persons."""
    parts = PurePosixPath(source.path.lower()).parts
    named = _LANGUAGE.fullmatch("/".join(parts[-2:])) is not None
    return named or not _TRANSLATIONS.isdisjoint(parts[-3:-1])


def _among_prompts(source: Source) -> bool:
    """Whether a file lies in a folder of prompts: one that is broken there may not look clean."""
    return not _FOLDERS.isdisjoint(PurePosixPath(source.path.lower()).parts[-3:-1])


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.template.messages.read import roots_of
    from kvaudit.analyzers.template.structure.embedded import documents_in

    found: list[Document] = []
    for node, name in _values(roots_of(source), any_name=_of_prompts(source)):
        try:
            found += documents_in(source, node, project, kind="prompt-values", name=name)
        except Unreadable:
            continue  # braces of another engine than Jinja
        if len(found) >= MAX_VALUES:
            break
    return found


def _values(roots: Sequence[Node], *, any_name: bool) -> Iterator[tuple[Node, str]]:
    """Yield the long texts under a prompt's name, or any, with the way to them."""
    waiting = [(root, "", 0) for root in reversed(roots)]
    seen: set[int] = set()
    while waiting:
        node, name, level = waiting.pop()
        if id(node) in seen or level > MAX_LEVELS:
            continue
        seen.add(id(node))
        if node.kind is Kind.LIST:
            waiting += [(item, name, level + 1) for item in reversed(node.items)]
        elif node.kind is Kind.MAP:
            below = [(item, f"{name}.{key}".strip("."), level + 1) for key, item in node.pairs()]
            waiting += reversed(below)
        elif _is_long(node.text) and (any_name or _WHOLE.fullmatch(name.rsplit(".", 1)[-1])):
            yield node, name


def _is_long(text: str | None) -> bool:
    return text is not None and len(text) >= LEAST_CHARS and " " in text


READER = Reader(
    name="prompt-values",
    title="Prompts that are values of a configuration (YAML, JSON)",
    suffixes=(".yaml", ".yml", ".json"),
    sniff=_sniff,
    read=_read,
)
