"""One spelling of texts that a reader cannot tell apart."""

from __future__ import annotations

import re
import unicodedata

# Category Cf: no width, no ink, and a token of its own (zero width space, soft hyphen, marks of
# direction), but for the joiners, which other letters depend on.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


def squeezed(text: str) -> str:
    """Return a text without white space and invisible characters, in Unicode's form NFKC."""
    return "".join(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).split())
