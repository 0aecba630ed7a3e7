"""Which links a file shows for any key: that some cache is asked, that some model answers.

Where no file of a run shows one, that it is not seen of a key either says nothing: whoever lints
one file with a function that makes keys shows no cache, and whoever lints a cache shows no model.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.keys.answers import File, asks_itself
from kvaudit.analyzers.keys.lookups import lookups_of
from kvaudit.core.doubt import Doubt


def shown_in(file: File) -> Iterator[Doubt]:
    """Yield the links that a Python file shows."""
    if any(lookups_of(scope) for scope in file.every):
        yield Doubt.NO_CACHE
    if any(asks_itself(scope, call) for scope in file.every for call in scope.calls()):
        yield Doubt.NO_ANSWER
