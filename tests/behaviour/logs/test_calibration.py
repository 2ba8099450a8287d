"""Tests of the calibration of time-biased gain: known parameters are recovered, and values agree with the equations."""

import json
import math
from dataclasses import fields, replace
from itertools import pairwise

import ir_measures
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.optimize import nnls
from scipy.stats import bootstrap
from threadpoolctl import threadpool_limits

from pyterrier_cwla import CWLA, TBG, evaluate, score
from pyterrier_cwla.behaviour import simulated_log
from pyterrier_cwla.behaviour.logs import estimators
from pyterrier_cwla.behaviour.logs.adapters import chiir24_log
from pyterrier_cwla.behaviour.logs.calibration import Calibration, calibrate, progress
from pyterrier_cwla.behaviour.logs.estimators import SHAPES, line, line_sums, reading_points
from pyterrier_cwla.behaviour.logs.log import InteractionLog
from pyterrier_cwla.errors import BadLog, BadParameter, MalformedFile
from pyterrier_cwla.measures import calibrations as calibration_files
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.model.language import parse
from tests.support.generated_logs import TABLE_1, generated_log
from tests.support.messages import refused

TBG_PARAMETERS = list(TABLE_1)[:7]
OTHER = dict(
    half_life=90.0, summary_seconds=2.0, seconds_per_word=0.03, seconds_per_document=2.0,
    p_click_relevant=0.5, p_click_nonrelevant=0.15, p_save=0.6, p_save_nonrelevant=0.1,
)  # fmt: skip


def logs(repetitions, users, seed=0, spread=0.0, **more):
    """Generate logs with the same number of users each; times vary by user, and their harmonic mean is the given one.

    The slowness is exp(N(σ²/2, σ)): the mean of 1/slowness is 1, and the mean of slowness is e^(σ²).
    """
    slowness = np.exp(np.random.default_rng(seed).normal(spread**2 / 2, spread, repetitions * users))
    frame = generated_log(seed + 1, users=repetitions * users, slowness=slowness, **more)
    number = frame["user"].str[1:].astype(int).to_numpy() // users
    ends = np.searchsorted(number, np.arange(repetitions + 1))
    return [InteractionLog(frame.iloc[a:b].reset_index(drop=True)) for a, b in pairwise(ends)]


@pytest.fixture(autouse=True)
def one_thread():
    """Small matrix products are slower with several threads."""
    with threadpool_limits(1):
        yield


SMALL = InteractionLog.of(generated_log(11, users=12, duplicates=0.1))
CALIBRATION = calibrate(SMALL, resamples=200)


@pytest.mark.nightly
@pytest.mark.parametrize("parameters,seed,more", [
    (TABLE_1, 0, dict(sessions=2, depth=60)),
    (OTHER, 0, dict(sessions=2, depth=50, precision=0.3, words=300.0)),
    (TABLE_1, 0, dict(sessions=2, depth=100, spread=0.3, limit=600.0)),
], ids=["Table 1", "other values", "users of different speeds"])  # fmt: skip
def test_known_parameters_lie_in_their_intervals(parameters, seed, more):
    """In 90 % of 200 repetitions with 100 users; the coverage over all parameters and many seeds is 94 %."""
    held = dict.fromkeys(parameters, 0)
    for log in logs(200, 100, seed, **parameters, **more):
        found = calibrate(log, depth="seen", shapes=(), resamples=400)
        for name, value in parameters.items():
            held[name] += value in found[name]
    assert min(held.values()) >= 180, held
    assert sum(held.values()) >= 0.92 * 200 * len(held), held


@pytest.mark.slow
def test_what_is_biased_and_what_is_not():
    """The last click is always counted (+0.007). Only users who stay have sessions with five clicks, as the paper has them."""
    (log,) = logs(1, 2000, sessions=1, seed=4)
    clicked, seen = (calibrate(log, depth=depth, shapes=(), resamples=100) for depth in ("clicked", "seen"))
    for name in ("p_click_relevant", "p_click_nonrelevant"):
        assert 0.004 < clicked[name, "pooled"].value - seen[name, "pooled"].value < 0.01
        assert TABLE_1[name] in seen[name, "pooled"]
        assert clicked[name, "pooled, all seen"] == seen[name, "pooled"]
    assert any("it is too high" in note for note in clicked.notes)
    assert 224 in clicked["half_life"]
    assert clicked["half_life", "as the paper"].low > 250
    proxy = calibrate(log, until="click", shapes=(), resamples=100)["half_life"]
    assert 0.94 < proxy.value / clicked["half_life"].value < 1  # the time after the last click is missing
    for more in (dict(min_clicks=1), dict(beyond="condition"), dict(max_seconds=600), dict(min_clicks=0)):
        assert 224 in calibrate(log, shapes=(), resamples=100, **more)["half_life"], more


def messy_log():
    """Generate unjudged and negative grades, gaps, unknown seconds, users without relevance, sessions without clicks."""
    frame = generated_log(21, users=15, sessions=3, duplicates=0.15, words=200.0).sample(frac=0.8, random_state=1)
    rng = np.random.default_rng(22)
    relevant = frame["grade"] > 0
    frame["grade"] = np.where(relevant, rng.integers(1, 3, len(frame)), rng.integers(-1, 1, len(frame))).astype(float)
    frame.loc[rng.random(len(frame)) < 0.1, "grade"] = np.nan
    frame.loc[frame["user"].isin(["u0003", "u0004"]) & (frame["grade"] > 0), "grade"] = 0.0
    frame["seen"] = frame["clicked"] | (rng.random(len(frame)) < 0.9)
    frame.loc[rng.random(len(frame)) < 0.1, "document_seconds"] = np.nan
    frame.loc[(frame["user"] == "u0005") & (frame["session"] == "s1"), "summary_seconds"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.1, "words"] = np.nan
    lonely = (frame["user"] == "u0006") & (frame["session"] == "s2")
    frame.loc[lonely, ["clicked", "saved"]] = False
    frame.loc[lonely, "document_seconds"] = np.nan
    return InteractionLog.of(frame)


