"""A request without anything that could tell what was asked, or who asked.

Kept are times, lengths, counts and how it ended; ids and names become keyed hashes, prompts
keyed block hashes. Everything else is left out: a field that is added to the record later is
left out too until it is named here.
"""

from __future__ import annotations

from typing import Any

from kvaudit.core.requests import Request
from kvaudit.logs.writing.block_hashes import BlockHasher

_KEPT = (
    *("arrived_s", "finished_s", "arrive_step", "status", "priority", "marks"),
    *("block_ids", "block_tokens", "prompt_tokens", "output_tokens", "max_tokens"),
    *("cached_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens"),
    *("response_cache_hit", "ttft_s"),
)
_NAMES = (
    *("id", "parent", "session", "tenant", "user", "model", "lora", "salt"),
    *("instance", "prompt_cache_key", "block_scope"),
)


def anonymized(request: Request, hasher: BlockHasher) -> Request:
    """Return the request without text; its ``block_ids`` must be the hasher's already."""
    fields: dict[str, Any] = {field: getattr(request, field) for field in _KEPT}
    fields |= {field: hasher.name(getattr(request, field)) for field in _NAMES}
    return Request(**fields)
