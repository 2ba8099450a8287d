"""Pictures of correlations along a parameter."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, axes_of
from ..coefficient_names import LABELS
from ...rendering.labels import label_ends, measure_look

_FEW = 3  # bands that can be told apart


def plot_sensitivity(study: Any, coefficient: str = "pearson", ax: Any = None) -> Any:
    """Correlation over the values of a parameter, a line for each measure.

    Bands are intervals: of all measures up to three, else of the highest one. ``study.curves(coefficient)`` has the
    numbers of all.
    """
    ax = axes_of(ax)
    banded = _drawn(study, coefficient, ax)
    ax.set_ylabel(LABELS[coefficient] + banded)
    return ax


def plot_change(study: Any, coefficient: str = "pearson", ax: Any = None) -> Any:
    """How much correlation changes from the first value of a parameter on; lines and bands as in ``plot_sensitivity``.

    ``study.curves("pearson_change")`` has the numbers.
    """
    ax = axes_of(ax)
    ax.axhline(0, color=GREY, linewidth=0.6)
    banded = _drawn(study, f"{coefficient}_change", ax)
    ax.set_ylabel(f"change of {LABELS[coefficient]}{banded}")
    return ax


def _drawn(study: Any, column: str, ax: Any) -> str:
    """Draws lines and bands; says whose band is shown where not all are."""
    values, data = study.about["values"], study.curves(column)
    numbers = all(isinstance(value, int | float) for value in values)
    x = np.array(values if numbers else range(len(values)), float)
    highest = None if data[column].isna().all() else data.loc[data[column].idxmax(), "measure"]
    curves, looks = {}, {}
    few = data["measure"].nunique() <= _FEW
    for number, (name, rows) in enumerate(data.groupby("measure", sort=False)):
        looks[name] = {of: look for of, look in measure_look(number).items() if of != "marker"}
        curves[name] = (x, rows[column].to_numpy())
        if few or name == highest:
            colour = looks[name]["color"]
            ax.fill_between(x, rows[f"{column}_low"], rows[f"{column}_high"], color=colour, alpha=0.1, linewidth=0)
        ax.plot(*curves[name], linewidth=1.8, **looks[name])
    if not numbers:
        ax.set_xticks(x, [in_picture(value) for value in values])
    elif x.min() > 0 and x.max() / x.min() >= 100:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlim(x.min(), x.max())
    ax.set_xlabel(in_picture(study.about["parameter"]))
    about = study.about
    users = f", {about['users']:,} users" if about["users"] else ""
    ax.set_title(f"{about['ratings']:,} rated {about['what']}s{users}", fontsize=10, loc="left")
    label_ends(ax, curves, looks)
    return "" if few or highest is None else f"\n(band: {in_picture(highest)})"
