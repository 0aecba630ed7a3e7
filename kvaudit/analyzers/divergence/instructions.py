"""Why two requests part in a text that both should have: instructions, or a tool's description."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.divergence.examples import are_examples, label_of
from kvaudit.analyzers.divergence.lone_lines import (
    LONG_CHARS,
    OF_ORIGIN,
    SENTENCES,
    only_in_one,
    value_of,
)
from kvaudit.analyzers.divergence.owners import is_identity, names_owner
from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.analyzers.divergence.questions import (
    QUOTED_CHARS,
    asks,
    is_of_user,
    line_before_user,
)
from kvaudit.analyzers.divergence.slots import (
    Differing,
    Slot,
    differing_lines,
    first_words,
    length,
    line_at,
    slot_at,
)
from kvaudit.analyzers.divergence.spelling import squeezed
from kvaudit.analyzers.divergence.values import kind_of, names_session
from kvaudit.analyzers.divergence.verdict import Anchors, Pair, Verdict
from kvaudit.analyzers.template.request_log.system import is_passage
from kvaudit.analyzers.template.request_log.texts import changes, same_but_for_space
from kvaudit.core.document import Origin
from kvaudit.core.why import Cause

_LABEL_CHARS = 80
_FILLED_SHARE = 0.3
"""Of a line that is filled in, less than this are values."""
_LABEL_END = re.compile(r"[:：=]\s*$")
_WINDOW = 300
_FEW_LINES = 6
"""Of both texts, in which one that has no counterpart is looked for."""
_LONGEST = 2000
"""Characters of a line in which a value is looked for."""
_RETRIEVED = re.compile(
    r"\b(?:context|documents?|passages?|sources?|retrieved|excerpts?|snippets?|chunks?"
    r"|search results?|knowledge|articles?|kontext|dokumente?|auszüge?|contexte|contexto)\b"
    r"|资料|检索|文档|上下文|参考|文書|検索",
    re.IGNORECASE,
)
_PASSAGES_MOVED = "the same passages in another order"
_STATE = re.compile(
    r"\b(?:memory|memories|known about|remember|state|status|notes?|todo|basket|cart"
    r"|open (?:files|windows|tabs)|recent|battery|balance|inventory|stock|progress|weather"
    r"|stand|bestand|gedächtnis|notizen|screen)\b"
    r"|记忆|状态|当前",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?:/[\w.-]+){2,}|[A-Za-z]:\\|\bsession|\bpid\b|\bcwd\b|working directory", re.I
)


def in_instructions(pair: Pair) -> Verdict:
    """Tell what differs in a text that both should have."""
    part = pair.parting
    lines = differing_lines(part.later, part.earlier, part.offset)
    mine, yours = lines.later, lines.earlier
    slot = slot_at(part.later, part.earlier, part.offset)
    if only_space(part) or not (mine or yours):
        return Verdict(Cause.WHITESPACE_DRIFT, None, "the same text but for white space")
    moved = _moved(part, slot)
    if moved is not None:
        return moved
    around = anchors_of(slot, lines)
    if is_of_user(pair, slot, mine, yours):
        before = _value_before_user(pair, slot, lines)
        return before or Verdict(Cause.USER_TEXT_FIRST, slot, anchors=around)
    if is_retrieved(lines, slot):
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, slot, anchors=around)
    if names_owner(slot, pair):
        return Verdict(Cause.IDENTITY, slot)
    if bool(mine) is not bool(yours):
        return only_in_one(mine or yours, pair, around)
    several = _is_running_text(part, slot, lines)
    form = not several or _has_a_line_more(lines)
    found = value_at(part, slot) if form else None
    verdict = found or _of_no_kind(pair, slot, lines, several=several)
    apart = _apart(lines, slot) if verdict.cause is Cause.UNCLASSIFIED else None
    return verdict if apart is None else only_in_one([apart], pair, around)


def _value_before_user(pair: Pair, slot: Slot, lines: Differing) -> Verdict | None:
    """Return the value in a line of its own in front of what the user asks, if there is one.

    What is said behind it keeps two requests apart only once that is gone.
    """
    lone = line_before_user(pair, lines)
    if lone is not None:
        return only_in_one([lone], pair, anchors_of(slot, lines))
    both = bool(slot.later and slot.earlier)
    if not both or is_of_user(pair, slot, lines.later[:1], lines.earlier[:1]):
        return None
    if names_owner(slot, pair) or is_identity(slot):
        return Verdict(Cause.IDENTITY, slot)
    found = value_at(pair.parting, slot)
    return found or (Verdict(Cause.SESSION_VALUE, slot) if names_session(slot) else None)


def is_retrieved(lines: Differing, slot: Slot) -> bool:
    """Whether what differs begins, or stands in, something that a search found."""
    firsts = [found[0] for found in (lines.later, lines.earlier) if found]
    return any(map(is_passage, firsts)) or (is_passage(lines.before) and not slot.before.strip())


def _is_running_text(part: Parting, slot: Slot, lines: Differing) -> bool:
    """Whether what differs is content, and no value or form that is filled in."""
    mine, yours = lines.later, lines.earlier
    if max(len(mine), len(yours)) > 1:
        return _is_long(lines) or not _is_form(mine, yours)
    least = LONG_CHARS if _LABEL_END.search(slot.before) else SENTENCES
    return _is_long(lines, least) and not _is_filled_in(part, slot, least)


def _is_filled_in(part: Parting, slot: Slot, least: int) -> bool:
    """Whether two lines, of any length, are one with a few values in it: most of it is common."""
    differs = min(length(slot.later), length(slot.earlier))
    if differs < least:
        return True
    start = slot.start - len(slot.before)
    lines = [line_at(text, start)[:_LONGEST] for text in (part.later, part.earlier)]
    found = changes(lines[1], lines[0])
    return 0 < sum(len(each.new) for each in found) < _FILLED_SHARE * min(map(len, lines))


def _is_long(lines: Differing, least: int = LONG_CHARS) -> bool:
    return min(sum(map(length, each)) for each in (lines.later, lines.earlier)) >= least


def _apart(lines: Differing, slot: Slot) -> str | None:
    """Return the short line with a value that one of the texts has, and the other has not.

    Each may have others. What keeps the later text from its relative is first the line that it has.
    """
    alike = any(c.isalnum() for c in slot.before + slot.after)
    both = (*lines.later, *lines.earlier)
    more = [word != line.strip() for line, word in zip(both, first_words(both), strict=True)]
    short = all(more) and all(len(line) < SENTENCES for line in both)
    if alike or not short or not lines.after or len(both) > _FEW_LINES:
        return None
    mine, yours = (set(first_words(text)) for text in (lines.later, lines.earlier))
    lone = mine ^ yours
    own = [line for line, word in zip(both, first_words(both), strict=True) if word in lone]
    value = bool(own) and (value_of(own[0]) is not None or any(map(str.isdigit, own[0])))
    return own[0] if value else None


def _is_form(mine: Sequence[str], yours: Sequence[str]) -> bool:
    """Whether lines differ in values only, line by line: a block that is filled in."""
    return first_words(mine) == first_words(yours)


def _has_a_line_more(lines: Differing) -> bool:
    """Whether two texts begin with the same form, and one of them has another line behind it."""
    (mine, *_), (yours, *_) = first_words(lines.later), first_words(lines.earlier)
    return mine == yours and mine[:1].isalnum() and not _is_long(lines)


def _of_no_kind(pair: Pair, slot: Slot, lines: Differing, *, several: bool) -> Verdict:
    """Tell running text, and values that no pattern knows; the group's other pairs may know."""
    mine = lines.later
    if asks(lines.before):
        return Verdict(Cause.USER_TEXT_FIRST, slot, anchors=anchors_of(slot, lines))
    around = anchors_of(slot, lines) if several else None
    if not several and is_identity(slot):
        return Verdict(Cause.IDENTITY, slot)
    label = _label(lines.before, slot.before, mine[0] if several and mine else "")
    if several and _RETRIEVED.search(label) and not _STATE.search(label):
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, slot, anchors=around)
    if _STATE.search(label) and not _RETRIEVED.search(label):
        return Verdict(Cause.LIVE_STATE, slot, anchors=around, sure=several)
    if not several and names_session(slot):
        return Verdict(Cause.SESSION_VALUE, slot)
    raw = pair.later.messages is None
    if raw and _is_long(lines) and lines.after and not pair.same_session:
        # A prompt that is one text, and fixed text behind what may be its task.
        return Verdict(Cause.USER_TEXT_FIRST, slot, anchors=around, sure=False)
    if _is_long(lines) and not pair.same_session and not raw:
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, slot, anchors=around, sure=False)
    common = any(character.isalnum() for character in slot.before + slot.after)
    if pair.parting.offset < QUOTED_CHARS and not common:
        # They share nothing up to here: two prompts, or one that begins with its passages.
        return Verdict(Cause.UNCLASSIFIED, slot, anchors=around, sure=not several)
    if pair.same_session:
        if _are_all(lines, slot):
            return Verdict(Cause.UNCLASSIFIED, slot)  # of two agents, each with its own
        return Verdict(Cause.LIVE_STATE, slot, anchors=around, sure=False)
    if not several and _PLACE.search(slot.before[-40:] + slot.later):
        return Verdict(Cause.SESSION_VALUE, slot)
    return Verdict(Cause.UNCLASSIFIED, slot, anchors=around, sure=False)


