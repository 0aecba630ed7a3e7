"""Windows over the history that a library is told to keep."""

import pytest

from kvaudit.analyzers.source.library_windows import library_window

from .reading import found

CORE = "from langchain_core.messages import trim_messages as cut\n"


def told_in(text):
    return [written for code, written in found(text) if code == "KV114"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CORE + "kept = cut(messages, max_tokens=4000)", ["cut"]),
        (CORE + "kept = cut(messages, max_tokens=4000, strategy='last')", ["cut"]),
        (CORE + "kept = cut(messages, max_tokens=4000, strategy='first')", []),
        ("kept = trim_messages(messages, max_tokens=4000)", []),  # one's own
        ("memory = ConversationBufferWindowMemory()", ["ConversationBufferWindowMemory"]),
        ("memory = ConversationBufferWindowMemory(k=2)", []),
        (
            "memory = ChatMemoryBuffer.from_defaults(token_limit=9)",
            ["ChatMemoryBuffer.from_defaults"],
        ),
        ("memory = ChatMemoryBuffer.from_defaults()", []),  # three quarters of the model's window
        ("context = TokenLimitedChatCompletionContext(client, token_limit=None)", []),
        ("context = BufferedChatCompletionContext(buffer_size=5)", []),
        (
            "context = BufferedChatCompletionContext(buffer_size=LAST)",
            ["BufferedChatCompletionContext"],
        ),
        ("manager = SlidingWindowConversationManager()", ["SlidingWindowConversationManager"]),
        (CORE + "def title(messages): return cut(messages, max_tokens=400)", []),  # asked once
    ],
)
def test_python(text, told):
    assert told_in(text) == told


@pytest.mark.parametrize("language", ["python", "ecmascript"])
def test_what_is_no_window_of_a_library(language):
    assert library_window(language, "messages.slice") is None
