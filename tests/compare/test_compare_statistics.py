"""Statistics over seeds, tables, sentences and curves."""

import io
import itertools
import math

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from vrba.compare import comparison_rows, comparison_sentence, pair, spread
from vrba.core import append_line, read_last_line
from vrba.report import (
    Board,
    band,
    format_number,
    markdown_table,
    plot_comparison,
    plot_published,
)


def by_seed(*values):
    return dict(enumerate(values))


# Statistics.


@pytest.mark.parametrize("count", [1, 2, 5, 6, 9, 12, 20])
def test_interval_is_that_of_the_sign_test(count):
    """Its ends are the ratios at which SciPy's binomial test begins to reject."""
    random = np.random.default_rng(count)
    ratios = np.sort(np.exp(random.normal(size=count)))
    found = pair(by_seed(*ratios), by_seed(*np.ones(count)))
    assert found.ratios == pytest.approx(tuple(ratios))
    inside = []
    for low in range(count // 2 + 1):  # so many ratios lie below the true median
        if stats.binomtest(low, count, 0.5).pvalue > 0.05:
            inside.append(low)
    first = max(min(inside) - 1, 0) if inside else 0
    assert found.lower == pytest.approx(ratios[first])
    assert found.upper == pytest.approx(ratios[count - 1 - first])
    outside = stats.binom.cdf(first, count, 0.5)
    assert found.confidence == pytest.approx(1 - 2 * outside)
    assert (found.confidence >= 0.95) == (count >= 6)


def test_interval_holds_the_true_median_as_often_as_it_says():
    """All outcomes of the signs of six seeds, counted."""
    held = 0
    for signs in itertools.product((-1, 1), repeat=6):
        sizes = 1.0 + np.arange(6) / 10
        ratios = np.exp(np.array(signs) * sizes)
        found = pair(by_seed(*ratios), by_seed(*np.ones(6)))
        held += not (found.is_lower or found.is_higher)
    assert held / 2**6 == pytest.approx(found.confidence) == 1 - 2 / 2**6


def test_ratios_are_paired_by_seed():
    """Methods whose seeds differ a lot may still differ clearly, and only seeds that
    both have count."""
    baseline = {0: 1e-2, 1: 1e-5, 2: 1e-8, 7: 1.0}
    found = pair({2: 5e-9, 0: 5e-3, 1: 5e-6, 9: 1.0}, baseline)
    assert found.ratios == pytest.approx((0.5,) * 3)
    assert found.median == pytest.approx(0.5) and found.is_lower
    assert found.confidence == 0.75
    assert pair({3: 1.0}, baseline) is None


def test_half_and_double_cancel():
    found = pair(by_seed(1.0, 4.0), by_seed(2.0, 2.0))
    assert found.median == pytest.approx(1.0)
    assert not found.is_lower and not found.is_higher


def test_one_seed_is_never_a_difference():
    found = pair(by_seed(1e-9), by_seed(1.0))
    assert not found.is_lower and found.confidence == 0


def test_values_below_the_floor_are_equal():
    found = pair(by_seed(1e-12, 1e-6), by_seed(1e-9, 1e-6), floor=1e-8)
    assert found.ratios == (1.0, 1.0)


def test_not_a_number_is_the_worst():
    found = pair(by_seed(math.nan, math.nan), by_seed(1.0, math.nan))
    assert found.ratios == (1.0, math.inf) and found.median == math.inf
    assert spread([1.0, math.nan, 3.0]) == (3.0, 1.0, math.inf)
    assert spread([4, 1]) == (2.5, 1, 4)


# Sentences.


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ((), "no seed was run both with it and with uniform"),
        ((0.1,), "0.1 times the error of uniform with one seed, which shows nothing"),
        ((0.5, 2.0), "no significant difference"),
        ((0.5, 0.4, 0.6), "lower with every seed. Between equal methods this "),
        ((0.5, 0.4, 0.6), "1 time in 4: a hint"),
        ((2.0,) * 5, "higher with every seed. "),
        ((2.0,) * 5, "1 time in 16: a hint"),
        ((0.5,) * 8, "0.5 to 0.5): significantly lower (99 % confidence)."),
    ],
)
def test_sentence_never_overstates(ratios, words):
    found = pair(by_seed(*ratios), by_seed(*[1.0] * len(ratios)))
    assert words in comparison_sentence("rad", "uniform", "error", found)


def test_table_has_medians_and_ends():
    run = {"last": 2e-3, "residual_l2": 3e-4, "step": 100, "seconds": 7.25}
    runs = [run | {"selected": value} for value in (1e-3, 2e-9, 3e-3)]
    methods = {"uniform": runs, "rad": runs[1:2], "default": []}
    rows = comparison_rows(methods, "error", floor=1e-8)
    lines = markdown_table(rows).splitlines()
    assert [line.count("|") for line in lines] == [8] * 5
    assert len({len(line) for line in lines}) == 1
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == rows[1]
    cells = rows[1]
    assert cells[:4] == ["uniform", "3", "1.0e-3 [<1.0e-8, 3.0e-3]", "2.0e-3"]
    assert cells[5:] == ["100", "7.2"]
    assert "<1.0e-8 " in lines[3] and "[" not in lines[3]
    assert lines[4].count("none") == 5


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.234e-5, "1.2e-5"), (0.5, "0.5"), (31.4, "31"), (1234, "1234"), (0, "0")]
    + [(math.inf, "not finite")],
)
def test_numbers_are_short(value, text):
    assert format_number(value) == text