def _are_all(lines: Differing, slot: Slot) -> bool:
    """Whether lines of words are all that there is of the instructions of two requests."""
    words = all(
        len(value.split()) > 1 and not any(map(str.isdigit, value))
        for value in (slot.later, slot.earlier)
    )
    return (
        words and not (lines.before or lines.after) and len(lines.later) == len(lines.earlier) == 1
    )


def _label(*lines: str) -> str:
    """Return what may say what follows: a heading is short, a paragraph says something else."""
    return "\n".join(line for line in lines if len(line) <= _LABEL_CHARS)


def anchors_of(slot: Slot, lines: Differing) -> Anchors:
    """Return what stands around a differing text: its own line's beginning, or the line before."""
    own = slot.before.strip()
    return Anchors(own if sum(c.isalpha() for c in own) >= 3 else lines.before, lines.after)


def only_space(part: Parting) -> bool:
    """Whether the texts agree but for white space, as far as a window shows."""
    a, b = (t[part.offset : part.offset + _WINDOW] for t in (part.later, part.earlier))
    if not (a[:1].isspace() or b[:1].isspace() or (a and b and same_but_for_space(a, b))):
        shown = a[:8] + b[:8]
        if shown.isascii():
            return False
    one, other = squeezed(a), squeezed(b)
    size = min(len(one), len(other)) - 16
    return size >= 32 and one[:size] == other[:size]


