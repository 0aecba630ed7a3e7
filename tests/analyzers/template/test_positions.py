"""Where messages in loops stand, and what the user's profile makes of a date."""

import pytest

from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import lint_document
from kvaudit.core.rulebook import load_rules


@pytest.mark.parametrize(("items", "position"), [("messages", "HISTORY"), ("shots", "FEWSHOT")])
def test_messages_in_a_loop_are_history_only_if_it_goes_through_one(parts, items, position):
    text = (
        "system:\nYou are kind.\n{% for m in "
        + items
        + " %}\nassistant:\n{{ m.reply }}\n{% endfor %}"
        "\nuser:\n{{ question }}\n"
    )
    found = parts(text, "chat.jinja2")
    assert [where for shown, _, where in found if shown == "m.reply"] == [position]


@pytest.mark.parametrize(
    ("profile", "text", "severity"),
    [
        (Profile(), "{{ strftime_now('%d %b') }}", "info"),
        (Profile(retention_days=1), "{{ strftime_now('%d %b') }}", "warning"),
        (Profile(retention_days=1), "{{ current_date }}", "info"),
    ],
)
def test_a_date_counts_more_where_kv_outlives_the_day(read, profile, text, severity):
    (document,) = read("You are kind. " + text)
    rules = [rule for rule in load_rules() if rule.code == "KV002"]
    assert [str(f.severity) for f in lint_document(document, rules, profile)] == [severity]
