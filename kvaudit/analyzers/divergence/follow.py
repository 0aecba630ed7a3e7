"""Follows a replay and says of every computed prompt token why it was computed.

A prompt is cut into parts, in this order: what the cache had; what a cache of the same rules
would still have had (evicted, expired, on another replica); the rest of the longest prefix seen
before, which ends inside a block; and what follows where the request parts from all before it.
Of that, what its relative has too was lost to the cause of the parting, and the rest is new.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.amounts import Amounts, lost_of, prefix_of
from kvaudit.analyzers.divergence.beginnings import Beginnings
from kvaudit.analyzers.divergence.groups import Groups
from kvaudit.analyzers.divergence.kin import Kin, Met
from kvaudit.analyzers.divergence.parting import Parting, Render, parting
from kvaudit.analyzers.divergence.recorded import RecordedUnits, Texts
from kvaudit.analyzers.divergence.relatives import GRAM, Relatives
from kvaudit.analyzers.divergence.sent_before import HEAD_OF_ANSWER, Conversations
from kvaudit.analyzers.divergence.shown import WITHOUT_TEXT, Shown, shown_by
from kvaudit.analyzers.divergence.story import COLUMNS, NO_GROUP, Story
from kvaudit.analyzers.divergence.turns import with_messages
from kvaudit.analyzers.divergence.verdict import TEXTS, Verdict
from kvaudit.core.lookups import Lookups
from kvaudit.core.prompts import RequestFacts
from kvaudit.core.requests import Request
from kvaudit.core.why import Cause

LEAST_LOST = 32
"""Tokens: what two prompts repeat by chance, and what a chat template writes, is shorter."""
SHORT_PROMPT = 64
"""Tokens of a prompt in which even what repeats by chance may be a fault's."""
_FINE_GRAM = 4
"""Units of a run, where the same comes in pieces."""


class _Place(NamedTuple):
    """Where a request stands in its log."""

    unit: int
    before: int | None
    """Place of the request before it in its session."""
    first: bool


