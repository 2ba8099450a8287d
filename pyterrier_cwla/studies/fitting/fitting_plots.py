"""Pictures of fitted parameters: how the objective goes along one, and what was chosen without single folds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, ON_WHITE, SCORE, STAY, axes_of
from ..coefficient_names import AGREED, LABELS, NRMSE, plain_name
from .result import are_numbers


def plot_parameter(study: Any, name: str, ax: Any = None) -> Any:
    """The objective on all ratings along a parameter, the others as fitted; on matplotlib axes.

    The dot is what was fitted, the grey marks at the bottom what was chosen without each fold, the cross the default,
    where it is on the curve or other parameters are. ``study.curve(name)`` has the numbers.
    """
    ax = axes_of(ax)
    curve = study.curve(name)
    span, fitted, value = study.ranges[name], study.values[name], study.about["value"]
    texts = not are_numbers(curve[name])
    order = list(span.choices)
    x = curve[name].map(order.index) if texts else curve[name]
    chosen = study.folds[name].dropna()
    chosen = chosen.map(order.index) if texts else chosen
    curve = curve.assign(x=x.astype(float)).sort_values("x")
    if span.log:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    ax.plot(curve["x"], curve["value"], "o" if texts else "-", color=STAY, linewidth=1.8)
    low, high = float(curve["value"].min()), float(curve["value"].max())
    room = max(high - low, 1e-6)
    ax.set_ylim(low - 0.14 * room, high + 0.2 * room)
    if not texts:
        marks = np.full(len(chosen), low - 0.09 * room)
        ax.plot(chosen.astype(float), marks, "|", color=GREY, markersize=9, alpha=0.4, zorder=1)
    here = order.index(fitted) if texts else fitted
    ax.plot([here], [value], "o", color=SCORE, markersize=6, zorder=3)
    middle = (curve["x"].min() * curve["x"].max()) ** 0.5 if span.log else (curve["x"].min() + curve["x"].max()) / 2
    left = here <= middle
    ax.annotate(f"fitted: {in_picture(fitted)}, {value:.3f}", (here, value), xytext=(6 if left else -6, 6), color=SCORE,
                textcoords="offset points", ha="left" if left else "right", bbox=ON_WHITE, fontsize=9)  # fmt: skip
    default = (study.about["default"] or {}).get(name)
    if default is not None and default in span:
        place, height = (order.index(default) if texts else default), study.about["default_value"]
        height = min(max(height, low), high)
        ax.plot([place], [height], "X", color=GREY, markersize=7, zorder=3)
        right = place <= middle
        ax.annotate(f"default: {in_picture(default)}, {study.about['default_value']:.3f}", (place, height), color=GREY,
                    xytext=(7 if right else -7, -14), textcoords="offset points", ha="left" if right else "right",
                    bbox=ON_WHITE, fontsize=9)  # fmt: skip
    if texts:
        counted = [f"{in_picture(choice)}\n{(chosen == at).sum()}" for at, choice in enumerate(order)]
        ax.set_xticks(range(len(order)), counted)
        ax.set_xlim(-0.5, len(order) - 0.5)
    how = "below: how often chosen" if texts else "marks: chosen"
    ax.set_xlabel(f"{in_picture(name)} ({how} without each of {len(study.folds):,} folds)")
    objective = study.about["objective"]
    unit = {NRMSE: " (share of the range)", AGREED: " (share of pairs)"}.get(plain_name(objective), "")
    ax.set_ylabel(f"{LABELS[objective].removeprefix('the share of ')}{unit}")
    about = study.about
    users = f", {about['users']:,} users" if about["users"] else ""
    ax.set_title(f"{about['ratings']:,} rated {about['what']}s{users}", fontsize=10, loc="left")
    return ax
