"""Plots of comparisons: systems by measures, and two systems topic by topic. They need matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import BadParameter, many, near, some
from ..errors.sanitise import in_picture
from ..rendering.figures import COLOURS, GREY, axes_of, panels, titled
from ..rendering.labels import elided, measure_look, wrapped
from .significance import TESTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 0.155  # inches per line of text of 8 points
_LETTER = 0.065  # inches per character of 8 points
_LEAST = 1.5  # inches per panel
_NAMED = 12  # topics at each end that have a name if there are many topics
_ALL_NAMED = 30  # largest number of topics that all have a name
_BETWEEN = 5  # rows for the topics between the named ones
_ROW = 0.165  # inches per topic with a name
_TOPIC = 34  # characters of a topic's name


def plot_comparison(
    found: Any, measures: Iterable[str] | None = None, runs: Iterable[Any] | None = None, width: float = 7.0
) -> Any:
    """Plot the scores of all runs, with one panel per measure; see :meth:`Comparison.plot`."""
    shown = _chosen("measure", measures, found.measures)
    names = _chosen("run", runs, found.runs)
    cells = found.cells()
    scores = found.table.set_index(["measure", "run"]).sort_index()
    sign = -1 if found.about["better"][shown[0]] == "lower" else 1
    names = sorted(names, key=lambda run: _order(sign * scores.loc[(shown[0], run), "score"]))
    labels = [_run_label(run, found.about["baseline"]) for run in names]
    lines = [label.count("\n") + 1 for label in labels]
    longest = max(len(line) for label in labels for line in label.split("\n")) * _LETTER
    columns = int(np.clip((width - longest) // _LEAST, 1, len(shown)))
    columns = -(-len(shown) // -(-len(shown) // columns))  # as few as the same number of rows of panels allows
    letters = max(12, int((width - longest) / columns / (1.25 * _LETTER)))
    titles = [_panel_title(measure, found.about["better"][measure], letters) for measure in shown]
    head = max(title.count("\n") + 1 for title in titles)
    height = _LINE * (1.2 * sum(lines) + 1.2 * head + 2.5)  # with the ticks
    figure, axes = panels(len(shown), columns, width, height)
    middles = np.cumsum(lines) - np.array(lines) / 2
    for number, (ax, measure, title) in enumerate(zip(axes, shown, titles, strict=True)):
        marked = np.array([cells[run, measure].mark != 0 for run in names])
        _draw_scores(ax, found, scores.loc[measure].loc[names], middles, found.measures.index(measure), marked)
        for run, y in zip(names, middles, strict=True):
            _write_score(ax, cells[run, measure], y)
        ax.set_title(title, fontsize=9, loc="left")
        ax.set_ylim(middles[-1] + lines[-1] / 2 + 0.2, -0.2)
        ax.set_yticks(middles, labels if number % columns == 0 else [""] * len(labels), fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    title, notes = _about(found, len(names))
    title, notes = fill(in_picture(title), int(width / _LETTER / 1.25)), fill(in_picture(notes), int(width / _LETTER))
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    figure.supxlabel(notes, fontsize=8, x=0.01, ha="left")
    more = 1.3 * (title.count("\n") + 1) + notes.count("\n") + 2
    figure.set_figheight(figure.get_figheight() + _LINE * more)
    return axes


def _order(value: float) -> tuple[bool, float]:
    """Sort highest values first, and values that are not numbers last."""
    return bool(np.isnan(value)), -value


def _chosen(what: str, names: Iterable[Any] | None, known: Sequence[Any]) -> list[Any]:
    """Return the chosen names, or all."""
    if names is None:
        return list(known)
    names = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    for name in names:
        if name not in known:
            raise BadParameter(f"no {what} {name!r} in the comparison. {near(str(name), map(str, known))}")
    if not names:
        raise BadParameter(f"{what}s= is empty: give at least one, such as {what}s=[{known[0]!r}].")
    return names


def _run_label(run: Any, baseline: Any) -> str:
    return wrapped(str(run), 26) + ("\n(baseline)" if run == baseline else "")


def _panel_title(measure: str, better: str | None, letters: int) -> str:
    return wrapped(measure, letters) + ("\n(less is better)" if better == "lower" else "")


def _draw_scores(ax: Axes, found: Any, rows: pd.DataFrame, middles: Any, number: int, marked: Any) -> None:
    """Draw one measure: points at the scores, and intervals of the differences to the baseline, or of the scores."""
    baseline, colour = found.about["baseline"], measure_look(number)["color"]
    score = rows["score"].to_numpy()
    if baseline is None:
        low, high, marked = rows["score_low"].to_numpy(), rows["score_high"].to_numpy(), np.ones(len(rows), bool)
    else:
        centre = found.table.set_index(["measure", "run"])["score"][found.measures[number], baseline]
        low, high = (centre + rows[f"difference_{end}"].to_numpy() for end in ("low", "high"))
        if np.isfinite(centre):
            ax.axvline(centre, color=GREY, linewidth=1, linestyle="--", zorder=0)
    ax.hlines(middles, low, high, color=colour, linewidth=1.6)
    of_baseline = (rows.index == baseline) if baseline is not None else np.zeros(len(rows), bool)
    for chosen, face, marker in (
        (marked, colour, "o"),
        (~marked & ~of_baseline, ax.get_facecolor(), "o"),
        (of_baseline, colour, "|"),
    ):
        ax.plot(score[chosen], middles[chosen], marker, color=colour, markerfacecolor=face, markersize=5)
    ax.locator_params(axis="x", nbins=3)
    ax.margins(x=0.08)
    ax.tick_params(axis="x", labelsize=8)


def _write_score(ax: Axes, cell: Any, y: float) -> None:
    """Write a score at the right of its row, bold if it is the best."""
    text, weight = f"{cell.score} {cell.symbol}".rstrip(), "bold" if cell.best else "normal"
    ax.text(1.03, y, text, transform=ax.get_yaxis_transform(), va="center", fontsize=8, fontweight=weight)


def _about(found: Any, runs: int) -> tuple[str, str]:
    """Return the title of the figure, and the sentences that explain its marks."""
    about, baseline = found.about, found.about["baseline"]
    percent = f"{100 * about['confidence']:g}%"
    title = f"{many(runs, 'system')}, mean over {about['queries']:,} topics{found.other_aggregates}"
    if baseline is None:
        return title, " ".join([f"Bars: {percent} confidence intervals.", *found.about_bold])
    notes = (
        f"Dashed line: {baseline}. Bars: {percent} confidence intervals of the difference to it, drawn at the score;"
        " they are not corrected and may leave the range of the measure. Filled with ▲ or ▼: significantly higher or"
        f" lower (p < {about['alpha']:g} in {TESTS[about['test']]}, {found.correction})."
    )
    return f"{title}, compared with {baseline}", " ".join([notes, *found.about_bold])


def plot_topics(
    found: Any, a: Any, b: Any, measure: str | None = None, topics: Any = None, ax: Axes | None = None
) -> Axes:
    """Plot the difference of two runs topic by topic; see :meth:`Comparison.plot_topics`."""
    measure = found.measures[0] if measure is None else measure
    by_topic = found.differences(a, b, measure)
    finite = by_topic[np.isfinite(by_topic["difference"])]
    if finite.empty:
        raise BadParameter(f"{measure} of {a} and {b} has a finite difference for no topic, so nothing can be plotted.")
    n, new = len(finite), ax is None
    ax = axes_of(ax)
    figure: Any = ax.figure
    if new:
        figure.set_figheight(1.7 + _ROW * min(n, _ALL_NAMED))
    letters = int(figure.get_figwidth() / (1.3 * _LETTER))
    shown = [elided(str(name), letters // 2) for name in (a, b)]
    a, b = shown if shown[0] != shown[1] else (a, b)
    better = found.about["better"][measure]
    logarithms = "logarithms of " if found.about["aggregates"][measure] == "geometric mean" else ""
    axis = [f"difference in {logarithms}{measure}: {a} − {b}, mean {finite['difference'].mean():+.3g}"]
    if better is not None:
        left, right = (b, a) if better == "higher" else (a, b)
        axis.append(f"← {left} better | {right} better →")
    ax.set_xlabel("\n".join(fill(in_picture(text), letters) for text in axis), fontsize=9)
    title = [f"{measure} of {a} and {b}, topic by topic", _won(by_topic, a, b, better)]
    ax.set_yticks([])
    titled(ax, "\n".join(fill(in_picture(text), letters) for text in title))
    figure.draw_without_rendering()  # lays out the figure: the texts above leave the rest to the bars
    size = ax.get_window_extent()
    width, height = size.width / figure.dpi, size.height / figure.dpi
    names = _topic_names(finite.index, topics, int(min(_TOPIC, 0.35 * width / _LETTER)))
    named = _named(n, _ALL_NAMED if new else int(height / _ROW - 0.6))
    _draw_topics(ax, names, finite["difference"].to_numpy(), named, width)
    return ax


def _named(n: int, rows: int) -> int:
    """Return the number of topics at each end that have a name, or n if all have one."""
    return n if n <= rows else int(np.clip((rows - _BETWEEN) // 2, 0, _NAMED))


def _draw_topics(ax: Axes, names: Sequence[str], difference: Any, named: int, room: float) -> None:
    """Draw one bar a topic; the bars of topics without a name are thinner. `room` is the width in inches."""
    n = len(difference)
    heights = np.ones(n)
    heights[named : n - named] = _BETWEEN / max(n - 2 * named, 1)
    middles = np.cumsum(heights) - heights / 2
    colours = [COLOURS[0] if value > 0 else COLOURS[1] for value in difference]
    ax.barh(middles, difference, height=0.8 * heights, color=colours)
    ax.axvline(0, color=GREY, linewidth=0.8)
    widths = [0.0, 0.0]
    for at, (name, value) in enumerate(zip(names, difference.tolist(), strict=True)):
        if at < named or at >= n - named:
            _write_beside_zero(ax, in_picture(name), middles[at], value < 0)
            widths[value < 0] = max(widths[value < 0], _LETTER * len(name))
    if 2 * named < n:
        between = slice(named, n - named)
        text, right = (
            f"{many(n - 2 * named, 'topic')}{' between' if named else ''}",
            bool(difference[between].sum() < 0),
        )
        _write_beside_zero(ax, text, middles[between].mean(), right, color=GREY)
        widths[right] = max(widths[right], _LETTER * len(text))
    ax.set_xlim(_limits(difference, widths[0], widths[1], room))
    ax.set_ylim(heights.sum() + 0.3, -0.3)
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=6)
    ax.tick_params(axis="x", labelsize=8)


def _limits(difference: Any, left: float, right: float, room: float) -> tuple[float, float]:
    """Return limits of the axis in which names of these widths (inches) fit beside zero."""
    low, high = 1.05 * min(float(difference.min()), 0.0), 1.05 * max(float(difference.max()), 0.0)
    if low == high:
        return -1.0, 1.0
    begin, end = low, high
    for _ in range(20):  # converges: both names take at most 70 % of the room
        inch = (end - begin) / room
        begin, end = min(low, -left * inch), max(high, right * inch)
    return begin, end


def _won(by_topic: pd.DataFrame, a: Any, b: Any, better: str | None) -> str:
    """Return the shares of topics that each run wins, and the mean difference."""
    difference = by_topic["difference"].to_numpy()
    n = len(difference)
    of_a, of_b = int((difference > 0).sum()), int((difference < 0).sum())
    equal, unknown = int((difference == 0).sum()), int(np.isnan(difference).sum())
    if better == "lower":
        of_a, of_b = of_b, of_a
    word = "higher" if better is None else "better"
    counts = [(of_a, f"{a} {word}"), (equal, "equal"), (of_b, f"{b} {word}"), (unknown, "undefined")]
    shares = [f"{what} {number / n:.0%} ({number:,})" for number, what in counts if number or what != "undefined"]
    return f"{many(n, 'topic')}: " + " · ".join(share.replace(" ", "\N{NO-BREAK SPACE}") for share in shares)


def _topic_names(queries: Iterable[str], topics: Any, most: int) -> list[str]:
    """Return the labels of queries: ids, with the texts of the topics if they are given, of `most` characters."""
    queries = list(queries)
    if topics is None:
        return [_shortened(qid, most) for qid in queries]
    texts = topic_texts(topics)
    if not texts.keys() & set(queries):
        raise BadParameter(
            f"topics= has none of the queries of the comparison ({some(queries)}): it has {some(list(texts))}."
        )
    return [_shortened(f"{qid}  {texts[qid]}" if qid in texts else qid, most) for qid in queries]


def topic_texts(topics: Any) -> dict[str, str]:
    """Return texts of topics by query id, from a dict, a Series, or a frame with the columns of PyTerrier."""
    if isinstance(topics, pd.DataFrame):
        ids = next((name for name in ("qid", "query_id") if name in topics.columns), None)
        if ids is None or "query" not in topics.columns:
            raise BadParameter(
                f"topics= is a frame with the columns {some(list(topics.columns), 8)}, and needs qid and query."
            )
        topics = dict(zip(topics[ids], topics["query"], strict=True))
    if not isinstance(topics, Mapping | pd.Series):
        raise BadParameter(f"topics= takes texts by query id, or a frame with qid and query, not {topics!r:.60}.")
    return {str(qid): " ".join(str(text).split()) for qid, text in topics.items()}


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _write_beside_zero(ax: Axes, text: str, y: float, right: bool, **style: Any) -> None:
    ax.annotate(text, (0, y), xytext=(4 if right else -4, 0), textcoords="offset points", fontsize=7.5, va="center",
                ha="left" if right else "right", **style)  # fmt: skip
