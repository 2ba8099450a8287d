"""Pictures of the agreement of measures: all of them as a heat map, and two of them as a scatter of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, SCORE, STAY, axes_of
from ...rendering.labels import label_points, wrapped

if TYPE_CHECKING:
    from .metric_correlations import MetricAgreement


def plot_correlations(study: MetricAgreement, kind: str = "tau_b", ax: Any = None) -> Any:
    """A heat map with the numbers in its cells, alike measures together: what :meth:`MetricAgreement.cells` returns."""
    from matplotlib.colors import LinearSegmentedColormap

    from .metric_correlations import AGREEMENTS

    ax = axes_of(ax)
    square = study.matrix(kind)
    values = square.to_numpy(copy=True)
    np.fill_diagonal(values, np.nan)
    lowest = float(np.nanmin(values)) if np.isfinite(values).any() else 0.0
    colours = LinearSegmentedColormap.from_list("white to blue", ["white", STAY]).with_extremes(bad="#e6e6e6")
    image = ax.imshow(values, cmap=colours, vmin=np.floor(10 * lowest) / 10 - 0.1, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            light = np.dot(image.to_rgba(value)[:3], (0.2126, 0.7152, 0.0722)) > 0.55
            ax.text(
                column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color="black" if light else "white"
            )
    names = [wrapped(name) for name in square]
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor", fontsize=8)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(f"{AGREEMENTS[kind][0]} · {_title(study)}", fontsize=10, loc="left")
    return ax


def plot_scatter(study: MetricAgreement, x: str, y: str, k: int = 5, ax: Any = None) -> Any:
    """The runs by two measures, the ``k`` with the most different ranks by name: what :meth:`MetricAgreement.scatter`
    returns."""
    ax = axes_of(ax)
    data = study.scatter(x, y, k)
    points, named = data.iloc[:, 1:3].to_numpy(), data["labelled"].to_numpy()
    ax.plot(*points[~named].T, linestyle="none", marker="o", markersize=3.5, color=GREY, alpha=0.6, markeredgewidth=0)
    ax.plot(*points[named].T, linestyle="none", marker="s", markersize=4.5, color=SCORE)
    ax.set_xlabel(f"{in_picture(x)} (mean over queries)")
    ax.set_ylabel(f"{wrapped(y)} (mean over queries)")
    rows = study.table
    both = rows[["measure", "other"]].isin([x, y]).all(axis=1)
    found = f" · τ_b = {rows.loc[both, 'tau_b'].iloc[0]:.3f}" if both.any() else ""
    ax.set_title(f"{_title(study)}{found}", fontsize=10, loc="left")
    label_points(ax, dict(zip(data["run"][named], points[named])), points, SCORE)
    return ax


def _title(study: MetricAgreement) -> str:
    return f"{study.about['runs']:,} runs, {study.about['queries']:,} queries"
