"""OpenAI chat and completions bodies, as applications and gateways log them.

The body alone, or under ``request``, ``body``, ``params`` or ``input`` with a response beside
it; DeepSeek and every server that speaks this API log the same.
"""

from kvaudit.logs.api.exchange import Family, exchange_request, recogniser
from kvaudit.logs.format import EachRow, LogFormat, Row, Sureness


def recognise(row: Row) -> Sureness:
    """Tell it by a body with messages or a prompt, or by a chat response's usage."""
    return recogniser(row, Family.OPENAI_CHAT)


FORMAT = LogFormat(
    name="openai-chat",
    title="OpenAI chat and completions: request bodies, with or without responses",
    recognise=recognise,
    parser=lambda: EachRow(exchange_request),
)
