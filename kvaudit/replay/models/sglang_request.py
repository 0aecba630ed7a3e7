"""One request on its way through SGLang's scheduler."""

from __future__ import annotations

from dataclasses import dataclass

from kvaudit.replay.models.radix import Node


@dataclass(slots=True, eq=False, kw_only=True)
class Running:
    """One request on its way through the engine."""

    number: int
    path: bytes
    """Keys of its full pages, prompt and output."""
    prompt: int
    outputs: int
    """Tokens until it ends, at least one."""
    priority: int
    head: int
    """Equal for requests with the same first tokens, `sglang_queue.HEAD_TOKENS` of them."""
    done: int = 0
    """Output tokens whose step is known to the scheduler."""
    committed: int = 0
    """Tokens with a place of their KV (``kv_committed_len``)."""
    prefix: int = 0
    """Tokens that its next chunk follows (``prefix_indices``)."""
    owned: int = 0
    """Pages that the tree has of it (``cache_protected_len``)."""
    node: Node | None = None
    chunks: int = 0
    """Chunks that are not known to be computed (``is_chunked``)."""
    ended: bool = False
    retracted: bool = False
    cached: int | None = None
    """Tokens hit at first admission."""
    resumed_cached: int = 0
    evicted: int = 0
    held: int = 0

    @property
    def length(self) -> int:
        """Return the tokens that a prefill has to cover (``fill_ids``)."""
        return self.prompt + self.done
