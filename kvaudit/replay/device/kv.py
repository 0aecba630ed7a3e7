"""What a block of real KV is, and how blocks become a model's past and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch


class KvShape(NamedTuple):
    """The KV of one token: keys and values of so many heads in every layer."""

    layers: int
    heads: int
    head_dim: int
    dtype: torch.dtype

    @property
    def token_bytes(self) -> int:
        """Bytes of one token."""
        return 2 * self.layers * self.heads * self.head_dim * self.dtype.itemsize

    def block(self, tokens: int) -> tuple[int, int, int, int, int]:
        """Return the shape of a block: layers, keys and values, heads, tokens, head size."""
        return self.layers, 2, self.heads, tokens, self.head_dim


def past_of(run: torch.Tensor, config: Any) -> Any:
    """Return a run of KV, shape (layers, 2, heads, tokens, head_dim), as a transformers cache."""
    from transformers import DynamicCache

    cache = DynamicCache(config=config)
    if run.shape[3]:
        for layer in range(run.shape[0]):
            cache.update(run[layer, 0][None], run[layer, 1][None], layer)
    return cache


def run_of(cache: Any, start: int, end: int) -> torch.Tensor:
    """Return the KV of tokens ``start`` to ``end`` of a transformers cache, as one run; a copy."""
    keys = cache.layers[0].keys
    _, heads, _, size = keys.shape
    run: torch.Tensor = keys.new_empty((len(cache.layers), 2, heads, end - start, size))
    for number, layer in enumerate(cache.layers):
        run[number, 0] = layer.keys[0, :, start:end]
        run[number, 1] = layer.values[0, :, start:end]
    return run


def blocks_of(run: torch.Tensor, block: int) -> torch.Tensor:
    """Cut a run into blocks, shape (blocks, layers, 2, heads, block, head_dim)."""
    layers, two, heads, tokens, size = run.shape
    cut = run.view(layers, two, heads, tokens // block, block, size)
    return cut.permute(3, 0, 1, 2, 4, 5).contiguous()


def joined(blocks: torch.Tensor) -> torch.Tensor:
    """Join blocks, shape (blocks, layers, 2, heads, block, head_dim), to one run; a copy."""
    count, layers, two, heads, block, size = blocks.shape
    return blocks.permute(1, 2, 3, 0, 4, 5).reshape(layers, two, heads, count * block, size)
