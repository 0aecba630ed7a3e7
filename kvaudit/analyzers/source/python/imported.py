"""Modules of the project that files import: parsed once for all that do, while there is room.

A syntax tree takes some fifty bytes for each character of its text, and the files of a large
project import hundreds of modules, some of a million characters. So room is counted in text. What
is dropped is parsed again when it is asked for, and followed again with the same result: only time
depends on what is kept.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from weakref import WeakKeyDictionary

from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.source.python.module import Module
from kvaudit.core.sources import Source

MAX_CHARS = 16_000_000
"""Text of the parsed modules that are kept for the next file that imports them."""

_WORTH_FOLLOWING = re.compile(
    r"prompt|instruction|system_|persona|now\(|today\(|time\(|uuid|random|secrets|strftime|getcwd"
    r"|mkdtemp|listdir|iterdir|glob\(|memory|headers|subprocess|hostname|messages\b|completion\("
    r"|invoke\(|generate\(",
    re.IGNORECASE,
)
"""Words without which another module has nothing that a prompt changes by, and sends none."""


class Imported:
    """The modules of one project, the least recently asked for first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: OrderedDict[str, Module | None] = OrderedDict()
        self._chars = 0

    def module(self, source: Source) -> Module | None:
        """Return a file as a module; None where there is nothing in it to follow."""
        if source.path not in self._known:
            found = _worth_following(source)
            self._known[source.path] = found
            self._chars += _size(found)
            self._make_room()
        self._known.move_to_end(source.path)
        return self._known[source.path]

    def met(self, source: Source) -> Module | None:
        """Return a file where it was parsed before and reads the same."""
        known = self._known.get(source.path)
        return known if known is not None and known.source.text == source.text else None

    def _make_room(self) -> None:
        while self._chars > MAX_CHARS and len(self._known) > 1:
            _, dropped = self._known.popitem(last=False)
            self._chars -= _size(dropped)
            if dropped is not None:
                # It leads back to the module, which would wait for the collector of such circles.
                dropped.kept.clear()


_OF_PROJECTS: WeakKeyDictionary[Project, Imported] = WeakKeyDictionary()


def imported_by(project: Project) -> Imported:
    """Return what files of a project import, for all of its files alike."""
    return _OF_PROJECTS.setdefault(project, Imported())


def _size(module: Module | None) -> int:
    return 0 if module is None else len(module.source.text)


def _worth_following(source: Source) -> Module | None:
    if not _WORTH_FOLLOWING.search(source.text):
        return None
    try:
        return Module(source)
    except Unreadable:
        return None
