"""What a ``tokenizer.json`` says beside its vocabulary: control tokens, first token, pattern."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvaudit.core.errors import UsageError
from kvaudit.tokens.tokenizer import ControlToken

# The pattern of Llama 3's file; Qwen's differs in taking digits one by one.
_LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CUT_PATTERNS = (_LLAMA3_PATTERN, _LLAMA3_PATTERN.replace("{1,3}", ""))


@dataclass(frozen=True, slots=True)
class TokenizerFile:
    """A ``tokenizer.json`` as read, and what kvaudit needs of it."""

    path: Path
    text: str
    control_tokens: Mapping[str, ControlToken]
    bos_id: int | None
    cuts_at_lines: bool
    glues_to_the_first: bool
    """A space is put before a prompt's first text only, so pieces are not the whole."""

    @property
    def name(self) -> str:
        """Name of the model folder, or of a file that is called otherwise."""
        return self.path.parent.name if self.path.name == "tokenizer.json" else self.path.name


def read_tokenizer_file(argument: str) -> TokenizerFile:
    """Read a ``tokenizer.json`` or the one in a model folder; raises `UsageError`."""
    path = Path(argument)
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        text = path.read_text("utf-8")
        content = json.loads(text)
    except OSError as error:
        raise UsageError(f"tokenizer file {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"tokenizer file {path} is not JSON: {error}") from None
    if not isinstance(content, dict) or "model" not in content:
        raise UsageError(f"{path} is no tokenizer.json: it has no model")
    tokens = {
        str(token["content"]): ControlToken(
            int(token["id"]), bool(token.get("lstrip")), bool(token.get("rstrip"))
        )
        for token in content.get("added_tokens") or ()
    }
    parts = list(_objects(content.get("pre_tokenizer"))) + list(_objects(content.get("normalizer")))
    return TokenizerFile(
        path=path.resolve(),
        text=text,
        control_tokens=tokens,
        bos_id=_bos_id(content, tokens, path.parent),
        cuts_at_lines=_cuts_at_lines(parts),
        glues_to_the_first=any(part.get("prepend_scheme") == "first" for part in parts),
    )


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value or ():
        if isinstance(child, dict | list):
            yield from _objects(child)


def _cuts_at_lines(parts: list[dict[str, Any]]) -> bool:
    kinds = {part["type"] for part in parts if "type" in part}
    patterns = [part["Regex"] for part in parts if "Regex" in part]
    return (
        kinds <= {"Sequence", "Split", "ByteLevel", "NFC"}
        and not any(part.get("add_prefix_space") for part in parts)
        and len(patterns) == 1
        and patterns[0] in _CUT_PATTERNS
    )


def _bos_id(
    content: dict[str, Any], tokens: Mapping[str, ControlToken], folder: Path
) -> int | None:
    for processor in _objects(content.get("post_processor")):
        if processor.get("type") == "TemplateProcessing":
            before = [part["SpecialToken"]["id"] for part in _before_text(processor["single"])]
            return tokens[before[0]].id if len(before) == 1 and before[0] in tokens else None
    config = folder / "tokenizer_config.json"
    if config.is_file():
        values = json.loads(config.read_text("utf-8"))
        bos = values.get("bos_token")
        bos = bos.get("content") if isinstance(bos, dict) else bos
        if values.get("add_bos_token") and isinstance(bos, str) and bos in tokens:
            return tokens[bos].id
    return None


def _before_text(single: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in single:
        if "SpecialToken" not in part:
            return
        yield part
