"""Media by the hash of their bytes, in order; links are not identities."""

import base64
from hashlib import sha256

import pytest

from kvaudit.core.requests import Mark
from kvaudit.logs.api.media import find_media

PIXELS = b"\x89PNG not really"
BASE64 = base64.b64encode(PIXELS).decode()
HASH = sha256(PIXELS).hexdigest()
DATA_URL = f"data:image/png;base64,{BASE64}"

SAME_IMAGE = [
    {"type": "image_url", "image_url": {"url": DATA_URL}},
    {"type": "image_url", "image_url": DATA_URL},
    {"type": "input_image", "image_url": DATA_URL},
    {"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": DATA_URL}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}},
    {"type": "document", "source": {"type": "base64", "data": BASE64}},
    {"image": {"format": "png", "source": {"bytes": BASE64}}},
    {"type": "blob", "modality": "image", "content": BASE64},
    {"inlineData": {"mimeType": "image/png", "data": BASE64}},
    {"type": "image", "source_type": "base64", "data": BASE64},
]


def message(*parts):
    return {"role": "user", "content": list(parts)}


@pytest.mark.parametrize("part", SAME_IMAGE)
def test_the_same_bytes_have_the_same_hash_in_every_api(part):
    assert find_media([message({"type": "text", "text": "see"}, part)]) == {"media_hashes": (HASH,)}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_file", "file_id": "f-1"},
        {"type": "file", "file": {"file_id": "f-1"}},
        {"type": "image", "source": {"type": "file", "file_id": "f-1"}},
    ],
)
def test_a_file_id_is_an_identity(part):
    assert find_media([message(part)]) == {"media_hashes": ("file:f-1",)}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/cat.png"}},
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/cat"}}}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR... (truncated)"}},
        {"type": "image", "source": {"type": "base64", "data": "<image data removed>"}},
        {"type": "uri", "modality": "image", "uri": "gs://bucket/cat"},
        {"type": "input_image"},
    ],
)
def test_a_place_or_a_placeholder_is_none(part):
    found = find_media([message(part)])
    assert found == {
        "media_hashes": ("unidentified",),
        "marks": frozenset({Mark.UNIDENTIFIED_MEDIA}),
    }


def test_order_and_nesting():
    other = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [other]}
    found = find_media([message(SAME_IMAGE[0]), message(result), message(SAME_IMAGE[5])])
    assert found["media_hashes"] == (HASH, sha256(b"\0\0\0").hexdigest(), HASH)


def test_what_a_tool_is_called_with_is_no_medium():
    call = {"type": "tool_use", "name": "draw", "input": SAME_IMAGE[0]}
    assert find_media([message(call), {"role": "user", "content": "hi"}]) == {}