def plain_calibration(log, depth, rel):
    """Compute the parameters in loops, from section 3.2 and Eq. 5."""
    rows = log.rows.to_dict("records")
    sessions = {}
    for row in rows:
        sessions.setdefault((row["user"], row["session"]), []).append(row)
    users = list(dict.fromkeys(row["user"] for row in rows))
    S, M, M_timed = (dict.fromkeys(users, 0.0) for _ in range(3))
    looked = []
    for (user, _), mine in sessions.items():
        deepest = max([row["rank"] for row in mine if row["clicked"]], default=0)
        there = [row for row in mine if (row["rank"] <= deepest if depth == "clicked" else row["seen"])]
        many = deepest if depth == "clicked" else len(there)
        M[user] += many
        if any(not math.isnan(row["summary_seconds"]) for row in mine):
            M_timed[user] += many
            S[user] += sum(row["summary_seconds"] for row in there if not math.isnan(row["summary_seconds"]))
        looked += there
    views = [row for row in rows if row["clicked"] and not math.isnan(row["document_seconds"])]
    seconds_of = {}
    for row in views:
        seconds_of.setdefault(row["user"], []).append(row["document_seconds"])
    found = {
        ("summary_seconds", "weighted"): sum(S.values()) / sum(M_timed.values()),
        ("summary_seconds", "unweighted"): np.mean([S[u] / M_timed[u] for u in users if M_timed[u]]),
        ("seconds_per_view", "pooled"): np.mean([row["document_seconds"] for row in views]),
        ("seconds_per_view", "unweighted"): np.mean([np.mean(each) for each in seconds_of.values()]),
        ("duplicate_seconds", "pooled"): np.mean([row["document_seconds"] for row in views if row["duplicate"]]),
    }
    summaries = sum(row["summary_seconds"] for row in rows if not math.isnan(row["summary_seconds"]))
    found["share_on_summaries", "pooled"] = summaries / (summaries + sum(row["document_seconds"] for row in views))
    decisions = [("p_click_relevant", looked, "clicked", True, M), ("p_click_nonrelevant", looked, "clicked", False, M)]
    viewed = {u: sum(row["user"] == u for row in views) for u in users}
    decisions += [("p_save", views, "saved", True, viewed), ("p_save_nonrelevant", views, "saved", False, viewed)]
    for name, chances, taken, relevant, weight in decisions:
        mine = [row for row in chances if not math.isnan(row["grade"]) and (row["grade"] >= rel) == relevant]
        own = {u: [row[taken] for row in mine if row["user"] == u] for u in users}
        own = {u: np.mean(each) for u, each in own.items() if each}
        found[name, "pooled"] = np.mean([row[taken] for row in mine])
        found[name, "unweighted"] = np.mean(list(own.values()))
        found[name, "weighted"] = sum(weight[u] * own[u] for u in own) / sum(weight[u] for u in own)
    return found, looked, views


@pytest.mark.slow
@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("depth", ["clicked", "seen"])
def test_every_ratio_is_what_its_equation_says(depth, rel):
    log = messy_log()
    found = calibrate(log, depth=depth, rel=rel, shapes=(), resamples=20)
    expected, looked, views = plain_calibration(log, depth, rel)
    for which, value in expected.items():
        assert found[which].value == pytest.approx(value, rel=1e-12), which
    graded = found.graded_parameters()
    for grade in (0, 1, 2):  # negative grades count as grade 0
        mine = [row for row in looked if row["grade"] == grade or (grade == 0 and row["grade"] < 0)]
        read = [row["document_seconds"] for row in views if row["grade"] == grade or (grade == 0 and row["grade"] < 0)]
        assert graded["seconds"][grade] == pytest.approx(np.mean(read))
        assert graded["p_click"][grade] == pytest.approx(np.mean([row["clicked"] for row in mine]), abs=0.05)
    assert list(graded["p_save"]) == [1, 2]
    if rel == 1:
        assert graded["p_click"][0] == found["p_click_nonrelevant"].value
    notes = "\n".join(found.notes)
    assert "2 of 15 users saw no relevant summary" in notes or rel == 2
    for said in ("are unjudged", "clicks have no seconds", "without a length"):
        assert said in notes


@pytest.mark.slow
def test_order_of_rows_and_names_of_users_do_not_matter():
    frame = SMALL.rows
    other = frame.assign(user="x" + frame["user"], docno=frame["docno"] + "y").sample(frac=1, random_state=3)
    again = calibrate(other, resamples=200)
    pd.testing.assert_frame_equal(again.table, CALIBRATION.table)


@pytest.mark.slow
def test_reading_times_are_statsmodels_least_squares():
    sm = pytest.importorskip("statsmodels.api")
    rows = SMALL.rows[SMALL.rows["clicked"]]
    first, again = rows[~rows["duplicate"]], rows[rows["duplicate"]]
    ols = sm.OLS(first["document_seconds"], sm.add_constant(first["words"])).fit()
    reading = CALIBRATION.reading
    assert (reading.intercept, reading.slope) == pytest.approx(tuple(ols.params))
    assert (reading.intercept_error, reading.slope_error) == pytest.approx(tuple(ols.bse))
    assert reading.adjusted_r_squared == pytest.approx(ols.rsquared_adj)
    for name, value in zip(("seconds_per_document", "seconds_per_word"), ols.params):
        assert CALIBRATION[name].value == pytest.approx(value)
    of_duplicates = sm.OLS(again["document_seconds"], sm.add_constant(again["words"])).fit()
    assert reading.duplicate_adjusted_r_squared == pytest.approx(of_duplicates.rsquared_adj)
    mean = sm.OLS(again["document_seconds"], np.ones(len(again))).fit()
    assert (reading.duplicate_mean, reading.duplicate_error) == pytest.approx((mean.params.iloc[0], mean.bse.iloc[0]))
    errors = CALIBRATION.table.set_index("name")["error"].dropna()
    assert errors["seconds_per_word"] == pytest.approx(ols.bse["words"])
    few = estimators.least_squares(np.tile([1, 2, 3], 2), np.arange(6), np.arange(6) < 3, np.arange(6) > 2)
    assert few.duplicate_adjusted_r_squared == pytest.approx(1)


