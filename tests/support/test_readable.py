"""The check of figures finds overlapping, cut and small texts, and accepts readable ones."""

import pytest
from matplotlib.figure import Figure

from tests.support.readable import assert_readable


@pytest.fixture
def ax():
    figure = Figure(figsize=(4, 3), layout="constrained")
    ax = figure.subplots()
    ax.set(title="a title", xlabel="rank (documents)", ylabel="gain")
    return ax


def test_readable(ax):
    ax.plot([1, 2, 3])
    assert_readable(ax.figure)


def test_two_texts_at_one_place(ax):
    ax.text(0.5, 0.5, "nDCG@10")
    ax.text(0.5, 0.52, "AP")
    with pytest.raises(AssertionError, match=r"texts on texts.*nDCG@10.*AP"):
        assert_readable(ax.figure)


def test_turned_texts_are_measured_along_their_direction(ax):
    ax.set_xticks([0, 0.1, 0.2], ["a name of a run"] * 3, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_xlim(0, 0.2)
    assert_readable(ax.figure)


def test_crowded_ticks(ax):
    ax.set_xticks([0, 0.1, 0.2], ["a name of a long run"] * 3)
    ax.set_xlim(0, 0.4)
    with pytest.raises(AssertionError, match=r"texts on texts"):
        assert_readable(ax.figure)


def test_cut_by_the_figure(ax):
    ax.text(0.99, 0.5, "TBG(half_life=224)", in_layout=False)
    with pytest.raises(AssertionError, match=r"cut at the edge.*half_life"):
        assert_readable(ax.figure)


def test_cut_by_the_axes(ax):
    ax.text(0.95, 0.5, "TBG(half_life=224)", clip_on=True, in_layout=False)
    ax.figure.set_layout_engine(None)
    ax.set_position([0.2, 0.2, 0.3, 0.6])
    with pytest.raises(AssertionError, match=r"cut at the edge"):
        assert_readable(ax.figure)


def test_small_font(ax):
    ax.text(0.5, 0.5, "tiny", fontsize=4)
    with pytest.raises(AssertionError, match=r"smaller than 5.0 points.*tiny"):
        assert_readable(ax.figure)
