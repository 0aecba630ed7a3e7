"""Syntax that the grammars do not know, with stand-ins of the same length that they do.

Seen in tree-sitter-typescript 0.23 and tree-sitter-javascript 0.25: an ampersand in the text or
an attribute of JSX that begins no character reference, a member called ``default`` as a tag, and
the type of a module (``typeof import("m")`` in angle brackets, ``import("m").Type<Argument>``).
"""

from __future__ import annotations

import re
from itertools import pairwise

_REFERENCE = re.compile(r"&#?\w{1,12};")
_LONE = re.compile(rf"&(?!{_REFERENCE.pattern[1:]})")
_ATTRIBUTE = re.compile(r"""(?<=[\w-]=)("[^"&<>\n]*+&[^"<>\n]*+"|'[^'&<>\n]*+&[^'<>\n]*+')""")
_MEMBER = re.compile(r"(?<=[A-Za-z]\.)default(?=[\s/>])")
_MODULE = re.compile(r"""\bimport\((["'])[^"'\n]+\1\)(?=\s*[.>])""")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<>|</>")
_OF_CODE = re.compile(r"[{}=;]|^\s*\)")
_PROSE = re.compile(r"[a-z]\w* \w")


def stood_in(text: str) -> str:
    """Return a text with stand-ins for what no grammar knows; each character keeps its place."""
    known = _ATTRIBUTE.sub(lambda found: _LONE.sub("+", found[0]), text)
    known = _MODULE.sub(lambda found: "Module".ljust(len(found[0])), known)
    known = _MEMBER.sub("Default", known)
    pieces, end = [], 0
    for before, after in pairwise(_TAG.finditer(known)):
        between = known[before.end() : after.start()]
        if _is_prose(between):
            pieces += [known[end : before.end()], _LONE.sub("+", between)]
            end = after.start()
    return "".join(pieces) + known[end:]


def _is_prose(between: str) -> bool:
    """Whether what stands between two tags, or two lists of types, is text with a lone mark."""
    if "&" not in between or _OF_CODE.search(_REFERENCE.sub("", between)):
        return False
    return _PROSE.search(between) is not None
