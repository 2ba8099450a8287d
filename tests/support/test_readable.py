"""The check of figures finds overlapping, cut and small texts, and accepts readable ones."""

from contextlib import nullcontext

import pytest
from matplotlib.figure import Figure

from tests.support.readable import assert_readable


def turned(ax):
    """The box of each text is measured along its direction."""
    ax.set_xticks([0, 0.1, 0.2], ["a name of a run"] * 3, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_xlim(0, 0.2)


def overlapping(ax):
    ax.text(0.5, 0.5, "nDCG@10")
    ax.text(0.5, 0.52, "AP")


def crowded(ax):
    ax.set_xticks([0, 0.1, 0.2], ["a name of a long run"] * 3)
    ax.set_xlim(0, 0.4)


def cut_by_the_axes(ax):
    ax.text(0.95, 0.5, "TBG(half_life=224)", clip_on=True, in_layout=False)
    ax.figure.set_layout_engine(None)
    ax.set_position([0.2, 0.2, 0.3, 0.6])


@pytest.mark.every_case
@pytest.mark.parametrize(("draw", "says"), [
    (lambda ax: ax.plot([1, 2, 3]), None),
    (turned, None),
    (overlapping, r"texts on texts.*nDCG@10.*AP"),
    (crowded, "texts on texts"),
    (lambda ax: ax.text(0.99, 0.5, "TBG(half_life=224)", in_layout=False), r"cut at the edge.*half_life"),
    (cut_by_the_axes, "cut at the edge"),
    (lambda ax: ax.text(0.5, 0.5, "tiny", fontsize=4), r"smaller than 5.0 points.*tiny"),
])  # fmt: skip
def test_the_check_of_figures(draw, says):
    ax = Figure(figsize=(4, 3), layout="constrained").subplots()
    ax.set(title="a title", xlabel="rank (documents)", ylabel="gain")
    draw(ax)
    with pytest.raises(AssertionError, match=says) if says else nullcontext():
        assert_readable(ax.figure)
