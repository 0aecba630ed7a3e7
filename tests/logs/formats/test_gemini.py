"""Gemini bodies: contents as messages, the cached part inside the whole."""

import pytest

from kvaudit.core.requests import Mark, Status
from kvaudit.logs.format import BadRecord
from kvaudit.logs.formats.gemini import FORMAT

SENT = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [{"role": "user", "parts": [{"text": "Which lake is deepest?"}]}],
    "tools": [{"functionDeclarations": [{"name": "f"}]}],
    "generationConfig": {"temperature": 0.2, "topP": 0.9, "maxOutputTokens": 50},
}
ANSWER = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Bai"}, {"text": "kal"}]}}],
    "usageMetadata": {
        "promptTokenCount": 2100,
        "cachedContentTokenCount": 1920,
        "candidatesTokenCount": 3,
    },
    "modelVersion": "gemini-x",
    "responseId": "g9",
}


def parse(row):
    (request,) = FORMAT.parser().parse(row)
    return request


def test_request_and_response():
    request = parse({"ts": 1793606400, "request": SENT, "response": ANSWER})
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert request.messages[1]["content"] == [{"text": "Which lake is deepest?"}]
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 1920, 3)
    assert (request.temperature, request.top_p, request.max_tokens) == (0.2, 0.9, 50)
    assert (request.id, request.model, request.response) == ("g9", "gemini-x", "Baikal")
    assert (request.status, list(request.tools)) == (Status.OK, SENT["tools"])


@pytest.mark.parametrize(
    ("part", "marks"),
    [
        ({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, set()),
        ({"fileData": {"fileUri": "gs://bucket/cat"}}, {Mark.UNIDENTIFIED_MEDIA}),
    ],
)
def test_media(part, marks):
    request = parse({"contents": [{"role": "user", "parts": [part]}]})
    assert len(request.media_hashes) == 1
    assert request.marks == marks


def test_contents_that_are_no_list_of_objects_are_bad():
    with pytest.raises(BadRecord, match="contents"):
        parse({"contents": ["hi"]})
