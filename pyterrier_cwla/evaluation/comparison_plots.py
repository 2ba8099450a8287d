"""Plots of comparisons: scores of runs with intervals, differences by topic, and pairs of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import BadParameter, many, some
from ..errors.sanitise import in_picture
from ..rendering.figures import (
    COLOURS,
    GREY,
    axes_of,
    difference_colours,
    elided,
    measure_look,
    name_rows,
    panels,
    text_colour,
    titled,
    wrapped,
)
from ..rendering.numbers import percent
from ..rendering.tables import MARKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_WIDTH = 7.0  # inches, of a new figure
_LINE = 0.155  # inches per line of text of 8 points
_LETTER = 0.065  # inches per character of 8 points
_LEAST = 1.5  # inches per panel
_NAMED = 12  # topics at each end that have a name if there are many topics
_ALL_NAMED = 30  # largest number of topics that all have a name
_BETWEEN = 5  # rows for the topics between the named ones
_TOPIC_ROW = 0.165  # inches per topic with a name
_TOPIC = 34  # characters of a topic's name
_ROW = 0.26  # inches per run of a heat map
_NAME = 22  # largest number of characters of a run's name
_NUMBER = 0.45  # inches per column with numbers
_UPRIGHT = 0.14  # inches per column with an upright name
_MOST_NAMES = 45  # largest number of rows with names


def plot_scores(found: Any, shown: Sequence[str], names: Sequence[Any], width: float) -> Figure:
    """Plot the scores of runs, with one panel per measure; see :meth:`Comparison.plot`."""
    cells = found.cells()
    names = [run for run in found._ranked(shown[0]) if run in names]
    rows = {measure: of.set_index("run").loc[names] for measure, of in found._by_run.groupby("measure")}
    labels = [wrapped(str(run), 26) + "\n(baseline)" * bool(run == found.about["baseline"]) for run in names]
    lines = [label.count("\n") + 1 for label in labels]
    longest = max(len(line) for label in labels for line in label.split("\n")) * _LETTER
    columns = int(np.clip((width - longest) // _LEAST, 1, len(shown)))
    columns = -(-len(shown) // -(-len(shown) // columns))  # as few as the same number of rows of panels allows
    letters = max(12, int((width - longest) / columns / (1.25 * _LETTER)))
    titles = [wrapped(measure, letters) + _less_is_better(found, measure, "\n") for measure in shown]
    head = max(title.count("\n") + 1 for title in titles)
    height = _LINE * (1.2 * sum(lines) + 1.2 * head + 2.5)  # with the ticks
    figure, axes = panels(len(shown), columns, width, height)
    middles = np.cumsum(lines) - np.array(lines) / 2
    for number, (ax, measure, title) in enumerate(zip(axes, shown, titles, strict=True)):
        _draw_scores(ax, found, rows[measure], middles, measure)
        for run, y in zip(names, middles, strict=True):
            cell = cells[run, measure]
            text, weight = f"{cell.text} {MARKS[cell.mark]}".rstrip(), "bold" if cell.bold else "normal"
            ax.text(1.03, y, text, transform=ax.get_yaxis_transform(), va="center", fontsize=8, fontweight=weight)
        ax.set_title(title, fontsize=9, loc="left")
        ax.set_ylim(middles[-1] + lines[-1] / 2 + 0.2, -0.2)
        ax.set_yticks(middles, labels if number % columns == 0 else [""] * len(labels), fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    title, notes = _about(found, shown, len(names))
    title = fill(in_picture(title), int(width / _LETTER / 1.25))
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    _write_below(figure, notes, _LINE * (1.3 * (title.count("\n") + 1) + 1))
    return figure


def _less_is_better(found: Any, measure: str, before: str = " ") -> str:
    """Return the end of a title that says if less is better."""
    return f"{before}(less is better)" if found.about["better"][measure] == "lower" else ""


def _draw_scores(ax: Axes, found: Any, rows: pd.DataFrame, middles: Any, measure: str) -> None:
    """Draw one measure: points at the scores, and intervals of the differences to the baseline, or of the scores."""
    baseline, colour = found.about["baseline"], measure_look(found.measures.index(measure))["color"]
    score, marked = rows["score"].to_numpy(), rows["mark"].to_numpy() != 0
    if baseline is None:
        low, high, marked = rows["score_low"].to_numpy(), rows["score_high"].to_numpy(), np.ones(len(rows), bool)
    else:
        centre = found.scores.loc[baseline, measure]
        if not found._adds_up:
            score = centre + rows["difference"].fillna(0.0).to_numpy()
        low, high = (centre + rows[f"difference_{end}"].to_numpy() for end in ("low", "high"))
        if np.isfinite(centre):
            ax.axvline(centre, color=GREY, linewidth=1, linestyle="--", zorder=0)
    ax.hlines(middles, low, high, color=colour, linewidth=1.6)
    of_baseline = rows.index == baseline
    for chosen, face, marker in (
        (marked, colour, "o"),
        (~marked & ~of_baseline, ax.get_facecolor(), "o"),
        (of_baseline, colour, "|"),
    ):
        if chosen.any():
            ax.plot(score[chosen], middles[chosen], marker, color=colour, markerfacecolor=face, markersize=5)
    ax.locator_params(axis="x", nbins=3)
    ax.margins(x=0.08)
    ax.tick_params(axis="x", labelsize=8)


def _about(found: Any, shown: Sequence[str], runs: int) -> tuple[str, str]:
    """Return the title of the figure, and the sentences that explain its marks."""
    about, baseline = found.about, found.about["baseline"]
    confidence = percent(about["confidence"])
    topics = about.get("topics", about["queries"])
    title = f"{many(runs, 'system')}, mean over {topics:,} topics{found._other_aggregates}"
    if baseline is None:
        return title, " ".join([f"Bars: {confidence} confidence intervals.", *found._about_bold(shown)])
    place = "the score" if found._adds_up else "the score of the baseline plus the difference"
    notes = (
        f"Dashed line: {baseline}. Bars: {confidence} confidence intervals of the difference to it, drawn at {place};"
        " they are not corrected and may leave the range of the measure. Filled with ▲ or ▼: significantly higher or"
        f" lower ({found._significance})."
    )
    return f"{title}, compared with {baseline}", " ".join([notes, *found._about_bold(shown)])


def plot_topics(
    found: Any, a: Any, b: Any, measure: str | None = None, topics: Any = None, ax: Axes | None = None
) -> Axes:
    """Plot the difference of two runs topic by topic; see :meth:`Comparison.plot_topics`."""
    measure = found._one(measure)
    by_topic = found.differences(a, b, measure)
    finite = by_topic[np.isfinite(by_topic["difference"])]
    if finite.empty:
        raise BadParameter(f"{measure} of {a} and {b} has a finite difference for no topic, so nothing can be plotted.")
    n, new = len(finite), ax is None
    ax = axes_of(ax, (_WIDTH, 1.7 + _TOPIC_ROW * min(n, _ALL_NAMED)))
    figure: Any = ax.figure
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
    rows = _ALL_NAMED if new else int(height / _TOPIC_ROW - 0.6)
    named = n if n <= rows else int(np.clip((rows - _BETWEEN) // 2, 0, _NAMED))  # topics at each end with a name
    _draw_topics(ax, names, finite["difference"].to_numpy(), named, width)
    return ax


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
        text, right = many(n - 2 * named, "topic") + " between" * bool(named), bool(difference[between].sum() < 0)
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
    better_by, n = by_topic["difference"] * (-1 if better == "lower" else 1), len(by_topic)
    word = "higher" if better is None else "better"
    won = {f"{a} {word}": better_by > 0, "equal": better_by == 0, f"{b} {word}": better_by < 0}
    counts = {what: int(topics.sum()) for what, topics in won.items()}
    if better_by.hasnans:
        counts["undefined"] = int(better_by.isna().sum())
    shares = [f"{what} {percent(round(number / n, 2))} ({number:,})" for what, number in counts.items()]
    return f"{many(n, 'topic')}: " + " · ".join(share.replace(" ", "\N{NO-BREAK SPACE}") for share in shares)


def _topic_names(queries: Iterable[str], topics: Any, most: int) -> list[str]:
    """Return the labels of queries: ids, with the texts of the topics if they are given, of `most` characters."""
    texts = {} if topics is None else _topic_texts(topics)
    if topics is not None and not texts.keys() & set(queries):
        raise BadParameter(
            f"topics= has none of the queries of the comparison ({some(queries)}): it has {some(texts)}."
        )
    names = (f"{qid}  {texts[qid]}" if qid in texts else qid for qid in queries)
    return [name if len(name) <= most else f"{name[: most - 1].rstrip()}…" for name in names]


def _topic_texts(topics: Any) -> dict[str, str]:
    """Return texts of topics by query id, from a dict, a Series, or a frame with the columns of PyTerrier."""
    if isinstance(topics, pd.DataFrame):
        ids = next((name for name in ("qid", "query_id") if name in topics.columns), None)
        if ids is None or "query" not in topics.columns:
            raise BadParameter(
                f"topics= is a frame with the columns {some(list(topics.columns), 8)}, and needs qid and query."
            )
        topics = topics.set_index(ids)["query"]
    if not isinstance(topics, Mapping | pd.Series):
        raise BadParameter(f"topics= takes texts by query id, or a frame with qid and query, not {topics!r:.60}.")
    return {str(qid): " ".join(str(text).split()) for qid, text in topics.items()}


def _write_beside_zero(ax: Axes, text: str, y: float, right: bool, **style: Any) -> None:
    ax.annotate(text, (0, y), xytext=(4 if right else -4, 0), textcoords="offset points", fontsize=7.5, va="center",
                ha="left" if right else "right", **style)  # fmt: skip


def plot_pairs(found: Any, measure: str, rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Plot differences of runs to baselines as a heat map; see :meth:`Comparison.plot_pairs`."""
    order = found._ranked(measure)
    columns = [run for run in order if run in set(found.baselines)]
    cells = rows.reindex(pd.MultiIndex.from_product([order, columns], names=rows.index.names))
    values, marks = (cells[name].to_numpy(float).reshape(len(order), -1) for name in ("difference", "mark"))
    new = ax is None
    ax = axes_of(ax, (_WIDTH, 1.6 + _ROW * min(len(order), _MOST_NAMES)))
    figure: Any = ax.figure
    finite = np.where(np.isinf(values), 0.0, values)
    largest = float(np.nanmax(np.abs(finite), initial=0.0)) or 1.0
    colours = difference_colours().with_extremes(bad=(GREY, 0.5))  # pairs that are not compared
    image = ax.imshow(finite, cmap=colours, vmin=-largest, vmax=largest, aspect="auto")
    significant = np.nan_to_num(marks) != 0
    width = figure.get_figwidth()
    letters = int(np.clip(0.3 * width / _LETTER, 6, _NAME))
    room = (0.9 * width - letters * _LETTER - 0.9) / len(columns)  # inches per column
    _mark_cells(ax, values, significant, found._places[measure], room >= _NUMBER)
    shown = [_name(run, letters) for run in order if len(order) <= _MOST_NAMES]
    ax.set_yticks(np.arange(len(shown)), shown, fontsize=8)
    shown = [_name(run, letters) for run in columns if room >= _UPRIGHT]
    ax.set_xticks(np.arange(len(shown)), shown, fontsize=8, rotation=90)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=ax, shrink=0.8)
    bar.set_label("row minus column", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    if new:
        sign = "Numbers" if room >= _NUMBER else "Dots"
        texts = [f"{sign}: significant differences, {found._significance}. Grey: not compared.", *found._about_opposed]
        _write_below(figure, " ".join(texts))
    count = int((rows["mark"] != 0).sum()) // 2  # each pair has a row for both directions
    title = f"{measure}{_less_is_better(found, measure)}: {many(count, 'significant pair')} of {len(rows) // 2:,}"
    return titled(ax, in_picture(title))


def _write_below(figure: Any, text: str, more: float = 0) -> None:
    """Write sentences below the axes, and make the figure higher by their lines and by `more` inches."""
    lines = fill(in_picture(text), int(figure.get_figwidth() / _LETTER))
    figure.supxlabel(lines, fontsize=8, x=0.01, ha="left")
    figure.set_figheight(figure.get_figheight() + _LINE * (lines.count("\n") + 1) + more)


def _mark_cells(ax: Axes, values: Any, significant: Any, places: int, numbers: bool) -> None:
    """Mark significant differences by numbers, or by dots if there is no room."""
    rows, columns = np.nonzero(significant)
    if not numbers:
        ax.scatter(columns, rows, s=2, color=text_colour())
        return
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        text = f"{values[row, column]:+.{places}f}"
        ax.text(column, row, text, ha="center", va="center", fontsize=7, color=text_colour())


def _name(run: Any, letters: int) -> str:
    return in_picture(elided(str(run), letters))


def plot_wins(found: Any, measure: str, rows: pd.DataFrame, pairs: int = 20, ax: Axes | None = None) -> Axes:
    """Plot wins, ties and losses by topic as bars; see :meth:`Comparison.plot_wins`."""
    shown = rows.loc[rows["difference"].abs().sort_values(ascending=False, kind="stable").index[:pairs]]
    ax = axes_of(ax, (_WIDTH, 1.5 + 0.3 * len(shown)))
    figure: Any = ax.figure
    width_of_figure = figure.get_figwidth()
    letters = int(np.clip(0.2 * width_of_figure / _LETTER, 6, _NAME))
    least = found.about["queries"] * 0.3 / max(0.9 * width_of_figure - 2 * letters * _LETTER, 0.5)  # room for a number
    left: Any = 0
    for name, colour in (("wins", COLOURS[0]), ("ties", GREY), ("losses", COLOURS[1])):
        bars = ax.barh(np.arange(len(shown)), shown[name], left=left, height=0.7, color=colour, label=name)
        texts = [str(number) if number >= least else "" for number in shown[name]]
        ax.bar_label(bars, texts, label_type="center", fontsize=7, color=text_colour())
        left = left + shown[name]
    names = [
        f"{_name(a, letters)} vs {_name(b, letters)}" for a, b in zip(shown["run"], shown["baseline"], strict=True)
    ]
    name_rows(ax, np.arange(len(shown)), names)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, found.about["queries"])
    ax.set_xlabel("topics that the first run of each pair wins, ties or loses")
    some = (
        f" ({len(shown)} of {len(rows):,} pairs, those with the largest differences)" if len(shown) < len(rows) else ""
    )
    figure.legend(loc="outside lower right", ncols=3, fontsize=8, frameon=False)
    return titled(ax, in_picture(f"{measure}{_less_is_better(found, measure)}: wins, ties and losses by topic{some}"))
