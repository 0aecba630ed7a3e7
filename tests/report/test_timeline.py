"""A series over time as one line."""

from kvaudit.report.timeline import drawn_over_time


def drawn(points, **options):
    return drawn_over_time(points, start=0, end=8, full=70, **options)


def test_the_largest_value_of_each_part_is_drawn_as_a_share():
    points = [(0, 0), (1, 10), (1.5, 35), (4, 70), (8, 140)]
    assert drawn(points, columns=4) == "▅ ██"


def test_what_is_not_nothing_is_seen():
    assert drawn([(0, 0), (4, 1)], columns=2) == "▁▂"


def test_a_log_of_one_moment_is_one_column():
    assert drawn_over_time([(3.0, 7)], start=3.0, end=3.0, full=7, columns=3) == "█  "
