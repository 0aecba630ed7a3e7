"""A tiny language of prompts, with one reader and three rules, for tests of all around them.

Each line of a ``.tiny`` file is a segment: ``{clock}`` and ``{user}`` are values that change,
``set(...)`` is an observation, everything else is fixed text. A line ``!broken`` cannot be read.
"""

import os
import re
import shutil

import pytest

from kvaudit.analyzers import inspection, reader, vetting
from kvaudit.analyzers.reader import Reader, Sniffed, Unreadable
from kvaudit.core import rulebook
from kvaudit.core.document import Document, Observation, Origin, Position, Segment, Volatility
from kvaudit.core.sources import Span

KINDS = {
    "clock": (Origin.CLOCK, Volatility.REQUEST),
    "user": (Origin.IDENTITY, Volatility.IDENTITY),
}


def read(source, project):
    if "!broken" in source.text:
        raise Unreadable("it is broken")
    segments = []
    for match in re.finditer(r"\{(clock|user)\}|[^{}\n]+", source.text):
        span = Span(*match.span())
        if match[1]:
            origin, volatility = KINDS[match[1]]
            segments.append(
                Segment(
                    source=source, span=span, position=Position.SYSTEM, expression=match[0],
                    origin=origin, volatility=volatility,
                )
            )  # fmt: skip
        elif not match[0].lstrip().startswith("#"):
            segments.append(
                Segment(source=source, span=span, position=Position.SYSTEM, text=match[0])
            )
    seen = [
        Observation(
            kind="set-order", source=source, span=Span(*m.span()), detail=f"{m[0]} has no order"
        )
        for m in re.finditer(r'"[^"\n]*"\.join\(set\(\w+\)\)|set\(\w+\)', source.text)
    ]
    return [
        Document(source=source, kind="tiny", name=source.path, segments=segments, observations=seen)
    ]


def sniff(source):
    return Sniffed.NAME if source.path.endswith((".tiny", ".tiny.py", ".tiny.ts")) else Sniffed.NO


TINY = Reader(
    name="tiny",
    title="test prompts",
    suffixes=(".tiny", ".tiny.py", ".tiny.ts"),
    sniff=sniff,
    read=read,
)

RULE = """+++
code = "{code}"
summary = "{summary}"
severity = "{severity}"
inputs = ["tiny"]
check = "{check}"
since = "0.1.0"
help = "Move it below the fixed text."
{more}
+++

## What it finds

{summary}.

```tiny bad
{bad}
You answer questions about invoices and quote the number in every answer you give.
```

```tiny good
You answer questions about invoices.
```
"""

RULES = {
    "prefix/test-clock": {
        "code": "KV801",
        "summary": "a clock stands before fixed text",
        "severity": "error",
        "check": "order",
        "more": '[params]\norigins = ["clock"]\nmin_tokens = 10',
        "bad": "⟦{clock}⟧",
    },
    "prefix/test-identity": {
        "code": "KV802",
        "summary": "a person stands before fixed text",
        "severity": "warning",
        "check": "order",
        "more": '[params]\norigins = ["identity"]\nmin_tokens = 10',
        "bad": "⟦{user}⟧",
    },
    "order/test-set": {
        "code": "KV803",
        "summary": "the order of a set",
        "severity": "info",
        "check": "observed",
        "more": 'fix = "wrap-in-sorted"\n[params]\nkinds = ["set-order"]',
        "bad": "⟦set(x)⟧",
    },
}


@pytest.fixture(autouse=True)
def _tiny(monkeypatch, tmp_path):
    """One reader, three rules, no setting from outside, and paths as short as a user's."""
    for name in [n for n in os.environ if n.startswith("KVAUDIT_") or n == "GITHUB_ACTIONS"]:
        monkeypatch.delenv(name)
    folder = tmp_path / "rules-of-test"
    shutil.copytree(rulebook.rules_folder() / "suppressions", folder / "suppressions")
    for path, words in RULES.items():
        file = folder / f"{path}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(RULE.format(**words))
    monkeypatch.setattr(rulebook, "rules_folder", lambda: folder)
    for module in (reader, inspection, vetting):
        monkeypatch.setattr(module, "all_readers", lambda: (TINY,))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


@pytest.fixture
def work(tmp_path):
    """The folder in which kvaudit is called."""
    return tmp_path / "work"
