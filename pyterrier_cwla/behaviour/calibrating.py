"""Estimates all that a calibration holds from a log, and resamples the users once for all intervals together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._version import __version__
from .calibration_files import CURVE, NUMBERS, table_of
from .calibration_plots import reading_points
from .estimates import over_users
from .leaving import as_the_paper, events_of, numbered_sessions, stays
from .log import InteractionLog
from .rates import Ratio, Reading, least_squares, line, line_sums, pooled, unweighted, weighted
from .survival import Stays, fit, grid, half_life, survival_curve, where_score_is_0

Array = np.ndarray


class _Numbers:
    """Gathers ratios and their descriptions, to resample all of them together."""

    def __init__(self) -> None:
        self.ratios: list[Ratio] = []
        self.rows: list[dict[str, Any]] = []

    def add(
        self,
        name: str,
        way: str,
        ratio: Ratio,
        n: Any,
        used: bool = False,
        grade: float = np.nan,
        error: float = np.nan,
    ) -> bool:
        """Whether there was anything to estimate it from."""
        if np.isnan(ratio.value):
            return False
        self.ratios.append(ratio)
        self.rows.append(_row(name, way, used, ratio.value, error, n, grade))
        return True

    def three_ways(self, name: str, hits: Array, tries: Array, weight: Array) -> bool:
        """The paper's weighted mean, which is used, the pooled share, and the unweighted mean."""
        n = tries.sum()
        self.add(name, "pooled", pooled(hits, tries), n)
        self.add(name, "unweighted", unweighted(hits, tries), n)
        return self.add(name, "weighted", weighted(hits, tries, weight), n, used=True)


