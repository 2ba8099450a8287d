"""Pictures of how far users get in how much time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors.sanitise import in_picture
from ...rendering.figures import GAIN, GREY, STAY, apart, axes_of

_NAMED = 10  # runs that have their names beside their lines


def plot_ranks(progress: Any, ax: Any = None) -> Any:
    """Maximum, mean and minimum rank at each time over all runs and topics, on matplotlib axes."""
    ax, shown, x = _axes(progress, ax)
    found = shown["rank"]
    ax.fill_between(x, found["min"], found["max"], color=GAIN, alpha=0.5, linewidth=0)
    spread = (found["max"] - found["min"]).to_numpy()
    widest = int(np.argmax(spread))
    labels = {
        "max": ("maximum", (-4, 4), "right"),
        "mean": ("mean", (6, -10), "left"),
        "min": ("minimum", (4, -9), "left"),
    }
    for column, (label, shift, side) in labels.items():
        colour, style = (STAY, "-") if column == "mean" else (GREY, ":")
        ax.plot(x, found[column], style, color=colour, linewidth=1.8)
        if spread.any():
            at = x[widest], found[column].iloc[widest]
            ax.annotate(label, at, xytext=shift, textcoords="offset points", ha=side, color=colour)
    ax.set_ylim(0)
    ax.set_ylabel("rank reached (documents)")
    ax.set_title(in_picture(_title(progress)), fontsize=10, loc="left")
    return ax


def plot_gains(progress: Any, ax: Any = None) -> Any:
    """The gain of each run at each time, in the mean over its topics, on matplotlib axes; up to ten runs have names."""
    ax, shown, x = _axes(progress, ax)
    found = progress.by("run")["gain"]["mean"].unstack("run").loc[shown.index]
    last = found.iloc[-1].sort_values()
    colours = [*(str(grey) for grey in np.linspace(0.6, 0.0, len(last))[:-1]), STAY]
    for number, (name, colour) in enumerate(zip(last.index, colours, strict=True)):
        ax.plot(x, found[name], ["-", "--", "-.", ":"][number % 4], color=colour, linewidth=1.6)
    highest = float(found.to_numpy().max())
    if len(last) <= _NAMED:
        heights = apart(last, 0.07 * highest)
        for name, height, colour in zip(last.index, heights, colours, strict=True):
            ax.annotate(in_picture(name), (x[-1], height), xytext=(5, 0), textcoords="offset points", va="center",
                        fontsize=9, color=colour, annotation_clip=False)  # fmt: skip
        highest = max(highest, float(heights[-1]))
    ax.set_ylabel("gain G(t), nobody leaving")
    ax.set_ylim(0, 1.05 * highest or 1)
    ax.set_title(in_picture(_title(progress)), fontsize=10, loc="left")
    return ax


def _axes(progress: Any, ax: Any) -> tuple[Any, Any, Any]:
    """Axes, what is shown of all runs and topics (until all lists are over), and its times: seconds in minutes."""
    ax = axes_of(ax)
    shown = progress.by()
    over = np.flatnonzero(shown["ended", "mean"].to_numpy() >= 1)
    shown = shown.iloc[: over[0] + 1] if len(over) else shown
    in_minutes = progress.unit == "seconds"
    x = shown.index.to_numpy() / (60 if in_minutes else 1)
    ax.set_xlabel("time (minutes)" if in_minutes else f"effort ({in_picture(progress.unit)})")
    ax.set_xlim(x[0], x[-1] if len(x) > 1 else x[0] + 1)
    return ax, shown, x


def _title(progress: Any) -> str:
    runs, topics = (progress.table.index.unique(level) for level in ("run", "query_id"))
    measure = progress.measure if len(progress.measure) <= 40 else f"{progress.measure.split('(')[0]}(…)"
    of_topics = f"topic {topics[0]}" if len(topics) == 1 else f"{len(topics):,} topics"
    return f"{measure} · {len(runs):,} run{'s' * (len(runs) != 1)}, {of_topics}"