def _moved(part: Parting, slot: Slot) -> Verdict | None:
    """Tell a part that stands elsewhere in the other text: what is shuffled, not changed."""
    mine, yours = _block(part.later, slot.start), _block(part.earlier, slot.start)
    if min(len(mine), len(yours)) < QUOTED_CHARS or mine == yours:
        return None
    here, there = part.later[slot.start :], part.earlier[slot.start :]
    if yours not in here or mine not in there:
        return None
    if is_passage(mine) or any(map(_RETRIEVED.search, map(label_of, (mine, yours)))):
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, None, _PASSAGES_MOVED)
    if part.section == "tools" or '"name"' in mine:
        return Verdict(Cause.TOOL_ORDER, None, "the same tools in another order")
    if are_examples(mine, yours):
        title = "the same examples in another order"
        return Verdict(Cause.SHUFFLED_EXAMPLES, None, title, position="fewshot")
    if min(length(mine), length(yours)) >= SENTENCES:
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, None, _PASSAGES_MOVED)
    return Verdict(Cause.UNCLASSIFIED, None, "the same lines in another order")


def _block(text: str, at: int) -> str:
    """Return the line that holds a character, as it stands."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[start : len(text) if end < 0 else end].strip()


def value_at(part: Parting, slot: Slot) -> Verdict | None:
    """Return what kind of value differs first, where it is a known one on both sides."""
    start = slot.start - len(slot.before)
    later, earlier = (line_at(t, start)[:_LONGEST] for t in (part.later, part.earlier))
    changed = next(iter(changes(earlier, later)), None)
    if changed is None or changed.origin in (None, Origin.COUNTER):
        kind = kind_of(slot)
        if kind is not None:
            return Verdict(kind, slot)
    if changed is None or changed.origin not in OF_ORIGIN:
        return None
    if changed.origin is Origin.RANDOM and names_session(slot):
        return Verdict(Cause.SESSION_VALUE, slot)
    at = later.find("\n", changed.end)
    whole = Slot(
        before=later[: changed.start],
        later=changed.new,
        earlier=changed.old,
        after=later[changed.end : len(later) if at < 0 else at],
        start=start + changed.start,
    )
    # That a number grew by little says something only if it always does.
    sure = changed.origin is not Origin.COUNTER
    return Verdict(
        OF_ORIGIN[changed.origin], whole if "\n" not in whole.before else slot, sure=sure
    )
