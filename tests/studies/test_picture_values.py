"""Tests of the values that reports show at the points of pictures."""

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla.rendering.figures import inset_panels, label_ends, measure_look, name_columns, name_rows
from pyterrier_cwla.studies.report import picture_values

figure = pytest.importorskip("matplotlib.figure")
NOTHING = pd.DataFrame()


@pytest.fixture
def ax():
    return figure.Figure().subplots()


def texts(found):
    return [text for *_, text in found["points"]]


def test_lines_have_labels_and_bands_and_texts_belong(ax):
    curves = {"AP, all": ([1, 2], [0.5, 1.0]), "P$5": ([1, 2], [0.5, np.nan])}
    looks = {name: measure_look(number) for number, name in enumerate(curves)}
    for name, curve in curves.items():
        ax.plot(*curve, label=name, **looks[name])
        ax.fill_between(curve[0], 0, 1, label=name, color=looks[name]["color"], alpha=0.1)
    ax.axhline(0.9, color="grey")
    ax.set_xlim(1, 3)
    ax.set_ylim(0, 1)
    label_ends(ax, curves, looks)
    found = picture_values(ax.figure, NOTHING)
    assert [(one["name"], len(one["ids"])) for one in found["series"]] == [("AP, all", 3), ("P$5", 3)]
    assert texts(found) == ["AP, all\n0.5\n1", "AP, all\n1\n2", "P$5\n0.5\n1"]
    assert found["points"][1][:3] == [0, 0.5, 1.0]
    gids = [artist.get_gid() for artist in (*ax.lines, *ax.collections, *ax.texts)]
    assert sorted(filter(None, gids)) == sorted(gid for one in found["series"] for gid in one["ids"])


def test_values_are_in_the_unit_of_the_axis(ax):
    ax.plot([0.01, 0.025, 1.0, 2.0], [0, 1, 2, 3])
    ax.set_xlabel("kept\n(%)")
    ax.fmt_xdata = lambda x: "all" if x == 2 else f"{100 * x:g}"
    assert texts(picture_values(ax.figure, NOTHING)) == [
        "0\nkept (%): 1", "1\nkept (%): 2.5", "2\nkept (%): 100", "3\nkept (%): all",
    ]  # fmt: skip


def test_rows_and_columns_have_their_names(ax):
    ax.scatter([-0.5, 0.25], [0, 1.2])
    ax.set_xlabel("τ")
    name_rows(ax, [0, 1], ["nDCG@10", "RR"])
    assert texts(picture_values(ax.figure, NOTHING)) == ["nDCG@10\nτ: −0.5", "RR\nτ: 0.25"]


def test_columns_have_their_whole_names(ax):
    ax.plot([0, 1], [0.5, 1])
    name_columns(ax, [0, 1], ["a name that is broken into lines " * 3, "2"])
    found = texts(picture_values(ax.figure, NOTHING))
    assert found == ["0.5\n" + ("a name that is broken into lines " * 3), "1\n2"]


def test_points_have_the_name_of_their_only_row(ax):
    ax.plot([0.1, 0.2, 0.3], [1, 2, 3], "o")
    data = pd.DataFrame({"run": ["a", "b", "c", "d"], "x": [0.1, 0.2, 0.3, 0.3], "y": [1.0, 2.0, 3.0, 3.0]})
    assert texts(picture_values(ax.figure, data)) == ["a\n1\n0.1", "b\n2\n0.2", "3\n0.3"]


@pytest.mark.slow
def test_panels_name_their_lines_and_share_the_labels_of_the_picture(ax):
    names = ["AP", "RR"]
    looks = {name: measure_look(number) for number, name in enumerate(names)}
    ax.set_ylabel("score")
    for name, one in zip(names, inset_panels(ax, names, looks), strict=True):
        one.plot([1], [0.5], label=name, **looks[name])
        one.plot([1], [0.7], color="grey", alpha=0.5)
    found = picture_values(ax.figure, NOTHING)
    assert texts(found) == ["AP\nscore: 0.5\n1", "RR\nscore: 0.5\n1"]
    assert [one["name"] for one in found["series"]] == names


def test_bars_have_their_share(ax):
    ax.bar([0, 1], [0.25, 0.5], label="1")
    ax.bar([0, 1], [0.75, 0.5], bottom=[0.25, 0.5], label="2")
    ax.set_ylabel("share")
    found = picture_values(ax.figure, NOTHING)
    assert texts(found) == ["1\nshare: 0.25", "1\nshare: 0.5", "2\nshare: 0.75", "2\nshare: 0.5"]


@pytest.mark.slow
def test_nothing_is_drawn_and_too_many_points(ax):
    assert picture_values(ax.figure, NOTHING) == {"series": [], "points": []}
    ax.plot(np.arange(4000.0), np.arange(4000.0))
    assert picture_values(ax.figure, NOTHING) == {"series": [], "points": []}
