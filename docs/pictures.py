"""Draws what each rank weighs, as an SVG that takes the colours of the page it stands in."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np

from pyterrier_cwla.evaluation import Explanation

_BARS, _STEPS, _TEXT = "#2f7fc1", "#d2691e", "#123456"  # the last stands for the page's own colour of text
_COLOURS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "weights", "font.size": 10, **dict.fromkeys(_COLOURS, _TEXT)}


def weights(explanations: Sequence[tuple[str, Explanation]], column: str, axis: str, depth: int) -> str:
    """Bars of a column of the first explanation, rank by rank, pale where nothing is gained; the others as steps."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    first, *others = [(label, explanation.table.head(depth)) for label, explanation in explanations]
    table = first[1]
    with matplotlib.rc_context(_STYLE):
        figure, ax = pyplot.subplots(figsize=(6.4, 2.7), layout="constrained")
        for bar, gain in zip(ax.bar(table["rank"], table[column], width=0.72, color=_BARS), table["gain"], strict=True):
            bar.set_alpha(1.0 if gain > 0 else 0.4)
        for label, other in others:
            ax.stairs(other[column], np.arange(len(other) + 1) + 0.5, baseline=None, color=_STEPS, linewidth=1.8)
            ax.annotate(label, (2.6, other[column].iloc[2]), xytext=(0, 4), textcoords="offset points", color=_STEPS)
        grades = ["–" if grade != grade else f"{grade:g}" for grade in table["grade"]]
        ax.set_xticks(table["rank"], [f"{rank}\n{grade}" for rank, grade in zip(table["rank"], grades, strict=True)])
        ax.set_xlabel("rank (documents); under it the grade")
        ax.set_ylabel(axis)
        ax.spines[["top", "right"]].set_visible(False)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        pyplot.close(figure)
    svg = out.getvalue().replace(_TEXT, "currentColor")
    return re.sub(r".*?<svg ", '<svg class="cwla-picture" role="img" ', svg, count=1, flags=re.S)
