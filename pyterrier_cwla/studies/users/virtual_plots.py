"""Pictures of two virtual systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, STAY, axes_of


def plot_virtual_systems(study: Any, target: str | None = None, ax: Any = None) -> Any:
    """Correlation of differences with those of a target (the first), a row for each measure.

    The dot is the limit, the line its interval, the cross the correlation over the repetitions, and the hollow square
    that over all configurations. ``study.of(target)`` has the numbers.
    """
    ax = axes_of(ax)
    target = study.about["targets"][0] if target is None else target
    rows = study.of(target).iloc[::-1]
    y = np.arange(len(rows))
    ax.hlines(y, rows["limit_low"], rows["limit_high"], color=STAY, linewidth=1.6)
    ax.plot(rows["limit"], y, "o", color=STAY, markersize=6)
    ax.plot(rows["repeated"], y, "x", color="black", markersize=5)
    ax.plot(rows["across"], y, "s", color=GREY, markersize=5, markerfacecolor="none")
    ax.axvline(0, color=GREY, linewidth=0.6)
    ax.set_yticks(y, [in_picture(name) for name in rows["measure"]])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(
        f"correlation with {in_picture(target)}\n"
        f"● limit, interval · × {study.about['repeats']:,} repetitions · □ all lists",
        fontsize=8,
    )
    ax.set_title(
        f"{study.about['queries']:,} queries, {study.about['configurations']:,} lists", fontsize=10, loc="left"
    )
    return ax
