"""Whether a value that differs names the user or the tenant whose request it is."""

from __future__ import annotations

import re

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
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
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
    if _NAMED.search(slot.before[-_LABEL_CHARS:]) is None:
        return False
    return all(_is_name(text) for text in (whole.later, whole.earlier))


def _is_name(text: str) -> bool:
    """Whether a text begins with a few words without digits; a number of theirs may follow."""
    words = re.split(r"[(\[,;:|]", text, maxsplit=1)[0].split()
    return 0 < len(words) <= _MOST_WORDS and not any(c.isdigit() for c in "".join(words))
