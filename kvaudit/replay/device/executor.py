"""Runs requests on a real model with real KV blocks in real tiers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from kvaudit.replay.device.checks import Checked, check
from kvaudit.replay.device.kv import blocks_of, joined
from kvaudit.replay.device.prefill import Prefill, Prefilled
from kvaudit.replay.device.provenance import Piece, Span, joined_spans
from kvaudit.replay.device.stopwatch import Stopwatch
from kvaudit.replay.device.tiers import KvPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request as the executor takes it."""

    units: NDArray[np.int32]
    """Prompt and known output."""
    prompt_tokens: int
    digests: Sequence[bytes]
    """Of all full blocks of ``units``: each stands for all text up to its end."""
    usable_blocks: int
    """Leading blocks that the engine's rules let hit."""


WARM_UP_TAIL = 64
"""Tokens computed after a past, before anything is timed."""


class Run(NamedTuple):
    """What became of one request."""

    hit_tokens: Sequence[int]
    """By tier, the fastest first."""
    on_s: float
    """Seconds from the first copy to the last logits."""
    checked: Checked | None


class _Last(NamedTuple):
    """The request that was served last."""

    prompt: Prompt
    done: Prefilled
    spans: list[Span] | None
    """How all of its KV was computed; None where nobody knows how the part that hit was."""
    hit_digests: frozenset[bytes]


