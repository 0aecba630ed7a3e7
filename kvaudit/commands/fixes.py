"""What the fixes of a log's most costly faults bring, alone and together with the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from kvaudit.analyzers.divergence.recorded import KeptRequests
from kvaudit.analyzers.divergence.summary import code_of, summary
from kvaudit.commands.second_look import SecondLook, second_look
from kvaudit.commands.what_if import Fault, WhatIfs, fault_of
from kvaudit.core.summaries import Note
from kvaudit.core.why import DivergenceGroup, Next, WhatIf
from kvaudit.replay.plan import first_counted

if TYPE_CHECKING:
    from kvaudit.commands.diagnosis import Diagnosis

_WORTH_A_WORD = 0.01
"""Share of all prompt tokens that a fault must cost, once another is fixed."""
_LONG_LOG = 10_000_000
"""Prompt tokens above which a second look takes longer than all else, and is only taken if asked
for with ``--what-if all``."""
_ALL_OF_IT = 0.9
"""Share of what a fault cost that its fix brings where no other stands behind it."""


def with_what_ifs(
    diagnosis: Diagnosis, groups: Sequence[DivergenceGroup], fixes: int | None
) -> tuple[list[DivergenceGroup], list[Note]]:
    """Return the groups with what their fixes bring, and what must be said of the others."""
    faults = list(dict.fromkeys(fault_of(group) for group in groups))
    tried = faults[:fixes]
    what_ifs = WhatIfs(diagnosis, diagnosis.recording)
    found = {fault: what_ifs.of(fault) for fault in tried}
    notes = []
    if len(tried) < len(faults):
        text = (
            f"fixes were replayed for the {len(tried)} most costly of {len(faults)} faults; "
            "--what-if all replays all of them"
        )
        notes.append(Note(topic="what-if", text=text))
    fixed = [replace(group, what_if=found.get(fault_of(group))) for group in groups]
    if tried and _has_a_next(fixed, found[tried[0]]):
        assert diagnosis.result is not None
        if fixes is None or diagnosis.result.prefix.prompt_tokens <= _LONG_LOG:
            fixed[0] = replace(fixed[0], next=_next(diagnosis, what_ifs, tried[0]))
        else:
            text = (
                f"what stands behind the most costly fault is not looked for in a log of more than "
                f"{_LONG_LOG:,} tokens; --what-if all does so"
            )
            notes.append(Note(topic="what-if", text=text))
    return fixed, notes


def _has_a_next(groups: Sequence[DivergenceGroup], fixed: WhatIf) -> bool:
    """Whether something is left to be gained once the most costly fault is fixed."""
    first = fault_of(groups[0])
    own = sum(group.lost_tokens for group in groups if fault_of(group) == first)
    others = sum(group.lost_tokens for group in groups) - own
    return fixed.saved_tokens < _ALL_OF_IT * own or others > (1 - _ALL_OF_IT) * own


def _next(diagnosis: Diagnosis, what_ifs: WhatIfs, first: Fault) -> Next | None:
    """Return the fault that stands behind the first one, and what both fixes bring."""
    with closing(KeptRequests()) as kept:
        remedy = what_ifs.remedy(first, kept)
        if remedy is None:
            return None
        with second_look(diagnosis, remedy.change) as look:
            second = None if look is None else _worst(look, first)
            if look is None or second is None:
                return None
            after = WhatIfs(look, look.recording, diagnosis.result)
            last = after.remedy(second)
            if last is None:
                return None
            if remedy.rewrites or not last.rewrites:
                return _told(second, after.of(second, remedy.moved))
    return _told(second, _rewritten_first(diagnosis, what_ifs, first, second))


def _rewritten_first(
    diagnosis: Diagnosis, what_ifs: WhatIfs, first: Fault, second: Fault
) -> WhatIf:
    """Return what both fixes bring where only the second one rewrites texts.

    That one comes first: where moved text stands in a message is not known to the token.
    """
    with closing(KeptRequests()) as kept:
        rewritten = what_ifs.remedy(second, kept)
        assert rewritten is not None
        with second_look(diagnosis, rewritten.change) as look:
            assert look is not None
            both = WhatIfs(look, look.recording, diagnosis.result).of(first)
    return replace(both, fix=rewritten.fix)


def _worst(look: SecondLook, first: Fault) -> Fault | None:
    """Return the fault that costs most in a changed log, if it costs anything to speak of."""
    counted = first_counted(look.plan.warmup, len(look.found))
    found = summary(look.found, first_counted=counted, show_text=False)
    lost: Counter[Fault] = Counter()
    for group in found.groups:
        lost[fault_of(group)] += group.lost_tokens
    del lost[first]
    if not lost or lost.most_common(1)[0][1] < _WORTH_A_WORD * found.prompt_tokens:
        return None
    return lost.most_common(1)[0][0]


def _told(fault: Fault, both: WhatIf) -> Next | None:
    if both.hit_rate_after is None:
        return None
    code = code_of(fault.cause, fault.position)
    return Next(cause=fault.cause, code=code, position=fault.position, what_if=both)
