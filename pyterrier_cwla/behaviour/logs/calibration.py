"""Calibration of time-biased gain from an interaction log, and its plots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...data.columns import Array
from ...errors import BadLog, BadParameter, check_known, check_whole, many, near, some
from ...errors.sanitise import in_picture
from ...files.atomic import written
from ...measures.calibrations import (
    COLUMNS,
    NUMBERS,
    OF_TBG,
    checked,
    graded_parameters_of,
    parameters_of,
    plain,
    read_calibration,
)
from ...model.view import Documents
from ...rendering.figures import COLOURS, GAIN, SCORE, STAY, axes_of, key, label_ends, saved, text_colour, titled
from ...rendering.numbers import percent
from ...rendering.tables import Printed, Table, TableColumn
from ...rendering.terminal import broken
from .calibration_estimates import check, elapsed, estimated
from .estimators import SHAPES, Bootstrap, Estimate, ReadingTimeLine, StayDistribution, check_shape, far_better
from .log import SESSION, InteractionLog, as_log, numbered_sessions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

#: Definitions of the inspected summaries: down to the last click, or all results seen according to the log.
DEPTHS = ("clicked", "seen")

_EXAMPLE = {"half_life": 224, "summary_seconds": 4.4, "seconds_per_word": 0.018, "seconds_per_document": 7.8,
            "p_click_relevant": 0.64, "p_click_nonrelevant": 0.39, "p_save": 0.77}  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class Calibration(Printed):
    """Parameters of time-biased gain, estimated from an interaction log.

    The calibration prints as a table, can be saved to a file, and can be used as a measure.

    Attributes
    ----------
    table : DataFrame
        All estimates, one row each, with the columns name, grade (NaN for parameters that do not depend on the grade),
        way (method of the estimate), used (whether the row belongs to :meth:`parameters`, :meth:`graded_parameters` or
        the printed table), value, low, high (ends of the interval), error (standard error of least-squares estimates)
        and n (number of observations).
    about : dict
        Version of the package, numbers of users, sessions and rows, and the arguments of :func:`calibrate`.
    excluded : dict
        Excluded sessions by reason: those of the log, and those of the half-life.
    missing : dict of str to str
        Reason why a parameter could not be estimated, by name of the parameter.
    notes : tuple of str
        Remarks about the log and the estimates.
    reading : ReadingTimeLine or None
        Least-squares line of reading times; None if there is none.
    shapes : tuple of StayDistribution
        Survival curves fitted to the session durations.
    points : DataFrame
        Points of the plot of reading times.
    curve : DataFrame
        Observed survival curve.
    """

    table: pd.DataFrame
    about: dict[str, Any]
    excluded: dict[str, dict[str, int]]
    missing: dict[str, str]
    notes: tuple[str, ...]
    reading: ReadingTimeLine | None
    shapes: tuple[StayDistribution, ...]
    points: pd.DataFrame
    curve: pd.DataFrame

    def __getitem__(self, which: str | tuple[str, str]) -> Estimate:
        """Return the estimate of a parameter.

        Parameters
        ----------
        which : str or tuple of str
            Name of the parameter, or name and way: ``calibration["half_life"]``, ``calibration["half_life", "as the
            paper"]``.

        Returns
        -------
        Estimate

        Raises
        ------
        BadParameter
            If there is no such parameter or way, or the parameter could not be estimated.
        """
        name, way = which if isinstance(which, tuple) else (which, None)
        rows = self.table[(self.table["name"] == name) & self.table["grade"].isna()]
        if name in self.missing:
            raise BadParameter(f"this calibration has no {name}: {self.missing[name]}.")
        if not len(rows):
            raise BadParameter(
                f"a calibration has no parameter {name!r}. {near(str(name), self.table['name'].unique())}"
            )
        chosen = rows[rows["used"] if way is None else rows["way"] == way]
        if not len(chosen):
            raise BadParameter(f"{name} has no estimate {way!r}. {near(str(way), rows['way'])}")
        row = chosen.iloc[0]
        return Estimate(float(row["value"]), float(row["low"]), float(row["high"]), int(row["n"]))

    def parameters(self) -> dict[str, float]:
        """Return the estimated parameters of ``TBG``, by name; ``rel`` only if it is not 1."""
        return parameters_of(self.table, self.about)

    def graded_parameters(self) -> dict[str, Any]:
        """Return the estimated parameters of ``GradedTBG``, by name; grades are those of the log, from 0."""
        return graded_parameters_of(self.table, self.about)

    def measure(self, law: str | None = None, **more: Any) -> Any:
        """Return time-biased gain with the estimated parameters.

        Parameters
        ----------
        law : str, optional
            Distribution of leaving times, one of ``shapes``, such as "Weibull". The result is then a ``CWLA`` measure
            with the continuation of this distribution in the place of the exponential decay.
        **more
            Other parameters of ``TBG``, which replace the estimates: ``calibration.measure(lengths="robust04")``.
            With ``label="TBG of our log"``, columns have this short name instead of all estimates.

        Returns
        -------
        Measure

        Raises
        ------
        BadParameter
            If a required parameter was neither estimated nor given, or the calibration has no fit of the law.
        """
        from ...measures.named import TBG, cwla_of

        parameters = self.parameters() | more
        if law is not None:
            if "half_life" in more:
                raise BadParameter(f"give law={law!r} or half_life=, not both: both say when users leave.")
            parameters.setdefault("half_life", _EXAMPLE["half_life"])
        self._complete([name for name in OF_TBG if name not in parameters], "measure")
        return TBG(**parameters) if law is None else cwla_of(TBG(**parameters).metric, C=self._fit_of(law).continuation)

    def _fit_of(self, law: str) -> StayDistribution:
        """Return the fit of a distribution of leaving times."""
        fits = {fit.shape: fit for fit in self.shapes}
        if law in fits:
            return fits[law]
        if law in SHAPES:
            why = self.missing.get("half_life", f"give calibrate(…, shapes=[{law!r}])")
            raise BadParameter(f"this calibration has no fit of the {law} distribution: {why}.")
        raise BadParameter(f"no law {law!r} of leaving. {near(str(law), SHAPES)}")

    def graded_measure(self, **more: Any) -> Any:
        """Return time-biased gain with parameters by grade.

        Parameters
        ----------
        **more
            Other parameters of ``GradedTBG``, which replace the estimates.

        Returns
        -------
        Measure

        Raises
        ------
        BadParameter
            If a required parameter was neither estimated nor given, for all grades.
        """
        from ...measures.wrappers import MEASURES

        parameters = self.graded_parameters() | more
        self._complete(
            [n for n in ("half_life", "summary_seconds", "p_click", "seconds", "p_save") if n not in parameters],
            "graded_measure",
        )
        for grade in parameters["p_click"]:
            for name in ("seconds", "p_save"):
                if grade not in parameters[name] and (grade > 0 or name == "seconds"):
                    raise BadParameter(
                        f"{name} has no value for grade {grade}: no document of it was opened. Give all grades, as in"
                        f" calibration.graded_measure({name}={{…}})."
                    )
        return MEASURES["GradedTBG"](**parameters)

    def _complete(self, lacking: list[str], method: str) -> None:
        if lacking:
            why = "; ".join(f"{name} ({self.missing.get(name, 'not estimated')})" for name in lacking)
            example = ", ".join(f"{name}={_EXAMPLE.get(name, '{…}')}" for name in lacking)
            raise BadParameter(
                f"this calibration lacks {why}. Give the missing parameters, as in calibration.{method}({example})."
            )

    @property
    def _used(self) -> pd.DataFrame:
        return self.table[self.table["used"]]

    @property
    def printed(self) -> pd.DataFrame:
        """Table of the used parameters, in the form of Table 1 of Smucker and Clarke (2012)."""
        rows = self._used[self._used["grade"].isna()]
        return pd.DataFrame(
            {
                "parameter": rows["name"],
                "symbol": [NUMBERS[name][0] for name in rows["name"]],
                "value": [f"{value:.3g}" for value in rows["value"]],
                f"{percent(self.about['confidence'])} interval": [
                    f"[{low:.3g}, {high:.3g}]" if np.isfinite([low, high]).all() else ""
                    for low, high in zip(rows["low"], rows["high"], strict=True)
                ],
                "description": [NUMBERS[name][1] for name in rows["name"]],
            }
        )

    @property
    def title(self) -> str:
        """Numbers of users, sessions and results, as text."""
        about = self.about
        return (
            f"Calibration of time-biased gain: {about['users']:,} users, {about['sessions']:,} sessions,"
            f" {about['rows']:,} results"
        )

    @property
    def remarks(self) -> list[str]:
        """Notes, the decisive one first, and reasons for missing parameters, one sentence or more each."""
        return [*self.notes, *(f"No {name}: {why}." for name, why in self.missing.items())]

    def shown(self, wide: bool = True) -> Table:
        """Return the printed table for people, with descriptions in a column, or below if it is not wide."""
        rows = self.printed.to_dict("records")
        name, symbol, value, interval, description = (
            TableColumn(head, head, "number" if at in (2, 3) else "name") for at, head in enumerate(self.printed)
        )
        if wide:
            return Table(columns=[name, symbol, value, interval, description], rows={"": rows})
        symbols = (f" ({row['symbol']})" if row["symbol"] else "" for row in rows)
        notes = [f"{row['parameter']}{with_it}: {row['description']}" for row, with_it in zip(rows, symbols)]
        return Table(columns=[name, value, interval], rows={"": rows}, notes=notes)

    def as_dict(self) -> dict[str, Any]:
        """Return the calibration as a dict of plain values for JSON; NaN becomes None."""
        return plain(self)

    def save(self, path: Any) -> None:
        """Write the calibration to a JSON file.

        Parameters
        ----------
        path : str or Path
            File to write.
        """
        text = json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        with written(path) as place:
            place.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Any) -> Calibration:
        """Return the calibration in a file that :meth:`save` wrote.

        Parameters
        ----------
        path : str or Path
            File to read.

        Returns
        -------
        Calibration

        Raises
        ------
        MalformedFile
            If the file is not a valid calibration.
        """
        return cls._from_fields(read_calibration(path))

    @classmethod
    def from_dict(cls, content: Any, where: str = "calibration") -> Calibration:
        """Return the calibration in a dict that :meth:`as_dict` returned.

        Parameters
        ----------
        content : dict
            Plain values.
        where : str, default="calibration"
            Name of the source in error messages.

        Returns
        -------
        Calibration

        Raises
        ------
        MalformedFile
            If the dict is not a valid calibration.
        """
        return cls._from_fields(checked(content, where))

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Calibration:
        reading, shapes = fields["reading"], tuple(StayDistribution(**shape) for shape in fields["shapes"])
        return cls(**{**fields, "reading": None if reading is None else ReadingTimeLine(**reading), "shapes": shapes})

    def plot_reading_times(self, ax: Any = None, path: AnyPath | None = None) -> Axes:
        """Plot reading time against document length, with the fitted lines.

        Figure 1 of Smucker and Clarke (2012): seconds over words, first views and duplicates.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.
        path : path, optional
            File to which the figure is saved.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        BadParameter
            If the log has no lengths or no seconds on documents.
        """
        points, reading = self.points, self.reading
        if not len(points) or reading is None:
            raise BadParameter("no reading times to draw: the log has no lengths, or no seconds on documents.")
        ax = axes_of(ax)
        first, again = points[~points.duplicate], points[points.duplicate]
        ax.scatter(first.words, first.seconds, s=14, color=GAIN, linewidth=0)
        ends = np.array([0.0, float(points.words.max()) * 1.02])
        a, b = (self[name].value for name in ("seconds_per_word", "seconds_per_document"))
        ax.plot(ends, a * ends + b, color=STAY, linewidth=1.8)
        ax.set(xlim=(0, ends[1]), ylim=(0, 1.12 * max(float(points.seconds.max()), a * ends[1] + b)))
        looks: dict[str, dict[str, Any]] = {
            "first views": {"linestyle": "none", "marker": "o", "markersize": 4, "color": GAIN},
            f"{a:.3g} s per word + {b:.3g} s": {"color": STAY, "linestyle": "-"},
        }
        if len(again):
            ax.scatter(again.words, again.seconds, s=16, color=SCORE, marker="^")
            mean, line = reading.duplicate_mean, {"color": SCORE, "linestyle": "--"}
            ax.plot(ends, [mean, mean], **line, linewidth=1.4)
            looks[f"duplicates, mean {mean:.3g} s"] = {**line, "marker": "^", "markersize": 4}
        ax.set(xlabel="length (words)", ylabel="time on the document (seconds)")
        views = int(points.views.sum())
        titled(
            ax,
            f"Reading time by length · {views:,} views by {many(self.about['users'], 'user')}, about"
            f" {round(views / len(points)):,} per point · adjusted R² {reading.adjusted_r_squared:.2f}",
        )
        key(ax, looks)
        return saved(ax, path)

    def plot_progress(self, log: Any, ax: Any = None, by: str | None = None, path: AnyPath | None = None) -> Axes:
        """Plot the rank that users reach against time, observed and predicted.

        Figure 2 of Smucker and Clarke (2012). The prediction is T(k), the time before rank k by the calibrated measure.

        Parameters
        ----------
        log : InteractionLog, or rows of a log
            Log with the observed sessions.
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.
        by : str, optional
            Column that groups the sessions, or "precision"; by default one group.
        path : path, optional
            File to which the figure is saved.

        Returns
        -------
        matplotlib Axes
        """
        table = progress(self, log, by)
        ax = axes_of(ax)
        largest = table.groupby("group")["sessions"].max().sort_values(ascending=False, kind="stable")
        names = list(largest.index[:4])
        curves, top = {}, 2.0
        looks: dict[str, dict[str, Any]] = {}
        for name, colour in zip(sorted(names), COLOURS):
            one = table[(table["group"] == name) & (table["sessions"] >= max(_FEWEST, 0.2 * largest[name]))]
            if not len(one):
                continue
            ax.step(one.seconds, one.observed, where="post", color=colour, linewidth=1.8)
            ax.plot(one.seconds, one.predicted, color=colour, linewidth=1.4, linestyle="--")
            curves[f"{name} ({largest[name]:,})" if by else "observed"] = one.seconds, one.observed
            if not by:
                curves["predicted"] = one.seconds, one.predicted
            looks |= {label: {"color": colour} for label in curves if label not in looks}
            top = max(top, one.observed.max(), one.predicted.max())
        if not curves:
            raise BadLog(f"no group has the {_FEWEST} sessions that a plot of means needs.")
        end = max(float(seconds.iloc[-1]) for seconds, _ in curves.values())
        ax.set(ylim=(0, 1.05 * top), xlim=(0, end), xlabel="time (seconds)", ylabel="rank reached (documents)")
        groups = f", by {in_picture(by)}" + (f" (4 of {len(largest):,})" if len(largest) > 4 else "") if by else ""
        sessions = many(int(largest.sum()), "session")
        titled(ax, f"How deep users are after some time · {sessions}{groups} · dashed: predicted by T(k)")
        label_ends(ax, curves, looks)
        return saved(ax, path)

    def plot_survival(self, ax: Any = None, path: AnyPath | None = None) -> Axes:
        """Plot the share of users who have not left against time, observed and fitted.

        Figure 5 of Smucker and Clarke (2012).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.
        path : path, optional
            File to which the figure is saved.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        BadParameter
            If the calibration has no half-life.
        """
        curve = self.curve
        if "half_life" in self.missing or not len(curve):
            raise BadParameter(f"no half-life to draw: {self.missing.get('half_life', 'no user left')}.")
        ax = axes_of(ax)
        h = self["half_life"].value
        begin = float(curve.seconds.iloc[0])
        left = curve.seconds[curve.share >= _FEW_LEFT]
        end = float(max(left.iloc[-1] if len(left) else 0.0, min(max(curve.seconds.iloc[-1], 1.5 * h), h * _HALVES)))
        t = np.linspace(0, end, 300)
        limit = self.about["max_seconds"] if self.about["beyond"] == "condition" else np.inf
        low, high = 0.5 ** (limit / h), 0.5 ** (begin / h)
        later, better = t[t >= begin], far_better(self.shapes)
        others = [one for one in self.shapes if one.shape != "exponential" and np.isfinite(one.half_life)]
        drawn = {
            one.shape: ax.plot(
                later,
                low + (high - low) * one.share(later, begin, limit),
                color=GAIN,
                linewidth=1.8 if one is better else 0.7,
            )
            for one in others
        }
        observed = low + (high - low) * curve.share.to_numpy()
        lines = {"observed": ax.step(curve.seconds, observed, where="post", color=text_colour(), linewidth=1.4)}
        fitted = f"half-life {self['half_life']} s{' (poor fit)' if better else ''}"
        lines[fitted] = ax.plot(t, 0.5 ** (t / h), color=STAY, linewidth=1.8)
        if better:
            lines[f"{better.shape} (far better)"] = drawn.pop(better.shape)
        if drawn:
            lines[", ".join(drawn)] = next(iter(drawn.values()))
        ax.plot([h, h, 0], [0, 0.5, 0.5], color=STAY, linewidth=0.8, linestyle=":")
        ax.set(xlim=(0, end), ylim=(0, 1.02), xlabel="time since the query (seconds)", ylabel="share of users present")
        titled(ax, f"How long users stay · {many(self['half_life'].n, 'session')}")
        ax.legend([line for (line,) in lines.values()], [*lines], loc="upper right", fontsize=7, frameon=False)
        return saved(ax, path)


class Calibrations(Printed, dict):
    """Calibrations by group, such as topic or class of users.

    A dict from group to :class:`Calibration` that prints the parameters side by side.

    Attributes
    ----------
    by : str
        Name of the grouping.
    """

    by: str = ""

    @property
    def title(self) -> str:
        """Name of the grouping, as text."""
        return f"Calibrations of time-biased gain, by {self.by}"

    @property
    def table(self) -> pd.DataFrame:
        """Estimates of all calibrations, with the group in the first column."""
        return pd.concat(
            [one.table.assign(group=group)[["group", *COLUMNS]] for group, one in self.items()], ignore_index=True
        )

    @property
    def parameters(self) -> pd.DataFrame:
        """Parameters of time-biased gain, one row per group."""
        return pd.DataFrame({group: one.parameters() for group, one in self.items()}).T

    def shown(self, wide: bool = True) -> Table:
        """Return the parameters of all groups side by side, for people."""
        rows = [
            {self.by: str(group), **{what: f"{one.about[what]:,}" for what in ("users", "sessions")},
             **{name: f"{value:.3g}" if np.isfinite(value) else "" for name, value in parameters.items()}}
            for (group, one), parameters in zip(self.items(), self.parameters.to_dict("records"), strict=True)
        ]  # fmt: skip
        columns = [TableColumn(broken(name, 12), name) for name in list(rows[0])[1:]]
        return Table(columns=[TableColumn(self.by, self.by, "name"), *columns], rows={"": rows})


def calibrate(
    log: Any,
    by: Any = None,
    *,
    min_clicks: int = 5,
    max_seconds: float = 1800,
    rel: float = 1,
    depth: str = "clicked",
    until: str = "end",
    beyond: str = "censor",
    last_rank: int | None = None,
    shapes: Sequence[str] = tuple(SHAPES),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Any:
    """Estimate the parameters of time-biased gain from an interaction log.

    T_S is the total number of seconds on summaries, divided by the number of summaries inspected (Eq. 5). The line
    T_D(l) = a·l + b is fitted to first views by least squares. P(C|R) and P(S|R) are means of the shares of users,
    weighted by the number of summaries inspected and of documents viewed, respectively. ``.table`` also contains the
    pooled shares and the unweighted means. Rows without a grade do not contribute to estimates that depend on
    relevance. Without document lengths, T_D is the mean reading time.

    The half-life h is a maximum-likelihood estimate from the sessions with at least `min_clicks` clicks. The estimate
    "as the paper" uses the time from the start of the session to the last click and drops sessions longer than
    `max_seconds`. The estimate "corrected", which the measure uses, accounts for the selection: a session with five
    clicks has lasted at least until the fifth click; a longer session was still active at `max_seconds`; an interrupted
    session, or one that reached `last_rank`, is censored; and users leave after the last click, during the last item.
    Three quantities describe the users and are not parameters of the measure. ``length_correlation`` and
    ``grade_correlation`` are Pearson's r of the seconds on a document with its length in words and with its grade
    (grades below 0 count as 0), over all views with both values: whether time depends on length, as T_D(l) says, or
    rather on relevance. ``share_forward_clicks`` is the share of clicks on a deeper rank than the previous click of the
    session, in the order of ``time``: the mean of users, and pooled. T(k) takes all clicks to be forward.

    Intervals come from the bootstrap over users.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log to estimate from.
    by : str, dict or Series, optional
        Column of the log (such as "topic"), or a mapping from users to classes. The result then has one calibration per
        group.
    min_clicks : int from 0, default=5
        Minimum number of clicks of a session for the half-life.
    max_seconds : float, default=1800
        Longest duration of a session in seconds, for the half-life; longer sessions are censored. `beyond` selects
        another treatment.
    rel : float, default=1
        Lowest relevant grade, above 0.
    depth : {"clicked", "seen"}, default="clicked"
        Summaries that users looked at: all down to their last click, or those marked as seen in the log. "clicked" is
        the choice of the paper. The last of these is always clicked, so P(C|R) is too high, particularly for short
        sessions. With "seen", P(C|R) is unbiased if the users inspected these summaries, and too low if the log counts
        all results of a page as seen.
    until : {"end", "click"}, default="end"
        Time of leaving: during the last item, or at the last click.
    beyond : {"censor", "condition", "exclude"}, default="censor"
        Treatment of sessions longer than `max_seconds`. "censor": censored at `max_seconds`. "condition": left out,
        with a likelihood that accounts for the truncation. "exclude": left out, without a correction.
    last_rank : int from 1, optional
        Last rank of the result lists, for the half-life; sessions that reach it are censored there.
    shapes : sequence of str, default=("exponential", "Weibull", "log-logistic", "log-normal", "hyperbolic")
        Survival curves to fit for comparison.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int from 1, default=1000
        Number of bootstrap resamples of users.
    seed : int from 0, default=0
        Seed of the resamples.

    Returns
    -------
    Calibration or Calibrations
        :class:`Calibrations` if `by` is given.

    Raises
    ------
    BadLog
        If the log has no rows, or a session belongs to several groups.
    BadParameter
        If a parameter is out of its range.

    References
    ----------
    Smucker and Clarke (2012), sections 3.2 and 4.2, and, for forward clicks (94 %), the validation of T(k). Jiang and
    Allan (2016), section 5.1, for the correlations (0.02 with length, 0.274 with the grade).

    Examples
    --------
    >>> rows = {"user": list("aaabb"), "session": list("11122"), "topic": list("ttttt"), "rank": [1, 2, 3, 1, 2],
    ...         "docno": list("vwxvw"), "clicked": [True, False, True, True, True], "grade": [1, 0, 1, 1, 0],
    ...         "summary_seconds": [4, 3, 5, 6, 2], "document_seconds": [30, None, 20, 10, 30],
    ...         "words": [900, 100, 500, 900, 100]}
    >>> found = calibrate(rows)
    >>> found["summary_seconds"].value, found["p_click_nonrelevant", "pooled"].value
    (4.0, 0.5)
    >>> round(found["length_correlation"].value, 3), found.missing["share_forward_clicks"]
    (-0.455, "the log has no column 'time', so the order of clicks is unknown")
    >>> found.missing["half_life"]
    'no session is left (2 with fewer than 5 clicks)'
    """
    log = as_log(log)
    if not len(log):
        raise BadLog("the log has no rows; a calibration needs at least one.")
    check_known("choice of summaries", DEPTHS, depth=depth)
    for shape in shapes:
        check_shape(shape)
    Bootstrap(confidence, resamples, seed)  # raises for invalid values
    if not (np.isfinite(rel) and rel > 0):
        raise BadParameter("must be a grade above 0.", rel=rel)
    check(until, min_clicks, max_seconds, beyond)
    if last_rank is not None:
        check_whole(1, last_rank=last_rank)
    arguments = {
        "min_clicks": min_clicks,
        "max_seconds": float(max_seconds),
        "rel": rel,
        "depth": depth,
        "until": until,
        "last_rank": last_rank,
        "beyond": beyond,
        "confidence": confidence,
        "resamples": resamples,
        "seed": seed,
    }
    if by is None:
        return Calibration(**estimated(log, arguments, tuple(shapes)))
    name, group = _groups(log, by)
    found = Calibrations(
        (key, Calibration(**estimated(replace(log.only(group == key), excluded={}), arguments, tuple(shapes))))
        for key in sorted(group.unique(), key=str)
    )
    found.by = name
    return found


def _groups(log: InteractionLog, by: Any) -> tuple[str, pd.Series]:
    """Return the name of the grouping and the group of each row."""
    rows = log.rows
    if isinstance(by, str):
        if by not in rows:
            raise BadParameter(f"the log has no column {by!r} to group by. {near(by, rows.columns)}")
        name, group = by, rows[by]
        mixed = int((rows.groupby(SESSION)[by].nunique() > 1).sum())
        if mixed:
            raise BadLog(f"by={by!r}: {mixed:,} sessions have several values; each session must have one.")
    elif isinstance(by, Mapping | pd.Series):
        classes = dict(by.items())
        lacking = sorted(set(rows["user"]) - set(classes))
        if lacking:
            raise BadParameter(f"by= has no class for {len(lacking):,} users: {some(lacking)}.")
        name, group = getattr(by, "name", None) or "class of users", rows["user"].map(classes)
    else:
        raise BadParameter("must be a column of the log, or a dict or Series from users to classes.", by=by)
    if group.isna().any():
        raise BadLog(f"by={name!r}: {int(group.isna().sum()):,} rows of the log have no value.")
    return name, group


_FEW_LEFT = 0.01  # share of users below which the plot of survival ends
_HALVES = float(np.log2(1 / _FEW_LEFT))
_FEWEST = 5  # sessions per point of the plot of progress


def progress(calibration: Any, log: Any, by: str | None = None, seconds: Any = None) -> pd.DataFrame:
    """Compute the observed and the predicted mean rank of users over time.

    The observed rank of a session is one more than the deepest rank that the user has passed or read. The predicted
    rank is the last rank k with T(k) not later than the time, with the efforts of ``calibration.measure()`` on the list
    of the session; results below the last logged rank take the mean time of the logged ones. Both are means over the
    sessions that have not ended. Documents of unknown length have the mean length; unjudged documents count as not
    relevant.

    Parameters
    ----------
    calibration : Calibration
    log : InteractionLog, or rows of a log
    by : str, optional
        Grouping of the sessions: "precision" (share of relevant documents in the list), "topic" or another column; by
        default one group.
    seconds : array_like, optional
        Times in seconds; by default 61 times up to the 95 % quantile of the durations.

    Returns
    -------
    DataFrame
        Columns group, seconds, observed, predicted and sessions (number of sessions that have not ended).

    References
    ----------
    Smucker and Clarke (2012), Eq. 4 and Figure 2.
    """
    log = as_log(log)
    rows = log.rows
    session, _ = numbered_sessions(log)
    group = _groups_over_time(rows, session, by, calibration.about["rel"])
    effort = _efforts(calibration, log)
    count = session[-1] + 1
    end = elapsed(log, session) + np.nan_to_num(log.floats("document_seconds"))
    last = np.zeros(count)
    np.fmax.at(last, session, end)
    if seconds is None:
        seconds = np.linspace(0, np.quantile(last, 0.95), 61)
    seconds = np.asarray(seconds, float)
    observed = _reached(session, rows["rank"].to_numpy(), end, count, seconds)
    predicted = _predicted(session, effort, count, seconds)
    there = last[:, None] >= seconds[None, :]
    parts = []
    for name in sorted(group.unique()):
        mine = (group.to_numpy() == name)[:, None] & there
        many = mine.sum(axis=0)
        with np.errstate(invalid="ignore"):
            means = [np.where(mine, values, 0).sum(axis=0) / many for values in (observed, predicted)]
        columns = {"seconds": seconds, "observed": means[0], "predicted": means[1], "sessions": many}
        parts.append(pd.DataFrame({"group": name, **columns}))
    return pd.concat(parts, ignore_index=True)


def _groups_over_time(rows: pd.DataFrame, session: Array, by: str | None, rel: float) -> pd.Series:
    """Return the group of each session."""
    if by is None:
        return pd.Series("", index=range(session[-1] + 1))
    if by != "precision":
        if by not in rows:
            raise BadParameter(f"no by={by!r}. {near(str(by), ['precision', *rows.columns])}")
        return rows.groupby(session)[by].first().astype(str)
    if "grade" not in rows:
        raise BadLog("the log has no grades, so the precision of its lists is unknown.")
    precision = (rows["grade"].fillna(0) >= rel).groupby(session).mean()
    tenths = precision.round(1)
    if tenths.nunique() <= 3:
        return tenths.map("precision {:.1f}".format)
    third = pd.qcut(precision.rank(method="first"), 3, labels=False)
    return third.map(precision.groupby(third).mean().map("precision {:.2f}".format))


def _efforts(calibration: Any, log: Any) -> Array:
    """Return the seconds that time-biased gain assigns to each row of the log."""
    rows = log.rows
    lacking = {"half_life": 224.0, "p_save": 0.0}  # T(k) does not depend on these parameters
    metric = calibration.measure(**{k: v for k, v in lacking.items() if k not in calibration.parameters()}).metric
    grade = np.nan_to_num(log.floats("grade")).clip(0)

    def words() -> Array:
        if not log.has("words"):
            raise BadLog("the log has no column 'words', which the reading times of this calibration need.")
        found = rows["words"].fillna(rows["words"].mean()).to_numpy(float)
        return np.where(log.flags("duplicate"), 0.0, found)

    return np.broadcast_to(metric.effort(Documents(grade, words)), len(rows))


def _reached(session: Array, rank: Array, end: Array, count: int, seconds: Array) -> Array:
    """Return one more than the deepest rank that has ended at each time, [sessions × seconds]."""
    known = ~np.isnan(end)
    at = np.searchsorted(seconds, end[known])  # the first time that is not earlier
    deepest = np.zeros((count, len(seconds) + 1))
    np.maximum.at(deepest, (session[known], at), rank[known])
    return np.maximum.accumulate(deepest, axis=1)[:, :-1] + 1


def _predicted(session: Array, effort: Array, count: int, seconds: Array) -> Array:
    """Return the last rank k with T(k) not later than each time, [sessions × seconds]."""
    n = np.bincount(session, minlength=count)
    total = np.cumsum(effort)
    start = np.cumsum(n) - n
    before = np.append(0.0, total)[start]
    whole = total[start + n - 1] - before
    # Concatenate the times of all lists, so that one binary search finds the ranks in all of them.
    inside = before[:, None] + np.minimum(seconds[None, :], whole[:, None])
    passed = np.clip(np.searchsorted(total, inside, side="right") - start[:, None], 0, n[:, None])
    more = np.maximum(seconds[None, :] - whole[:, None], 0) / (whole / n)[:, None]
    return passed + np.floor(more) + 1
