"""The pool and tree under SGLang's scheduler, compiled: room, and what requests leave there."""

from __future__ import annotations

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.key_paths import Path
from kvaudit.replay.kernels.radix_tree import (
    EVICTABLE,
    Tree,
    evict,
    hold,
    insert,
    match,
    offer_leaf,
    release,
)
from kvaudit.replay.kernels.sglang_state import (
    CAPACITY,
    COUNTS,
    KEEPS_AGE,
    NOBODY,
    PAGE,
    PEAK,
    POLICY,
    SHORTFALL,
    USED,
    Asked,
    State,
    pages_of,
)


@inner
def make_room(tree: Tree, state: State, tokens: int, whom: int) -> None:
    """Evict all that is asked for, or what is missing, where too little is free."""
    asked = pages_of(state, tokens)
    missing = asked - (state.settings[CAPACITY] - state.tallies[USED])
    if missing > 0:
        pages = missing if state.settings[SHORTFALL] == 1 else asked
        freed = evict(tree, pages, state.settings[POLICY])
        state.tallies[USED] -= freed
        if whom != NOBODY:
            state.evicted[whom] += freed


@inner
def use(state: State, pages: int) -> None:
    """Take so many pages of the pool."""
    state.tallies[USED] += pages
    state.tallies[PEAK] = max(state.tallies[PEAK], state.tallies[USED])


@inner
def room(tree: Tree, state: State) -> int:
    """Return the tokens that are free or may be."""
    free = state.settings[CAPACITY] - state.tallies[USED] + tree.totals[EVICTABLE]
    return int(free * state.settings[PAGE])


@inner
def look_up(tree: Tree, state: State, asked: Asked, request: int, tokens: int) -> None:
    """Match the first tokens of a request, which holds nothing yet."""
    policy = state.settings[POLICY]
    path = Path(asked.runs[request], asked.pages[request])
    found, node = match(
        tree, path, tokens // state.settings[PAGE], policy, state.settings[KEEPS_AGE] == 1
    )
    hits = found.page
    offer_leaf(tree, node, policy)
    state.node[request] = node
    state.owned[request] = hits
    state.prefix[request] = hits * state.settings[PAGE]


@inner
def insert_pages(
    tree: Tree, state: State, asked: Asked, request: int, pages: int, chunked: bool
) -> tuple[int, int]:
    """Insert a request's first pages; return how many were held before, and the last node."""
    counted_from = 0 if state.settings[COUNTS] == 1 and not chunked else -1
    known, node = insert(
        tree,
        Path(asked.runs[request], asked.pages[request]),
        pages,
        asked.priority[request],
        counted_from,
        state.settings[POLICY],
        state.settings[KEEPS_AGE] == 1,
    )
    return known, node


@inner
def cache_unfinished(tree: Tree, state: State, asked: Asked, request: int, chunked: bool) -> None:
    """Leave what a prefill covered in the tree, and hold it."""
    tokens = asked.prompt[request] + state.done[request] - 1
    if chunked:
        tokens = state.committed[request]
    pages = tokens // state.settings[PAGE]
    known, node = insert_pages(tree, state, asked, request, pages, chunked)
    state.tallies[USED] -= max(0, known - state.owned[request])
    state.owned[request], state.prefix[request] = pages, tokens
    release(tree, state.node[request], state.settings[POLICY])
    hold(tree, node)
    state.node[request] = node


@inner
def finish(tree: Tree, state: State, asked: Asked, request: int) -> None:
    """Leave all full pages of a request that ended in the tree."""
    committed = state.committed[request]
    pages = committed // state.settings[PAGE]
    known, _ = insert_pages(tree, state, asked, request, pages, False)
    state.tallies[USED] -= max(0, known - state.owned[request])
    state.tallies[USED] -= pages_of(state, committed) - pages
    release(tree, state.node[request], state.settings[POLICY])
