"""A repair of messages, for prompts that are one text and spell their turns."""

from __future__ import annotations

from kvaudit.analyzers.divergence.repairs.repair import Repair
from kvaudit.analyzers.divergence.turns import with_messages, with_turns
from kvaudit.core.requests import Request


class InTurns:
    """Mends the turns of a prompt as if they were messages."""

    def __init__(self, repair: Repair) -> None:
        """Take the repair of messages."""
        self._repair = repair

    def mend(self, request: Request) -> Request:
        """Return the request with its messages, or its turns, mended."""
        chat = with_messages(request)
        mended = self._repair.mend(chat)
        if chat is request or mended is chat:
            return mended if chat is request else request
        return with_turns(request, mended.messages or ())
