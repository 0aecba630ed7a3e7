"""Secrets are masked, prompt text is not shown unless asked for, terminals are not steered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.core.redact import mask_secrets, one_line, shown

# Put together here, so that no scanner takes this file for a leak.
LONG = "a1B2c3D4e5F6g7H8i9J0k1L2"
SECRETS = [
    "sk-" + LONG,
    "sk-proj-" + LONG + "_" + LONG,
    "sk-ant-api03-" + LONG,
    "sk_live_" + LONG,
    "gh" + "p_" + LONG,
    "AKIA" + "IOSFODNN7EXAMPLE",
    "hf_" + LONG,
    "xoxb-" + "12345678901-" + LONG,
    "AIza" + LONG + LONG[:11],
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + LONG,
    "glpat-" + LONG,
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "use {} now", '{{"k": "{}"}}', "a={}&b=1", "({})"])
def test_credentials_are_masked_wherever_they_stand(secret, frame):
    masked = mask_secrets(frame.format(secret))
    assert LONG not in masked
    assert "IOSFODNN7" not in masked
    assert "[" in masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abcdef123456789", "Authorization: Bearer [token]"),
        ("postgres://app:hunter22@db.example/x", "postgres://[password]@db.example/x"),
        ('{"api_key": "0123456789abcdef"}', '{"api_key": "[secret]"}'),
        ("password=correct-horse", "password=[secret]"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[secret]"),
        (
            "x -----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY----- y",
            "x [private key] y",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "[private key]"),
    ],
)
def test_named_secrets_keep_their_name(text, masked):
    assert mask_secrets(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "The token budget of a prompt is 4096 tokens.",
        "Bearer of bad news",
        "tenant-a/eu-west-1",
        "https://example.com/a:b@c",
        "chat.jsonl:17: messages is not a list",
        "risk-management-for-beginners-and-others",
        "password: see the vault",
    ],
)
def test_ordinary_text_stays(text):
    assert mask_secrets(text) == text


def test_prompt_text_is_replaced_unless_asked_for():
    assert shown("You are helpful.", show_text=False) == "[16 characters, #c3d59c]"
    assert shown("You are\nhelpful.", show_text=True) == "You are\\nhelpful."
    assert LONG not in shown("key sk-" + LONG, show_text=True)


def test_equal_texts_have_equal_placeholders_and_others_do_not():
    assert shown("a" * 9, show_text=False) == shown("a" * 9, show_text=False)
    assert shown("a" * 9, show_text=False) != shown("b" * 9, show_text=False)


def test_a_terminal_is_not_steered():
    assert one_line("a\x1b[31mb\r\nc\u202ed\ud800") == "a\\x1b[31mb\\r\\nc\\u202ed\\ud800"
    assert one_line("\u3000全角\xa0\n") == "\u3000全角\\xa0\\n"


@given(st.text())
def test_any_text_can_be_shown(text):
    for show_text in (True, False):
        assert one_line(shown(text, show_text=show_text)).replace("\u3000", "").isprintable()
    assert mask_secrets(mask_secrets(text)) == mask_secrets(text)
