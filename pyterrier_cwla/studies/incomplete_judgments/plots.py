"""Plots of robustness: τ, accuracy and g-mean over the remaining judgments, and differences between measures."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadParameter, many
from ...rendering.figures import GREY, axes_of
from ...rendering.labels import label_ends, measure_look
from ..report import Picture
from .findings import papers_chain
from .robustness_numbers import RobustnessNumbers
from .system_order import KNEE

_MOST_BANDS = 4  # maximum number of bands: more would hide each other
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def plot_order(study: RobustnessNumbers, ax: Any = None, measures: Any = None) -> Any:
    """Plot τ between the orders of runs by the remaining judgments and by all judgments, with intervals.

    The grey line is at 0.9, above which orders are considered equivalent.

    Parameters
    ----------
    study : Robustness
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    measures : iterable of str, optional
        Names of the measures to plot. By default all.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Bompada et al. (2007), Figures 1 and 3.
    """
    curves = order_curves(study)
    return _plot(study, curves, ax, "τ to the order by all judgments", measures, knee=True, counted=study.sizes)


def plot_accuracy(study: RobustnessNumbers, ax: Any = None, measures: Any = None) -> Any:
    """Plot the accuracy of the test: the share of pairs of runs with the same result as by all judgments.

    Parameters
    ----------
    study : Robustness
        Study to plot, with tested pairs.
    ax : matplotlib Axes, optional
        By default new axes.
    measures : iterable of str, optional
        Names of the measures to plot. By default all.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Bompada et al. (2007), Figure 2.
    """
    what = "accuracy of the test\n(share of pairs of runs)"
    return _plot(study, accuracy_curves(study), ax, what, measures, knee=True, counted=_tested(study))


def plot_g_mean(study: RobustnessNumbers, ax: Any = None, measures: Any = None) -> Any:
    """Plot the geometric mean of precision and recall of the test for pairs of runs that do not differ.

    Parameters
    ----------
    study : Robustness
        Study to plot, with tested pairs.
    ax : matplotlib Axes, optional
        By default new axes.
    measures : iterable of str, optional
        Names of the measures to plot. By default all.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Bompada et al. (2007), Figure 2.
    """
    return _plot(study, g_mean_curves(study), ax, "g-mean of the test", measures, knee=False, counted=_tested(study))


def plot_differences(study: RobustnessNumbers, ax: Any = None, comparisons: Any = None) -> Any:
    """Plot differences of τ between measures; above 0, the first measure keeps the order of runs better.

    Parameters
    ----------
    study : Robustness
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    comparisons : iterable of pairs of str, optional
        Pairs of measures. By default nDCG and infAP, and infAP and bpref, if the study has these measures; otherwise
        each measure and the next.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax)
    table = differences(study, comparisons)
    x = _places(study)
    curves, looks = {}, {}
    for number, (name, rows) in enumerate(table.groupby("comparison", sort=False)):
        look = measure_look(number)
        ax.plot(x[:-1], rows["difference"], markersize=3.5, linewidth=1.4, **look)
        ax.fill_between(x[:-1], rows["low"], rows["high"], color=look["color"], alpha=0.13, linewidth=0)
        curves[str(name)], looks[str(name)] = (x[-2::-1], rows["difference"].to_numpy()[::-1]), look
    ax.axhline(0, color=GREY, linewidth=0.8)
    _x_axis(study, ax, last=-1)
    ax.set_ylabel("difference of τ")
    ax.set_title(study.sizes, fontsize=10, loc="left")
    label_ends(ax, curves, looks)
    return ax


def order_curves(study: RobustnessNumbers) -> pd.DataFrame:
    """Return level, measure, value, low and high of τ."""
    return study.order.table().rename(columns={"tau": "value"})[["level", "measure", "value", "low", "high"]]


def accuracy_curves(study: RobustnessNumbers) -> pd.DataFrame:
    """Return level, measure, value, low and high of accuracy."""
    return _of_tests(study, "accuracy")


def g_mean_curves(study: RobustnessNumbers) -> pd.DataFrame:
    """Return level, measure, value, low and high of g-mean."""
    return _of_tests(study, "g_mean")


def differences(study: RobustnessNumbers, comparisons: Any = None) -> pd.DataFrame:
    """Return differences of τ between measures: comparison, level, difference, low, high, verdict.

    By default nDCG − infAP and infAP − bpref if the study has these measures, else each measure minus the next.
    """
    if comparisons is None:
        chain = papers_chain(study.measures) or list(study.measures)
        comparisons = list(pairwise(chain))
    if not comparisons:
        raise BadParameter("there is only one measure: nothing to compare it with.")
    frames = [study.above(one, other).assign(comparison=f"{one} − {other}") for one, other in comparisons]
    return pd.concat(frames, ignore_index=True)[["comparison", "level", "difference", "low", "high", "verdict"]]