def estimated(log: InteractionLog, asked: dict[str, Any], shapes: tuple[str, ...]) -> dict[str, Any]:
    """What a Calibration is made of: its fields by name. ``asked``: the parameters of ``calibrate``."""
    rows = log.rows
    user, names = pd.factorize(rows["user"])
    session, _ = numbered_sessions(log)
    users = len(names)
    numbers, missing, notes = _Numbers(), dict[str, str](), list(log.notes)

    def by_user(which: Array, values: Any = None) -> Array:
        return np.bincount(user[which], None if values is None else values[which], users).astype(float)

    clicked = rows["clicked"].to_numpy(bool)
    rank = rows["rank"].to_numpy()
    last = np.zeros(session[-1] + 1, np.int64)
    np.maximum.at(last, session[clicked], rank[clicked])
    to_last = rank <= last[session]
    seen = rows["seen"].to_numpy(bool) if log.has("seen") else np.ones(len(rows), bool)
    looked_at = to_last if asked["depth"] == "clicked" else seen
    if asked["depth"] == "clicked":
        first_row = np.append(True, session[1:] != session[:-1])
        depth = np.where(first_row, last[session], 0).astype(float)  # M of a session, on its first row
        gaps = int((np.bincount(session, to_last) < last).sum())
        if gaps:
            notes.append(
                f"{gaps:,} of {len(last):,} sessions lack rows above their last click: P(C|R) is taken over those that"
                " are there, and too high if the others were seen and not clicked."
            )
    else:
        depth = seen.astype(float)
    everything = np.ones(len(rows), bool)

    # Seconds: T_S, T_D, and what share of the time goes where.
    on_summary = _seconds(log, "summary_seconds")
    on_document = np.where(clicked, _seconds(log, "document_seconds"), np.nan)
    if not log.has("summary_seconds"):
        missing["summary_seconds"] = "the log has no column 'summary_seconds'"
    else:
        timed = np.bincount(session, ~np.isnan(on_summary))[session] > 0
        seconds, ranks = by_user(looked_at, np.nan_to_num(on_summary)), by_user(timed, depth)
        numbers.add("summary_seconds", "unweighted", unweighted(seconds, ranks), ranks.sum())
        if not numbers.add("summary_seconds", "weighted", pooled(seconds, ranks), ranks.sum(), used=True):
            missing["summary_seconds"] = "no summary was looked at: nobody clicked"
    read = ~np.isnan(on_document)
    reading, points, slope_sums = _reading(log, read, on_document, user, users, numbers, missing, notes)
    views = by_user(read)
    if read.any():
        total = by_user(read, on_document)
        numbers.add("seconds_per_view", "unweighted", unweighted(total, views), views.sum())
        numbers.add("seconds_per_view", "pooled", pooled(total, views), views.sum(), used=True)
        if log.has("summary_seconds"):
            summaries = by_user(everything, np.nan_to_num(on_summary))
            numbers.add("share_on_summaries", "unweighted", unweighted(summaries, summaries + total), users)
            numbers.add("share_on_summaries", "pooled", pooled(summaries, summaries + total), users, used=True)

    # Decisions: P(C|R) and P(S|R), by relevance and by grade.
    grade = _seconds(log, "grade")
    judged = ~np.isnan(grade)
    relevant = grade >= asked["rel"]
    unjudged = int((looked_at & ~judged).sum())
    if judged.any() and unjudged:
        notes.append(
            f"{unjudged:,} of {int(looked_at.sum()):,} results looked at are unjudged: left out of P(C|R), P(S|R) and"
            " all numbers by grade."
        )
    saved = rows["saved"].to_numpy(bool) if log.has("saved") else None
    # What was clicked and has no seconds in a log that has them was not viewed, as far as the log knows.
    view = read if log.has("document_seconds") else clicked
    unknown = int((clicked & ~view).sum())
    if unknown:
        notes.append(
            f"{unknown:,} of {int(clicked.sum()):,} clicks have no seconds on the document: no view, no part of P(S|R)"
            " and T_D."
        )
    ranks, viewed = by_user(everything, depth), by_user(view)
    for suffix, group in (("relevant", relevant), ("nonrelevant", judged & ~relevant)):
        name = f"p_click_{suffix}"
        looked = looked_at & group
        if numbers.three_ways(name, by_user(looked & clicked), by_user(looked), ranks):
            for way, which in (("down to the last click", to_last & group), ("all seen", seen & group)):
                numbers.add(name, f"pooled, {way}", pooled(by_user(which & clicked), by_user(which)), which.sum())
            if log.has("clicks"):  # no probability: a result can be clicked twice
                which = seen & group & rows["clicks"].notna().to_numpy()
                per_result = pooled(by_user(which, rows["clicks"].to_numpy()), by_user(which))
                numbers.add(name, "clicks per result, all seen", per_result, which.sum())
            nobody = int((by_user(looked) == 0).sum())
            if nobody:
                notes.append(f"{nobody:,} of {users:,} users saw no {_kind(suffix)} summary: no part of {name}.")
        else:
            missing[name] = "the log has no grades" if not judged.any() else f"no {_kind(suffix)} summary was looked at"
        name = "p_save" if suffix == "relevant" else "p_save_nonrelevant"
        opened = view & group
        if saved is None:
            missing[name] = "the log has no column 'saved'"
        elif numbers.three_ways(name, by_user(opened & saved), by_user(opened), viewed):
            nobody = int((by_user(opened) == 0).sum())
            if nobody:
                notes.append(f"{nobody:,} of {users:,} users viewed no {_kind(suffix)} document: no part of {name}.")
        else:
            missing[name] = "the log has no grades" if not judged.any() else f"no {_kind(suffix)} document was viewed"
    for one in np.unique(np.maximum(grade[judged & (looked_at | clicked)], 0)):
        alike = judged & (np.maximum(grade, 0) == one)
        looked, opened, timed = looked_at & alike, view & alike, read & alike
        numbers.add("p_click", "weighted", weighted(by_user(looked & clicked), by_user(looked), ranks),
                    looked.sum(), used=True, grade=one)  # fmt: skip
        numbers.add("seconds", "pooled", pooled(by_user(timed, on_document), by_user(timed)),
                    timed.sum(), used=True, grade=one)  # fmt: skip
        if saved is not None and one > 0:
            numbers.add("p_save_by_grade", "weighted", weighted(by_user(opened & saved), by_user(opened), viewed),
                        opened.sum(), used=True, grade=one)  # fmt: skip
    beyond_last = int((seen & ~to_last).sum())
    if asked["depth"] == "clicked" and beyond_last and judged.any():
        notes.append(
            f"P(C|R) looks down to the last click, which always counts: it is too high. {beyond_last:,} more results"
            " were seen after it; depth='seen' has them in."
        )

    # Leaving.
    leaving, excluded = _leaving(log, asked, missing, notes)
    table = _with_intervals(numbers, slope_sums, leaving, reading, users, asked)
    if users == 1:
        notes.append("One user: there is nobody to resample, and so no interval.")
    corrected = leaving["corrected"][0] if leaving else None
    fits = tuple(fit(corrected, shape) for shape in shapes) if corrected is not None else ()
    curve = pd.DataFrame(columns=list(CURVE), dtype=float)
    if corrected is not None:
        curve = survival_curve(corrected)  # a picture needs no more than some hundred of its steps
        curve = curve.iloc[np.unique(np.linspace(0, len(curve) - 1, 500).astype(int))].reset_index(drop=True)
    return {
        "table": table,
        "about": {"package": __version__, "users": users, "sessions": len(last), "rows": len(rows), **asked},
        "excluded": {"from the log": dict(log.excluded), "from the half-life": excluded},
        "missing": missing,
        "notes": tuple(notes),
        "reading": reading,
        "shapes": fits,
        "points": points,
        "curve": curve,
    }


