"""Which files are worth parsing: most files of a project have no word of a prompt in them."""

from __future__ import annotations

import re

_WORDS = re.compile(
    r"[pP]rompt|PROMPT|[iI]nstructions?\b|[pP]ersona\b|[pP]reamble|\bsystem\b|systemM|systemT|SYSTEM_"
    r"|cache_?[cC]ontrol|cache_?[pP]oint|\bmessages\b|\brole\b|history|listTools|list_tools"
    r"|allSettled|activeTools|generate(Text|Content)|streamText|SystemMessage|Agent\("
    r"|\.replace(All)?\(\s*[/\"'`]\\?[{$%<\[]|<env>|tools\.push|caches\.create|JSON\.parse\([^)\n]*arg|registerTool"
    r"|(Window|Buffer)Memory"
    r"|[cC]ontext\b[^\n]*=>|function \w*Context\("
)
_NO_CODE = re.compile(
    r"^\s*(//|/\*).{0,200}(@generated|auto-?generated|DO NOT EDIT)", re.IGNORECASE
)


def is_worth_parsing(text: str) -> bool:
    """Whether a file may build a prompt."""
    return _WORDS.search(text) is not None and _NO_CODE.match(text) is None
