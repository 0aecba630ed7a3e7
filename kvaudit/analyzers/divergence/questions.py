"""What the user asks, where it stands in a text that both of two requests should have."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.divergence.lone_lines import SENTENCES, value_of
from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.analyzers.divergence.slots import Differing, Slot, first_words, length
from kvaudit.analyzers.divergence.verdict import Pair
from kvaudit.core.requests import Request

QUOTED_CHARS = 12
"""A text of the user as long as this does not stand elsewhere by chance."""
_QUESTION = re.compile(
    r"\W{0,4}(?:(?:the )?(?:user(?:'s)? |current |new )?(?:question|query|request)|q|frage|anfrage"
    r"|(?:be)?nutzer(?:frage|anfrage)|requête|pregunta|consulta|domanda|pergunta|vraag"
    r"|pytanie|вопрос|запрос|(?:用户|当前)?(?:问题|提问|查询)|质问|質問|お問い合わせ|질문)"
    r"\s?[\"'*]{0,3}[:：]\W*\w.{7}",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:request|question|query|task|problem|(?:an)?frage|aufgabe|requête|pregunta|consulta"
    r"|domanda|pergunta|vraag|pytanie|вопрос|запрос)\s?[:：]\s*$"
    r"|(?:请求|问题|提问|任务|質問|질문)\s?[:：]\s*$",
    re.IGNORECASE,
)
_ASKS_CHARS = 100
_LABEL = re.compile(r"[^:：]*[:：]\s*")
_ANSWER = re.compile(
    r"\W{0,4}(?:answer|a|response|assistant|output|antwort|réponse|respuesta|risposta|resposta"
    r"|antwoord|odpowiedź|ответ|回答|答案|答|解答|답변)\s?[\"'*]{0,3}[:：]",
    re.IGNORECASE,
)


def asks(line: str) -> bool:
    """Whether a line says that what the user wants follows."""
    return len(line) <= _ASKS_CHARS and _ASKS.search(line) is not None


def is_of_user(pair: Pair, slot: Slot, mine: Sequence[str], yours: Sequence[str]) -> bool:
    """Whether lines that differ hold what the user asks, or stand behind what says so."""
    asked = is_asked(mine, slot.later, pair.later) or is_asked(yours, slot.earlier, pair.earlier)
    quoted = is_quoted(pair.parting, slot, pair.later)
    return asked or quoted or any(map(is_question, (mine, yours)))


def line_before_user(pair: Pair, lines: Differing) -> str | None:
    """Return the short line with a value that one of two texts begins with, and the other lacks.

    It is none of the user's: the newest message does not say it.
    """
    for own, other, request in (
        (lines.later, lines.earlier, pair.later),
        (lines.earlier, lines.later, pair.earlier),
    ):
        line = own[0] if own else ""
        label, value = _labelled(line)
        if length(line) >= SENTENCES or not value or value in _newest_of_user(request):
            continue
        if asks(label) or is_question(own) or set(first_words(own[:1])) & set(first_words(other)):
            continue
        if value_of(line) is not None or any(map(str.isdigit, line)):
            return line
    return None


def _labelled(line: str) -> tuple[str, str]:
    """Return a line's label with its colon, and what follows; without a label all of it."""
    label = _LABEL.match(line)
    end = label.end() if label else 0
    return line[:end], line[end:].strip()


def is_asked(lines: Sequence[str], value: str, request: Request) -> bool:
    """Whether a differing text is the newest one of the user."""
    newest = _newest_of_user(request)
    whole = "\n".join(lines)
    short = value.strip()
    question = newest.strip().split("\n")[-1].strip()
    return (len(short) >= QUOTED_CHARS and short in newest) or (
        len(question) >= QUOTED_CHARS and question in whole
    )


def is_quoted(part: Parting, slot: Slot, request: Request) -> bool:
    """Whether a value stands in the newest message of the user, in the same words around it."""
    end = slot.start + len(slot.later)
    around = part.later[max(0, slot.start - QUOTED_CHARS) : end + QUOTED_CHARS].strip()
    return bool(slot.later.strip()) and around in _newest_of_user(request)


def _newest_of_user(request: Request) -> str:
    said = [m.get("content") for m in request.messages or () if m.get("role") == "user"]
    return _said(said[-1]) if said else ""


def is_question(lines: Sequence[str]) -> bool:
    """Whether lines begin with a question that says so, and not with an example's."""
    answered = any(map(_ANSWER.match, lines[1:3]))
    return bool(lines) and not answered and _QUESTION.match(lines[0]) is not None


def _said(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    return ""