def _row(name: str, way: str, used: bool, value: float, error: float, n: Any, grade: float = np.nan) -> dict[str, Any]:
    return {"name": name, "grade": grade, "way": way, "used": used, "value": value, "error": error, "n": int(n)}


def _kind(suffix: str) -> str:
    return "relevant" if suffix == "relevant" else "non-relevant"


def _seconds(log: InteractionLog, column: str) -> Array:
    return log.rows[column].to_numpy(float) if log.has(column) else np.full(len(log), np.nan)


def _reading(
    log: InteractionLog, read: Array, seconds: Array, user: Array, users: int, numbers: _Numbers,
    missing: dict[str, str], notes: list[str],
) -> tuple[Reading | None, pd.DataFrame, Array | None]:  # fmt: skip
    """The line of reading times, its points for the picture, and the users' normal equations."""
    words = _seconds(log, "words")
    duplicate = log.rows["duplicate"].to_numpy(bool) if log.has("duplicate") else np.zeros(len(log), bool)
    points = reading_points(words[read], seconds[read], duplicate[read])
    if not read.any():
        why = "nobody opened a document" if log.has("document_seconds") else "the log has no column 'document_seconds'"
        missing["seconds_per_word"] = missing["seconds_per_document"] = why
        return None, points, None
    first, again = read & ~duplicate, read & duplicate
    if again.any():
        hits, tries = (np.bincount(user[again], values, users) for values in (seconds[again], None))
        error = float(np.std(seconds[again], ddof=1) / np.sqrt(again.sum())) if again.sum() > 1 else np.nan
        numbers.add("duplicate_seconds", "unweighted", unweighted(hits, tries), again.sum())
        numbers.add("duplicate_seconds", "pooled", pooled(hits, tries), again.sum(), used=True, error=error)
    fitted = first & ~np.isnan(words)
    if fitted.any() and not fitted[first].all():
        notes.append(f"{int((first & ~fitted).sum()):,} of {int(first.sum()):,} first views are of documents without a"
                     " length: no part of T_D.")  # fmt: skip
    reading = least_squares(words, seconds, fitted, again)
    if reading is None:
        which = first if first.any() else read
        hits, tries = (np.bincount(user[which], values, users) for values in (seconds[which], None))
        numbers.add("seconds_per_document", "unweighted", unweighted(hits, tries), which.sum())
        numbers.add("seconds_per_document", "constant", pooled(hits, tries), which.sum(), used=True)
        numbers.add("seconds_per_word", "constant", Ratio(np.zeros(users), tries.astype(float)), which.sum(), used=True)
        why = "The log has no lengths" if not log.has("words") else "Lengths do not differ among first views"
        notes.append(f"{why}: T_D is the mean time on a document, and a = 0.")
        return None, points, None
    if reading.slope < 0 or reading.intercept < 0:
        notes.append(
            f"Least squares has T_D(l) = {reading.slope:.3g}·l + {reading.intercept:.3g}; no time is negative, so that"
            f" it is fitted with {'a' if reading.slope < 0 else 'b'} = 0."
        )
    if reading.duplicates_differ:
        notes.append(
            f"Duplicates take {reading.duplicate_mean:.3g} ± {reading.duplicate_error:.2g} seconds and b is"
            f" {reading.intercept:.3g} ± {reading.intercept_error:.2g}: they differ, and TBG takes b for both."
        )
    return reading, points, line_sums(user[fitted], users, words[fitted], seconds[fitted])