@pytest.mark.slow
def test_duplicates_differ_if_the_standard_errors_are_apart():
    """Smucker and Clarke (2012): 6.8 ± 0.5 and 7.8 ± 0.7 do not differ."""
    paper = replace(CALIBRATION.reading, intercept=7.8, intercept_error=0.7, duplicate_mean=6.8, duplicate_error=0.5)
    assert paper.duplicates_differ is False
    assert replace(paper, duplicate_error=0.2).duplicates_differ is True
    assert replace(paper, duplicate_mean=math.nan).duplicates_differ is None
    seconds = SMALL.rows["document_seconds"].mask(SMALL.rows["duplicate"] & SMALL.rows["clicked"], 500.0)
    found = calibrate(SMALL.rows.assign(document_seconds=seconds), shapes=(), resamples=20)
    assert any("they differ, and TBG uses b for both" in note for note in found.notes)


def test_no_reading_time_is_negative():
    """Least squares with a >= 0 and b >= 0, compared with scipy's nnls."""

    rng = np.random.default_rng(2)
    for a, b in ((-0.01, 40), (0.05, -30), (0.02, 5), (0.0, 20)):
        words = rng.uniform(200, 1500, 80)
        seconds = a * words + b + rng.normal(0, 5, 80)
        sums = np.array([[80], [words.sum()], [seconds.sum()], [words @ words], [words @ seconds]])
        expected, _ = nnls(np.c_[words, np.ones(80)], seconds)
        assert np.ravel(line(sums)) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert np.isnan(line(line_sums(np.zeros(7, int), 1, np.full(7, 700.7), np.arange(7.0)))).all()  # equal lengths
    falling = (60 - SMALL.rows["words"] / 100).clip(lower=1).where(SMALL.rows["clicked"])
    found = calibrate(SMALL.rows.assign(document_seconds=falling), shapes=(), resamples=50)
    assert found["seconds_per_word"].value == 0
    assert any("Times cannot be negative" in note for note in found.notes)
    assert found.reading.slope < 0
    assert found.measure()


def pearson(pairs):
    """Pearson's correlation in loops."""
    x, y = ([pair[side] for pair in pairs] for side in (0, 1))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    both = sum((a - mean_x) * (b - mean_y) for a, b in pairs)
    return both / math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))


