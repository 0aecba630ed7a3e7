"""What a model's name says about its cache: which have states, which embed, which know the day."""

from __future__ import annotations

import re

from kvaudit.analyzers.engine.invocation import Invocation

_HYBRID = re.compile(
    r"mamba|jamba|falcon-?h1|nemotron-?(?:h|nano|3)|bamba|zamba|granite-?4|qwen-?3-?next|qwen-?3\.5"
    r"|kimi-?linear|minimax-?(?:text|m1)|lfm-?2|plamo-?2|ring-2\.5|hunyuan-?t1",
    re.IGNORECASE,
)
"""Models with layers that keep one state instead of a key for each token."""
_POOLING = re.compile(
    r"embed|rerank|(?:^|/)(?:bge|e5|gte|jina)-|bert|whisper|colbert|reward|clip", re.IGNORECASE
)
# Llama 3.1 and 3.3 print a fixed day unless they are told one; 3.2 and gpt-oss print today's.
_CLOCKED = re.compile(r"llama-?3\.2|gpt-?oss", re.IGNORECASE)

_POOLS = {"embed", "embedding", "classify", "score", "reward", "pooling", "rerank"}


def pools(run: Invocation) -> bool:
    """Whether an engine is told to embed or to judge texts, and not to write any."""
    task = run.get("task", "runner", "convert")
    return task is not None and task.value in _POOLS


def encodes_only(run: Invocation) -> bool:
    """Whether an engine hands on what it made of images, and computes no KV of any prompt."""
    role = run.get("ec-transfer-config")
    return role is not None and "ec_producer" in (role.value or "")


def hands_on_states(run: Invocation) -> bool:
    """Whether a stage of vLLM-Omni writes no text: it hands on hidden states, or makes sound.

    Its documentation of ``enable_prefix_caching`` says that a stage which hands on hidden states
    (``engine_output_type: latent``) cannot have it: a prefix that is not computed has none.
    """
    made = run.get("engine-output-type")
    return made is not None and made.known and made.value != "text"


def is_hybrid(model: str | None) -> bool:
    """Whether a model keeps states, so that hits end where a state was kept."""
    return model is not None and _HYBRID.search(model) is not None


def is_pooling(model: str | None) -> bool:
    """Whether a model is asked once for each text and has no prefix to share."""
    return model is not None and _POOLING.search(model) is not None


def is_clocked(model: str | None) -> bool:
    """Whether a model's chat template prints the day."""
    return model is not None and _CLOCKED.search(model) is not None
