"""Draw pictures of guides that no example draws: ends of lists, rows of queries, training, chunks of files."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from benchmark_chart import table
from matplotlib.figure import Figure

from pyterrier_cwla import explain_gains, score
from pyterrier_cwla.rendering.figures import COLOURS, GREY, axes_of, inline_svg, page_colours, titled

_GAINS = [0.7, 0.4, 0.0, 1.0, 0.5, 0.3]  # Moffat et al. (2022), Table 1


def drawn() -> dict[str, str]:
    """Return the pictures as elements of pages, by name."""
    return {draw.__name__: _picture(draw) for draw in (ends, rows_of_queries, training, chunks)}


def _picture(draw: Callable[[Figure], str]) -> str:
    """Return a picture as an SVG; its function draws it and returns its description."""
    with page_colours():
        figure = Figure(figsize=(6, 2.8), layout="constrained")
        return inline_svg(figure, draw(figure), draw.__name__)


def ends(figure: Figure) -> str:
    """Where users leave a list of six items, with each end."""
    panels = figure.subplots(1, 2, sharey=True)
    notes = {"open": "unseen items\nhave no gain", "stop": "the list\nends here"}
    for ax, (end, says) in zip(panels, notes.items(), strict=True):
        value = score(_GAINS, C="rbp(0.8)", A="avg", end=end)
        leave = explain_gains(_GAINS, C="rbp(0.8)", A="avg", end=end).table["L"].to_numpy()[: len(_GAINS)]
        beyond = 0.2 * 0.8 ** np.arange(len(_GAINS), 12 if end == "open" else len(_GAINS))
        axes_of(ax).bar(range(1, 7), leave, color=COLOURS[0], width=0.75)
        ax.bar(range(7, 7 + len(beyond)), beyond, facecolor="none", edgecolor=GREY, width=0.75, linestyle="--")
        ax.axvline(6.5, color=GREY, linewidth=1)
        ax.set(xlabel="rank (items)", xlim=(0.3, 12.7), xticks=[1, 3, 6, 9, 12])
        titled(ax, f'end="{end}": {value:.4f}')
        ax.annotate(says, (6.8, 0.3), fontsize=9)
    panels[0].set_ylabel("users who leave here (L)")
    return "Users of rbp(0.8) who leave at each rank: with an open end also after the last item, else all at the last."


def rows_of_queries(figure: Figure) -> str:
    """Rows of a matrix, sorted by prediction within each query, and the score of each query."""
    ax = axes_of(figure.subplots())
    queries = {"q1": [(0.2, 0), (0.9, 2), (0.5, 1)], "q2": [(0.7, 0), (0.4, 2)], "q3": [(0.3, 1), (0.8, 0), (0.6, 0)]}
    top, scores = 0.0, []
    for colour, (name, rows) in zip(COLOURS, queries.items(), strict=False):
        ranked = sorted(rows, reverse=True)
        scores.append(score([[grade for _, grade in ranked]], C="rr", A="err", gain="exponential", max_rel=2)[0])
        for x, listed in ((0, rows), (4.2, ranked)):
            for place, (prediction, grade) in enumerate(listed):
                ax.text(x + 0.1, top + place + 0.5, name, color=colour, va="center", weight="bold")
                ax.text(x + 1, top + place + 0.5, f"{prediction:.1f}", va="center")
                ax.text(x + 2.1, top + place + 0.5, f"{grade}", va="center")
            ax.plot([x, x], [top + 0.1, top + len(rows) - 0.1], color=colour, linewidth=4)
        ax.annotate(
            "", (4, top + len(rows) / 2), (2.9, top + len(rows) / 2), arrowprops={"arrowstyle": "->", "color": GREY}
        )
        ax.text(7.9, top + len(rows) / 2, f"ERR = {scores[-1]:.3f}", va="center", color=colour)
        top += len(rows) + 0.4
    for x, heads in ((0, "rows of X, as given"), (4.2, "sorted by prediction"), (7.9, "one score a query")):
        ax.text(x, -1.1, heads, va="center", fontsize=9)
    for x in (0, 4.2):
        ax.text(x + 0.1, -0.3, "qid", fontsize=8, color=GREY, va="center")
        ax.text(x + 1, -0.3, "prediction", fontsize=8, color=GREY, va="center")
        ax.text(x + 2.3, -0.3, "grade", fontsize=8, color=GREY, va="center")
    ax.text(7.9, top + 0.3, f"score of the estimator: {np.mean(scores):.3f}", va="center")
    ax.set(xlim=(-0.1, 11.6), ylim=(top + 0.8, -1.7))
    ax.axis("off")
    return "Rows of three queries are sorted by prediction within each query; ERR has one value for each query."


def training(figure: Figure) -> str:
    """Change of the score if LambdaMART is trained on the measure instead of nDCG, in five seeds."""
    ax = axes_of(figure.subplots())
    names: list[str] = []
    for row in table("Training on the metric, or on nDCG"):
        if row["M"] not in names:
            names.append(row["M"])
        base = float(row["lambdarank (nDCG)"]) / 100
        low, high = (float(end) / base for end in row["95 % interval"].split(" to "))
        y = names.index(row["M"]) + 0.13 * (int(row["seed"].split()[1]) - 2)
        ax.plot([low, high], [y, y], color=COLOURS[0], linewidth=1.4)
        ax.plot(float(row["difference"]) / base, y, "o", color=COLOURS[0], markersize=4)
    ax.axvline(0, color=GREY, linewidth=1)
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel="change of the measure's own score (%), with 95 % interval")
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0)
    titled(ax, "Trained on the measure instead of nDCG, five seeds")
    return "Training on the measure raises TBG by four percent; ERR, RBP and INST show no consistent change."


def chunks(figure: Figure) -> str:
    """Row groups of a file, and the chunks of whole queries that are scored."""
    ax = axes_of(figure.subplots())
    sizes = {"q1": 5, "q2": 3, "q3": 6, "q4": 4, "q5": 6}
    edges = np.cumsum([0, *sizes.values()])
    groups, whole = [0, 8 + 2, 20, 24], [(0, 2), (2, 4), (4, 5)]
    for colour, (name, size), left in zip([*COLOURS, *COLOURS], sizes.items(), edges, strict=False):
        ax.barh(0, size, left=left, color=colour, height=0.55, edgecolor="none")
        ax.text(left + size / 2, 0, name, ha="center", va="center", color="white", weight="bold")
    for left, right in pairwise(groups):
        ax.annotate("", (left, -0.55), (right, -0.55), arrowprops={"arrowstyle": "<->", "color": GREY})
        ax.text((left + right) / 2, -0.75, "row group, read at once", ha="center", fontsize=8)
    for first, last in whole:
        left, right = edges[first], edges[last]
        ax.plot([left + 0.1, left + 0.1, right - 0.1, right - 0.1], [0.5, 0.65, 0.65, 0.5], color=GREY, linewidth=1.4)
        ax.text((left + right) / 2, 0.9, "scored together", ha="center", fontsize=9)
    for cut in groups[1:-1]:
        ax.plot([cut, cut], [-0.5, 0.35], color=GREY, linestyle=":", linewidth=1.4)
    ax.text(0, 1.35, "A query whose rows may go on waits for the next row group. Nothing else is kept.", fontsize=9)
    ax.set(ylim=(1.6, -1.0), xlim=(-0.2, 24.2))
    ax.axis("off")
    return "The row groups of a file cut queries; the rows of a query that may go on wait for the next group."
