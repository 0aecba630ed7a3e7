"""A run that is told to end, as a job of CI is that takes too long."""

import signal
from concurrent.futures import ProcessPoolExecutor

from kvaudit.analyzers import files
from kvaudit.analyzers.profile import Profile


def test_workers_end_at_once_whatever_the_parent_does():
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    task = files.Task(rules=(), profile=Profile())
    try:
        with ProcessPoolExecutor(1, initializer=files._begin, initargs=(task,)) as pool:
            assert pool.submit(signal.getsignal, signal.SIGTERM).result() == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
