"""Caches that match by tokens: OpenAI before GPT-5.6, Azure, DeepSeek before V4, Gemini, Mistral.

Every prefix of a prompt is stored in steps of a fixed length and hits up to the last step that
is held. OpenAI chooses the machine by a hash of the prompt's head and ``prompt_cache_key``; from
about fifteen requests a minute of one head and key on, the next go to another machine, which has
nothing of theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.models.provider_entries import Entries, Leniency, Served, Turn

MINUTE_S = 60.0


class Routes:
    """Which place a request reaches: a key of the user's and a machine."""

    def __init__(self, leniency: Leniency) -> None:
        """Start without traffic."""
        self._waits = leniency.waits
        self._arrivals: dict[Hashable, deque[float]] = {}

    def place(self, turn: Turn) -> Hashable:
        """Return where the request goes; counts it. None is where all go that choose nothing."""
        rules, now_s = turn.rules, turn.now_s
        if not self._waits or rules.route_tokens is None:
            return turn.variants[0] or None
        key, machine = turn.facts.prompt_cache_key, 0
        if rules.keys_per_minute is not None and now_s is not None:
            head = int(turn.keys[min(rules.route_tokens, turn.prompt_tokens) - 1])
            arrivals = self._arrivals.setdefault((key, head), deque())
            while arrivals and now_s - arrivals[0] >= MINUTE_S:
                arrivals.popleft()
            machine = len(arrivals) // rules.keys_per_minute
            arrivals.append(now_s)
        if key is None and not machine and not turn.variants[0]:
            return None
        return turn.variants[0], key, machine


class PrefixCache:
    """Prefixes in steps of tokens. Holds about 200 bytes a step, or 16 bytes a token."""

    def __init__(self, leniency: Leniency) -> None:
        """Start empty."""
        self._entries = Entries(leniency)
        self._fine = _TokenTimes(leniency)
        self._routes = Routes(leniency)

    def serve(self, turn: Turn) -> Served:
        """Look the prompt up, then store it."""
        place, step = self._routes.place(turn), turn.rules.step_tokens
        prompt_steps = turn.prompt_tokens // step
        if step == 1 and place is None:
            hit_tokens = self._fine.reach(turn)
            self._fine.store(turn)
        else:
            names = [(place, key) for key in turn.keys[step - 1 :: step].tolist()]
            hit_steps = 0
            while hit_steps < prompt_steps and self._entries.readable(names[hit_steps], turn):
                hit_steps += 1
            hit_tokens = hit_steps * step
            if turn.long_enough(turn.prompt_tokens):
                for name in names:
                    self._entries.store(name, turn, turn.lifetime_s)
        kept_tokens = prompt_steps * step
        return Served(
            hit_tokens if turn.long_enough(hit_tokens) else 0,
            kept_tokens=kept_tokens if turn.long_enough(turn.prompt_tokens) else 0,
            too_short=not turn.long_enough(turn.prompt_tokens),
        )


class _TokenTimes:
    """The same token by token, for one place: times in arrays, by the key of the prefix."""

    def __init__(self, leniency: Leniency) -> None:
        self._leniency = leniency
        self._used_s = np.full(1024, -np.inf)
        self._ready_s = np.full(1024, np.inf)

    def reach(self, turn: Turn) -> int:
        """Return the tokens of the prompt that can be read."""
        keys = turn.keys[: turn.prompt_tokens]
        held = keys < len(self._used_s)
        there = np.zeros(len(keys), np.bool_)
        there[held] = self._readable(keys[held], turn)
        return len(there) if there.all() else int(there.argmin())

    def _readable(self, keys: NDArray[np.int32], turn: Turn) -> NDArray[np.bool_]:
        used_s, ready_s = self._used_s[keys], self._ready_s[keys]
        there = used_s > -np.inf
        if turn.now_s is None:
            return there
        if self._leniency.waits:
            there &= ready_s <= turn.now_s
        if self._leniency.expires and turn.lifetime_s is not None:
            there &= turn.now_s - used_s <= turn.lifetime_s
        return there

    def store(self, turn: Turn) -> None:
        """Keep all tokens of the request, known output included."""
        if not turn.long_enough(turn.prompt_tokens):
            return
        keys = turn.keys
        self._grow(int(keys.max()) + 1)
        used_s = np.inf if turn.now_s is None else turn.ready_s
        old_used_s, old_ready_s = self._used_s[keys], self._ready_s[keys]
        lives = old_used_s > -np.inf
        if self._leniency.expires and turn.lifetime_s is not None:
            # Infinite less infinite is no number; what never expires is alive.
            lives &= (old_used_s == np.inf) | (used_s - old_used_s <= turn.lifetime_s)
        self._used_s[keys] = np.maximum(old_used_s, used_s)
        self._ready_s[keys] = np.where(lives, np.minimum(old_ready_s, turn.ready_s), turn.ready_s)

    def _grow(self, size: int) -> None:
        if size > len(self._used_s):
            more = max(size, 2 * len(self._used_s)) - len(self._used_s)
            self._used_s = np.concatenate([self._used_s, np.full(more, -np.inf)])
            self._ready_s = np.concatenate([self._ready_s, np.full(more, np.inf)])
