"""A rule's page as a reader sees it: without the marks and words that make its examples tests."""

from __future__ import annotations

import re

from kvaudit.core.rulebook import CLOSE, OPEN, Rule

_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*(\S+)[ \t]+(bad|good|fixed)\b.*$", re.MULTILINE)


def readable(rule: Rule) -> str:
    """Return the page as plain Markdown, with what the front matter says on top."""
    facts = [f"`{rule.code}`", rule.severity.value, f"since {rule.since}"]
    inputs = "all files" if "any" in rule.inputs else ", ".join(rule.inputs)
    facts.append(f"looks at {inputs}")
    if rule.fix is not None:
        facts.append("can be fixed")
    head = f"# {rule.name}\n\n{_sentence(rule.summary)}\n\n{' · '.join(facts)}\n\n"
    return head + body(rule).strip() + f"\n\n## Instead\n\n{rule.help}\n"


def body(rule: Rule) -> str:
    """Return the page alone."""
    plain = rule.page.replace(OPEN, "").replace(CLOSE, "")
    return _FENCE.sub(_without_words, plain)


def _without_words(fence: re.Match[str]) -> str:
    # Good and bad examples stand under headings of their own; what a fix gives has none.
    caption = "After the fix:\n\n" if fence[3] == "fixed" else ""
    return f"{caption}{fence[1]}{fence[2]}"


def _sentence(summary: str) -> str:
    return f"{summary}." if summary[-1:].isalnum() else summary
