"""How many messages were taken out of a history, whatever else happened to it."""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.analyzers.template.request_log.request import Message

_LEAST_LEFT = 2
"""Messages that are what they were, where others that are left were written anew."""


def says_the_same(mine: Message, yours: Message) -> bool:
    """Whether two messages are of the same role and say the same."""
    return mine.role == yours.role and mine.said == yours.said


def messages_cut(before: Sequence[Message], after: Sequence[Message], at: int) -> int:
    """Return how many messages were taken out before the one that now stands at ``at``."""
    for start in range(at + 1, len(before)):
        if says_the_same(before[start], after[at]):
            rest, same = _stand(before, after, start, at)
            if same >= max(1, rest - 1) and (rest > 1 or len(before) - start == 1):
                return start - at
    return _cut_and_changed(before, after, at) or _summed_up(before, after, at)


def _summed_up(before: Sequence[Message], after: Sequence[Message], at: int) -> int:
    """Return the same where one message stands in place of those that are gone, as a summary."""
    for start in range(at + 1, len(before)):
        rest, same = _stand(before, after, start, at + 1)
        if rest > 1 and same == rest and start - at > 1:
            return start - at
    return 0


def _cut_and_changed(before: Sequence[Message], after: Sequence[Message], at: int) -> int:
    """Return the same where some were written anew as well: by most of those that are left."""
    _, stayed = _stand(before, after, at, at)
    for start in range(at + 1, len(before)):
        rest, same = _stand(before, after, start, at)
        pairs = zip(before[start:], after[at:], strict=False)
        if same >= max(_LEAST_LEFT, rest / 2, stayed + 1) and all(
            mine.role == yours.role for mine, yours in pairs
        ):
            return start - at
    return 0


def _stand(
    before: Sequence[Message], after: Sequence[Message], start: int, at: int
) -> tuple[int, int]:
    """Return how many messages stand side by side from two places on, and how many are the same."""
    same = list(map(says_the_same, before[start:], after[at:]))
    return len(same), sum(same)
