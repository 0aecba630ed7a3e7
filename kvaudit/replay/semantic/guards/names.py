"""One thing put in another's place: proper names, and words in texts that are otherwise alike.

Names are capitalised words away from the start of a sentence. Where two sentences are the same but
for one or two places, what stands there instead is another thing, unless it is a spelling of the
same word, a synonym, or a word that carries nothing. Sentences worded anew are not aligned, and in
a long statement another verb is another way to say it.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from kvaudit.replay.semantic.guards.alike import alike, is_known, is_slip, joined
from kvaudit.replay.semantic.guards.apart import are_near
from kvaudit.replay.semantic.guards.facts import LONG_TEXT, Facts
from kvaudit.replay.semantic.guards.han import han_replaced
from kvaudit.replay.semantic.guards.numbers import is_number
from kvaudit.replay.semantic.guards.polarity import opposite_words
from kvaudit.replay.semantic.guards.words import (
    ALL,
    CONTRACTED,
    DEMONYMS,
    EMPTY,
    FIRST_PERSON,
    LIGHT,
    NEGATED,
    NO_ADVERBS,
    NOUN_BEFORE,
    POLITE,
    SINGLE,
    STATES,
    UNSPELLED,
    VERB_AFTER,
    VERB_BEFORE,
)

MOST_CHANGES = 2
"""Places where two sentences differ; with more they are worded anew, and nothing is aligned."""
SAME_SENTENCE = 0.6
"""Share of words in the same order, from which on two sentences count as aligned."""
MOST_WORDS = 2
STATEMENT_WORDS = 7
ADVERB_LENGTH = 6
WHOLE, ONE = "whole", "one"


def names_differ(a: Facts, b: Facts) -> bool:
    """Return whether the texts name different things."""
    first, second = _names(a), _names(b)
    shared = first & second
    own, others = first - shared - _singular(b.words), second - shared - _singular(a.words)
    if any(not any(is_slip(x, y) for y in others) for x in own) and others:
        return True
    if a.has_han and b.has_han:
        return han_replaced(a.text, b.text)
    return _replaced(a, b)


def _names(facts: Facts) -> set[str]:
    """Return capitalised words that do not open a sentence, in lower case."""
    inner = re.findall(r"(?<![.!?:]\s)(?<=\s)['\"(]?([A-ZÀ-Þ][\w'-]*)", facts.text)
    return {
        DEMONYMS.get(name := word.lower().removesuffix("'s").replace("-", ""), name).removesuffix(
            "s"
        )
        for word in inner
        if word.lower() not in EMPTY and not word.startswith("I'")
    }


def _singular(words: list[str]) -> set[str]:
    return {word.removesuffix("'s").removesuffix("s") for word in words}


def sentence(facts: Facts) -> list[str]:
    """Return the words without politeness, contractions written out, phrases joined."""
    words: list[str] = []
    for word in facts.words:
        word = UNSPELLED.get(word, word)
        word, _, short = word.partition("'")
        words += [NEGATED.get(word, word.removesuffix("n")), "not"] if short == "t" else [word]
        if short in CONTRACTED:
            words.append(CONTRACTED[short])
    return joined([word for word in words if word not in POLITE])


def _replaced(first: Facts, second: Facts) -> bool:
    """Return whether the sentences are the same but for other things in the same places."""
    a, b = first.sentence, second.sentence
    if not are_near(a, b):
        return False
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < SAME_SENTENCE:
        return False
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    if not 1 <= len(edits) <= MOST_CHANGES:
        return False
    all_a, all_b = _content(a), _content(b)
    # What only changed its place or its ending is in both.
    own = {w for w in all_a - all_b if not any(alike(w, other) for other in all_b)}
    others = {w for w in all_b - all_a if not any(alike(w, other) for other in all_a)}
    stated = is_statement(first) and is_statement(second)
    for kind, s, e, t, f in edits:
        if kind == "replace" and _reworded(a[s:e], b[t:f]):
            continue
        if kind == "replace" and _are_verbs(a, s, e) and _are_verbs(b, t, f):
            # Two verbs that are known are known to differ; of others that is not said.
            unknown = not (is_known(a[s]) and is_known(b[t])) and not opposite_words(a[s], b[t])
            if stated or (unknown and e - s == f - t == 1):
                continue
        if kind == "replace" and {WHOLE, ONE} == {_scope(a[s:e]), _scope(b[t:f])}:
            return True
        if _are_other(_content(a[s:e]), _content(b[t:f]), own | others, kind):
            return True
    return False


def is_statement(facts: Facts) -> bool:
    """Return whether a text says something of a third person, and asks for nothing."""
    words = facts.words
    if len(words) < STATEMENT_WORDS or "?" in facts.text or FIRST_PERSON & set(words):
        return False
    return words[0] in STATES or "`" in facts.text or len(words) >= LONG_TEXT


def _reworded(one: list[str], other: list[str]) -> bool:
    """Return whether two stretches are one word in two spellings."""
    return "".join(one) == "".join(other)


def _are_verbs(words: list[str], start: int, end: int) -> bool:
    """Return whether a verb may stand there, by its ending and by the word before it."""
    if end - start > MOST_WORDS:
        return False
    after = words[end] if end < len(words) else ""
    if not start:
        return after in VERB_AFTER  # an order
    before = words[start - 1]
    if before in VERB_BEFORE:
        return after != "of"
    return before not in NOUN_BEFORE and words[start].endswith(("s", "ed"))


def _are_other(one: set[str], other: set[str], moved: set[str], kind: str) -> bool:
    """Return whether a stretch names another thing, or one that the other text leaves out."""
    own, others = one & moved, other & moved
    if max(len(own), len(others)) > MOST_WORDS:
        return False
    if own and others:
        return True
    if kind == "replace":
        # One word that names nothing in place of one that does is a turn of phrase.
        return bool(own or others) and bool(one and other)
    return bool((own | others) - LIGHT)


def _scope(words: list[str]) -> str | None:
    """Return whether words mean each of several or a single one."""
    if not words:
        return None
    return WHOLE if set(words) <= ALL else ONE if set(words) <= SINGLE else None


def _content(words: list[str]) -> set[str]:
    return {
        word
        for word in words
        if word not in EMPTY
        and len(word) > 1
        and not is_number(word)  # another kind's business
        and not (word.endswith("ly") and len(word) >= ADVERB_LENGTH and word not in NO_ADVERBS)
    }