class Divergences:
    """The stories of all requests. Grows by about 100 bytes each, beside its relatives."""

    def __init__(
        self,
        texts: Texts,
        units: RecordedUnits,
        render: Callable[[], Render],
        *,
        block_size: int,
    ) -> None:
        """Take the log's texts, where its units go, and how a request becomes a prompt.

        The last is asked for when it is first needed: a log of tokens has no template.
        """
        self._texts, self._units, self._render = texts, units, render
        self.block_size = block_size
        self._relatives: Relatives | None = None
        self._namespace = 0
        self._numbers = array("q")
        self._rows = array("q")
        self._conversations = Conversations()
        self.groups = Groups()
        self._beginnings = Beginnings(self.groups)
        self.examples: dict[int, int] = {}
        """The request that shows each group best: the one that lost most."""

    def __len__(self) -> int:
        """Return how many requests were followed."""
        return len(self._rows) // len(COLUMNS)

    def story(self, place: int) -> Story:
        """Return the story of the request at a place of the replay."""
        width = len(COLUMNS)
        return Story(*self._rows[place * width : (place + 1) * width])

    def tell(self, place: int, story: Story) -> None:
        """Let the request at a place have another story."""
        width = len(COLUMNS)
        self._rows[place * width : (place + 1) * width] = array("q", story)

    def sessions(self) -> list[str | None]:
        """Return the session of every request, in replay order."""
        return [self._texts.sessions[number] for number in self._numbers]

    def columns(self) -> dict[str, NDArray[np.int64]]:
        """Return every field of the stories as an array, in replay order."""
        rows = np.array(self._rows, np.int64).reshape(-1, len(COLUMNS))
        return dict(zip(COLUMNS, rows.T, strict=True))

    def add(self, lookups: Lookups) -> None:
        """Follow the next batch."""
        if self._relatives is None:
            blocks = int(lookups.prompts.unit_tokens.max()) > 1
            self._relatives = Relatives(self._units, gram=1 if blocks else GRAM)
        facts = lookups.prompts.requests
        amounts = np.stack(
            (
                lookups.prompts.prompt_tokens,
                lookups.hit_tokens,
                lookups.kept_tokens,
                lookups.expired_tokens,
                lookups.elsewhere_tokens,
                lookups.parameter_tokens,
                lookups.prompts.unit_tokens,
            )
        ).T.tolist()
        starts = lookups.prompts.offsets[:-1]
        ends = (starts + lookups.prompts.prompt_units).tolist()
        namespaces = lookups.prompts.namespaces
        sessions = [self._texts.sessions[each.number] for each in facts]
        for i, met in enumerate(self._relatives.follow(lookups, sessions)):
            units = lookups.prompts.units[starts[i] : ends[i]]
            self._namespace = int(namespaces[i])
            own = facts[i]._replace(session=sessions[i])
            self._follow(own, met, units, Amounts(*amounts[i]))

    def _follow(
        self,
        facts: RequestFacts,
        met: Met,
        units: NDArray[np.int32],
        amounts: Amounts,
    ) -> None:
        self._numbers.append(facts.number)
        unit, prefix = amounts.unit, prefix_of(met, amounts)
        group, kin, chars = self._cause(facts, met, units, unit)
        parts = kin if group != NO_GROUP else None
        lost, rule = lost_of(met, parts, amounts, prefix, block_size=self.block_size)
        best = self.examples.get(group)
        if group != NO_GROUP and (best is None or lost > self.story(best).lost):
            self.examples[group] = len(self)
        self._beginnings.follow(facts.session, group, len(self), kin, units, self.relatives)
        self._conversations.add(facts.session, self._namespace, len(self))
        resumes = None if kin is None else kin.resumes_units
        self._rows.extend(
            Story(
                prompt=amounts.prompt,
                hit=amounts.hit,
                evicted=prefix.evicted,
                expired=prefix.expired,
                elsewhere=prefix.elsewhere,
                parameter=prefix.parameter,
                rule=rule,
                lost=lost,
                group=group,
                number=facts.number,
                relative=-1 if kin is None else self._numbers[kin.place],
                shared=0 if kin is None else kin.shared_units * unit,
                resumes=-1 if resumes is None else resumes * unit,
                chars=chars,
                kin=-1 if kin is None else kin.place,
                beside=met.beside,
                near=met.shared_units,
                onward=0 if kin is None else kin.onward_units * unit,
                longest=0 if kin is None else kin.longest_units * unit,
            )
        )

    def _cause(
        self, facts: RequestFacts, met: Met, prompt: NDArray[np.int32], unit: int
    ) -> tuple[int, Kin | None, int]:
        """Return the group of a request, its relative, and the characters it shares with that."""
        before = self._conversations.last(facts.session)
        first = facts.session is not None and before is None
        found = NO_GROUP, met.nearest, -1
        own = facts.session, self._namespace
        for kin in self._conversations.candidates(*own, prompt, met, self.relatives):
            found = self._shown_by(kin, facts, met, prompt, _Place(unit, before, first))
            if found[0] != NO_GROUP:
                break
        return found

    def _shown_by(
        self,
        kin: Kin,
        facts: RequestFacts,
        met: Met,
        prompt: NDArray[np.int32],
        place: _Place,
    ) -> tuple[int, Kin | None, int]:
        """Return the group that a pair shows, the relative, and the characters both share."""
        before, little = place.before, kin.again_units * place.unit < LEAST_LOST
        if little and not (
            # Where another shares more, the conversation went on from that one.
            kin.shared_units >= met.shared_units and self._tells(facts, kin, before, len(prompt))
        ):
            return NO_GROUP, met.nearest or kin, -1
        if kin.shared_units >= self.relatives.length(kin.place) - HEAD_OF_ANSWER:
            return NO_GROUP, kin, -1  # it goes on from there
        shown = self._shown(kin, facts, same_session=kin.place == before, little=little)
        if shown is None:
            return NO_GROUP, kin, -1
        verdict = shown.verdict
        if verdict is None or (little and not _stands_alone(verdict)):
            return NO_GROUP, kin, shown.chars
        if verdict.position == "history":
            kin = kin._replace(again_units=self._sent_before(facts, prompt, kin, met.shared_units))
        elif shown.pieces or kin.place == before:
            gram, goes_on = _FINE_GRAM if shown.pieces else None, kin.place == before
            kin = self.relatives.compared(
                kin.place, prompt, met.shared_units, gram=gram, goes_on=goes_on
            )
        number = self.groups.add(verdict, shown.position, facts.session, first=place.first)
        group = self.groups.all[number]
        group.one_text = group.one_text or shown.one_text
        if verdict.cause in TEXTS and kin.resumes_units is not None:
            part = kin.shared_units, kin.shared_units + kin.resumes_units
            group.recurs(*self._met_elsewhere(prompt, part, facts.session))
        return number, kin, shown.chars

    def _shown(
        self, kin: Kin, facts: RequestFacts, *, same_session: bool, little: bool
    ) -> Shown | None:
        """Return what a request and its relative show; None where their texts do not part."""
        if not facts.counted:
            return WITHOUT_TEXT
        found = self.parting(facts.number, self._numbers[kin.place])
        if found is None:
            return None
        return shown_by(*found, same_session=same_session, far=kin.far, little=little)

    def _sent_before(
        self, facts: RequestFacts, prompt: NDArray[np.int32], kin: Kin, shared: int
    ) -> int:
        """Return how much of what follows the conversation sent before, in any of its requests."""
        return self._conversations.sent_units(
            facts.session, self._namespace, prompt, kin, shared, self.relatives
        )

    def _met_elsewhere(
        self, prompt: NDArray[np.int32], part: tuple[int, int], session: str | None
    ) -> tuple[int, int]:
        """Return how many fingerprints of a part other sessions had too, and of how many."""
        had = self.relatives.met_before(prompt, self._namespace, *part)
        of = self._texts.sessions
        known = [p for p in had if p >= 0 and (session is None or of[self._numbers[p]] != session)]
        return len(known), len(had)

    def _tells(self, facts: RequestFacts, kin: Kin, before: int | None, units: int) -> bool:
        """Whether a pair that lost next to nothing shows a fault even so.

        A block that is not sent again costs little while nothing stands behind it, and in a short
        prompt no run is long.
        """
        return facts.counted and (kin.place == before or units < SHORT_PROMPT)

    @property
    def relatives(self) -> Relatives:
        """The prompts that were followed, to be compared with one another."""
        assert self._relatives is not None
        return self._relatives

    def names(self, story: Story) -> tuple[str, str]:
        """Return the ids of a story's request and of its relative."""
        return self.ids(story.number, story.relative)

    def ids(self, later: int, earlier: int) -> tuple[str, str]:
        """Return the ids of two requests by their numbers; the empty string for -1."""
        request = self._texts.request
        return request(later).id, request(earlier).id if earlier >= 0 else ""

    def number_of(self, place: int) -> int:
        """Return the number in the log of the request at a place; -1 for -1."""
        return self._numbers[place] if place >= 0 else -1

    def parting(self, later: int, earlier: int) -> tuple[Request, Request, Parting] | None:
        """Return two requests of the log by their numbers, and where their texts part."""
        mine = with_messages(self._texts.request(later))
        yours = with_messages(self._texts.request(earlier))
        where = parting(mine, yours, self._render())
        return None if where is None else (mine, yours, where)


def _stands_alone(verdict: Verdict) -> bool:
    """Whether a pair shows a fault although next to nothing was lost: by all of its messages."""
    return verdict.slot is None and verdict.cause not in (Cause.UNCLASSIFIED, Cause.TRUNCATED_LOG)
