"""Which names are names of prompts, and of what part of a request."""

from __future__ import annotations

import re
from enum import Enum, auto

from kvaudit.analyzers.naming import snake_case


class Called(Enum):
    """What a name says a text is."""

    SYSTEM = auto()
    PROMPT = auto()
    """A whole prompt, or a part of one; which is not said."""
    USER = auto()
    CONTEXT = auto()
    """Perhaps part of a prompt, perhaps something else altogether."""


_ABOUT_ONE = re.compile(
    r"(^|_)(path|paths|file|filename|files|ids?|keys?|hash|name|names|dir|folder|url|version|cost|tokens?"
    r"|len|length|count|size|cache\w*|time|log|logs|logger|class|type|types|config|response|result"
    r"|output|images?|negative|schema|user_id|error|warning|exception|mode|model|models|index|diff"
    r"|title|label|description|call|calls|callback|save|delete|update|list|confirm|ask|yes|input"
    r"|password|optimi[sz]er|embedding|embeds|style|suffix_len|max|min|is|has|should|test|eval"
    r"|injection|manager|registry|loader|cmd|command|shell|bash|ps1|toolkit|completer|session"
    r"|variables?|args|params?|placeholder|detail|details|info|metrics?|stats?|usage|chunk|data|events?)($|_)"
)
_SYSTEM = re.compile(
    r"(^|_)(sys(tem)?_?(prompts?|messages?|msg|instructions?|text|content|template|preamble|block|role)|preamble|persona)($|_)"
    r"|^(system|agent|base|dynamic|custom|developer)_instructions?(_(text|str|prompt|block|template))?$"
    r"|^((build|get|make|render|compose|format|create|generate|assemble|construct)_)?(the_)?(system|sys|preamble|persona)$"
    r"|^_*(build|get|make|render|compose|format|create|generate|assemble|construct)_(the_)?identity$"
)
_PROMPT = re.compile(r"(^|_)prompts?($|_)|(^|_)instructions?$")
_USER = re.compile(
    r"(^|_)(user|human|question|query|task|request|first_message|initial_message)($|_)"
)
_TURN = re.compile(
    r"(^|_)(per_)?(turn|user_message)_(system_)?(context|preamble|header|prompt|block|env\w*)($|_)"
    r"|(^|_)(suffix|tail|trailing)_(context|prompt|block|section)($|_)"
)
"""Texts that go with the newest turn."""
_CONTEXT = re.compile(
    r"^_*(build|get|make|render|compose|format|create|assemble)_(\w+_)?(context|section|env(ironment)?)(_(text|str|block|prompt|section|string))?$"
    r"|^(\w+_)?(context_block|env_block|session_block|header_block)$"
)
_FILE = re.compile(r"prompt|system_?(message|text)|instruction|persona|preamble", re.IGNORECASE)


_MADE_OF = re.compile(r"(?<=[a-z])_(with|using|given|from)_\w+$")
"""What a text is made of says nothing about what it is: ``system_prompt_with_working_dir``."""


def called(name: str) -> Called | None:
    """Return what a function's, variable's or constant's name says; None for no prompt."""
    spelled = _MADE_OF.sub("", snake_case(name))
    if not spelled or len(spelled) > 80:
        return None
    if _TURN.search(spelled):
        return Called.USER
    if _USER.search(spelled) and _PROMPT.search(spelled) and "system" not in spelled:
        return Called.USER
    if _ABOUT_ONE.search(spelled):
        return None
    if _SYSTEM.search(spelled):
        return Called.SYSTEM
    if _PROMPT.search(spelled):
        return Called.PROMPT
    return Called.CONTEXT if _CONTEXT.search(spelled) else None


def speaks_of_prompts(*names: str) -> bool:
    """Whether a path or a name of a class or function has to do with prompts at all."""
    return any(_FILE.search(name) for name in names)
