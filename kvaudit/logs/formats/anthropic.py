"""Anthropic Messages bodies: requests, responses, or both; and the lines of its batches.

``system`` becomes a leading system message with its blocks, so every ``cache_control`` stays
where it was. Total prompt tokens are input + cache read + cache creation.
"""

from kvaudit.logs.api.exchange import Family, exchange_request, recogniser
from kvaudit.logs.format import EachRow, LogFormat, Row, Sureness


def recognise(row: Row) -> Sureness:
    """Tell it by ``system`` beside messages, by its tools, or by how its usage counts."""
    return recogniser(row, Family.ANTHROPIC)


FORMAT = LogFormat(
    name="anthropic-messages",
    title="Anthropic Messages: request bodies, with or without responses",
    recognise=recognise,
    parser=lambda: EachRow(exchange_request),
)
