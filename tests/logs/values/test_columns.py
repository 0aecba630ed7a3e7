"""Fields under many names: the table's order counts, and what cannot be read says nothing."""

from kvaudit.logs.values.columns import Columns
from kvaudit.logs.values.lookup import as_label, as_number

COLUMNS = Columns(id=(as_label, "request_id", "id"), ttft_s=(as_number, "ttft"))


def test_the_tables_order_counts_and_not_the_records():
    assert COLUMNS.read({"id": "b", "request_id": "a"}) == {"id": "a"}
    assert COLUMNS.read({"request_id": "a", "id": "b"}) == {"id": "a"}


def test_a_value_that_says_nothing_leaves_the_field_to_the_next_name():
    assert COLUMNS.read({"request_id": " ", "id": "b"}) == {"id": "b"}
    assert COLUMNS.read({"request_id": None, "id": 7}) == {"id": "7"}
    assert COLUMNS.read({"id": {"a": 1}, "ttft": "soon", "other": 1}) == {}
