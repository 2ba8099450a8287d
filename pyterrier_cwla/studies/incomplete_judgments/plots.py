"""Plots of robustness: τ, accuracy and g-mean over the remaining judgments, and differences between measures."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadParameter, many, near
from ...rendering.figures import GREY, axes_of, titled
from ...rendering.labels import inset_panels, label_ends, measure_look, thin_ticks
from ..report import Picture
from .findings import papers_chain
from .robustness_numbers import RobustnessNumbers
from .system_order import KNEE

_MOST_BANDS = 4  # maximum number of bands: more would hide each other
_OTHER = {"color": GREY, "linewidth": 0.6, "alpha": 0.5}  # lines of the measures of other panels
_X_LABELS = {True: "judgments that are kept (%)", False: "depth of the pool (documents per run)"}
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def plot_order(study: RobustnessNumbers, ax: Any = None, measures: Any = None) -> Any:
    """Plot τ between the orders of runs by the remaining judgments and by all judgments, with intervals.

    The grey line is at 0.9, above which orders are considered equivalent. More than four measures have a panel each, in
    which the grey lines are the other measures.

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
    what = (
        f"Order of runs with fewer judgments (line at 0.9: equivalent) · {study.sizes}",
        "τ to the order by all judgments",
    )
    return _plot(study, order_curves(study), ax, what, measures, knee=True)


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
    what = f"Significance of differences with fewer judgments (line at 0.9) · {_tested(study)}"
    return _plot(study, accuracy_curves(study), ax, (what, "accuracy (share of pairs)"), measures, knee=True)


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
    what = f"Pairs without a significant difference, with fewer judgments · {_tested(study)}"
    return _plot(study, g_mean_curves(study), ax, (what, "g-mean"), measures, knee=False)


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
    ax.set_xlabel(_X_LABELS[study.holes.random])
    ax.set_ylabel("difference of τ")
    titled(ax, f"Which measure keeps the order of runs better: above 0, the first · {study.sizes}")
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
            _size(study),
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
            data = curves(study)
            drawn[name] = Picture(what, f"Wilcoxon's test; {counted}", partial(draw, study), data, _size(study))
    return drawn


def _size(study: RobustnessNumbers) -> tuple[float, float]:
    """Return the size of a picture with curves of all measures."""
    return 7.0, _height(len(study.measures))


def _height(measures: int) -> float:
    return 3.6 if measures <= _MOST_BANDS else 1.2 + 1.4 * -(-measures // 3)


def _of_tests(study: RobustnessNumbers, what: str) -> pd.DataFrame:
    if study.tests is None:
        raise BadParameter("this study tested no pairs of runs: compute it with pairs=, such as pairs=300.")
    names = {what: "value", f"{what}_low": "low", f"{what}_high": "high"}
    return study.tests.table().rename(columns=names)[["level", "measure", "value", "low", "high"]]


def _plot(
    study: RobustnessNumbers, table: pd.DataFrame, ax: Any, what: tuple[str, str], measures: Any, knee: bool
) -> Any:
    """Plot curves with bands: of up to four measures in one panel, of more in a panel for each measure."""
    names = list(study.measures) if measures is None else list(measures)
    for name in names:
        if name not in study.measures:
            raise BadParameter(f"no measure {name!r} in this study. {near(str(name), study.measures)}")
    ax = axes_of(ax, (7, _height(len(names))))
    x = _places(study)
    curves = {name: (x[::-1], table.loc[table.measure == name, "value"].to_numpy()[::-1]) for name in names}
    looks = {name: measure_look(number) for number, name in enumerate(study.measures)}
    bands = {name: table.loc[table.measure == name, ["low", "high"]].to_numpy().T for name in names}
    titled(ax, what[0])
    ax.set_ylabel(what[1])
    ax.set_xlabel(_X_LABELS[study.holes.random])
    low = table[table.measure.isin(names)]["low"].min()
    limits = min(0.8, np.floor(10 * low) / 10) if np.isfinite(low) else 0, 1.02
    single = len(names) <= _MOST_BANDS
    for number, one in enumerate([ax] if single else inset_panels(ax, names, looks)):
        for name in names:
            mine = single or name == names[number]
            look = looks[name] | {"markersize": 3, "linewidth": 1.4} if mine else _OTHER
            one.plot(*curves[name], **look)
            if mine:
                one.fill_between(x, *bands[name], color=look["color"], alpha=0.15, linewidth=0)
        if knee:
            one.axhline(KNEE, color=GREY, linewidth=0.8)
        one.set_ylim(limits)
        _x_axis(study, one)
    if single:
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
    thin_ticks(ax)


def _tested(study: RobustnessNumbers) -> str:
    return f"{many(study.about['pairs'], 'run pair')}, {study.drawn}"
