"""Request bodies and message lists as JSON or YAML, as people keep them in files.

Recognised by what they hold: messages with roles, ``contents`` with parts. A file of settings
that happens to have a key called ``messages`` is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

HEAD_CHARS = 200_000
"""How far into a file its first message is looked for."""

_ROLE = r"(?:system|developer|user|human|assistant|model|tool)"
_JSON = re.compile(
    rf'"role"\s*:\s*"{_ROLE}"|"(?:messages|contents|input)"\s*:\s*\[?\s*\{{\{{'
    r'|"parts"\s*:\s*\[\s*\{\s*"text"'
)
_YAML = re.compile(rf"^[ \t]*(?:- +)?[\"']?role[\"']?\s*:\s*[\"']?{_ROLE}[\"']?\s*(?:#.*)?$", re.M)
_SAID = re.compile(r"[\"']?\b(?:content|parts|text|tool_calls|output)[\"']?\s*:")


def _sniff(source: Source) -> Sniffed:
    name = PurePosixPath(source.path).name.lower()
    if not name.endswith(tuple(READER.suffixes)):
        return Sniffed.NO
    head = source.text[:HEAD_CHARS]
    found = _JSON.search(head)
    if found is None and not name.endswith((".json", ".jsonc", ".json5")):
        found = _YAML.search(head)
    if found is None or not (_SAID.search(head) or "{{" in found[0]):
        return Sniffed.NO
    return Sniffed.CONTENT


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.template.messages.read import read_messages

    return read_messages(source, project)


READER = Reader(
    name="messages",
    title="Request bodies and message lists (JSON, YAML): OpenAI, Anthropic, Bedrock, Gemini",
    suffixes=(".json", ".jsonc", ".json5", ".yaml", ".yml"),
    sniff=_sniff,
    read=_read,
)
