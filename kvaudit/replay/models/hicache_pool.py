"""HiCache's pool of host pages, and the storage that all copies go on to."""

from __future__ import annotations

from kvaudit.replay.models.tiers import Tier

_ENDLESS = 1 << 60


class HostPool:
    """How many pages stand on the host; which they are, the tree knows."""

    def __init__(self, capacity_pages: int | None, storage: Tier | None) -> None:
        """Take its size, None for no bound, and a storage of single pages where there is one."""
        self.capacity_pages, self.storage = capacity_pages, storage
        self.used = self.peak = 0
        self.copied_pages = 0
        """All that ever came from the device."""
        self.stored_pages = 0
        """All of them that were new to the storage."""

    @property
    def free(self) -> int:
        """Return how many pages it has room for."""
        return _ENDLESS if self.capacity_pages is None else self.capacity_pages - self.used

    def take(self, pages: int) -> None:
        """Hold so many pages more."""
        self.used += pages
        self.peak = max(self.peak, self.used)

    def copy(self, keys: list[int]) -> None:
        """Hold copies of pages of the device, and let the storage have them too."""
        self.take(len(keys))
        self.copied_pages += len(keys)
        if self.storage is not None:
            new, _ = self.storage.put(keys)
            self.stored_pages += new

    def give_back(self, pages: int) -> None:
        """Hold so many pages less."""
        self.used -= pages
