"""Lines of a trace of block hashes to columns of numbers, compiled; a `RowScan`.

Reads objects of exactly the four fields that Mooncake's traces have, in any order, with plain
numbers. Any other line, sound or not, is left to a reader that knows the whole of JSON.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.hash_rows import HashRows
from kvaudit.logs.checks import MOST_TOKENS
from kvaudit.replay.kernels.compiled import compiled

_NAMES = ("timestamp", "input_length", "output_length", "hash_ids")
_KEYS = np.frombuffer("".join(f'"{name}"' for name in _NAMES).encode(), np.uint8)
_KEY_ENDS = np.cumsum([0, *(len(name) + 2 for name in _NAMES)])
_TIME, _PROMPT, _OUTPUT, _IDS = range(4)
_SHORTEST = len(_KEYS) + len("{:0,:0,:0,:[]}\n")
"""Characters of a line."""
_EXACT_DIGITS = 15
"""Numbers of so many digits are exact as floats, and so is the power of ten below them."""
_ANOTHER = -1
_SPACE, _TAB, _RETURN, _NEWLINE = b" \t\r\n"
_ZERO, _ONE, _POINT, _COMMA, _COLON = b"01.,:"
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = b"{}[]"


class _Columns(NamedTuple):
    """Where the kernel writes; times as what is written without its point, and digits behind it."""

    counts: NDArray[np.int64]
    """A row a request: time, prompt tokens, output tokens."""
    decimals: NDArray[np.int64]
    block_ids: NDArray[np.uint64]
    offsets: NDArray[np.int64]


def scan(text: bytes, begin: int, end: int) -> tuple[HashRows, int]:
    """Return the requests of ``text[begin:end]``, and where the first line of another kind is."""
    # One more than there can be, for what was written when a line turns out to be another.
    most = (end - begin) // _SHORTEST + 1
    columns = _Columns(
        counts=np.empty((most, 3), np.int64),
        decimals=np.empty(most, np.int64),
        block_ids=np.empty((end - begin) // 2 + 1, np.uint64),
        offsets=np.empty(most + 1, np.int64),
    )
    columns.offsets[0] = 0
    count, stop = _scan(np.frombuffer(text, np.uint8), begin, end, columns)
    offsets = columns.offsets[: count + 1]
    time, prompt_tokens, output_tokens = columns.counts[:count].T
    return HashRows(
        first=0,
        block_tokens=0,
        # Milliseconds; divided one after the other, as a reader of single numbers does.
        arrived_s=time / 10.0 ** columns.decimals[:count] / 1000,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        block_ids=columns.block_ids[: offsets[-1]].view(np.int64),
        offsets=offsets,
    ), stop


@compiled
def _after_space(text: NDArray[np.uint8], at: int) -> int:
    while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
        at += 1
    return at


@compiled
def _field(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return which field begins here, and where its value does; `_ANOTHER` for any other."""
    for field in range(len(_KEY_ENDS) - 1):
        key = _KEYS[_KEY_ENDS[field] : _KEY_ENDS[field + 1]]
        same = 0
        while same < len(key) and text[at + same] == key[same]:
            same += 1
        if same == len(key):
            at = _after_space(text, at + same)
            if text[at] != _COLON:
                break
            return field, _after_space(text, at + 1)
    return _ANOTHER, at


@compiled
def _number(text: NDArray[np.uint8], at: int) -> tuple[int, int, int]:
    """Return a number without its point, the digits behind that, and where it ends."""
    begin, value, point = at, 0, -1
    while True:
        digit = text[at] - np.uint8(_ZERO)
        if digit <= 9:
            value = value * 10 + int(np.int64(digit))  # a bare int() keeps it unsigned
        elif text[at] == _POINT and point < 0 and at > begin:
            point = at
        else:
            break
        at += 1
    digits = at - begin - (1 if point >= 0 else 0)
    whole = digits if point < 0 else point - begin
    decimals = digits - whole
    if digits == 0 or digits > _EXACT_DIGITS or (point >= 0 and decimals == 0):
        return 0, _ANOTHER, at
    if whole > 1 and text[begin] == _ZERO:
        return 0, _ANOTHER, at
    return value, decimals, at


@compiled
def _list(text: NDArray[np.uint8], at: int, ids: NDArray[np.uint64], used: int) -> tuple[int, int]:
    """Write a list of whole numbers; return how many are used then, and where the list ends."""
    at = _after_space(text, at + 1)
    if text[at] == _CLOSE_LIST:
        return used, at + 1
    while True:
        begin, value = at, np.uint64(0)
        while True:
            digit = text[at] - np.uint8(_ZERO)
            if digit > 9:
                break
            value = value * np.uint64(10) + np.uint64(digit)
            at += 1
        digits, leading = at - begin, text[begin]
        # A number of twenty digits fits into 64 bits if it does not wrap around.
        if digits > 19 and (digits > 20 or leading != _ONE or value < np.uint64(10**19)):
            return used, _ANOTHER
        if digits == 0 or (digits > 1 and leading == _ZERO):
            return used, _ANOTHER
        ids[used] = value
        used += 1
        at = _after_space(text, at)
        if text[at] == _CLOSE_LIST:
            return used, at + 1
        if text[at] != _COMMA:
            return used, _ANOTHER
        at = _after_space(text, at + 1)


@compiled
def _request(text: NDArray[np.uint8], at: int, out: _Columns, row: int) -> int:
    """Write the request of a line; return where it ends, or `_ANOTHER`."""
    used, seen = out.offsets[row], 0
    at = _after_space(text, at)
    if text[at] != _OPEN:
        return _ANOTHER
    while True:
        field, at = _field(text, _after_space(text, at + 1))
        if field == _ANOTHER or seen & (1 << field):
            return _ANOTHER
        seen |= 1 << field
        if field == _IDS:
            if text[at] != _OPEN_LIST:
                return _ANOTHER
            used, at = _list(text, at, out.block_ids, used)
            if at == _ANOTHER:
                return _ANOTHER
        else:
            value, decimals, at = _number(text, at)
            if decimals == _ANOTHER:
                return _ANOTHER
            if field == _TIME:
                out.decimals[row] = decimals
            elif decimals > 0 or value > MOST_TOKENS:
                return _ANOTHER
            out.counts[row, field] = value
        at = _after_space(text, at)
        if text[at] == _CLOSE:
            break
        if text[at] != _COMMA:
            return _ANOTHER
    at = _after_space(text, at + 1)
    if text[at] != _NEWLINE or seen != 0b1111:
        return _ANOTHER
    out.offsets[row + 1] = used
    return at + 1


@compiled
def _scan(text: NDArray[np.uint8], at: int, end: int, out: _Columns) -> tuple[int, int]:
    """Write the requests of the lines; return how many there are, and where the first other is."""
    row = 0
    while at < end:
        following = _request(text, at, out, row)
        if following == _ANOTHER:
            break
        at = following
        row += 1
    return row, at
