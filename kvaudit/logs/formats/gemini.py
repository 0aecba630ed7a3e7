"""Gemini ``generateContent`` bodies: requests, responses, or both.

``systemInstruction`` becomes a leading system message and ``contents`` the messages; the
cached part of the prompt is counted inside ``promptTokenCount``.
"""

from kvaudit.logs.api.exchange import Family, exchange_request, recogniser
from kvaudit.logs.format import EachRow, LogFormat, Row, Sureness


def recognise(row: Row) -> Sureness:
    """Tell it by ``contents`` to send, or by how its usage is named."""
    return recogniser(row, Family.GEMINI)


FORMAT = LogFormat(
    name="gemini",
    title="Gemini generateContent: request bodies, with or without responses",
    recognise=recognise,
    parser=lambda: EachRow(exchange_request),
)
