"""Azure rows."""

import pytest

from kvaudit.core.requests import Request
from kvaudit.logs.format import BadRecord


def test_counts_and_a_time_with_seven_digits(parse):
    row = {"TIMESTAMP": "2023-11-16 18:15:46.6805900", "ContextTokens": "374",
           "GeneratedTokens": "44"}  # fmt: skip
    assert parse("azure", row).requests == [
        Request(id="", arrived_s=1700158546.68059, prompt_tokens=374, output_tokens=44)
    ]


def test_the_2025_trace_has_a_zone_and_images(parse):
    row = {"TIMESTAMP": "2024-10-15 00:00:00.009930+00:00", "NumImages": "2",
           "ContextTokens": "2162", "GeneratedTokens": "5"}  # fmt: skip
    (request,) = parse("azure", row).requests
    assert request.arrived_s == 1728950400.00993


def test_counts_must_be_counts(parse):
    with pytest.raises(BadRecord, match="ContextTokens"):
        parse("azure", {"TIMESTAMP": "", "ContextTokens": "many", "GeneratedTokens": "1"})
