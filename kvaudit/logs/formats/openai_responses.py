"""OpenAI Responses bodies: requests, response objects, or both.

With ``previous_response_id`` or ``conversation`` the provider held the history and the record
has only what was new: such a prompt is marked, since its prefix is not in the log.
"""

from kvaudit.logs.api.exchange import Family, exchange_request, recogniser
from kvaudit.logs.format import EachRow, LogFormat, Row, Sureness


def recognise(row: Row) -> Sureness:
    """Tell it by ``input`` with a field of this API, or by a response object."""
    return recogniser(row, Family.OPENAI_RESPONSES)


FORMAT = LogFormat(
    name="openai-responses",
    title="OpenAI Responses: request bodies or response objects",
    recognise=recognise,
    parser=lambda: EachRow(exchange_request),
)