def pictures(study: RobustnessNumbers) -> dict[str, Picture]:
    """Return all pictures of a study."""
    sure = f"{100 * study.about['confidence']:g} % intervals"
    drawn = {
        "order": Picture(
            "The order of runs",
            f"τ to the order by all judgments; {sure} over topics and judgment samples; {study.noted}",
            partial(plot_order, study),
            order_curves(study),
        )
    }
    if len(study.measures) > 1:
        drawn["differences"] = Picture(
            "Which measure keeps the order better",
            f"Differences of τ on the same topics and judgments; {sure}; {study.noted}",
            partial(plot_differences, study),
            differences(study),
        )
    if study.tests is not None:
        counted = f"{sure} over {many(study.about['pairs'], 'pair')} of runs and judgment samples; {study.noted}"
        for name, what, draw, curves in (
            ("accuracy", "Accuracy of the test", plot_accuracy, accuracy_curves),
            ("g_mean", "Geometric mean", plot_g_mean, g_mean_curves),
        ):
            drawn[name] = Picture(what, f"Wilcoxon's test; {counted}", partial(draw, study), curves(study))
    return drawn


def _of_tests(study: RobustnessNumbers, what: str) -> pd.DataFrame:
    if study.tests is None:
        raise BadParameter("this study tested no pairs of runs: compute it with pairs=, such as pairs=300.")
    names = {what: "value", f"{what}_low": "low", f"{what}_high": "high"}
    return study.tests.table().rename(columns=names)[["level", "measure", "value", "low", "high"]]


def _plot(
    study: RobustnessNumbers, table: pd.DataFrame, ax: Any, what: str, measures: Any, knee: bool, counted: str
) -> Any:
    """Plot curves of measures with bands, or with error bars if there are too many measures for bands."""
    ax = axes_of(ax)
    names = list(study.measures) if measures is None else list(measures)
    x, curves, looks = _places(study), {}, {}
    for number, name in enumerate(study.measures):
        if name not in names:
            continue
        rows, look = table[table.measure == name], measure_look(number)
        ax.plot(x, rows["value"], markersize=3.5, linewidth=1.4, **look)
        if len(names) <= _MOST_BANDS:
            ax.fill_between(x, rows["low"], rows["high"], color=look["color"], alpha=0.13, linewidth=0)
        else:
            ax.vlines(x, rows["low"], rows["high"], color=look["color"], linewidth=0.7, alpha=0.6)
        curves[name], looks[name] = (x[::-1], rows["value"].to_numpy()[::-1]), look
    if knee:
        ax.axhline(KNEE, color=GREY, linewidth=0.8)
    _x_axis(study, ax)
    ax.set_ylabel(what)
    low = table[table.measure.isin(names)]["low"].min()
    ax.set_ylim(min(0.8, np.floor(10 * low) / 10) if np.isfinite(low) else 0, 1.02)
    ax.set_title(counted, fontsize=10, loc="left")
    label_ends(ax, curves, looks)
    return ax


def _places(study: RobustnessNumbers) -> np.ndarray:
    """Return the positions of levels on the axis; all judgments come after the deepest pool."""
    levels = np.array(study.holes.levels)
    return np.where(np.isinf(levels), 2 * levels[-2] if len(levels) > 1 else 2.0, levels)


def _x_axis(study: RobustnessNumbers, ax: Any, last: int | None = None) -> None:
    """Set up an axis with fewer judgments to the right, where curves diverge and have room for labels."""
    x, levels = _places(study)[:last], study.holes.levels[:last]
    ax.set_xscale("log")
    ticks = [number for number, level in enumerate(levels) if level in _TICKS] if study.holes.random else range(len(x))
    shown = list(ticks) if len(ticks) > 1 else list(range(len(x)))
    says = [
        f"{100 * level:g}" if study.holes.random else "all" if np.isinf(level) else f"{level:g}" for level in levels
    ]
    ax.set_xticks([x[at] for at in shown], [says[at] for at in shown])
    ax.set_xticks([], minor=True)
    if not ax.xaxis_inverted():
        ax.invert_xaxis()
    ax.set_xlabel("judgments that are kept (%)" if study.holes.random else "depth of the pool (documents per run)")


def _tested(study: RobustnessNumbers) -> str:
    return f"{many(study.about['pairs'], 'run pair')}, {study.drawn}"
