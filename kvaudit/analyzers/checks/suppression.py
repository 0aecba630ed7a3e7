"""Comments that silence rules are judged once all rules have spoken, not prompt by prompt.

The rules that name this check are used in `kvaudit.analyzers.silence`; in a document there is
nothing for them to find.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvaudit.analyzers.parameters import Parameters
from kvaudit.analyzers.profile import Profile
from kvaudit.core.document import Document
from kvaudit.core.findings import Finding
from kvaudit.core.rulebook import Rule

PARAMETERS: Parameters = {}


def check(document: Document, rule: Rule, profile: Profile) -> Iterable[Finding]:
    """Find nothing."""
    return ()