def _leaving(
    log: InteractionLog, asked: dict[str, Any], missing: dict[str, str], notes: list[str]
) -> tuple[dict[str, tuple[Stays, float]], dict[str, int]]:
    """Sessions and their half-life in both ways, if there is one; and the sessions left out of the corrected one."""
    chosen = {key: asked[key] for key in ("until", "min_clicks", "max_seconds", "beyond")}
    if not log.has("time"):
        if not (log.has("summary_seconds") and log.has("document_seconds")):
            missing["half_life"] = "the log has no column 'time'"
            return {}, {}
        notes.append(
            "The log has no column 'time': users are taken to go down the list, so that seconds on summaries and"
            " documents add up."
        )
    events = events_of(log)
    corrected = stays(events, **chosen)
    h = half_life(corrected)
    if not len(corrected):
        reasons = "; ".join(f"{many:,} {reason}" for reason, many in corrected.excluded.items())
        missing["half_life"] = f"no session is left to estimate it from ({reasons})"
    elif not corrected.left.any():
        missing["half_life"] = f"all {len(corrected):,} sessions were cut off before their users left"
    elif np.isnan(h):
        missing["half_life"] = "the longer users stayed, the fewer left: no exponential decay fits"
    if "half_life" in missing:
        return {}, corrected.excluded
    found = {"corrected": (corrected, h)}
    if asked["min_clicks"] >= 1:
        plain = as_the_paper(events, asked["min_clicks"], asked["max_seconds"])
        h = half_life(plain)
        found |= {} if np.isnan(h) else {"as the paper": (plain, h)}
    if not log.has("cut_off"):
        notes.append("The log has no column 'cut_off': every session is taken to have ended because its user left.")
    if asked["until"] == "end" and not log.has("document_seconds"):
        notes.append("Without document_seconds nobody knows how long users stayed after their last click.")
    return found, corrected.excluded


def _with_intervals(
    numbers: _Numbers,
    slope_sums: Array | None,
    leaving: dict[str, tuple[Stays, float]],
    reading: Reading | None,
    users: int,
    asked: dict[str, Any],
) -> pd.DataFrame:
    """The table: all numbers, resampled together."""
    rows = list(numbers.rows)
    count = len(rows)
    sums = [*(ratio.top for ratio in numbers.ratios), *(ratio.bottom for ratio in numbers.ratios)]
    if slope_sums is not None and reading is not None:
        a, b = (float(value[0]) for value in line(slope_sums.sum(axis=1, keepdims=True)))
        as_fitted = a == 0 or b == 0
        for name, value, error in (("seconds_per_word", a, reading.slope_error),
                                   ("seconds_per_document", b, reading.intercept_error)):  # fmt: skip
            rows.append(_row(name, "least squares", True, value, np.nan if as_fitted else error, reading.views))
        sums.extend(slope_sums)
    grids = []
    for way, (each, value) in leaving.items():
        at, scores = grid(each, users, value)
        grids.append(at)
        sums.extend(scores)
        rows.append(_row("half_life", way, way == "corrected", value, np.nan, len(each)))
    low = high = np.array([])
    if rows:

        def statistic(totals: Array) -> Array:
            found = [totals[:count] / totals[count : 2 * count]]
            rest = totals[2 * count :]
            if slope_sums is not None:
                found.append(np.array(line(rest[:5])))
                rest = rest[5:]
            for at in grids:
                found.append(where_score_is_0(at, rest[: len(at)])[None])
                rest = rest[len(at) :]
            return np.concatenate(found)

        low, high = over_users(np.array(sums), statistic, asked["confidence"], asked["resamples"], asked["seed"])
    for row, lower, upper in zip(rows, low, high, strict=True):
        row.update(low=lower, high=upper)
    places = {name: at for at, name in enumerate(NUMBERS)}
    rows.sort(key=lambda row: (places[row["name"]], 0 if np.isnan(row["grade"]) else row["grade"], not row["used"]))
    return table_of(rows)
