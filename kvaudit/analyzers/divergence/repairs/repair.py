"""What a fix of the text is: it sees the requests in replay order, and gives each as mended."""

from __future__ import annotations

from typing import Protocol

from kvaudit.core.requests import Request


class Repair(Protocol):
    """One fix, on its way through a log."""

    def mend(self, request: Request) -> Request:
        """Return the request as it would have been sent; the same one where nothing changes."""
        ...
