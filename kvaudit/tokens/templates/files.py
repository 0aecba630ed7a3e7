"""Chat templates and control tokens from a file or a Hugging Face model folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvaudit.core.errors import UsageError

DEFAULT, WITH_TOOLS = "default", "tool_use"
"""Names that transformers gives to templates: where there are tools it takes the second."""


@dataclass(frozen=True, slots=True)
class TemplateFiles:
    """Sources by name, and the control tokens that a model folder declares."""

    sources: Mapping[str, str]
    named_tokens: Mapping[str, str] = field(default_factory=dict)
    """``bos_token``, ``eos_token`` and the like."""
    added_tokens: frozenset[str] = frozenset()


def read_template_files(path: Path) -> TemplateFiles:
    """What a Jinja file or a model folder says about how chats are rendered."""
    return _folder(path) if path.is_dir() else TemplateFiles({DEFAULT: _read(path)})


def _folder(folder: Path) -> TemplateFiles:
    config = _json_file(folder / "tokenizer_config.json")
    sources = _sources(config.get("chat_template"))
    if (file := folder / "chat_template.json").is_file():
        sources |= _sources(_json_file(file).get("chat_template"))
    # As in transformers: files of their own go before what the configuration holds.
    if (file := folder / "chat_template.jinja").is_file():
        sources[DEFAULT] = _read(file)
    for file in sorted((folder / "additional_chat_templates").glob("*.jinja")):
        sources[file.stem] = _read(file)
    if not sources:
        raise UsageError(
            f"{folder} holds no chat template: neither chat_template.jinja nor a chat_template "
            "in tokenizer_config.json; name a built-in template or a Jinja file"
        )
    sources.setdefault(DEFAULT, next(iter(sources.values())))
    tokens = {**_json_file(folder / "special_tokens_map.json"), **config}
    named = {
        key: text
        for key, value in tokens.items()
        if key.endswith("_token") and (text := _content(value))
    }
    added = config.get("added_tokens_decoder")
    contents = map(_content, added.values()) if isinstance(added, dict) else ()
    return TemplateFiles(sources, named, frozenset(text for text in contents if text))


def _sources(value: Any) -> dict[str, str]:
    if isinstance(value, str):
        return {DEFAULT: value}
    entries = value if isinstance(value, list) else []
    return {
        str(entry["name"]): str(entry["template"])
        for entry in entries
        if isinstance(entry, dict) and "name" in entry and "template" in entry
    }


def _content(value: Any) -> str | None:
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def _json_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(_read(path))
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    return value if isinstance(value, dict) else {}


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"chat template {path} cannot be read: {error}") from None
