"""Pictures of correlations in parts of the ratings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, axes_of
from ..coefficient_names import LABELS
from ...rendering.labels import label_ends, measure_look

Array = np.ndarray

_LONGEST = 20  # letters of a part's name


def plot_splits(study: Any, ax: Any = None) -> Any:
    """Correlation of each measure in each part, with intervals.

    Bins of numbers lie along the horizontal axis and are joined by lines; other parts are rows. ``study.parts`` has the
    numbers.
    """
    ax = axes_of(ax)
    coefficient = LABELS[study.about["coefficient"]]
    if study.about["bins"]:
        _columns(study, ax)
        ax.set_ylabel(coefficient)
    else:
        _rows(study, ax)
        ax.set_xlabel(coefficient)
    about = study.about
    users = f", {about['users']:,} users" if about["users"] else ""
    ax.set_title(f"{about['ratings']:,} rated {about['what']}s{users}", fontsize=10, loc="left")
    return ax


def _places(study: Any) -> Iterator[tuple[int, str, pd.DataFrame, Array]]:
    """Of each measure its number, name, rows and where they stand: near the part's number, beside each other."""
    measures = study.about["measures"]
    for number, name in enumerate(measures):
        rows = study.parts[study.parts["measure"] == name]
        yield number, name, rows, np.arange(len(rows)) + 0.6 * ((number + 0.5) / len(measures) - 0.5)


def _columns(study: Any, ax: Any) -> None:
    curves, looks = {}, {}
    for number, name, rows, x in _places(study):
        looks[name] = measure_look(number)
        ax.vlines(x, rows["low"], rows["high"], color=looks[name]["color"], linewidth=0.8, alpha=0.6)
        ax.plot(x, rows["correlation"], markersize=4, linewidth=1.4, **looks[name])
        curves[name] = (x, rows["correlation"].to_numpy())
    ax.axhline(0, color=GREY, linewidth=0.6)
    sizes = study.parts.drop_duplicates("part")["ratings"]
    ax.set_xticks(range(len(sizes)), range(1, len(sizes) + 1))
    ax.set_xlim(-0.5, len(sizes) - 0.5)
    by = in_picture(study.about["by"])
    ax.set_xlabel(f"{by}, lowest to highest (bins of {sizes.min():,} to {sizes.max():,})", fontsize=9)
    label_ends(ax, curves, looks)


def _rows(study: Any, ax: Any) -> None:
    for number, name, rows, y in _places(study):
        look = {**measure_look(number), "linestyle": "none"}
        ax.hlines(y, rows["low"], rows["high"], color=look["color"], linewidth=0.8, alpha=0.6)
        ax.plot(rows["correlation"], y, markersize=4, **look)
        ax.annotate(in_picture(name), (rows["high"].iloc[0], y[0]), xytext=(4, 0), textcoords="offset points",
                    va="center", fontsize=6, color=look["color"])  # fmt: skip
    ax.axvline(0, color=GREY, linewidth=0.6)
    parts = study.parts.drop_duplicates("part")
    short = [text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…" for text in parts["part"].astype(str)]
    labels = [f"{in_picture(text)} ({size:,})" for text, size in zip(short, parts["ratings"], strict=True)]
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_ylabel(f"{in_picture(study.about['by'])} (ratings)")
