"""Caches that match at breakpoints: Anthropic, Bedrock, and OpenAI since GPT-5.6.

A prefix is stored only where a breakpoint stands. Anthropic and Bedrock refuse a request with
more than four, and look from each of theirs back over twenty positions for an earlier one's
entry; OpenAI sets one itself at the newest message, and considers the latest eighty ends of
messages. What was stored at other places cannot be read, however long the text they share.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

from kvaudit.core.prompts import Mark, Outline, Section
from kvaudit.cost.providers.facts import Provider
from kvaudit.replay.models.provider_entries import Entries, Leniency, Served, Turn
from kvaudit.replay.models.provider_prefix import PrefixCache, Routes

HOUR_S = 3600
"""Entries that live so long are billed as the longer kind."""
_BLOCK_MARKS = ("cache_control", "cachePoint")
_MESSAGE_MARK = "prompt_cache_breakpoint"


class _Breakpoint(NamedTuple):
    block: int
    lifetime_s: float | None


class MarkedBlocks:
    """Anthropic's cache, and Bedrock's."""

    def __init__(
        self,
        provider: Provider,
        leniency: Leniency,
        lifetime_s: float | None = None,
        *,
        automatic: bool = False,
    ) -> None:
        """Take a lifetime for all markers, or None for what each of them says.

        ``automatic`` marks the last block of requests that mark nothing themselves.
        """
        self._provider, self._automatic = provider, automatic
        self._entries = Entries(leniency)
        self._lifetime_s = lifetime_s

    def serve(self, turn: Turn) -> Served:
        """Look back from every breakpoint, and store what stands before the last one."""
        outline = turn.facts.outline
        if outline is None or not len(outline.ends):
            return Served()
        breakpoints = self._breakpoints(turn, outline)
        if breakpoints is None:
            return Served(refused=True)
        usable: list[_Breakpoint] = []
        for breakpoint_ in breakpoints:
            minimums = len(usable) + 1 if turn.rules.minimum_each else 1
            if turn.long_enough(int(outline.ends[breakpoint_.block]), minimums=minimums):
                usable.append(breakpoint_)
        names = [
            (turn.variants[section], int(turn.keys[end - 1]))
            for section, end in zip(outline.sections.tolist(), outline.ends.tolist(), strict=True)
        ]
        hit = max((self._found(b.block, names, outline, turn) for b in usable), default=-1)
        served = self._write(turn, outline, names, usable, hit)
        return served._replace(too_short=bool(breakpoints) and not usable)

    def _breakpoints(self, turn: Turn, outline: Outline) -> list[_Breakpoint] | None:
        """Return the breakpoints in order; None for a request that is refused."""
        marks = {m.block: m for m in outline.marks if m.name in _BLOCK_MARKS}
        whole = (turn.facts.cache_options or {}).get("cache_control")
        if whole is not None or (self._automatic and not marks):
            last = len(outline.ends) - 1
            ttl = whole.get("ttl") if isinstance(whole, dict) else None
            marks.setdefault(last, Mark(last, "cache_control", ttl or ""))
        limit = turn.rules.marker_limit
        if limit is not None and len(marks) > limit:
            return None
        default = self._provider.lifetime_of(None)
        lives = {n: self._provider.lifetime_of(m.ttl or None) or default for n, m in marks.items()}
        in_order = [lives[n] or 0 for n in sorted(lives)]
        if any(later > earlier for earlier, later in pairwise(in_order)):
            return None  # a longer lifetime must stand before a shorter one
        return [
            _Breakpoint(n, lives[n] if self._lifetime_s is None else self._lifetime_s)
            for n in sorted(lives)
        ]

    def _found(self, block: int, names: Sequence[Hashable], outline: Outline, turn: Turn) -> int:
        """Return the last block before a breakpoint whose entry can be read, or -1."""
        positions, reach = outline.positions, turn.rules.look_back
        for candidate in range(block, -1, -1):
            if reach is not None and positions[block] - positions[candidate] >= reach:
                break
            if self._entries.readable(names[candidate], turn):
                return candidate
        return -1

    def _write(
        self,
        turn: Turn,
        outline: Outline,
        names: Sequence[Hashable],
        usable: Sequence[_Breakpoint],
        hit: int,
    ) -> Served:
        for name in names[: hit + 1]:
            self._entries.use(name, turn)
        for breakpoint_ in usable:
            if breakpoint_.block != hit:
                self._entries.store(names[breakpoint_.block], turn, breakpoint_.lifetime_s)
        ends = outline.ends.tolist()
        read = ends[hit] if hit >= 0 else 0
        new = [b for b in usable if b.block > hit]
        long = [ends[b.block] for b in new if (b.lifetime_s or 0) >= HOUR_S]
        to_hour = max(long, default=read)
        to_end = max((ends[b.block] for b in new), default=read)
        return Served(
            read,
            to_end - to_hour if to_end > to_hour else 0,
            to_hour - read,
            kept_tokens=to_end,
        )


class MessageEnds:
    """OpenAI's cache since GPT-5.6."""

    def __init__(
        self, provider: Provider, leniency: Leniency, lifetime_s: float | None = None
    ) -> None:
        """Take a lifetime for all breakpoints, or None for what each request says."""
        self._provider, self._lifetime_s = provider, lifetime_s
        self._entries = Entries(leniency)
        self._routes = Routes(leniency)
        self._anywhere = PrefixCache(leniency)

    def serve(self, turn: Turn) -> Served:
        """Find the latest end of a message that was written, and write the newest."""
        outline = turn.facts.outline
        if outline is None:
            return self._serve_unknown(turn)
        place = self._routes.place(turn)
        ends, written = self._places(turn, outline)
        read = next(
            (end for end in ends if self._entries.readable(_name(place, turn, end), turn)), 0
        )
        read = read if turn.long_enough(read) else 0
        if read:
            self._entries.use(_name(place, turn, read), turn)
        usable = [end for end in written if turn.long_enough(end)]
        lifetime_s = self._lifetime_of(turn)
        for end in usable:
            self._entries.store(_name(place, turn, end), turn, lifetime_s)
        to_end = max([read, *usable])
        short, long = to_end - read, 0
        if (lifetime_s or 0) >= HOUR_S:
            short, long = long, short
        too_short = bool(written) and not usable
        return Served(read, short, long, kept_tokens=to_end, too_short=too_short)

    def _lifetime_of(self, turn: Turn) -> float | None:
        """Return how long the entries of a request live, by the longest ttl that it names."""
        if self._lifetime_s is not None:
            return self._lifetime_s
        options = (turn.facts.cache_options or {}).get("prompt_cache_options")
        asked = [options.get("ttl")] if isinstance(options, dict) else []
        if turn.facts.outline is not None:
            asked += [m.ttl for m in turn.facts.outline.marks if m.name == _MESSAGE_MARK]
        known = self._provider.lifetimes
        lives = [float(known[ttl]) for ttl in asked if isinstance(ttl, str) and ttl in known]
        return max(lives, default=turn.lifetime_s)

    def _serve_unknown(self, turn: Turn) -> Served:
        """Take any place for the end of a message, where the log does not say where they end."""
        if _is_explicit(turn):
            return Served()
        served = self._anywhere.serve(turn)
        written = max(served.kept_tokens - served.read_tokens, 0)
        if (self._lifetime_of(turn) or 0) >= HOUR_S:
            return served._replace(write_1h_tokens=written)
        return served._replace(write_5m_tokens=written)

    def _places(self, turn: Turn, outline: Outline) -> tuple[Sequence[int], list[int]]:
        """Return where an entry may be read, the latest first, and where one is written."""
        explicit, limit = _is_explicit(turn), turn.rules.marker_limit or 0
        ends = outline.ends.tolist()
        marked = [ends[m.block] for m in outline.marks if m.name == _MESSAGE_MARK]
        messages = [end for end, of in zip(ends, outline.message_ends, strict=True) if of]
        written = marked[-limit:] if explicit else marked[-(limit - 1) :]
        if not explicit:
            written += messages[-1:]
            system = [e for e, s in zip(ends, outline.sections, strict=True) if s == Section.SYSTEM]
            written += system[-1:]
        considered = sorted({*marked, *messages}, reverse=True)
        return considered[: turn.rules.considered], written


def _is_explicit(turn: Turn) -> bool:
    options = (turn.facts.cache_options or {}).get("prompt_cache_options")
    return isinstance(options, dict) and options.get("mode") == "explicit"


def _name(place: Hashable, turn: Turn, end: int) -> Hashable:
    return place, int(turn.keys[end - 1])