def viewed(rows, what, first_only):
    """Value and seconds of each view with both."""
    found = []
    for row in rows.to_dict("records"):
        unknown = math.isnan(row["document_seconds"]) or math.isnan(row[what])
        if row["clicked"] and not unknown and not (first_only and row["duplicate"]):
            found.append((max(row[what], 0), row["document_seconds"]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name,what", [("length_correlation", "words"), ("grade_correlation", "grade")])
def test_correlations_of_reading_times(name, what):
    """Jiang and Allan (2016), section 5.1; grades below 0 count as 0."""
    log = messy_log()
    found = calibrate(log, shapes=(), resamples=20)
    for way, first_only in (("all views", False), ("first views", True)):
        views = viewed(log.rows, what, first_only)
        assert found[name, way].value == pytest.approx(pearson(views), rel=1e-10)
        assert found[name, way].n == len(views)
    assert found[name] == found[name, "all views"]


def test_correlations_have_the_percentile_intervals_of_resampled_users():
    """The same draws of users as scipy's bootstrap, with the correlation of their views in loops."""

    rows = SMALL.rows
    views = [viewed(rows[rows["user"] == user], "words", False) for user in SMALL.users]

    def resampled(users):
        return pearson([view for user in users for view in views[user]])

    expected = bootstrap(
        (np.arange(len(views)),), resampled, n_resamples=40, method="percentile", vectorized=False,
        rng=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    found = calibrate(SMALL, shapes=(), resamples=40, seed=5)["length_correlation"]
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-9)


def of_clicks(sessions, **columns):
    """Return a log of clicks; a session is a list of ranks and times."""
    made = [
        {"user": user, "session": session, "topic": "t", "rank": rank, "docno": f"d{rank}", "clicked": True, "time": time}
        for (user, session), clicks in sessions.items()
        for rank, time in clicks
    ]  # fmt: skip
    return pd.DataFrame(made).assign(**columns)


def plain_share_of_forward_clicks(rows):
    """Shares of forward clicks in loops: of all clicks, and the mean of users."""
    own = {}
    for (user, _), mine in rows[rows["clicked"]].groupby(["user", "session"]):
        clicks = sorted(zip(mine["time"], mine["rank"], strict=True))
        if any(math.isnan(time) for time, _ in clicks):
            continue
        for (before, rank), (after, next_rank) in pairwise(clicks):
            times = [time for time, _ in clicks]
            if times.count(before) == times.count(after) == 1:
                own.setdefault(user, []).append(next_rank > rank)
    return np.mean([one for each in own.values() for one in each]), np.mean([np.mean(each) for each in own.values()])


def test_the_share_of_forward_clicks():
    """Smucker and Clarke (2012): 94 % of the average participant's clicks are on a deeper rank than the previous one."""
    rng = np.random.default_rng(4)
    rows = SMALL.rows.assign(time=lambda rows: rng.permuted(rows["time"].round(-1)))
    rows.loc[rng.random(len(rows)) < 0.02, "time"] = np.nan
    found = calibrate(rows, shapes=(), resamples=20)
    pooled, mean = plain_share_of_forward_clicks(rows)
    assert 0.2 < pooled < 0.8
    assert found["share_forward_clicks", "pooled"].value == pytest.approx(pooled)
    assert found["share_forward_clicks"].value == pytest.approx(mean)
    assert found["share_forward_clicks"] == found["share_forward_clicks", "unweighted"]
    assert not any("share_forward_clicks" in note for note in CALIBRATION.notes)


def test_clicks_in_an_unknown_order_are_excluded_and_counted():
    """Clicks at one time could be in any order; the click after them has no known previous click."""
    tied = {("a", "1"): [(1, 0), (2, 5), (3, 5), (4, 9), (5, 10)], ("b", "1"): [(1, 0), (2, np.nan), (3, 4)],
            ("c", "1"): [(1, 0), (2, 1)], ("d", "1"): [(1, 2)]}  # fmt: skip
    found = calibrate(of_clicks(tied, clicks=[1.0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1]), shapes=(), resamples=20)
    assert found["share_forward_clicks"].n == 2
    for said in (
        "excludes 1 session with clicks at unknown times.",
        "excludes 3 clicks at the time of another click or next to one.",
        "excludes 2 repeated clicks on the same results",
        "2 of 4 users have no successive clicks; share_forward_clicks excludes them.",
    ):
        assert any(said in note for note in found.notes), said


@pytest.mark.parametrize("change,name,why", [
    (lambda rows: rows.drop(columns="words"), "length_correlation", "the log has no column 'words'"),
    (lambda rows: rows.drop(columns="grade"), "grade_correlation", "the log has no grades"),
    (lambda rows: rows.drop(columns="document_seconds"), "grade_correlation", "no column 'document_seconds'"),
    (lambda rows: rows.assign(words=7), "length_correlation", "have the same length, or took the same seconds"),
    (lambda rows: rows.assign(document_seconds=8.0 * rows["clicked"]), "grade_correlation", "the same seconds"),
    (lambda rows: rows.assign(words=rows["words"].where(rows.index.isin(rows.index[rows["clicked"]][:2]))),
     "length_correlation", "documents of known length have 2 views with known seconds, fewer than 3"),
    (lambda rows: rows.assign(clicked=False, saved=False, document_seconds=np.where(rows["rank"] == 0, 1, np.nan)),
     "length_correlation", "no column 'document_seconds'"),
    (lambda rows: rows.drop(columns="time"), "share_forward_clicks", "the order of clicks is unknown"),
    (lambda rows: rows.assign(time=3.0), "share_forward_clicks", "no session has two clicks at different known"),
])  # fmt: skip
def test_why_a_log_has_no_correlation_or_order_of_clicks(change, name, why):
    found = calibrate(change(SMALL.rows), shapes=(), resamples=20)
    assert name not in set(found.table["name"])
    assert why in found.missing[name]
    assert f"No {name}: " in str(found)
    refused(lambda: found[name], BadParameter, f"no {name}: ")


@pytest.mark.slow
def test_perfect_correlations_are_within_their_range(tmp_path):
    """Rounding does not give values beyond 1, which a file would not accept."""
    rows = SMALL.rows
    words = 1e6 + 300 * rows["document_seconds"].fillna(0)
    for sign in (1, -1):
        found = calibrate(rows.assign(words=np.where(sign > 0, words, words.max() - words)), shapes=(), resamples=20)
        assert found["length_correlation"].value == pytest.approx(sign)
        assert abs(found["length_correlation"].value) <= 1
        found.save(tmp_path / "calibration.json")
        assert Calibration.load(tmp_path / "calibration.json")["length_correlation"] == found["length_correlation"]


def without(*columns, **more):
    return calibrate(SMALL.rows.drop(columns=list(columns)), shapes=(), resamples=20, **more)


def test_without_lengths_reading_takes_the_mean_time_of_first_views():
    found = without("words")
    first = SMALL.rows[SMALL.rows["clicked"] & ~SMALL.rows["duplicate"]]
    assert found["seconds_per_word"].value == 0
    assert found["seconds_per_document"].value == pytest.approx(first["document_seconds"].mean())
    assert found.reading is None
    assert any("The log has no lengths" in note for note in found.notes)
    assert "seconds_per_word=0" in str(found.measure())
    refused(found.plot_reading_times, BadParameter, "no reading times to draw")


@pytest.mark.parametrize("columns,lacking,why", [
    (["saved"], ["p_save"], "no column 'saved'"),
    (["grade"], ["p_click_relevant", "p_click_nonrelevant", "p_save"], "no grades"),
    (["summary_seconds"], ["summary_seconds"], "no column 'summary_seconds'"),
    (["document_seconds"], ["seconds_per_word", "seconds_per_document"], "no column 'document_seconds'"),
    (["time", "summary_seconds"], ["half_life", "summary_seconds"], "no column 'time'"),
])  # fmt: skip
def test_what_a_log_lacks_is_absent_and_has_to_be_given(columns, lacking, why):
    found = without(*columns)
    assert [name for name in TBG_PARAMETERS if name not in found.parameters()] == lacking
    says = refused(found.measure, BadParameter, f"lacks {lacking[0]} ", why, f"calibration.measure({lacking[0]}=")
    assert "…" not in says
    refused(lambda: found[lacking[0]], BadParameter, why)
    given = {name: TABLE_1[name] / 2 for name in lacking}
    assert found.measure(**given).params.items() >= given.items()
    assert why in str(found)


def test_a_log_of_clicks_alone_still_has_its_rates():
    found = without("time", "summary_seconds", "document_seconds", "words", "seen", "saved", "duplicate", "cut_off")
    assert list(found.parameters()) == ["p_click_relevant", "p_click_nonrelevant"]
    nobody = calibrate(SMALL.rows.assign(clicked=False, saved=False, document_seconds=np.nan), shapes=(), resamples=20)
    assert nobody.parameters() == {}
    assert "no user clicked" in nobody.missing["summary_seconds"]


def test_nobody_who_leaves_leaves_no_half_life():
    found = calibrate(SMALL.rows.assign(cut_off=True), resamples=20)
    assert "are censored before their users left" in found.missing["half_life"]
    assert found.shapes == ()
    refused(found.plot_survival, BadParameter, "no half-life to draw")
    few = calibrate(SMALL, min_clicks=1000, resamples=20)
    assert "48 with fewer than 1000 clicks" in few.missing["half_life"]
    late = of_clicks({(f"u{n}", "s"): [(1, 0.0), (2, time)] for n, time in enumerate([80.0, 90.0, 95.0])})
    improper = calibrate(late, until="click", min_clicks=1, max_seconds=100, beyond="condition", resamples=20)
    assert "the rate of leaving decreases with time" in improper.missing["half_life"]


def test_one_user_has_values_and_no_intervals():
    one = calibrate(SMALL.only(SMALL.rows["user"] == "u0002"), resamples=20)
    assert np.isnan(one["summary_seconds"].low)
    assert np.isfinite(one["summary_seconds"].value)
    assert any("only one user" in note for note in one.notes)
    assert one.measure()


def test_what_is_left_out_is_counted():
    rows, few = SMALL.rows, SMALL.rows.groupby(["user", "session"])["clicked"].sum() < 5
    found = calibrate(InteractionLog(rows, excluded={"two users": 3}), shapes=(), resamples=20)
    assert found.excluded["from the log"] == {"two users": 3}
    assert found.excluded["from the half-life"] == {"fewer than 5 clicks": few.sum()}
    assert found.about["sessions"] == len(few)
    lacking = rows[rows["rank"] != 1].assign(summary_seconds=lambda left: left["summary_seconds"][::2])
    notes = " ".join(calibrate(lacking, resamples=10, shapes=()).notes)
    assert "lack rows above their last click" in notes
    assert "have no seconds on the summary" in notes


@pytest.mark.parametrize("asked,said", [
    (dict(depth="click"), "depth='click' is no choice of summaries. Near: 'clicked'"),
    (dict(until="clicks"), "until='clicks' is no time of leaving. Near: 'click'"),
    (dict(beyond="drop"), "beyond='drop' is no treatment"),
    (dict(min_clicks=0, until="click"), "1 or more with until='click'"),
    (dict(min_clicks=-1), "min_clicks=-1 must be a whole number"),
    (dict(shapes=["gamma"]), "no shape 'gamma'"),
    (dict(confidence=95), "confidence=95 must be between 0 and 1"),
    (dict(resamples=0), "resamples=0 must be a whole number"),
    (dict(rel=0), "rel=0 must be a grade above 0"),
    (dict(max_seconds=0), "max_seconds=0 must be above 0"),
    (dict(by="topics"), "no column 'topics' to group by. Near: 'topic'"),
    (dict(by={"u0000": "a"}), "no class for 11 users: 'u0001'"),
    (dict(by=3), "must be a column of the log, or a dict or Series"),
])  # fmt: skip
def test_what_cannot_be_asked_is_an_error(asked, said):
    refused(lambda: calibrate(SMALL, **asked), BadParameter, said)


def test_groups_do_not_split_sessions_and_every_user_has_a_class():
    refused(lambda: calibrate(SMALL, by="rank"), BadLog, "several values")
    unknown = dict.fromkeys(SMALL.users, "slow") | {"u0000": None}
    refused(lambda: calibrate(SMALL, by=unknown), BadLog, "have no value")


@pytest.mark.slow
def test_reaching_the_end_of_the_list_is_not_leaving():
    """Half of TBG's users would see more than 20 results, so most users reach the end of a list of 8."""
    rng = np.random.default_rng(0)
    words = {f"d{i}": int(rng.integers(50, 1500)) for i in range(8)}
    run = {f"t{t}": {f"d{i}": -float(r) for r, i in enumerate(rng.permutation(8))} for t in range(20)}
    qrels = {topic: {d: int(rng.random() < 0.4) for d in found} for topic, found in run.items()}
    log = simulated_log(qrels, run, TBG(lengths=words), users=60)
    asked = dict(depth="seen", min_clicks=0, resamples=200, shapes=())
    known = calibrate(log, **asked)["half_life"]
    unknown = InteractionLog.of(log.rows.drop(columns="cut_off"))
    wrong, told = calibrate(unknown, **asked), calibrate(unknown, last_rank=8, **asked)
    assert 224 in known
    assert 224 in told["half_life"]
    assert wrong["half_life"].high < 112
    assert any("end at rank 8, the deepest of the log" in note for note in wrong.notes)
    assert not any("the deepest of the log" in note for note in told.notes)
    assert told.about["last_rank"] == 8
    refused(lambda: calibrate(unknown, last_rank=0), BadParameter, "last_rank=0")


@pytest.mark.slow
def test_fits_that_are_undefined_or_far_better_are_named():
    """Sessions of 0 seconds; log-normal leaving times, with many short and a few long ones; exponential times."""

    def notes(last_clicks):
        rows = of_clicks({(f"u{n}", "s"): [(1, 0.0), (2, time)] for n, time in enumerate(last_clicks)})
        return " ".join(calibrate(rows, until="click", min_clicks=1, max_seconds=1e9, resamples=20).notes)

    at_once = notes([0, 0, 5, 8, 20, 60])
    assert "2 sessions last 0 seconds, where the density of Weibull and log-logistic and log-normal is 0" in at_once
    assert "seconds, where the density" not in notes([1, 2, 5, 8, 20, 60])
    rng = np.random.default_rng(0)
    assert "log-normal curve fits far better" in notes(np.exp(rng.normal(4, 1.5, 400)))
    assert "fits far better" not in notes(rng.exponential(300, 400))


@pytest.mark.slow
def test_fits_with_a_median_before_the_first_observed_time_are_named():
    """Heavy tails: from the third click on, the likelihood rises with ever more weight on the time before it."""
    rng = np.random.default_rng(1)
    rows = of_clicks(
        {(f"u{n}", "s"): [(1, 0.0), *enumerate(np.sort(1 + rng.pareto(0.4, 5)), start=2)] for n in range(300)}
    )
    found = calibrate(rows, until="click", max_seconds=1e9, min_clicks=2, resamples=10)
    early = {fit.shape for fit in found.shapes if fit.half_life < found.curve["seconds"].iloc[0]}
    assert early == {"Weibull"}
    assert any("have earlier medians, which are extrapolated: Weibull" in note for note in found.notes)


@pytest.mark.slow
def test_groups_are_calibrated_apart():
    found = calibrate(SMALL, by="topic", shapes=(), resamples=20)
    assert list(found) == ["t0", "t1", "t2", "t3"]
    alone = calibrate(SMALL.only(SMALL.rows["topic"] == "t2"), shapes=(), resamples=20)
    assert found["t2"].as_dict() == alone.as_dict()
    classes = pd.Series({f"u{number:04d}": "fast" if number < 5 else "slow" for number in range(12)}, name="speed")
    by_class = calibrate(SMALL, by=classes, shapes=(), resamples=20)
    assert {key: one.about["users"] for key, one in by_class.items()} == {"fast": 5, "slow": 7}
    by_dict = calibrate(SMALL, by=classes.to_dict(), shapes=(), resamples=20)
    assert by_dict["fast"].as_dict() == by_class["fast"].as_dict()
    assert "by speed" in str(by_class)
    assert "fast" in by_class._repr_html_()
    assert by_class.parameters.loc["slow", "half_life"] == by_class["slow"]["half_life"].value
    assert set(by_class.table["group"]) == {"fast", "slow"}


def test_a_calibration_is_a_measure():
    parameters = CALIBRATION.parameters()
    assert list(parameters) == TBG_PARAMETERS
    assert all(type(value) is float for value in parameters.values())
    measure = CALIBRATION.measure(cutoff=5)
    assert measure == TBG(**parameters, cutoff=5)
    assert ir_measures.parse_measure(str(measure)) == measure
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}
    first = parameters["p_click_relevant"] * parameters["p_save"]
    (scores,) = evaluate(qrels, run, [CALIBRATION.measure(lengths={"a": 100, "b": 20})]).to_numpy()
    assert scores[-1] == pytest.approx(first)
    assert CALIBRATION.measure().metric.gains(np.array([1])) == pytest.approx([first])
    graded = CALIBRATION.graded_measure()
    assert graded.metric.gains(np.array([1])) == pytest.approx([first])
    assert calibrate(SMALL, rel=2, shapes=(), resamples=20).parameters()["rel"] == 2


def test_a_grade_that_nobody_opened_has_to_be_given():
    rows = SMALL.rows.copy()
    rows.loc[(rows["rank"] == 1) & ~rows["clicked"], "grade"] = 2.0
    rows.loc[(rows["rank"] == 1) & rows["clicked"], "grade"] = 1.0
    found = calibrate(rows, shapes=(), resamples=20)
    refused(found.graded_measure, BadParameter, "seconds has no value for grade 2")
    assert found.graded_measure(seconds={0: 10, 1: 20, 2: 30}, p_save={1: 0.5, 2: 0.6})


def test_it_prints_as_table_1():
    text = str(CALIBRATION)
    assert text.startswith("Calibration of time-biased gain: 12 users, 48 sessions,")
    lines = text.splitlines()
    for name in TBG_PARAMETERS:
        estimate = CALIBRATION[name]
        row = next(one for one in lines if one.startswith(name + " "))
        assert f"{estimate.value:.3g} [{estimate.low:.3g}, {estimate.high:.3g}]" in " ".join(row.split())
    assert "half_life</span></th>" in CALIBRATION._repr_html_()
    refused(lambda: CALIBRATION["halflife"], BadParameter, "no parameter 'halflife'")
    refused(lambda: CALIBRATION["half_life", "pooled"], BadParameter, "has no estimate 'pooled'")


@pytest.mark.slow
def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "calibration.json"
    for one in (
        CALIBRATION,
        without("words", "saved", "time", "summary_seconds"),
        calibrate(SMALL.only(SMALL.rows["user"] == "u0001"), resamples=10),
    ):
        one.save(path)
        again = Calibration.load(path)
        assert again.as_dict() == one.as_dict()
        assert again.parameters() == one.parameters()
        assert str(again) == str(one)
        pd.testing.assert_frame_equal(again.table, one.table)
    assert json.loads(path.read_text())["about"]["package"]


def broken(place, value):
    """Return the content of a file with another value at a path of keys and indices."""
    content = json.loads(json.dumps(CALIBRATION.as_dict()))
    at = content
    *parts, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    for part in parts:
        at = at[part]
    at[last] = value
    return content


@pytest.mark.every_case
@pytest.mark.parametrize("content,said", [
    ("no json at all", "not valid JSON"),
    ([1, 2], "this is not a calibration"),
    ({"half_life": 224}, "this is not a calibration"),
    (broken("version", 2), "of version 2; this package reads version 1"),
    (broken("extra", 1), "extra is not a field of a calibration"),
    ({k: v for k, v in CALIBRATION.as_dict().items() if k != "table"}, "table is missing"),
    (broken("table", {}), "table must be of type list, not"),
    (broken("table.0.value", "224"), "table[0].value must be a number, not '224'"),
    (broken("table.0.value", None), "table[0]: half_life is nan, out of its range"),
    (broken("table.0.value", 0), "table[0]: half_life is 0, out of its range"),
    (broken("table.0", CALIBRATION.as_dict()["table"][0] | {"name": "p_save", "value": 1.5}), "p_save is 1.5, out of its range"),
    (broken("table.0", CALIBRATION.as_dict()["table"][0] | {"name": "grade_correlation", "value": -1.1}), "n is -1.1, out of"),
    (broken("table.0.name", "halflife"), "a calibration has no quantity 'halflife'. Near: 'half_life'"),
    (broken("table.1.used", True), "table[1]: half_life is used twice"),
    (broken("table.0.used", 1), "table[0].used must be of type bool"),
    (broken("table.0.n", 10**30), "table[0].n"),
    (broken("table.0.n", -5), "table[0].n"),
    (broken("table.0.low", 1e9), "table[0]"),
    (broken("about.seed", "0"), "about.seed must be of type int, not '0'"),
    (broken("about.last_rank", True), "about.last_rank"),
    (broken("about.users", -1), "about.users"),
    (broken("reading.extra", 1), "reading.extra is not a field of a calibration"),
    (broken("reading.slope", True), "reading.slope must be a number, not True"),
    (broken("shapes.0.parameters", ["x"]), "shapes.parameters must be a number, not 'x'"),
    (broken("shapes.0.parameters", []), "shapes"),
    (broken("shapes.0.shape", "odd"), "odd"),
    (broken("notes", [3]), "notes must be of type str"),
    (broken("excluded", {"from the log": []}), "excluded.from the log must be an object"),
    (broken("curve.0", {}), "curve[0].seconds is missing"),
])  # fmt: skip
def test_a_file_that_is_no_calibration_is_one_clear_error(tmp_path, content, said):
    path = tmp_path / "calibration.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert refused(lambda: Calibration.load(path), MalformedFile, said).startswith(str(path))


def test_what_cannot_be_read_is_no_calibration(tmp_path):
    path = tmp_path / "calibration.json"
    refused(lambda: Calibration.load(path), MalformedFile, "No such file")
    path.write_text("[" * 200_000)
    refused(lambda: Calibration.load(path), MalformedFile, "not valid JSON")


def test_points_of_reading_times_keep_the_means():
    rng = np.random.default_rng(1)
    words, seconds, again = rng.integers(10, 900, 317).astype(float), rng.exponential(20, 317), rng.random(317) < 0.2
    points = reading_points(np.where(words < 0, None, words), seconds, again)  # as objects
    for kind in (False, True):
        mine = points[points["duplicate"] == kind]
        assert mine["views"].sum() == (again == kind).sum()
        assert mine["views"].between(12, 18).all()
        assert np.average(mine["seconds"], weights=mine["views"]) == pytest.approx(seconds[again == kind].mean())
        assert mine["words"].is_monotonic_increasing
    assert (len(reading_points(*np.ones((3, 90_000)))), len(reading_points([], [], []))) == (300, 0)


@pytest.mark.slow
def test_progress_is_the_rank_reached_and_the_rank_predicted():
    log = InteractionLog.of(generated_log(31, users=4, sessions=2, duplicates=0.2, depth=12))
    moments = [0.0, 7.5, 60.0, 150.0, 400.0]
    table = progress(CALIBRATION, log, seconds=moments)
    a, b, T_S = (CALIBRATION[name].value for name in ("seconds_per_word", "seconds_per_document", "summary_seconds"))
    for moment, row in zip(moments, table.to_dict("records"), strict=True):
        observed, predicted = [], []
        for _, mine in log.rows.groupby(["user", "session"]):
            ends = mine["time"] + mine["document_seconds"].fillna(0)
            if ends.max() < moment:
                continue
            observed.append(1 + max(mine["rank"][ends <= moment], default=0))
            costs = []
            for one in mine.to_dict("records"):
                click = CALIBRATION["p_click_relevant" if one["grade"] >= 1 else "p_click_nonrelevant"].value
                costs.append(T_S + click * (a * (0 if one["duplicate"] else one["words"]) + b))
            rank, T = 1, 0.0
            while T + (cost := costs[rank - 1] if rank <= len(costs) else np.mean(costs)) <= moment:
                rank, T = rank + 1, T + cost
            predicted.append(rank)
        assert row["sessions"] == len(observed)
        if observed:
            assert row["observed"] == pytest.approx(np.mean(observed))
            assert row["predicted"] == pytest.approx(np.mean(predicted))
    assert table["sessions"].tolist() == [8, 8, 7, 6, 0]
    assert progress(CALIBRATION, log, by="topic", seconds=[0.0])["sessions"].sum() == 8
    by_precision = progress(CALIBRATION, log, by="precision", seconds=[0.0])
    assert by_precision["group"].str.startswith("precision 0.").all()
    assert by_precision["sessions"].sum() == 8


@pytest.mark.slow
def test_the_three_pictures_show_their_data():
    loaded = Calibration.from_dict(CALIBRATION.as_dict())
    ax, given = Figure().subplots(), Figure().subplots()
    assert (loaded.plot_reading_times(ax), loaded.plot_survival(given)) == (ax, given)
    assert (ax.get_xlim()[0], ax.get_ylim()[0]) == (0, 0)
    assert "12 users" in ax.get_title(loc="left")
    assert ax.lines[0].get_ydata()[0] == pytest.approx(CALIBRATION["seconds_per_document"].value)
    assert (given.get_xlim()[0], *given.get_ylim()) == (0, 0, 1.02)
    assert any("half-life" in text.get_text() for text in given.get_legend().get_texts())
    for by in (None, "topic", "precision"):
        title = loaded.plot_progress(SMALL, Figure().subplots(), by=by).get_title(loc="left")
        assert "48 sessions" in title
    refused(lambda: loaded.plot_progress(SMALL, by="topics"), BadParameter, "no by='topics'")
    assert loaded.plot_progress(generated_log(1, users=5, sessions=1), Figure().subplots()).lines


@pytest.mark.slow
@pytest.mark.real_data
def test_the_study_of_presentations_and_satisfaction(data):
    """CHIIR 2024, pooled: .663 and .351 saves a view, .385 and .225 clicks a result, of .353 and .199 clicked ones."""
    found = calibrate(chiir24_log(data / "chiir24-satisfaction"), depth="seen", shapes=(), resamples=200)
    printed = dict(p_save=0.663, p_save_nonrelevant=0.351, p_click_relevant=0.353, p_click_nonrelevant=0.199)
    for name, value in printed.items():
        pooled = found[name, "pooled"].value
        assert round(pooled, 3) == value
        assert found[name].value == pytest.approx(pooled, abs=0.03)  # the paper's weighting gives similar values
        assert pooled in found[name]
    for name, value in (("p_click_relevant", 0.385), ("p_click_nonrelevant", 0.225)):
        assert found[name, "clicks per result, all seen"].value == pytest.approx(value, abs=5e-4)
    assert found["seconds_per_word"].value == 0
    assert found.measure()
    assert found["grade_correlation"].value == pytest.approx(0.083, abs=5e-4)  # 0.274 in Jiang and Allan (2016)
    assert "no column 'words'" in found.missing["length_correlation"]
    assert "no column 'time'" in found.missing["share_forward_clicks"]


def test_a_file_has_the_fields_of_what_it_is_made_of():
    assert calibration_files.CURVES.keys() == SHAPES.keys()
    assert list(calibration_files._READING) == [field.name for field in fields(estimators.ReadingTimeLine)]
    assert list(calibration_files._FIT) == [field.name for field in fields(estimators.StayDistribution)]


LAWS_OF_USERS = {
    "exponential": "decay(90)",
    "Weibull": "weibull(0.7,120)",
    "log-logistic": "log_logistic(2,90)",
    "log-normal": "log_normal(1,90)",
    "hyperbolic": "hyperbolic(3,300)",
}


def log_of(C, seed=0, users=600):
    """Return a log of users who leave by this law, on one long ranking."""
    documents = [f"d{n}" for n in range(150)]
    qrels = {"q": {docno: n % 2 for n, docno in enumerate(documents)}}
    run = {"q": {docno: -float(n) for n, docno in enumerate(documents)}}
    measure = CWLA(C=C, A="etg", gain="clicksave", effort="time(2,0,5)", unseen=1)
    return simulated_log(qrels, run, measure, users=users, seed=seed, reading="exponential")


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("law", LAWS_OF_USERS)
def test_laws_of_leaving_are_recovered_from_simulated_logs(law):
    """The parameters of the fit are those of the continuation, in the same order."""
    C = parse(LAWS_OF_USERS[law], "continuation")
    found = calibrate(log_of(C), min_clicks=0, depth="seen", shapes=list(SHAPES), resamples=20)
    fit = found._fit_of(law)
    best = min(found.shapes, key=lambda other: other.aic)
    assert fit.aic <= best.aic + 2
    near_law = parse(fit.continuation, "continuation")
    assert near_law.name == C.name
    for t in (20, 60, 150, 300):
        shares = [score([0, 1], efforts=[t, 1], C=of, A="etg", unseen=1) for of in (C, near_law)]
        assert shares[1] == pytest.approx(shares[0], abs=0.06)
    if law == "exponential":
        assert near_law["half_life"] == fit.half_life == pytest.approx(found["half_life"].value)
    elif law != "hyperbolic":  # its two parameters are strongly correlated
        assert near_law["shape"] == pytest.approx(C["shape"], rel=0.15)
        assert near_law["scale"] == pytest.approx(C["scale"], rel=0.15)


@pytest.mark.slow
def test_a_calibration_is_a_measure_with_another_law():
    found = calibrate(log_of("weibull(0.7,120)"), min_clicks=0, depth="seen", shapes=["Weibull"], resamples=20)
    measure = found.measure(law="Weibull", cutoff=5, seconds_per_word=0.01, lengths={"a": 100, "b": 20})
    (fit,) = found.shapes
    assert measure.metric.C == parse(f"weibull{fit.parameters}", "continuation")
    usual = found.measure(cutoff=5, seconds_per_word=0.01, lengths={"a": 100, "b": 20})
    assert measure.metric == replace(usual.metric, C=measure.metric.C)
    assert measures_of([str(found.measure(law="Weibull", seconds_per_word=0.01))])
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    value, exponential = evaluate(qrels, run, [measure, usual]).iloc[0]
    assert value != exponential
    refused(lambda: found.measure(law="weibul"), BadParameter, "no law 'weibul' of leaving", "Weibull")
    words = "no fit of the hyperbolic distribution: give calibrate(…, shapes=['hyper"
    refused(lambda: found.measure(law="hyperbolic"), BadParameter, words)
    refused(lambda: found.measure(law="Weibull", half_life=3), BadParameter, "not both")
