"""Estimation of all parameters of a calibration, with one bootstrap over users for all intervals."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..._version import __version__
from ...data.arrays import Array
from ...errors import many
from ...measures.calibration_files import CURVE, NUMBERS, table_of
from .calibration_arrays import LogArrays, Results, estimate_row
from .click_order import click_pairs
from .estimate import over_users
from .leaving_times import events_of, stays, stays_of_paper
from .log import InteractionLog
from .rates import (
    Ratio,
    Reading,
    correlation,
    correlation_sums,
    least_squares,
    line,
    line_sums,
    pooled,
    reading_points,
    unweighted,
    weighted,
)
from .survival import UNDEFINED_AT_0, Fit, Stays, fit, grid, half_life, survival_curve, zero_of_scores

_MANY_AT_END = 0.05  # of the sessions
_FAR_BETTER = 10  # in AIC
_FEWEST_VIEWS = 3  # for a correlation; the correlation of two views is always 1 or −1


def estimated(log: InteractionLog, arguments: dict[str, Any], shapes: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a `Calibration` by name.

    Parameters
    ----------
    log : InteractionLog
    arguments : dict
        Arguments of `calibrate`.
    shapes : tuple of str
        Survival curves to fit.

    Returns
    -------
    dict
    """
    arrays, found = LogArrays(log, arguments["depth"], arguments["rel"]), Results(log.notes)
    _note_gaps(arrays, found)
    _summary_seconds(arrays, found)
    reading, points, slope_sums = _reading(arrays, found)
    _correlations(arrays, found)
    _shares_of_time(arrays, found)
    _forward_clicks(arrays, found)
    _decisions(arrays, found)
    _decisions_by_grade(arrays, found)
    leaving, excluded = _leaving(log, arguments, found)
    table = _with_intervals(found, slope_sums, leaving, reading, arrays.users, arguments)
    if arrays.users == 1:
        found.notes.append("The log has only one user: there are no intervals.")
    corrected = leaving["corrected"][0] if leaving else None
    fits = tuple(fit(corrected, shape) for shape in shapes) if corrected is not None else ()
    _note_better_shape(fits, found)
    curve = pd.DataFrame(columns=list(CURVE), dtype=float)
    if corrected is not None:
        curve = survival_curve(corrected)
        _note_weak_fits(fits, corrected, float(curve["seconds"].iloc[0]), found)
        # 500 steps are enough for a plot
        curve = curve.iloc[np.unique(np.linspace(0, len(curve) - 1, 500).astype(int))].reset_index(drop=True)
    sizes = {"users": arrays.users, "sessions": len(arrays.last), "rows": len(log)}
    return {
        "table": table,
        "about": {"package": __version__, **sizes, **arguments},
        "excluded": {"from the log": dict(log.excluded), "from the half-life": excluded},
        "missing": found.missing,
        "notes": tuple(found.notes),
        "reading": reading,
        "shapes": fits,
        "points": points,
        "curve": curve,
    }


def _note_gaps(arrays: LogArrays, found: Results) -> None:
    """Add notes about missing rows, unjudged results, and clicks without seconds."""
    if arrays.depth == "clicked":
        gaps = int((np.bincount(arrays.session, arrays.to_last) < arrays.last).sum())
        if gaps:
            found.notes.append(
                f"{gaps:,} of {len(arrays.last):,} sessions lack rows above their last click. P(C|R) uses the rows in"
                " the log; it is too high if the missing results were seen and not clicked. T_S uses all ranks; it is"
                " too low if the missing results took time."
            )
        after = int((arrays.seen & ~arrays.to_last).sum())
        if after and arrays.judged.any():
            found.notes.append(
                f"P(C|R) uses the results down to the last click, so it is too high. {after:,} more results"
                " were seen after the last click; depth='seen' includes them."
            )
    unjudged = int((arrays.looked_at & ~arrays.judged).sum())
    if arrays.judged.any() and unjudged:
        found.notes.append(
            f"{unjudged:,} of {int(arrays.looked_at.sum()):,} inspected results are unjudged; P(C|R), P(S|R)"
            " and the parameters by grade exclude them."
        )
    unknown = int((arrays.clicked & ~arrays.view).sum())
    if unknown:
        found.notes.append(
            f"{unknown:,} of {int(arrays.clicked.sum()):,} clicks have no seconds on the document; P(S|R) and T_D"
            " exclude them."
        )


