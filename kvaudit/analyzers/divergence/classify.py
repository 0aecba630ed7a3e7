"""Why two requests part: the cause, told from what differs, where, and what both still have.

The detectors are those by which a log is linted (`kvaudit.analyzers.template.request_log`). What
they say of two neighbours is here asked of a request and its nearest relative, at the one place
where the two part.
"""

from __future__ import annotations

import re

from kvaudit.analyzers.divergence.comparing import record_of
from kvaudit.analyzers.divergence.conversation import in_messages
from kvaudit.analyzers.divergence.instructions import in_instructions
from kvaudit.analyzers.divergence.json_texts import what_differs
from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.analyzers.divergence.verdict import Pair, Verdict
from kvaudit.analyzers.template.request_log.tools import compare_tools
from kvaudit.core.why import Cause

_OF_TOOLS = {
    "discovery-order": Cause.TOOL_ORDER,
    "listing-order": Cause.TOOL_ORDER,
    "tools-change-in-session": Cause.TOOL_SET,
    "unsorted-json": Cause.JSON_KEY_ORDER,
    "set-order": Cause.JSON_KEY_ORDER,
}
_TITLES_OF_TOOLS = {
    Cause.TOOL_ORDER: "the same tools in another order",
    Cause.TOOL_SET: "another set of tools",
    Cause.JSON_KEY_ORDER: "the same JSON with its keys or values in another order",
}
_CUT = re.compile(
    r"(?:truncated\b[^\n]{0,40}|\d+ (?:more )?char\w* (?:omitted|skipped|cut)|\[\.\.\.\])"
    r"[)\]>.]*\s?\Z",
    re.IGNORECASE,
)
_CUT_WITHIN = 64
_CEILINGS = frozenset(1 << n for n in range(9, 17)) | frozenset((500, 1000, 2000, 5000, 10_000))
"""Characters at which loggers cut a text: SGLang's level 2 keeps 1,024 before three dots."""


def classify(pair: Pair) -> Verdict | None:
    """Return the cause; None where they part as two conversations do, which loses nothing."""
    if _is_cut(pair.parting):
        return Verdict(Cause.TRUNCATED_LOG, None, "text that the log cut short")
    if pair.parting.section == "tools":
        return _in_tools(pair)
    if pair.parting.section == "system":
        part = pair.parting
        cause = what_differs(part.later, part.earlier, part.offset)
        if cause is not None:
            return Verdict(cause, None, _TITLES_OF_TOOLS[cause], position="tools")
        return in_instructions(pair)
    return in_messages(pair)


def _is_cut(part: Parting) -> bool:
    """Whether both texts end, or part, right behind a mark that something was left out."""
    head = part.later[max(0, part.offset - _CUT_WITHIN) : part.offset]
    if head.endswith(("...", "…")):
        kept = part.offset - (3 if head.endswith("...") else 1)
        return bool(_CEILINGS & {kept, kept - _line_start(part.later)})
    return _CUT.search(head) is not None


def _line_start(text: str) -> int:
    """Return where the content begins that a template puts behind the role's line."""
    return text.find("\n") + 1


def _in_tools(pair: Pair) -> Verdict:
    later, earlier = record_of(pair.later), record_of(pair.earlier)
    for change in compare_tools(earlier, later, same_session=True):
        cause = _OF_TOOLS.get(str(change.kind))
        if cause is not None:
            return Verdict(cause, None, _TITLES_OF_TOOLS[cause])
        break  # a text inside a tool: what kind of value it is, the line says
    return in_instructions(pair)