# Curves.


def record(places, values):
    pairs = zip(places, values, strict=True)
    return [{"step": x, "seconds": x / 10, "error": y} for x, y in pairs]


def test_band_is_median_and_ends_where_all_curves_are_known():
    records = [
        record([10, 20, 30], [1e-1, 1e-2, 1e-3]),
        record([10, 20], [1e-3, 1e-4]),
        record([5, 15, 25], [1e-1, 1e-1, 1e-1]),
    ]
    found = band(records, "step", "error")
    np.testing.assert_array_equal(found.places, [10, 15, 20])
    np.testing.assert_allclose(found.lowest, [1e-3, 10**-3.5, 1e-4])
    np.testing.assert_allclose(found.median, [1e-1, 10**-1.5, 1e-2])
    np.testing.assert_allclose(found.highest, [1e-1] * 3)
    later = record([40, 50], [1.0, 1.0])
    assert band([records[0], later], "step", "error") is None
    assert band([record([10], [None])], "step", "error") is None


def test_long_curves_are_thinned():
    steps = np.arange(1, 5001)
    found = band([record(steps, 1.0 / steps)], "seconds", "error")
    assert found.places.size <= 300
    assert (found.places[0], found.places[-1]) == (0.1, 500.0)
    np.testing.assert_allclose(found.median, 0.1 / found.places)


def test_figure_has_a_line_and_a_band_for_each_method():
    curve = record([10, 20, 30], [1e-1, 1e-2, 1e-3])
    methods = {"uniform": [curve, curve], "rad": [curve], "vrba": []}
    figure = plot_comparison(methods, "error", "relative L2 error")
    seconds, steps = figure.axes
    assert (seconds.get_xlabel(), steps.get_xlabel()) == ("seconds", "steps")
    assert seconds.get_ylabel() == "relative L2 error"
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    for axes in figure.axes:
        assert [line.get_label() for line in axes.lines] == ["uniform", "rad"]
        assert len({line.get_linestyle() for line in axes.lines}) == 2
        assert len({line.get_marker() for line in axes.lines}) == 2
        assert len(axes.collections) == 2
    texts = [text.get_text() for text in steps.get_legend().get_texts()]
    assert texts == ["uniform", "rad"]
    assert "2 seeds" in figure.get_suptitle()


@pytest.mark.parametrize("records", [[], [[]], [[{"step": 1, "seconds": 1.0}]]])
def test_nothing_is_drawn_of_what_was_not_logged(records):
    assert plot_comparison({"uniform": records}, "error", "error") is None


def test_an_axis_without_overlap_of_the_seeds_is_left_out():
    one, other = record([10], [1e-1]), record([10], [1e-2])
    later = [entry | {"seconds": 2 * entry["seconds"]} for entry in other]
    (steps,) = plot_comparison({"uniform": [one, later]}, "error", "error").axes
    assert steps.get_xlabel() == "steps"
    np.testing.assert_allclose(steps.lines[0].get_xydata(), [[10, 0.055]])


def test_published_curves_are_in_the_colour_of_their_method():
    ours = record([10, 20, 30], [1e-1, 1e-2, 1e-3])
    methods, curve = {"uniform": [ours], "vrba": [ours]}, [[5, 0.5], [40, 1e-4]]
    figure = plot_published(methods, "error", {"vrba": curve, "absent": curve})
    (panel,) = figure.axes
    _, vrba, published, _ = panel.lines
    np.testing.assert_array_equal(published.get_xydata(), curve)
    assert published.get_color() == vrba.get_color()
    assert published.get_linestyle() == vrba.get_linestyle()
    assert published.get_linewidth() < vrba.get_linewidth()
    texts = [text.get_text() for text in panel.get_legend().get_texts()]
    assert texts == ["uniform", "vrba", "thin: published"]


def test_both_panels_show_all_of_every_line():
    """A slow run cuts the median over seconds short, not the one over steps."""
    fast = record([10, 20, 30], [1e-1, 1e-2, 1e-5])
    slow = [entry | {"seconds": 10 * entry["seconds"]} for entry in fast]
    figure = plot_comparison({"uniform": [fast, slow]}, "error", "error")
    limits = {panel.get_ylim() for panel in figure.axes}
    assert len(limits) == 1 and limits.pop()[0] < 1e-5


# While runs go on.


@pytest.mark.parametrize("is_terminal", [True, False])
def test_board_shows_a_table_on_a_terminal_only(is_terminal):
    stream = io.StringIO()
    board = Board(Console(file=stream, force_terminal=is_terminal, width=60))
    board.show([("rad, seed 0", "step 15")])
    board.print("uniform, seed 0: [done]")
    board.close()
    assert board.is_live == is_terminal
    assert "uniform, seed 0: [done]" in stream.getvalue()
    assert ("step 15" in stream.getvalue()) == is_terminal


def test_last_line_of_a_log(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert read_last_line(path) is None
    for step in range(3000):
        append_line(path, {"step": step, "text": "x" * 40})
    assert read_last_line(path)["step"] == 2999
    with open(path, "a") as file:
        file.write('{"step": 30')
    assert read_last_line(path)["step"] == 2999