def _summary_seconds(arrays: LogArrays, found: Results) -> None:
    """Estimate T_S (Eq. 5)."""
    if not arrays.log.has("summary_seconds"):
        found.missing["summary_seconds"] = "the log has no column 'summary_seconds'"
        return
    seconds = arrays.log.floats("summary_seconds")
    timed = np.bincount(arrays.session, ~np.isnan(seconds))[arrays.session] > 0
    untimed = int((arrays.looked_at & np.isnan(seconds) & timed).sum())
    if untimed:
        found.notes.append(
            f"{untimed:,} inspected results have no seconds on the summary, in sessions with seconds on others. They"
            " count as 0, which is right if the next result includes them; otherwise T_S is too low."
        )
    spent, ranks = arrays.by_user(arrays.looked_at, np.nan_to_num(seconds)), arrays.by_user(timed, arrays.summaries)
    found.add("summary_seconds", "unweighted", unweighted(spent, ranks), ranks.sum())
    if not found.add("summary_seconds", "weighted", pooled(spent, ranks), ranks.sum(), used=True):
        found.missing["summary_seconds"] = "no summary was inspected: no user clicked"


def _shares_of_time(arrays: LogArrays, found: Results) -> None:
    """Estimate the seconds per view and the share of the time spent on summaries."""
    if not arrays.read.any():
        return
    views, total = arrays.by_user(arrays.read), arrays.by_user(arrays.read, arrays.on_document)
    found.add("seconds_per_view", "unweighted", unweighted(total, views), views.sum())
    found.add("seconds_per_view", "pooled", pooled(total, views), views.sum(), used=True)
    if arrays.log.has("summary_seconds"):
        seconds = arrays.log.floats("summary_seconds")
        summaries = arrays.by_user(~np.isnan(seconds), seconds)
        users = arrays.users
        found.add("share_on_summaries", "unweighted", unweighted(summaries, summaries + total), users)
        found.add("share_on_summaries", "pooled", pooled(summaries, summaries + total), users, used=True)


def _correlations(arrays: LogArrays, found: Results) -> None:
    """Estimate the correlation of the seconds on documents with their lengths and grades; grades below 0 count as 0."""
    log, first = arrays.log, ~arrays.log.flags("duplicate")
    quantities = (
        ("length_correlation", "length", log.floats("words"), "the log has no column 'words'"),
        ("grade_correlation", "grade", np.maximum(arrays.grade, 0), "the log has no grades"),
    )
    for name, what, values, unknown in quantities:
        known = arrays.read & ~np.isnan(values)
        if not arrays.read.any():
            found.missing[name] = _why_unread(log)
        elif np.isnan(values).all():
            found.missing[name] = unknown
        elif known.sum() < _FEWEST_VIEWS:
            found.missing[name] = (
                f"documents of known {what} have {many(int(known.sum()), 'view')} with known seconds, fewer than"
                f" {_FEWEST_VIEWS}"
            )
        elif not _correlation(arrays, found, name, "all views", known, values):
            found.missing[name] = f"all documents viewed have the same {what}, or took the same seconds"
        elif not first[known].all():
            _correlation(arrays, found, name, "first views", known & first, values)


def _correlation(arrays: LogArrays, found: Results, name: str, way: str, which: Array, values: Array) -> bool:
    """Add the correlation of the seconds of views with values; return False if it is undefined."""
    if which.sum() < _FEWEST_VIEWS:
        return False
    sums = correlation_sums(arrays.user[which], arrays.users, values[which], arrays.on_document[which])
    r = float(correlation(sums.sum(axis=1, keepdims=True))[0])
    if np.isnan(r):
        return False
    row = estimate_row(name, way, way == "all views", r, np.nan, which.sum())
    found.correlations.append(([row], sums, lambda totals: correlation(totals)[None]))
    return True


def _why_unread(log: InteractionLog) -> str:
    return "no user opened a document" if log.has("document_seconds") else "the log has no column 'document_seconds'"


