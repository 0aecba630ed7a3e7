"""Whether a value that differs names the user or the tenant whose request it is."""

from __future__ import annotations

import re
from itertools import takewhile

from kvaudit.analyzers.divergence.slots import Slot
from kvaudit.analyzers.divergence.values import widened
from kvaudit.analyzers.divergence.verdict import Pair

_NAMED = re.compile(
    r"\b(?:name[ds]?|user|customer|client|account|tenant|member|employee|visitor|guest|patient|e-?mail"
    r"|talking to|speaking (?:to|with)|hello|dear|hi|assist(?:ant of|ing)|heißt|herrn?|frau|kunden?"
    r"|mandant(?:en)?|benutzer|nutzer|nom|utilisateur|bonjour|usuario|cliente|nombre|hola|utente|użytkownik"
    r"|klient|gebruiker|klant|användare|kund)\b"
    r"|用户|姓名|客户|称呼|你好|您好|お客様|ユーザー|様|고객|사용자|имя|клиент|пользовател",
    re.IGNORECASE,
)
_ADDRESSING = (
    r"\b(?:(?:writ(?:e|es|ing)|talk(?:s|ing)?|speak(?:s|ing)?|chat(?:s|ting)?|reply(?:ing)?|respond(?:s|ing)?"
    r"|answer(?:s|ing)?|letter|message|call) (?:to|with|for|from)"
    r"|(?:help|assist|serv|greet|address|answer|support|advis)(?:e|es|s|ing)?"
    r"|(?:assistant|agent|aide|secretary|copilot|bot|coach|tutor|concierge) (?:of|to|for)"
    r"|on behalf of"
    r"|(?:schreibst|schreiben|sprichst|sprechen|antwortest|antworten)(?: sie)? (?:an|mit)"
    r"|hilfst|helfen sie"
    r"|(?:écris|écrivez|parles?|parlez|réponds|répondez) (?:à|avec)"
    r"|(?:escribes?|hablas?|respondes?) (?:a|con)"
    r"|assistente (?:de|di)|asistente de|assistante? de|assistent (?:von|für))\s"
)
"""How an application says whom it serves, right in front of the name."""
_CHINESE = r"正在(?:与|和|为|给|帮助?|服务)"
_ADDRESSED = re.compile(f"(?:{_ADDRESSING}|{_CHINESE})$", re.IGNORECASE)
_ADDRESSES = re.compile(f"{_ADDRESSING}|{_CHINESE}", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
_NAME_ENDS = re.compile(r"[(\[,;:|/#]|\s[–—-]\s")
_MOST_WORDS = 4
_LABEL_CHARS = 40


def names_owner(slot: Slot, pair: Pair) -> bool:
    """Whether what differs is, by the log's own fields, the user or the tenant."""
    owners = [
        (mine, yours)
        for mine, yours in (
            (pair.later.user, pair.earlier.user),
            (pair.later.tenant, pair.earlier.tenant),
        )
        if mine and yours and mine != yours and min(len(mine), len(yours)) > 1
    ]
    whole = widened(slot, r"[\w@.+-]")
    return any(mine in whole.later and yours in whole.earlier for mine, yours in owners)


def is_identity(slot: Slot) -> bool:
    """Whether what differs looks like a person: an address, or a few words after such a label."""
    whole = widened(slot, r"[\w@.+-]")
    if all(_EMAIL.search(t) for t in (whole.later, whole.earlier)):
        return True
    label, both = slot.before[-_LABEL_CHARS:], (whole.later, whole.earlier)
    if _NAMED.search(label) is None:
        return _ADDRESSED.search(label) is not None and all(map(_is_proper_name, both))
    return all(_is_name(text) for text in both)


def names_someone(label: str, value: str) -> bool:
    """Whether a value alone looks like a person: an address, or a name after such a label."""
    if _EMAIL.search(value):
        return True
    told = _NAMED.search(label) or _ADDRESSED.search(label)
    return told is not None and _is_proper_name(value)


def address_ends(text: str) -> list[int]:
    """Return the places of a line behind which the name of whom it is for may stand."""
    return [found.end() for found in _ADDRESSES.finditer(text)]


def _is_name(text: str) -> bool:
    """Whether a text begins with a few words without digits; more of theirs may follow."""
    words = _NAME_ENDS.split(text, maxsplit=1)[0].split()
    if any(c.isdigit() for c in "".join(words)):
        # "Ada Obi and the row is 17": the name is the words that are written like one.
        words = list(takewhile(lambda word: word[0].isupper() and word.isalpha(), words))
    return 0 < len(words) <= _MOST_WORDS


def _is_proper_name(text: str) -> bool:
    """Whether it is a name whose first word is a capitalised one, where its script has such."""
    return _is_name(text) and text[0].isalpha() and not text[0].islower()
