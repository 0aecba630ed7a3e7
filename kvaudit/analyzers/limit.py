"""A limit on the time that one file may take: the last resort against hostile input.

Readers end in bounded time by themselves; this holds where one does not. What counts is the
process's own time, so that a busy machine makes no difference.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 30.0


class TookTooLong(BaseException):
    """Time is up. No `Exception`, so that nothing on the way takes it for its own."""


@contextmanager
def within(seconds: float = SECONDS) -> Iterator[None]:
    """Raise `TookTooLong` inside the block once it has used so much time.

    Only the main thread of a process on a POSIX system can be interrupted; elsewhere there is no
    limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _time_is_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _time_is_up(number: int, frame: FrameType | None) -> None:
    raise TookTooLong
