"""What a log as a whole is told about, and that nothing is changed for it."""

import pytest

from kvaudit.core.requests import Mark, Request
from kvaudit.logs.checks import LogChecks

NOW = 1_793_523_600.0


def notes(*requests, now_s=NOW):
    checks = LogChecks(now_s)
    for request in requests:
        checks.see(request)
    return {note.topic: note for note in checks.notes()}


def at(id, arrived_s=1.0, **rest):
    return Request(id=id, arrived_s=arrived_s, **rest)


def test_an_ordinary_log_has_no_notes():
    assert notes(at("a"), at("b", 2.0, parent="a"), at("c", 2.0, cached_tokens=0)) == {}
    assert notes() == {}


def test_duplicate_ids():
    note = notes(at("a"), at("b"), at("a"), at("a"))["duplicate-ids"]
    assert note.count == 2
    assert note.text.startswith("2 requests have an id that came before, the first is number 3;")


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([at("child", 5.0, parent="a"), at("a", 9.0)], id="newest first"),
        pytest.param([at("a", 9.0), at("child", 5.0, parent="a")], id="clocks disagree"),
        pytest.param([at("child", None, parent="a"), at("a", None)], id="no times"),
    ],
)
def test_children_before_parents(requests):
    assert notes(*requests)["children-before-parents"].count == 1
    assert notes(*requests)["children-before-parents"].text.startswith(
        "1 request comes before the request it continues;"
    )


def test_a_child_after_its_parent_in_time_but_not_in_the_file():
    assert "children-before-parents" not in notes(at("child", 9.0, parent="a"), at("a", 5.0))
    strangers = [at(f"r{i}", 50.0 - i, parent=f"not in the log {i}") for i in range(50)]
    assert "children-before-parents" not in notes(*strangers)


def test_times():
    assert notes(at("a", None), at("b", None))["no-times"].text.startswith("the log has no times")
    assert notes(at("a", None), at("b"))["no-times"].count == 1
    assert notes(at("a", 2.0), at("b", 1.0), at("c", 3.0))["order"].count == 1
    assert notes(at("a", NOW + 90_000))["future"].count == 1
    assert "future" not in notes(at("a", NOW + 3_600))
    assert "future" not in notes(at("a", NOW + 90_000), now_s=None)


def test_counts_that_cannot_be():
    requests = [at("a", prompt_tokens=10, cached_tokens=12), at("b", cached_tokens=12)]
    assert notes(*requests)["cached-over-prompt"].count == 1


@pytest.mark.parametrize("mark", Mark)
def test_marked_requests_are_counted_by_mark(mark):
    assert notes(at("a", marks=frozenset({mark})), at("b"))[mark.value].count == 1