class Executor:
    """Serves requests one after the other; holds in its places what it is told to hold."""

    def __init__(self, prefill: Prefill, places: Sequence[KvPlace], block: int) -> None:
        """Take what runs the model, the tiers from the fastest on, and the tokens of a block."""
        self.prefill = prefill
        self.places = places
        self._block = block
        self._spans: dict[bytes, Sequence[Span]] = {}  # how each held block was computed
        self._last: _Last | None = None

    def serve(self, prompt: Prompt, *, measured: bool, off_first: bool = False) -> Run:
        """Prefill a prompt after what the places hold of it; ``measured`` also without that.

        What it computed is let go with the next request; `hold` keeps it before.
        """
        self._last = None  # its KV would take room beside this request's
        tokens = prompt.units[: prompt.prompt_tokens].tolist()
        off_s, plain = 0.0, None
        if measured and off_first:
            off_s, plain = self._without_reuse(tokens)
        watch = Stopwatch(self.prefill.model.device)
        past, found = self._read(prompt)
        # The last token is always computed, for its logits.
        start = min(past.shape[3], prompt.prompt_tokens - 1)
        past = past[:, :, :, :start]
        done = self.prefill(past, tokens[start:])
        on_s = watch.stop()
        hit_tokens = self._hit_tokens(found, start)
        spans = self._known_spans(prompt, start)
        checked = None
        if measured:
            if plain is None:
                off_s, plain = self._without_reuse(tokens)
            checked = check(
                self.prefill,
                past,
                spans,
                tokens[start:],
                done.logits,
                plain,
                on_s=on_s,
                off_s=off_s,
            )
        if spans is not None:
            spans = [*spans, *self._pieces(spans, prompt, start, prompt.prompt_tokens)]
        self._last = _Last(prompt, done, spans, frozenset(prompt.digests[: sum(found)]))
        return Run(hit_tokens, on_s, checked)

    def warm_up(self, tokens: int) -> None:
        """Run the model over so many tokens, and over a few more after them, before it is timed.

        The first run of a kernel loads it, and the first of a size finds it memory.
        """
        done = self.prefill(self.prefill.nothing(), [1] * tokens)
        past = done.run(0, tokens)
        self.prefill(past, [1] * min(WARM_UP_TAIL, tokens))

    def hold(self, held: Sequence[Collection[bytes]]) -> None:
        """Make each place hold just these blocks, of the last request or of another place.

        A block that nobody has, since its file was damaged, is not held until it is computed.
        """
        incoming = []
        for place, wanted in zip(self.places, held, strict=True):
            incoming.append(self._fetch([d for d in wanted if not place.holds(d)]))
        for place, wanted in zip(self.places, held, strict=True):
            place.keep(wanted)
        for place, blocks in zip(self.places, incoming, strict=True):
            if blocks:
                place.write([*blocks], torch.stack([*blocks.values()]))
        anywhere = set(chain.from_iterable(held))
        self._spans = {d: spans for d, spans in self._spans.items() if d in anywhere}

    def _read(self, prompt: Prompt) -> tuple[torch.Tensor, list[int]]:
        """Return the KV of the blocks that are held, and how many came from each place.

        The first place is asked until a block is missing, and the others for what follows.
        """
        digests = prompt.digests[: prompt.usable_blocks]
        runs = [self.prefill.nothing()]
        found = [0] * len(self.places)
        at = 0
        first, *lower = range(len(self.places))
        for choices in ([first], lower):
            while at < len(digests):
                number = next((n for n in choices if self.places[n].holds(digests[at])), None)
                if number is None:
                    break
                end = at + 1
                while end < len(digests) and self._holder(choices, digests[end]) == number:
                    end += 1
                blocks = self.places[number].read(digests[at:end])
                found[number] += len(blocks)
                if len(blocks):
                    runs.append(joined(blocks))
                at += len(blocks)
                if at < end:
                    return torch.cat(runs, 3), found  # one of them is damaged
        return torch.cat(runs, 3), found

    def _holder(self, choices: Sequence[int], digest: bytes) -> int | None:
        return next((n for n in choices if self.places[n].holds(digest)), None)

    def _hit_tokens(self, found: Sequence[int], start: int) -> list[int]:
        """Return hit tokens by place; a prompt found to its end has one less, in the last."""
        tokens = [blocks * self._block for blocks in found]
        over = sum(tokens) - start
        if over > 0:
            last = max(number for number, count in enumerate(tokens) if count)
            tokens[last] -= over
        return tokens

    def _without_reuse(self, tokens: Sequence[int]) -> tuple[float, torch.Tensor]:
        watch = Stopwatch(self.prefill.model.device)
        logits = self.prefill(self.prefill.nothing(), tokens).logits
        return watch.stop(), logits

    def _known_spans(self, prompt: Prompt, start: int) -> list[Span] | None:
        """Return how the first ``start`` tokens were computed; None where nobody knows.

        That is so of what stood in files when the process began.
        """
        spans: list[Span] = []
        for digest in prompt.digests[: -(-start // self._block)]:
            known = self._spans.get(digest)
            if known is None:
                return None
            spans += known
        return _cut(joined_spans(spans), 0, start)

    def _pieces(self, spans: Sequence[Span], prompt: Prompt, start: int, end: int) -> list[Span]:
        """Return the pieces in which tokens ``start`` to ``end`` are computed after ``spans``."""
        past = list(spans)
        for first, last in self.prefill.chunks(start, end):
            piece = Piece(tuple(past), first, prompt.units[first:last])
            past.append(Span(piece, first, last))
        return past[len(spans) :]

    def _fetch(self, digests: Sequence[bytes]) -> dict[bytes, torch.Tensor]:
        """Return blocks of any place that still holds them, or of the last request.

        A block that is held somewhere and was computed once more is taken from there: its bits
        may differ, and there is one record of how they came to be.
        """
        read_already = frozenset() if self._last is None else self._last.hit_digests
        found: dict[bytes, torch.Tensor] = {}
        for place in self.places:
            wanted = [d for d in digests if d not in found and d not in read_already]
            held = [digest for digest in wanted if place.holds(digest)]
            while held:
                blocks = place.read(held)
                found.update(zip(held, blocks, strict=False))
                held = held[len(blocks) + 1 :]  # the one after them is damaged, if there is one
        return found | self._own_blocks([digest for digest in digests if digest not in found])

    def _own_blocks(self, digests: Collection[bytes]) -> dict[bytes, torch.Tensor]:
        """Return which of these the last request has; computes the output they need."""
        last = self._last
        if last is None:
            return {}
        wanted = set(digests)
        numbers = [n for n, digest in enumerate(last.prompt.digests) if digest in wanted]
        if not numbers:
            return {}
        first, end = numbers[0] * self._block, (numbers[-1] + 1) * self._block
        computed = last.done.cache.get_seq_length()
        if end > computed:
            last = self._last = self._with_output(last, computed, end)
        blocks = blocks_of(last.done.run(first, end), self._block)
        for number in numbers if last.spans is not None else ():
            assert last.spans is not None
            start = number * self._block
            cut = _cut(last.spans, start, start + self._block)
            self._spans.setdefault(last.prompt.digests[number], cut)
        return {last.prompt.digests[n]: blocks[n - numbers[0]] for n in numbers}

    def _with_output(self, last: _Last, start: int, end: int) -> _Last:
        """Compute generated tokens that the log holds, since their blocks are kept."""
        done = self.prefill.after(last.done.cache, last.prompt.units[start:end].tolist())
        spans = last.spans
        if spans is not None:
            spans = [*spans, *self._pieces(spans, last.prompt, start, end)]
        return last._replace(done=done, spans=spans)


def _cut(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """Return the parts of spans between two tokens."""
    return [
        Span(piece, max(first, start), min(last, end))
        for piece, first, last in spans
        if first < end and last > start
    ]
