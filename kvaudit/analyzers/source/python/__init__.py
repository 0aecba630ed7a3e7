"""Python source: prompts as functions, constants and calls build them.

The package reads a module with the standard library's parser and follows text from where it
arises to where a model is asked. It executes nothing, looks at other modules of the project
only for names that the module imports, and counts its steps, so that it ends on any input.
Left out: text that is built by mutating objects from elsewhere, and types of attributes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_WORTH_PARSING = re.compile(
    r"prompt|instruction|persona|preamble|system_|_system|system\s*[=(]|[\"']system[\"']"
    r"|cache_control|cache_?point|messages|[\"']role[\"']|history|llm|list_tools|\btools\b"
    r"|arguments[\"']\]|enable_prefix_caching|SystemMessage|Agent\(",
    re.IGNORECASE,
)
"""Words without which no file builds a prompt; most files of most projects have none."""


def _sniff(source: Source) -> Sniffed:
    return Sniffed.CERTAIN if source.path.endswith((".py", ".pyi")) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    if not _WORTH_PARSING.search(source.text) and not _WORTH_PARSING.search(source.path):
        return ()
    from kvaudit.analyzers.source.python.reading import read_module

    return read_module(source, project)


READER = Reader(
    name="python",
    title="Python source",
    suffixes=(".py", ".pyi"),
    sniff=_sniff,
    read=_read,
)
