"""What LiteLLM's two logs, the spend table and the callback payload, have in common.

Read from LiteLLM's spend_tracking_utils and StandardLoggingPayload (2026). A prompt in the
spend table is cut string by string: beyond 2,048 characters the middle is replaced by a
remark. With message logging turned off every prompt is the same placeholder, which must not
be taken for a prompt that is shared.
"""

import re
from typing import Any

from kvaudit.core.requests import Json, Mark, Status
from kvaudit.logs.api.bodies import joined
from kvaudit.logs.api.usage import read_usage
from kvaudit.logs.format import Fields
from kvaudit.logs.values.lookup import child, label

# MAX_STRING_LENGTH_PROMPT_IN_DB. A string of just this length was cut by someone who left no
# remark; it is seldom anything else.
_CUT_AT = 2048
_REMARK = re.compile(r"\.\.\. \(litellm_truncated (?:skipped )?\d+ chars")
# Before 2025 it cut at 1,000 and had no name for it; agents write the same, but anywhere.
_OLD_REMARK = re.compile(r".{1000}\.\.\. \(truncated \d+ chars\)", re.DOTALL)
_PLACEHOLDERS = frozenset({"redacted-by-litellm", "redacted_by_litelm"})
_OTHER_CALLS = re.compile(
    "embedding|image|transcription|speech|rerank|moderation|ocr|file|batch|search"
    "|vector_store|mcp|video|container|health"
)


def why_not(row: Json) -> str | None:
    """Return why a row is no call of a language model."""
    if _OTHER_CALLS.search(label(row, "call_type") or ""):
        return "embedding, image or other call, not a language model's"
    return None


def usage_fields(row: Json) -> Fields:
    """Return the counts of a row, whose own columns hold the whole prompt."""
    metadata = child(row, "metadata")
    own = read_usage(
        {"prompt_tokens": row.get("prompt_tokens"), "output_tokens": row.get("completion_tokens")}
    )
    whole = read_usage(child(metadata, "usage_object"))
    more = {"prompt_tokens": None} | child(metadata, "additional_usage_values")
    return joined(own, whole, read_usage(more))


def prompt_fields(found: Fields) -> Fields:
    """Return a request body's fields without placeholders, and marked where text was cut."""
    shown = [found.get("messages"), found.get("prompt"), found.get("tools")]
    if any(text.lower() in _PLACEHOLDERS for text in _strings(shown)):
        return {k: v for k, v in found.items() if k not in ("messages", "prompt")}
    if any(was_cut(text) for text in _strings(shown)):
        return found | {"marks": found.get("marks", frozenset()) | {Mark.TRUNCATED_PROMPT}}
    return found


def was_cut(text: str) -> bool:
    """Tell whether LiteLLM cut this string."""
    if len(text) == _CUT_AT:
        return True
    return "truncated" in text and bool(_REMARK.search(text) or _OLD_REMARK.fullmatch(text))


def outcome(row: Json) -> Status | None:
    """Return how a call ended."""
    metadata = child(row, "metadata")
    stated = label(row, "status") or label(metadata, "status")
    if stated == "failure" or row.get("error_str") or child(metadata, "error_information"):
        return Status.ERROR
    return Status.OK if stated == "success" else None


def tenant(row: Json) -> str | None:
    """Return whom a call is charged to: a team, an organisation, or a key by its hash."""
    metadata = child(row, "metadata")
    return (
        label(row, "team_id")
        or label(metadata, "user_api_key_team_id")
        or label(row, "organization_id")
        or label(metadata, "user_api_key_org_id")
        or label(row, "api_key")
        or label(metadata, "user_api_key_hash", "user_api_key")
    )


def first_token_s(started: float | None, first: float | None, ended: float | None) -> float | None:
    """Return the time to the first token; LiteLLM writes the end where nothing was streamed."""
    if started is None or first is None or first == ended or first < started:
        return None
    return first - started


def _strings(node: Any) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, dict):
        node = list(node.values())
    return [text for item in node for text in _strings(item)] if isinstance(node, list) else []
