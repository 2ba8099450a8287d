"""Labels of lines, points, rows and columns stand apart, within the figure, and keep all of their text."""

import pickle
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.rendering import figures
from tests.support.messages import refused
from tests.support.readable import assert_readable, drawn_texts

pytestmark = pytest.mark.slow

LONG = [f"CWLA(C='rbp(0.{n})',A='max',max_rel=2)" for n in range(10)]


def axes(width=3.3, height=3.2):
    return figures.axes_of(Figure(figsize=(width, height), layout="constrained").subplots())


def places(ax):
    """Return the middles of the texts of readable axes in pixels."""
    assert_readable(ax.figure)
    return {text.get_text(): box.mean(axis=0) for text, box in drawn_texts(ax.figure)}


def test_labels_of_points_cover_each_other_nowhere():
    ax = axes(5, 3.5)
    points = np.random.default_rng(0).normal(size=(30, 2))
    ax.plot(*points.T, "o")
    points[:3] = points[0] + [[0, 0], [0.01, 0], [0, 0.01]]
    figures.label_points(
        ax, {f"system {number}": tuple(point) for number, point in enumerate(points[:6])}, points, "black"
    )
    assert {f"system {number}" for number in range(6)} <= places(ax).keys()
    frame = ax.get_window_extent().padded(1)
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    assert all((box.min >= frame.min).all() and (box.max <= frame.max).all() for box in boxes)


def test_labels_at_ends_of_lines_stand_apart_inside():
    ax = axes(3.3, 2.5)
    curves = {f"a measure {n}": ([0, 1, 2], [0, 1, 5 + n / 100]) for n in range(7)}
    curves["cut"] = ([0, 1, 2], [0, 2, np.nan])
    looks = {name: figures.measure_look(number) for number, name in enumerate(curves)}
    for name, (x, y) in curves.items():
        ax.plot(x, y, **looks[name])
    figures.label_ends(ax, {**curves, "nothing": ([0], [np.nan])}, {**looks, "nothing": looks["cut"]})
    heights = {name: place[1] for name, place in places(ax).items() if name in curves}
    assert {text.get_text() for text in ax.texts} == heights.keys() == curves.keys()
    assert min(heights, key=heights.get) == "cut"


def test_measures_differ_and_texts_break_at_commas_first():
    looks = [figures.measure_look(number) for number in range(24)]
    assert len({str((look["linestyle"], look["marker"])) for look in looks[:8]}) == 8
    assert len({str(look) for look in looks}) == 24
    for text, width, lines in (
        ("ranks of all runs", 10, "ranks of\nall runs"), ("BM25_RM3_ENSEMBLE", 9, "BM25_RM3_\nENSEMBLE"),
        ("abcdefghij", 4, "abcd\nefgh\nij"), ("one\u00a0word here", 9, "one\u00a0word\nhere"),
        ("already\nin two lines", 4, "already\nin two lines"), ("users, 1,366 sessions", 14, "users,\n1,366 sessions"), ("", 9, ""),
    ):  # fmt: skip
        assert figures.in_lines(text, width) == lines
    assert figures.wrapped("$" * 9, 5) == r"\$" * 5 + "\n" + r"\$" * 4
    assert figures.wrapped("CWLA(C='rbp(0.8)',A='max',max_rel=2)") == "CWLA(C='rbp(0.8)',\nA='max',max_rel=2)"
    assert figures.wrapped("nDCG@10") == "nDCG@10"
    texts, size = figures.fitted(LONG, 80, 20)
    assert size < 8
    assert {text.count("\n") for text in texts} == {1}
    assert figures.fitted(["AP"], 90, 20) == (["AP"], 8.0)
    assert figures.fitted([], 90, 20) == ([], 8.0)
    assert figures.fitted(LONG, 10, 1)[1] == 5  # nothing fits


def test_labels_at_line_ends_follow_limits_and_sizes_that_change_later():
    ax = axes(7)
    figures.label_ends(
        ax, {"low": ([0, 1], [0, 0]), "high": ([0, 1], [0, 1])}, {"low": {"color": "C0"}, "high": {"color": "C1"}}
    )
    ax.set_ylim(-1, 3)
    found = places(ax)
    heights = [ax.transData.inverted().transform(found[name])[1] for name in ("low", "high")]
    assert heights == pytest.approx([0, 1], abs=0.05)
    ax.set_ylim(0, 100)  # both ends at nearly the same height
    ax.figure.set_size_inches(3.3, 2)
    found = places(ax)
    assert found["high"][1] > found["low"][1]


def test_of_equal_ends_the_first_label_is_on_top():
    ax = axes()
    figures.label_ends(
        ax, {name: ([0, 1], [0.5, 0.5]) for name in "abc"}, {name: figures.measure_look(0) for name in "abc"}
    )
    found = places(ax)
    assert found["a"][1] > found["b"][1] > found["c"][1]
    ax.set_xticks([1, 2, 3], ["one", "two", "three"])
    figures.thin_ticks(ax)
    assert_readable(pickle.loads(pickle.dumps(ax.figure)))


@pytest.mark.parametrize("width", [3.3, 7.0])
def test_names_of_rows_and_columns_keep_their_text(width):
    ax = axes(width, 4)
    figures.name_rows(ax, range(10), LONG)
    figures.name_columns(ax, range(4), ["linear", "binary, of grades from 1", "exponential", "$g^2$"])
    ax.set(xlim=(-0.5, 3.5), ylim=(-0.5, 9.5))
    figures.titled(ax, "Rows with long names and a title that is long as well, so that it needs more than one line")
    assert_readable(ax.figure)
    assert [label.get_text().replace("\n", "") for label in ax.get_yticklabels()] == LONG


def test_keys_panels_and_ticks_stand_apart():
    ax = axes()
    figures.titled(ax, "A title of this figure that needs two lines")
    figures.key(ax, {name: figures.measure_look(number) for number, name in enumerate(LONG[:4])})
    found = places(ax)
    above = found[ax.get_title(loc="left")][1]
    assert all(ax.bbox.y1 < found[text.get_text()][1] < above for text in ax.get_legend().get_texts())
    ax = axes(7)
    ax.set(xlabel="rank (documents)", ylabel="share of users")
    looks = {name: figures.measure_look(number) for number, name in enumerate(LONG[:5])}
    panels = figures.inset_panels(ax, LONG[:5], looks)
    for number, panel in enumerate(panels):
        panel.plot([0, 1], [0, number])
    figures.titled(ax, "Five measures")
    assert_readable(ax.figure)
    assert [panel.get_title(loc="left").replace("\n", "") for panel in panels] == LONG[:5]
    assert len({panel.get_ylim() for panel in panels}) == 1
    ax = axes()
    ax.set_xscale("log")
    ax.set_xticks([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [f"{n}" for n in range(1, 11)])
    ax.set_xticks([], minor=True)
    figures.thin_ticks(ax)
    shown = places(ax).keys()
    assert {"1", "10"} <= shown
    assert "9" not in shown


def test_rows_that_do_not_fit_are_refused_with_a_size():
    names = [f"measure number {n}" for n in range(30)]
    words = "30 rows do not fit into 2.0 inches: "
    message = refused(lambda: figures.name_rows(axes(3.4, 2.0), range(30), names), BadParameter, words)
    ax = axes(*map(float, re.search(r"figsize=\((.*?), (.*?)\)", message).groups()))
    figures.name_rows(ax, range(30), names)
    assert_readable(ax.figure)
