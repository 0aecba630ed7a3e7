"""How fine a clock reading is after methods and formats: a day, or less than a day.

Sources: ECMA-262 21.4 for the forms of ``Date``, ECMA-402 for the options of formatting.
"""

from __future__ import annotations

import re

from kvaudit.analyzers.source.ecmascript.values import Value, changed
from kvaudit.core.document import Origin

_DAY = re.compile(
    r"toDateString|toLocaleDateString|toISODate|toPlainDate|startOfDay|startOf|endOfDay|toSQLDate"
    r"|get(UTC)?(FullYear|Month|Date|Day|Year)|(iso)?[wW]eekday|isoWeek(day)?|dayOfYear|toLocaleDate"
)
_FINE = re.compile(
    r"toISOString|toJSON|toString|toLocaleString|toLocaleTimeString|toTimeString|toUTCString"
    r"|toGMTString|valueOf|getTime|get(UTC)?(Hours|Minutes|Seconds|Milliseconds)|toISO|toMillis"
    r"|toSeconds|unix|toRelative|fromNow|calendar|toSQL|toRFC2822|toHTTP|toLocale|hour|minute|second"
)
_SAME = re.compile(
    r"utc|local|tz|setZone|toUTC|toLocal|locale|setLocale|add|subtract|plus|minus|clone|toDate"
    r"|toJSDate|round|with\w*|trim|replace|replaceAll|toUpperCase|toLowerCase|padStart|reconfigure"
    r"|toFixed|concat|toZonedDateTime|withTimeZone"
)
_TIME_OPTION = re.compile(
    r"\b(hour|minute|second|fractionalSecondDigits|timeStyle|dayPeriod|hour12|timeZoneName)\b\s*:"
)
_DATE_OPTION = re.compile(r"\b(weekday|era|year|month|day|dateStyle)\b\s*:")
_QUOTED = re.compile(r"\[[^\]]*\]|'[^']*'")
_FINE_LETTERS = re.compile(r"[HhmsSaAkKXxTtpfF]|L{3,4}|LT")
_CUT_AT_DAY = {"toISOString": 10, "toJSON": 10, "toISO": 10, "toString": 15, "toUTCString": 16}
"""Characters up to which each text form holds nothing finer than the day."""


def of_moment(method: str, value: Value, written: str, form: str, chosen: str) -> Value | None:
    """Return a clock reading after a method; None for a method that says nothing.

    ``written`` is the text of the arguments, ``form`` the method that made the text which is
    cut, ``chosen`` the index of the piece that is taken of it.
    """
    if method == "split":
        # The first piece of the ISO form is the day, the second the time.
        return coarse(value) if "T" in written and chosen != "1" else value
    if method in ("slice", "substring", "substr"):
        return _cut(value, written, form)
    if method in ("format", "toFormat", "strftime"):
        return value if format_is_day(written) is not True else coarse(value)
    if method in ("toLocaleString", "toLocaleDateString"):
        return _localised(method, value, written)
    if method == "setHours" or _DAY.fullmatch(method):
        return coarse(value)
    if _FINE.fullmatch(method) or _SAME.fullmatch(method):
        return value
    return None


def coarse(value: Value) -> Value:
    """Return a clock reading as a day."""
    return changed(
        value, lambda part: part.of(Origin.DATE) if part.origin is Origin.CLOCK else part
    )


def zone(value: Value) -> Value:
    """Return the time zone of a clock reading: it differs between machines, not between days."""
    return changed(
        value, lambda part: part.of(Origin.HOST) if part.origin is Origin.CLOCK else part
    )


def _cut(value: Value, written: str, form: str) -> Value:
    numbers = [int(n) for n in re.findall(r"-?\d+", written)]
    if len(numbers) == 2 and numbers[0] >= 0 and 0 <= numbers[1] <= _CUT_AT_DAY.get(form, 10):
        return coarse(value)
    return value


def _localised(method: str, value: Value, written: str) -> Value:
    if _TIME_OPTION.search(written):
        return value
    if method == "toLocaleDateString" or _DATE_OPTION.search(written):
        return coarse(value)
    return value


def format_is_day(written: str) -> bool | None:
    """Whether a format text, as written with its quotes, prints nothing finer than a day."""
    found = re.search(r"""(["'`])(.+?)\1""", written)
    if found is None:
        return None
    bare = _QUOTED.sub("", found[2])
    return not _FINE_LETTERS.search(bare)
