"""Calibrates time-biased gain from a log: parameters with intervals, to print, to keep, and to use as the metric."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadLog, BadParameter, near, some
from ...errors.parameter_checks import check_share, check_whole
from ...errors.sanitise import sanitised
from ...files.atomic import written
from ...measures.calibration_files import (
    COLUMNS,
    NUMBERS,
    OF_TBG,
    checked,
    graded_parameters_of,
    parameters_of,
    plain,
    read_calibration,
)
from .calibration_estimates import estimated
from .estimate import Estimate
from .leaving_times import check
from .log import InteractionLog, as_log
from .rates import Reading
from .survival import SHAPES, Fit
from .validation import SESSION

#: How deep a user looked: down to the last click, as far as logs of clicks tell, or at whatever the log says was seen.
DEPTHS = ("clicked", "seen")

_EXAMPLE = {"half_life": 224, "summary_seconds": 4.4, "seconds_per_word": 0.018, "seconds_per_document": 7.8,
            "p_click_relevant": 0.64, "p_click_nonrelevant": 0.39, "p_save": 0.77}  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class Calibration:
    """The parameters of time-biased gain as a log has them; prints as a table, and is usable as the metric.

    ``table``: every number: name, grade (of the numbers by grade), way (how it was taken), used (whether it is one of
    ``parameters()``, ``graded_parameters()`` or of the printed table), value, low and high of its interval, standard
    error (of what is fitted by least squares), n observations. ``about``: package version, numbers of users, sessions
    and rows, and what ``calibrate`` was asked. ``excluded``: sessions left out of the log, and of the half-life, by
    reason. ``missing``: what could not be estimated, and why. ``reading``: the line of reading times. ``shapes``:
    curves fitted to how long users stayed. ``points`` and ``curve``: what the pictures of both show.
    """

    table: pd.DataFrame
    about: dict[str, Any]
    excluded: dict[str, dict[str, int]]
    missing: dict[str, str]
    notes: tuple[str, ...]
    reading: Reading | None
    shapes: tuple[Fit, ...]
    points: pd.DataFrame
    curve: pd.DataFrame

    def __getitem__(self, which: str | tuple[str, str]) -> Estimate:
        """A parameter's estimate: ``calibration["half_life"]``, or ``calibration["half_life", "as the paper"]``."""
        name, way = which if isinstance(which, tuple) else (which, None)
        rows = self.table[(self.table["name"] == name) & self.table["grade"].isna()]
        if name in self.missing:
            raise BadParameter(f"this calibration has no {name}: {self.missing[name]}.")
        if not len(rows):
            raise BadParameter(f"a calibration has no number {name!r}. {near(str(name), self.table['name'].unique())}")
        chosen = rows[rows["used"] if way is None else rows["way"] == way]
        if not len(chosen):
            raise BadParameter(f"{name} was not estimated in the way {way!r}. {near(str(way), rows['way'])}")
        row = chosen.iloc[0]
        return Estimate(float(row["value"]), float(row["low"]), float(row["high"]), int(row["n"]))

    # ---- as a metric

    def parameters(self) -> dict[str, float]:
        """What ``TBG(...)`` takes, as far as it could be estimated; ``rel`` where it is not 1."""
        return parameters_of(self.table, self.about)

    def graded_parameters(self) -> dict[str, Any]:
        """What ``GradedTBG(...)`` takes, as far as it could be estimated; grades as the log has them, from 0."""
        return graded_parameters_of(self.table, self.about)

    def measure(self, **more: Any) -> Any:
        """Time-biased gain with these parameters: ``calibration.measure(lengths="robust04")``.

        Raises BadParameter where one could neither be estimated nor is given.
        """
        from ...measures.named import TBG

        parameters = self.parameters() | more
        self._complete([name for name in OF_TBG if name not in parameters], "measure")
        return TBG(**parameters)

    def graded_measure(self, **more: Any) -> Any:
        """Time-biased gain by grades with these parameters; what is missing is an error, as in ``measure``."""
        from ...measures.wrappers import MEASURES

        parameters = self.graded_parameters() | more
        self._complete(
            [n for n in ("half_life", "summary_seconds", "p_click", "seconds", "p_save") if n not in parameters],
            "graded_measure",
        )
        for grade in parameters["p_click"]:
            for name, what in (("seconds", "opened"), ("p_save", "opened")):
                if grade not in parameters[name] and (grade > 0 or name == "seconds"):
                    raise BadParameter(
                        f"{name} has nothing for grade {grade}, of which no document was {what}: give it, as in"
                        f" calibration.graded_measure({name}={{…}}), for all grades."
                    )
        return MEASURES["GradedTBG"](**parameters)

    def _complete(self, lacking: list[str], method: str) -> None:
        if lacking:
            why = "; ".join(f"{name} ({self.missing.get(name, 'not estimated')})" for name in lacking)
            example = ", ".join(f"{name}={_EXAMPLE.get(name, '{…}')}" for name in lacking)
            raise BadParameter(
                f"this calibration lacks {why}. Give what is lacking, as in calibration.{method}({example})."
            )

    @property
    def _used(self) -> pd.DataFrame:
        return self.table[self.table["used"]]

    # ---- on paper

    @property
    def printed(self) -> pd.DataFrame:
        """The paper's Table 1: parameter, symbol, value, interval, description."""
        rows = self._used[self._used["grade"].isna()]
        return pd.DataFrame(
            {
                "parameter": rows["name"],
                "symbol": [NUMBERS[name][0] for name in rows["name"]],
                "value": [f"{value:.3g}" for value in rows["value"]],
                f"{100 * self.about['confidence']:g} % interval": [
                    f"[{low:.3g}, {high:.3g}]" if np.isfinite([low, high]).all() else ""
                    for low, high in zip(rows["low"], rows["high"], strict=True)
                ],
                "description": [NUMBERS[name][1] for name in rows["name"]],
            }
        )

    @property
    def _title(self) -> str:
        about = self.about
        return (
            f"Calibration of time-biased gain: {about['users']:,} users, {about['sessions']:,} sessions,"
            f" {about['rows']:,} results"
        )

    @property
    def _remarks(self) -> list[str]:
        return [*(f"No {name}: {why}." for name, why in self.missing.items()), *self.notes]

    @sanitised
    def __repr__(self) -> str:
        table = self.printed
        widths = [max([len(head), *(len(cell) for cell in table[head])]) for head in table]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
            for cells in (table.columns, *table.itertuples(index=False))
        ]
        return "\n".join([self._title, "", *lines, *([""] if self._remarks else []), *self._remarks])

    @sanitised
    def _repr_html_(self) -> str:
        remarks = "".join(f"<li>{escape(remark)}</li>" for remark in self._remarks)
        return f"<p><b>{escape(self._title)}</b></p>{self.printed.to_html(index=False)}<ul>{remarks}</ul>"

    # ---- kept

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, NaN as None: what ``save`` writes."""
        return plain(self)

    def save(self, path: Any) -> None:
        """Writes it to a file, as JSON."""
        text = json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        with written(path) as place:
            place.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Any) -> Calibration:
        """What ``save`` wrote.

        Raises MalformedFile, naming the file and what is wrong, for whatever else.
        """
        return cls._of(read_calibration(path))

    @classmethod
    def from_dict(cls, content: Any, where: str = "calibration") -> Calibration:
        """From what ``as_dict`` returned; errors as those of ``load``."""
        return cls._of(checked(content, where))

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> Calibration:
        reading, shapes = fields["reading"], tuple(Fit(**shape) for shape in fields["shapes"])
        return cls(**{**fields, "reading": None if reading is None else Reading(**reading), "shapes": shapes})

    # ---- drawn

    def plot_reading_times(self, ax: Any = None) -> Any:
        """Seconds on a document over its words, and the fitted lines; on matplotlib axes (the paper's Figure 1)."""
        from .calibration_plots import plot_reading_times

        return plot_reading_times(self, ax)

    def plot_progress(self, log: Any, ax: Any = None, by: str | None = None) -> Any:
        """The rank that users reach in time, observed and as T(k) has it; on matplotlib axes (Figure 2)."""
        from .calibration_plots import plot_progress

        return plot_progress(self, log, ax, by)

    def plot_survival(self, ax: Any = None) -> Any:
        """The share of users who are still there, observed and fitted; on matplotlib axes (Figure 5)."""
        from .calibration_plots import plot_survival

        return plot_survival(self, ax)


class Calibrations(dict):
    """Calibrations by topic, or by class of users: a dict of them that prints their parameters side by side."""

    by: str = ""

    @property
    def table(self) -> pd.DataFrame:
        """All numbers of all, the group first."""
        return pd.concat(
            [one.table.assign(group=group)[["group", *COLUMNS]] for group, one in self.items()], ignore_index=True
        )

    @property
    def parameters(self) -> pd.DataFrame:
        """The parameters of time-biased gain, a row for each group."""
        return pd.DataFrame({group: one.parameters() for group, one in self.items()}).T

    @sanitised
    def __repr__(self) -> str:
        sizes = pd.DataFrame({group: {k: one.about[k] for k in ("users", "sessions")} for group, one in self.items()}).T
        table = sizes.join(self.parameters.map(lambda value: f"{value:.3g}" if np.isfinite(value) else ""))
        return f"Calibrations of time-biased gain, by {self.by}\n{table.to_string()}"

    @sanitised
    def _repr_html_(self) -> str:
        return f"<p><b>Calibrations of time-biased gain, by {escape(self.by)}</b></p>{self.parameters.to_html()}"


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
    """The parameters of time-biased gain from what users did, each with an interval from resampling users.

    ``log``: an InteractionLog, or rows that make one. ``by``: "topic" or another column, or a dict or Series from users
    to classes; then a dict of calibrations (``Calibrations``) comes back, one for each.

    T_S is all seconds on summaries over all summaries looked at (Eq. 5); T_D(l) = a·l + b is fitted to first views by
    least squares; P(C|R) and P(S|R) (of ``rel``, the least relevant grade) are means of users' shares, weighted by
    summaries looked at and by documents viewed. Beside them ``.table`` has the pooled shares and the unweighted means.
    Rows without a grade are left out of what depends on relevance; without lengths, T_D is the mean time.

    ``depth="clicked"``, as in the paper and as all logs of clicks allow it: users looked at all summaries down to the
    last one they clicked. Since that one always counts as a click, P(C|R) is too high, the more so the fewer summaries
    a session has. ``depth="seen"``: at those that the log says were seen, the last clicked or not; then P(C|R) is
    unbiased, if they were really looked at: where whole pages count as seen it is too low.

    h is fitted by maximum likelihood, to sessions with ``min_clicks`` clicks, in two ways: "as the paper" (time to the
    last click, sessions up to ``max_seconds``, from their beginning), and "corrected", which the metric gets. The
    latter knows that users with five clicks stayed that long; that longer sessions were still there at ``max_seconds``
    (``beyond="censor"``; "condition" leaves them out and knows that it does, "exclude" just leaves them out); that who
    was cut off, or came to ``last_rank``, the end of the lists, might have gone on; and that users leave after their
    last click, during the last item (``until="click"``: at the last click). ``shapes``: the curves that are fitted for
    comparison.

    Raises BadLog for a log without rows, BadParameter for parameters out of their range.

    Source: Smucker and Clarke (2012), sections 3.2 and 4.2.

    >>> rows = {"user": list("aaabb"), "session": list("11122"), "topic": list("ttttt"), "rank": [1, 2, 3, 1, 2],
    ...         "docno": list("vwxvw"), "clicked": [True, False, True, True, True], "grade": [1, 0, 1, 1, 0],
    ...         "summary_seconds": [4, 3, 5, 6, 2], "document_seconds": [30, None, 20, 10, 30],
    ...         "words": [900, 100, 500, 900, 100]}
    >>> found = calibrate(rows)
    >>> found["summary_seconds"].value, found["p_click_nonrelevant", "pooled"].value
    (4.0, 0.5)
    >>> found.missing["half_life"]
    'no session is left to estimate it from (2 fewer than 5 clicks)'
    """
    log = as_log(log)
    if not len(log):
        raise BadLog("the log has no rows: there is nothing to calibrate from.")
    _check(depth, shapes, confidence, resamples, rel)
    check(until, min_clicks, max_seconds, beyond)
    if last_rank is not None:
        check_whole(1, last_rank=last_rank)
    asked = {
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
        return Calibration(**estimated(log, asked, tuple(shapes)))
    name, group = _groups(log, by)
    found = Calibrations(
        (key, Calibration(**estimated(replace(log.only(group == key), excluded={}), asked, tuple(shapes))))
        for key in sorted(group.unique(), key=str)
    )
    found.by = name
    return found


def _check(depth: str, shapes: Sequence[str], confidence: float, resamples: int, rel: float) -> None:
    if depth not in DEPTHS:
        raise BadParameter(f"no depth={depth!r}. {near(str(depth), DEPTHS)}")
    for shape in shapes:
        if shape not in SHAPES:
            raise BadParameter(f"no shape {shape!r}. {near(str(shape), SHAPES)}")
    check_share(0.95, confidence=confidence)
    check_whole(1, resamples=resamples)
    if not (np.isfinite(rel) and rel > 0):
        raise BadParameter(f"rel={rel!r} must be a grade above 0.")


def _groups(log: InteractionLog, by: Any) -> tuple[str, pd.Series]:
    """What the groups are called, and each row's."""
    rows = log.rows
    if isinstance(by, str):
        if by not in rows:
            raise BadParameter(f"the log has no column {by!r} to calibrate by. {near(by, rows.columns)}")
        name, group = by, rows[by]
        mixed = int((rows.groupby(SESSION)[by].nunique() > 1).sum())
        if mixed:
            raise BadLog(f"by={by!r}: {mixed:,} sessions have several values of it; it must be one for a session.")
    elif isinstance(by, Mapping | pd.Series):
        classes = dict(by.items())
        lacking = sorted(set(rows["user"]) - set(classes))
        if lacking:
            raise BadParameter(f"by= has no class for {len(lacking):,} users: {some(lacking)}.")
        name, group = getattr(by, "name", None) or "class of users", rows["user"].map(classes)
    else:
        raise BadParameter(f"by={by!r} must be a column of the log, or a dict or Series from users to classes.")
    if group.isna().any():
        raise BadLog(f"by={name!r}: {int(group.isna().sum()):,} rows of the log have none.")
    return name, group
