"""Where the head of a prompt ends: its tool definitions and its first system messages.

No template says so. The head is what a prompt shares with that of the same tools and system
messages before an empty user message, so that it holds what a template writes of its own there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.requests import SYSTEM_ROLES, Json, Request
from kvaudit.tokens.encode import PromptEncoder
from kvaudit.tokens.templates.template import ChatTemplate
from kvaudit.tokens.tokenizer import Tokenizer


class HeadFinder:
    """Finds the heads of prompts that one tokenizer and template made."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate) -> None:
        """Take what made the prompts; nothing is counted as theirs."""
        self._encoder = PromptEncoder(tokenizer, template)

    def head_tokens(self, request: Request, prompt_ids: NDArray[np.int32]) -> int | None:
        """Return the tokens of the prompt's head; None for a request without messages."""
        if request.messages is None or request.token_ids is not None:
            return None
        (head,) = self._encoder.encode([head_of(request.messages, request.tools)])
        return shared_tokens(head, prompt_ids)


def head_of(messages: Sequence[Json], tools: Sequence[Json] | None) -> Request:
    """Return a request of the tools and first system messages, and an empty user message."""
    system = takewhile(lambda message: message.get("role") in SYSTEM_ROLES, messages)
    return Request(id="", messages=[*system, {"role": "user", "content": ""}], tools=tools)


def shared_tokens(one: NDArray[np.int32], other: NDArray[np.int32]) -> int:
    """Return how many tokens two prompts share at their start."""
    length = min(len(one), len(other))
    different = np.flatnonzero(one[:length] != other[:length])
    return int(different[0]) if len(different) else length
