"""Chat templates of models: what they print is found by rendering them, in a sandbox.

Clocks are found by reading. All else that matters in a chat template is how it prints the same
conversation one turn later, which no reading tells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kvaudit.analyzers.reader import Project, Reader, Sniffed, Unreadable
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.analyzers.template.jsontext import Embedded, relocated, string_at, strings_under
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_SUFFIXES = (".jinja", ".j2", ".jinja2")
_FILES = ("tokenizer_config.json", "chat_template.json")
_VARIABLE = re.compile(r"\b(?:add_generation_prompt|bos_token|eos_token|raise_exception)\b")
_MESSAGES = re.compile(r"\{%-?\s*(?:for\b|set\b|if\b|macro\b)[^%]{0,200}\bmessages\b")
_KEY = re.compile(r'"chat_template"\s*:\s*(?=["\[])')


def _sniff(source: Source) -> Sniffed:
    name = source.path.lower()
    if name.endswith(_FILES):
        return Sniffed.CERTAIN if '"chat_template"' in source.text else Sniffed.NO
    if not name.endswith(_SUFFIXES):
        return Sniffed.NO
    found = _VARIABLE.search(source.text) and _MESSAGES.search(source.text)
    return Sniffed.CERTAIN if found else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.template.chat_template.document import document_of

    refuse_giants(len(source.text))
    if not source.path.lower().endswith(_FILES):
        return [document_of(source, project, {})]
    tokens = _named_tokens(source)
    return [
        replace(relocated(document_of(one.inner, project, tokens), one), name=name)
        for name, one in _embedded(source)
    ]


def _embedded(source: Source) -> Iterator[tuple[str, Embedded]]:
    """Yield the templates of a configuration file, by name."""
    try:
        for key in _KEY.finditer(source.text):
            if source.text[key.end()] == '"':
                yield "default", string_at(source, key.end())
                continue
            entries, end = json.JSONDecoder(strict=False).raw_decode(source.text, key.end())
            names = [str(entry.get("name")) for entry in entries]
            found = strings_under(source, "template", key.end(), end)
            yield from zip(names, found, strict=False)
    except (ValueError, AttributeError):
        raise Unreadable("its chat_template is neither a string nor a list of templates") from None


def _named_tokens(source: Source) -> Mapping[str, str]:
    try:
        config = json.loads(source.text)
    except ValueError as error:
        raise Unreadable(f"it is not JSON: {error}") from None
    if not isinstance(config, dict):
        return {}
    named = {
        key: value.get("content") if isinstance(value, dict) else value
        for key, value in config.items()
        if key.endswith("_token")
    }
    return {key: text for key, text in named.items() if isinstance(text, str)}


READER = Reader(
    name="chat-template",
    title="Chat templates of models (Jinja files, tokenizer_config.json, chat_template.json)",
    suffixes=(*_FILES, *_SUFFIXES),
    sniff=_sniff,
    read=_read,
)
