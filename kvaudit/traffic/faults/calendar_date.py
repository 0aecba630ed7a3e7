"""The date in words before the instructions: new every day, the same for all of one."""

from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion

WEEKDAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
MONTHS = (
    "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
    "Oktober", "November", "Dezember",
)  # fmt: skip


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Put the date, in German, before the instructions."""
    day = occasion.time
    date = f"{WEEKDAYS[day.weekday()]}, der {day.day}. {MONTHS[day.month - 1]} {day.year}"
    return draft.headed(f"Heute ist {date}.")


FAULT = Fault(
    name="calendar-date",
    title="the date, in German words, on the first line of the system prompt",
    cause="calendar-date",
    position="system",
    plant=plant,
)