def _forward_clicks(arrays: LogArrays, found: Results) -> None:
    """Estimate the share of clicks on a deeper rank than the previous click of the session."""
    name, log = "share_forward_clicks", arrays.log
    if not log.has("time"):
        found.missing[name] = "the log has no column 'time', so the order of clicks is unknown"
        return
    pairs = click_pairs(log)
    user = arrays.user[pairs.row]
    clicks, forward = (np.bincount(user, each, arrays.users) for each in (np.ones(len(user)), pairs.forward))
    found.add(name, "pooled", pooled(forward, clicks), len(user))
    if not found.add(name, "unweighted", unweighted(forward, clicks), len(user), used=True):
        found.missing[name] = "no session has two clicks at different known times"
        return
    found.notes.extend(f"share_forward_clicks excludes {each}." for each in pairs.excluded)
    without = int((clicks == 0).sum())
    if without:
        found.notes.append(f"{without:,} of {arrays.users:,} users have no successive clicks; {name} excludes them.")


def _decisions(arrays: LogArrays, found: Results) -> None:
    """Estimate P(C|R) and P(S|R)."""
    ranks, viewed = arrays.weights(), arrays.by_user(arrays.view)
    groups = (
        ("relevant", "relevant", arrays.relevant),
        ("nonrelevant", "non-relevant", arrays.judged & ~arrays.relevant),
    )
    for suffix, kind, group in groups:
        nothing = None if arrays.judged.any() else "the log has no grades"
        name = f"p_click_{suffix}"
        looked = arrays.looked_at & group
        if found.three_ways(name, arrays.by_user(looked & arrays.clicked), arrays.by_user(looked), ranks):
            _add_other_click_shares(arrays, found, name, group)
            _note_users_without(arrays, found, looked, f"saw no {kind} summary", name)
        else:
            found.missing[name] = nothing or f"no {kind} summary was inspected"
        name = "p_save" if suffix == "relevant" else "p_save_nonrelevant"
        opened = arrays.view & group
        if arrays.saved is None:
            found.missing[name] = "the log has no column 'saved'"
        elif found.three_ways(name, arrays.by_user(opened & arrays.saved), arrays.by_user(opened), viewed):
            _note_users_without(arrays, found, opened, f"viewed no {kind} document", name)
        else:
            found.missing[name] = nothing or f"no {kind} document was viewed"


def _add_other_click_shares(arrays: LogArrays, found: Results, name: str, group: Array) -> None:
    for way, which in (("down to the last click", arrays.to_last & group), ("all seen", arrays.seen & group)):
        share = pooled(arrays.by_user(which & arrays.clicked), arrays.by_user(which))
        found.add(name, f"pooled, {way}", share, which.sum())
    if arrays.log.has("clicks"):  # not a probability: a result can be clicked twice
        clicks = arrays.log.floats("clicks")
        which = arrays.seen & group & ~np.isnan(clicks)
        per_result = pooled(arrays.by_user(which, clicks), arrays.by_user(which))
        found.add(name, "clicks per result, all seen", per_result, which.sum())


def _note_users_without(arrays: LogArrays, found: Results, which: Array, what: str, name: str) -> None:
    without = int((arrays.by_user(which) == 0).sum())
    if without:
        found.notes.append(f"{without:,} of {arrays.users:,} users {what}; {name} excludes them.")


def _decisions_by_grade(arrays: LogArrays, found: Results) -> None:
    """Estimate P(C|g), P(S|g) and the seconds per view for each grade; grades below 0 count as 0."""
    ranks, viewed = arrays.weights(), arrays.by_user(arrays.view)
    grade = np.maximum(arrays.grade, 0)
    for one in np.unique(grade[arrays.judged & (arrays.looked_at | arrays.clicked)]):
        alike = grade == one
        looked, opened, timed = arrays.looked_at & alike, arrays.view & alike, arrays.read & alike
        share = weighted(arrays.by_user(looked & arrays.clicked), arrays.by_user(looked), ranks)
        found.add("p_click", "weighted", share, looked.sum(), used=True, grade=one)
        seconds = pooled(arrays.by_user(timed, arrays.on_document), arrays.by_user(timed))
        found.add("seconds", "pooled", seconds, timed.sum(), used=True, grade=one)
        if arrays.saved is not None and one > 0:
            share = weighted(arrays.by_user(opened & arrays.saved), arrays.by_user(opened), viewed)
            found.add("p_save_by_grade", "weighted", share, opened.sum(), used=True, grade=one)


