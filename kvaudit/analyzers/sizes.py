"""Sizes of text in tokens, without a vocabulary.

A linter in CI downloads nothing, so sizes are estimates: a token is about four bytes of
UTF-8. Messages say "about" for this reason.
"""

BYTES_PER_TOKEN = 4
MAX_REPEATS = 100_000
"""No prompt holds a text more often than this."""


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
