"""Draw the weight of each rank and the users who see it, as SVGs in the colours of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np

from pyterrier_cwla.evaluation import Explanation
from pyterrier_cwla.rendering.figures import (
    COLOURS,
    GREY,
    axes_of,
    inline_svg,
    label_ends,
    measure_look,
    page_colours,
    titled,
)


def weights(explanations: Sequence[tuple[str, Explanation]], column: str, axis: str, depth: int) -> str:
    """Return bars of a column of the first explanation, rank by rank, and steps of the others.

    Bars of ranks with gain are filled, those of ranks without gain are outlined.
    """
    matplotlib.use("Agg")
    from matplotlib import pyplot

    first, *others = [(label, explanation.table.head(depth)) for label, explanation in explanations]
    table = first[1]
    ranks = np.arange(1, len(table) + 1)
    gained = table["gain"].to_numpy() > 0
    with page_colours():
        figure, ax = pyplot.subplots(figsize=(6, 2.9), layout="constrained")
        faces = [COLOURS[0] if gain else "none" for gain in gained]
        edges = [COLOURS[0] if gain else GREY for gain in gained]
        axes_of(ax).bar(ranks, table[column], width=0.72, color=faces, edgecolor=edges, linewidth=1.2)
        for label, other in others:
            ax.stairs(other[column], np.arange(len(other) + 1) + 0.5, baseline=None, color=COLOURS[1], linewidth=1.8)
            label_ends(ax, {label: (ranks, other[column])}, {label: {"color": COLOURS[1]}})
        grades = ["–" if grade != grade else f"{grade:g}" for grade in table["grade"]]
        ax.set_xticks(ranks, [f"{rank}\n{grade}" for rank, grade in zip(ranks, grades, strict=True)])
        ax.set(xlabel="rank (documents); below it, the grade", ylabel=axis.replace(" (", "\n(", 1))
        titled(ax, "Filled: ranks with gain. Outlined: ranks without gain.")
        values = ", ".join(f"{value:.2g}" for value in table[column])
        svg = inline_svg(figure, f"Bars: {axis} at ranks 1 to {len(table)}: {values}.", "weights")
        pyplot.close(figure)
    return svg


def users(explanations: Mapping[str, Explanation], depth: int) -> str:
    """Return lines of the shares of users who see each rank, V, by measure; the line of the first one is thick."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with page_colours():
        figure, ax = pyplot.subplots(figsize=(6, 2.6), layout="constrained")
        ranks = range(1, depth + 1)
        tables = {name: one.table.set_index("rank")["V"] for name, one in explanations.items()}
        curves = {name: (ranks, table.reindex(ranks, fill_value=0.0).to_numpy()) for name, table in tables.items()}
        looks = {name: measure_look(number) for number, name in enumerate(curves)}
        for place, (name, curve) in enumerate(curves.items()):
            axes_of(ax).plot(*curve, **looks[name], linewidth=1.4 if place else 2.6, markersize=4)
        ax.set(xlabel="rank (documents)", ylabel="V(i)\n(share of users)", ylim=(0, 1.05), xticks=ranks)
        label_ends(ax, curves, looks)
        ends = "; ".join(f"{name} {shares[-1]:.2f}" for name, (_, shares) in curves.items())
        svg = inline_svg(figure, f"Shares of users who see each rank; at rank {depth}: {ends}.", "users")
        pyplot.close(figure)
    return svg
