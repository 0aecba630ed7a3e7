"""Whether a template is a prompt at all: Jinja also makes web pages and configuration files."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from kvaudit.core.sources import Source

HEAD_CHARS = 20_000
"""How much of a file is looked at."""

_DOCUMENTATION = frozenset({"readme.md", "changelog.md", "contributing.md", "license.md"})

_PATH_WORDS = frozenset(
    re.findall(
        r"\w+",
        "prompt prompts system agent agents assistant persona instruction instructions skill "
        "skills llm chat completion rag judge evaluator copilot dialog summarize skprompt",
    )
)
_OTHER_KINDS = frozenset(
    re.findall(
        r"\w+",
        "html htm xml sql yaml yml json toml conf cfg ini service sh bash py js ts tsx css scss "
        "tex c h cpp hpp cc java go rs env csv svg proto tf hcl rb php cs kt swift plist nginx",
    )
)
_STRONG = re.compile(
    r"\b(?:you are|you're|you will be|you (?:answer|help|assist|reply|respond|write|sort|classify"
    r"|extract|summari[sz]e|translate|review|speak as|only answer|always answer|never answer)\b"
    r"|your (?:task|job|goal|role|answer|response|output)|act as"
    r"|as an? (?:ai|expert|helpful|assistant)|language model|assistant|chain[- ]of[- ]thought"
    r"|step[- ]by[- ]step|few[- ]shot|the (?:user|human)(?:'s)?)\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\b(?:answer|respond|reply|question|query|instructions?|summari[sz]e|translate|generate|write"
    r"|given|following|context|explain|classify|extract|rules?|must|should|do not|don't|never"
    r"|always|only|based on|provide|ensure)\b",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"\s*(?:<!doctype|<html|<\?xml|<svg|#!/|FROM\s+\S+|apiVersion:|---\s*\napiVersion:)", re.I
)

_PAGE = re.compile(r"\s*(?:<!--.{0,2000}?-->\s*)?(?:<!doctype html|<html\b)", re.I | re.DOTALL)
_SITE = re.compile(
    r"\{\{-?\s*(?:site|page)\.|<(?:script|style|meta)\b|page-break-(?:after|before)", re.IGNORECASE
)
"""Marks of a web site's generator, and of the pages it makes."""


def is_documentation(path: str) -> bool:
    """Whether a file speaks to who reads the repository: templates are quoted there."""
    return PurePosixPath(path.lower()).name in _DOCUMENTATION


def looks_like_prompt(source: Source) -> bool:
    """Tell by the file's name and the words in it."""
    head = source.text[:HEAD_CHARS]
    path = PurePosixPath(source.path.lower())
    words = {word for part in path.parts[-3:] for word in re.split(r"[^a-z]+", part)}
    strong, weak = len(_STRONG.findall(head)), len(set(map(str.lower, _WEAK.findall(head))))
    inner = {suffix[1:] for suffix in path.suffixes[:-1]} | {path.stem}
    if _PAGE.match(head):
        return "prompt" in words or "prompts" in words
    if _MARKUP.match(head) or _SITE.search(head) or inner & _OTHER_KINDS:
        return strong >= 3 and weak >= 2
    return bool(words & _PATH_WORDS) or strong > 0 or weak >= 3
