"""Plots: the points of a run, and the chart that is drawn of them."""

from kvaudit.core.runs import Kind, Run
from kvaudit.report.drawing import MOST_POINTS, chart, svg
from kvaudit.report.plots import Plot, plots_of


def replayed(occupancy):
    return Run("r.json", Kind.REPLAY, {"prefix": {"occupancy": occupancy}})


def test_times_count_from_the_first_request():
    (plot,) = plots_of(replayed([[1000.5, 3], [1001.5, 7]]))
    assert plot.curves == {"blocks held": [(0.0, 3.0), (1.0, 7.0)]}


def test_what_is_no_curve_is_no_plot():
    for occupancy in (None, [], [[1.0, 2]], [[None, 2], [None, 3]], ["x", 3, [1]]):
        assert plots_of(replayed(occupancy)) == []


def test_a_long_curve_is_thinned_and_keeps_its_peaks_and_its_end():
    for count in (1_998 * 7, 1_999 * 7 - 1, 50_000):
        points = [(float(i), float(i % 5)) for i in range(count)]
        points[4_321] = (4_321.0, 99.0)
        points[-1] = (float(count), 0.0)
        plot = Plot(title="t", x_title="x", y_title="y", curves={"c": points})
        values = chart(plot).to_dict()["data"]["values"]
        assert len(values) <= MOST_POINTS
        assert max(value["y"] for value in values) == 99
        assert values[-1] == {"x": count, "y": 0, "curve": "c"}


def test_a_name_in_a_log_is_text_in_the_picture():
    plot = Plot(
        title="t", x_title="<script>", y_title="y", curves={"a": [(1, 1), (2, 2)]}, marks={"k": 1}
    )
    assert "<script" not in svg(plot)
