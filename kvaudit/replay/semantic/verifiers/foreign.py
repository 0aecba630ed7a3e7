"""The user's own verifier, MODULE:FUNCTION: called with the two texts, in its own process."""

from __future__ import annotations

from kvaudit.core.errors import InputError
from kvaudit.core.foreign import ForeignFunction


class ForeignVerifier:
    """A function that gives a bool, or a chance from 0 to 1 that one answer serves both."""

    def __init__(self, name: str) -> None:
        """Start the function's process."""
        self._function = ForeignFunction(name)

    def score(self, a: str, b: str, cosine: float) -> float:
        """Return what the function gives. Raises `InputError` where that is no share."""
        value = self._function(a, b)
        if isinstance(value, (bool, int, float)) and 0 <= value <= 1:
            return float(value)
        raise InputError(
            f"{self._function.name}: gives {value!r}; a verifier gives a bool, or a number from 0 "
            "to 1"
        )