def _reading(arrays: LogArrays, found: Results) -> tuple[Reading | None, pd.DataFrame, Array | None]:
    """Fit the line of reading times; return it with its plot points and the normal equations of each user."""
    log, read, seconds = arrays.log, arrays.read, arrays.on_document
    words = arrays.log.floats("words")
    duplicate = log.flags("duplicate")
    points = reading_points(words[read], seconds[read], duplicate[read])
    if not read.any():
        found.missing["seconds_per_word"] = found.missing["seconds_per_document"] = _why_unread(log)
        return None, points, None
    first, again = read & ~duplicate, read & duplicate
    if again.any():
        total, views = arrays.by_user(again, seconds), arrays.by_user(again)
        error = float(np.std(seconds[again], ddof=1) / np.sqrt(again.sum())) if again.sum() > 1 else np.nan
        found.add("duplicate_seconds", "unweighted", unweighted(total, views), again.sum())
        found.add("duplicate_seconds", "pooled", pooled(total, views), again.sum(), used=True, error=error)
    fitted = first & ~np.isnan(words)
    if fitted.any() and not fitted[first].all():
        found.notes.append(
            f"{int((first & ~fitted).sum()):,} of {int(first.sum()):,} first views are of documents without a length;"
            " T_D excludes them."
        )
    reading = least_squares(words, seconds, fitted, again)
    if reading is None:
        which = first if first.any() else read
        total, views = arrays.by_user(which, seconds), arrays.by_user(which)
        found.add("seconds_per_document", "unweighted", unweighted(total, views), which.sum())
        found.add("seconds_per_document", "constant", pooled(total, views), which.sum(), used=True)
        found.add("seconds_per_word", "constant", Ratio(np.zeros(arrays.users), views), which.sum(), used=True)
        why = "The log has no lengths" if not log.has("words") else "All lengths of first views are equal"
        found.notes.append(f"{why}: T_D is the mean time on a document, and a = 0.")
        return None, points, None
    if reading.slope < 0 or reading.intercept < 0:
        found.notes.append(
            f"Least squares gives T_D(l) = {reading.slope:.3g}·l + {reading.intercept:.3g}. Times cannot be negative,"
            f" so the fit uses {'a' if reading.slope < 0 else 'b'} = 0."
        )
    if reading.duplicates_differ:
        found.notes.append(
            f"Duplicates take {reading.duplicate_mean:.3g} ± {reading.duplicate_error:.2g} seconds and b is"
            f" {reading.intercept:.3g} ± {reading.intercept_error:.2g}: they differ, and TBG uses b for both."
        )
    return reading, points, line_sums(arrays.user[fitted], arrays.users, words[fitted], seconds[fitted])


def _note_better_shape(fits: tuple[Fit, ...], found: Results) -> None:
    by_shape = {one.shape: one.aic for one in fits if np.isfinite(one.aic)}
    if "exponential" in by_shape:
        best = min(by_shape, key=lambda shape: by_shape[shape])
        if by_shape[best] < by_shape["exponential"] - _FAR_BETTER:
            found.notes.append(
                f"A {best} curve fits far better than an exponential one (AIC {by_shape[best]:,.0f} against"
                f" {by_shape['exponential']:,.0f}): these users do not leave at a constant rate; see plot_survival()."
            )


def _note_weak_fits(fits: tuple[Fit, ...], stays: Stays, begin: float, found: Results) -> None:
    """Add notes about distributions without an estimate and about medians before the first observed time."""
    undefined = [one.shape for one in fits if one.shape in UNDEFINED_AT_0]
    if undefined and stays.at_once.any():
        found.notes.append(
            f"{int(stays.at_once.sum()):,} sessions last 0 seconds, where the density of {' and '.join(undefined)} is 0"
            " or infinite: there is no fit. With min_clicks=1, these sessions are excluded."
        )
    early = [one for one in fits if one.half_life < begin]
    if early:
        medians = ", ".join(f"{one.shape} {one.half_life:.3g} s" for one in early)
        found.notes.append(
            f"Sessions are observed from {begin:.3g} seconds on. These fits have earlier medians, which are"
            f" extrapolated: {medians}. A lower min_clicks= includes earlier times."
        )


def _leaving(
    log: InteractionLog, arguments: dict[str, Any], found: Results
) -> tuple[dict[str, tuple[Stays, float]], dict[str, int]]:
    """Return the stays and half-lives of both ways, and the sessions excluded from the corrected one."""
    chosen = {key: arguments[key] for key in ("until", "min_clicks", "max_seconds", "beyond", "last_rank")}
    if not log.has("time"):
        if not (log.has("summary_seconds") and log.has("document_seconds")):
            found.missing["half_life"] = (
                "the log has no column 'time' and does not have both 'summary_seconds' and 'document_seconds'"
            )
            return {}, {}
        found.notes.append(
            "The log has no column 'time': times are sums of the seconds on summaries and documents, which assumes that"
            " users inspect the results in rank order."
        )
    events = events_of(log)
    corrected = stays(events, **chosen)
    h = half_life(corrected)
    reasons = "; ".join(f"{many:,} {reason}" for reason, many in corrected.excluded.items())
    if not len(corrected):
        found.missing["half_life"] = f"no session is left ({reasons})"
    elif not corrected.left.any():
        found.missing["half_life"] = f"all {len(corrected):,} sessions are censored before their users left"
    elif np.isnan(h):
        found.missing["half_life"] = "the rate of leaving decreases with time, so no exponential decay fits"
    if "half_life" in found.missing:
        return {}, corrected.excluded
    ways = {"corrected": (corrected, h)}
    plain = stays_of_paper(events, max(arguments["min_clicks"], 1), arguments["max_seconds"])
    h = half_life(plain)
    ways |= {} if np.isnan(h) else {"as the paper": (plain, h)}
    if reasons:
        found.notes.append(f"The half-life uses {len(corrected):,} sessions. Excluded: {reasons}.")
    last = int(events.deepest.max())
    at_end = float(np.mean((events.deepest == last) & ~events.cut_off))
    if arguments["last_rank"] is None and at_end >= _MANY_AT_END:
        found.notes.append(
            f"{at_end:.0%} of the sessions end at rank {last}, the deepest of the log. If the lists end there, the"
            f" users may not have left, and the half-life is too short: give last_rank={last}, or mark interrupted"
            " sessions as cut_off."
        )
    if not log.has("cut_off"):
        found.notes.append("The log has no column 'cut_off': all sessions are assumed to end because the user left.")
    if arguments["until"] == "end" and not log.has("document_seconds"):
        found.notes.append("The log has no column 'document_seconds': the time after the last click is unknown.")
    return ways, corrected.excluded


def _half_life(at: Array, totals: Array) -> Array:
    return zero_of_scores(at, totals)[None]


def _with_intervals(
    found: Results,
    slope_sums: Array | None,
    leaving: dict[str, tuple[Stays, float]],
    reading: Reading | None,
    users: int,
    arguments: dict[str, Any],
) -> pd.DataFrame:
    """Return the table of all estimates with their bootstrap intervals."""
    parts = found.parts(users)
    if slope_sums is not None and reading is not None:
        a, b = (float(value[0]) for value in line(slope_sums.sum(axis=1, keepdims=True)))
        as_fitted = a == 0 or b == 0
        both = [
            estimate_row(name, "least squares", True, value, np.nan if as_fitted else error, reading.views)
            for name, value, error in (("seconds_per_word", a, reading.slope_error),
                                       ("seconds_per_document", b, reading.intercept_error))
        ]  # fmt: skip
        parts.append((both, slope_sums, lambda totals: np.array(line(totals))))
    for way, (each, value) in leaving.items():
        at, scores = grid(each, users, value)
        row = estimate_row("half_life", way, way == "corrected", value, np.nan, len(each))
        parts.append(([row], np.asarray(scores), partial(_half_life, at)))
    rows = [row for part, _, _ in parts for row in part]
    low = high = np.array([])
    if rows:
        ends = np.cumsum([len(sums) for _, sums, _ in parts])[:-1]

        def statistic(totals: Array) -> Array:
            return np.concatenate([of(own) for (_, _, of), own in zip(parts, np.split(totals, ends), strict=True)])

        low, high = over_users(
            np.concatenate([sums for _, sums, _ in parts]),
            statistic,
            arguments["confidence"],
            arguments["resamples"],
            arguments["seed"],
        )
    for row, lower, upper in zip(rows, low, high, strict=True):
        row.update(low=lower, high=upper)
    places = {name: at for at, name in enumerate(NUMBERS)}
    rows.sort(key=lambda row: (places[row["name"]], 0 if np.isnan(row["grade"]) else row["grade"], not row["used"]))
    return table_of(rows)
