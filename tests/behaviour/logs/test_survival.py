"""Tests of survival estimates (likelihoods, half-lives, observed curves) against closed forms, loops and scipy."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pyterrier_cwla.behaviour.logs.calibration_estimates import stays, stays_of_paper
from pyterrier_cwla.behaviour.logs.estimators import (
    SHAPES,
    Stays,
    fit,
    grid,
    half_life,
    log_likelihood,
    scores,
    survival_curve,
    zero_of_scores,
)
from pyterrier_cwla.behaviour.logs.log import InteractionLog
from pyterrier_cwla.errors import BadLog, BadParameter
from tests.support.generated_logs import generated_log
from tests.support.messages import refused

LN2 = math.log(2)


def mixed(seed=3, n=400, limit=np.inf, entries=True, scale=300.0):
    """Generate stays with exact, interval-censored and right-censored times; some are left-truncated."""
    rng = np.random.default_rng(seed)
    time = rng.exponential(scale, 6 * n)
    entry = rng.uniform(0, 100, 6 * n) * entries
    time, entry = (values[(time > entry) & (time < limit)][:n] for values in (time, entry))
    between = rng.random(n) < 0.5
    lower = np.where(between, np.maximum(np.floor(time / 25) * 25, entry), time)
    upper = np.where(between, np.minimum(np.floor(time / 25) * 25 + 25, limit), time)
    if not np.isfinite(limit):  # right-censored stays only without a limit: their true length might exceed it
        cut = entry + rng.exponential(3 * scale, n)
        lower, upper = np.where(cut < time, cut, lower), np.where(cut < time, np.inf, upper)
    return Stays.from_seconds(lower, upper, entry, limit, user=np.arange(n) % 40)


@pytest.mark.parametrize("limit", [np.inf, 500.0])
def test_scores_are_the_derivative_of_the_log_likelihood(limit):
    sample = mixed(limit=limit)
    for h in (50.0, 200.0, 800.0):
        step = 1e-5
        up, down = (log_likelihood(sample, "exponential", [h * math.exp(s) / LN2]) for s in (-step, step))
        assert scores(sample, h).sum() == pytest.approx((up - down) / (2 * step), rel=1e-5)
    best = half_life(sample)
    assert scores(sample, best).sum() == pytest.approx(0, abs=1e-9 * abs(scores(sample, 2 * best).sum()))
    near = [log_likelihood(sample, "exponential", [best * factor / LN2]) for factor in (0.99, 1, 1.01)]
    assert max(near) == near[1]


def test_no_half_life_without_leavers_or_of_improper_stays():
    assert np.isnan(half_life(Stays.from_seconds([10, 20], [np.inf, np.inf])))
    assert np.isnan(half_life(Stays.from_seconds([], [])))
    truncated = Stays.from_seconds([80.0, 90.0, 95.0], limit=100)  # the mean of times below 100 is below 50
    assert np.isnan(half_life(truncated))
    assert np.isfinite(half_life(Stays.from_seconds([10.0, 30.0, 95.0], limit=100)))


def test_half_life_of_a_resample_is_that_of_its_sessions():
    sample = mixed(limit=500.0)
    at, of_users = grid(sample, 40, half_life(sample))
    rng = np.random.default_rng(5)
    times = rng.multinomial(40, np.full(40, 1 / 40), 25)  # number of times that each user is drawn
    found = zero_of_scores(at, of_users @ times.T)
    for drawn, h in zip(times, found, strict=True):
        rows = np.concatenate([np.flatnonzero(sample.user == u) for u, many in enumerate(drawn) for _ in range(many)])
        again = Stays.from_seconds(sample.lower[rows], sample.upper[rows], sample.entry[rows], sample.limit[rows])
        assert h == pytest.approx(half_life(again), rel=2e-3)
    no_event, rising = [-1.0, 1.0, -1.0], [-0.5, 2.0, 3.0]
    found = zero_of_scores(np.array([100.0, 200.0]), np.array([no_event, rising]))
    assert found.tolist() == pytest.approx([np.inf, 0.0, 100 * 2**0.25])


def plain_log_likelihood(sample, shape, parameters):
    """Compute the log-likelihood in loops, from the textbook survival functions."""
    *more, scale = parameters
    c = more[0] if more else None
    survival = {
        "exponential": lambda t: math.exp(-t / scale),
        "Weibull": lambda t: math.exp(-((t / scale) ** c)),
        "log-logistic": lambda t: 1 / (1 + (t / scale) ** c),
        "log-normal": lambda t: 0.5 * math.erfc(math.log(t / scale) / c / math.sqrt(2)) if t > 0 else 1.0,
        "hyperbolic": lambda t: (1 + t / scale) ** -c,
    }[shape]
    total = 0.0
    for low, high, entry, limit in zip(sample.lower, sample.upper, sample.entry, sample.limit, strict=True):
        gone = survival(high) if math.isfinite(high) else 0.0
        if low == high:  # density, as the derivative of S
            total += math.log((survival(low - 1e-3) - survival(low + 1e-3)) / 2e-3)
        else:
            total += math.log(survival(low) - gone)
        total -= math.log(survival(entry) - (survival(limit) if math.isfinite(limit) else 0.0))
    return total


@pytest.mark.parametrize("limit", [np.inf, 500.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_log_likelihoods_follow_the_definition(shape, limit):
    sample = mixed(n=60, limit=limit)
    parameters = [250.0] if shape == "exponential" else [1.3, 250.0]
    expected = plain_log_likelihood(sample, shape, parameters)
    assert log_likelihood(sample, shape, parameters) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:divide by zero")  # raised inside scipy's optimiser
@pytest.mark.parametrize("shape", SHAPES)
def test_fits_are_those_of_scipy_where_scipy_has_them(shape):
    """scipy fits interval-censored and right-censored times, but no late entries and no limits."""
    rng = np.random.default_rng(8)
    made_by = stats.lomax(1.5, scale=200) if shape == "hyperbolic" else stats.fisk(1.8, scale=200)
    time = made_by.rvs(300, random_state=rng)
    there = time > 600
    between = ~there & (rng.random(300) < 0.5)
    lower = np.where(there, 600, np.where(between, np.floor(time / 30) * 30, time))
    upper = np.where(there, np.inf, np.where(between, np.floor(time / 30) * 30 + 30, time))
    sample = Stays.from_seconds(lower, upper)
    distribution = getattr(stats, SHAPES[shape])
    data = stats.CensoredData(time[~there & ~between], right=lower[there], interval=np.c_[lower, upper][between])
    *start, _, scale = distribution.fit(data, floc=0)
    found = fit(sample, shape)
    assert found.log_likelihood >= log_likelihood(sample, shape, [*start, scale]) - 1e-6
    assert found.parameters == pytest.approx((*start, scale), rel=2e-3)
    assert found.half_life == pytest.approx(distribution(*start, scale=scale).median(), rel=2e-3)
    assert found.aic == pytest.approx(2 * len(found.parameters) - 2 * found.log_likelihood)


@pytest.mark.parametrize("shape", SHAPES)
def test_stays_of_0_seconds_need_a_finite_density_at_0(shape):
    sample = Stays.from_seconds([0, 1, 5, 20, 30])
    finite = np.isfinite(getattr(stats, SHAPES[shape])(*[2.0] * (shape != "exponential")).logpdf(0))
    found = fit(sample, shape)
    assert np.isfinite(found.parameters).all() == finite
    if not finite:
        refused(lambda: print(found.continuation), BadParameter, "min_clicks=1")


def test_late_entries_give_the_product_over_those_at_risk():
    sample = mixed(n=150)
    curve = survival_curve(sample)
    time = [(lo + up) / 2 if math.isfinite(up) else lo for lo, up in zip(sample.lower, sample.upper, strict=True)]
    share = 1.0
    begin = curve.seconds.iloc[0]
    expected = {begin: 1.0}
    for t in sorted({t for t, left in zip(time, sample.left, strict=True) if left and t > begin}):
        at_risk = sum(entry <= t <= end for entry, end in zip(sample.entry, time, strict=True))
        gone = sum(left and end == t for left, end in zip(sample.left, time, strict=True))
        share *= 1 - gone / at_risk
        expected[t] = share
    assert curve.seconds.tolist() == pytest.approx(list(expected))
    assert curve.share.tolist() == pytest.approx(list(expected.values()))
    assert curve.at_risk.min() >= 0
    assert fit(mixed(entries=False)).distance < 0.06


def log_of(*items, cut_off=False):
    """Build a log of one session from (clicked, time, document_seconds) of each result."""
    rows = pd.DataFrame(items, columns=["clicked", "time", "document_seconds"]).astype({"document_seconds": float})
    rank = rows.index + 1
    return InteractionLog.of(
        rows.assign(user="u", session="s", topic="t", rank=rank, docno=rank.astype(str), cut_off=cut_off)
    )


ITEMS = ((True, 5.0, 20.0), (False, 28.0, None), (True, 33.0, 40.0), (True, 80.0, 10.0), (False, 95.0, None))


def one(log, **asked):
    found = stays(log, **asked)
    assert len(found) == 1
    return (found.lower[0], found.upper[0], found.entry[0], found.limit[0])


@pytest.mark.parametrize(("items", "cut_off", "asked", "expected"), [
    (ITEMS, False, dict(until="end"), (90, 95, 0, np.inf)),  # at the last item or click
    (ITEMS, False, dict(until="click", min_clicks=1), (80, 80, 5, np.inf)),
    ((*ITEMS, (False, 95 + 1e-9, None)), False, dict(until="end"), (95, 95, 0, np.inf)),  # a rounding error
    (ITEMS[:4], False, dict(until="end"), (73, 90, 0, np.inf)),
    ((*ITEMS[:3], (True, 80.0, None)), False, dict(until="end"), (80, 80, 0, np.inf)),
    ((*ITEMS[:4], (False, None, None)), False, dict(min_clicks=1), (73, 90, 0, np.inf)),
    (ITEMS, False, dict(until="click", min_clicks=2), (80, 80, 33, np.inf)),  # entry with the last click that is needed
    (ITEMS, False, dict(until="end", min_clicks=2), (90, 95, 28, np.inf)),  # the previous item was left, this one reached
    (ITEMS, True, dict(until="end"), (95, np.inf, 0, np.inf)),  # censored, because cut off
    (ITEMS, True, dict(until="click", min_clicks=1), (80, np.inf, 5, np.inf)),
    (ITEMS, False, dict(max_seconds=60, beyond="censor"), (60, np.inf, 0, np.inf)),
    (ITEMS, False, dict(max_seconds=92, beyond="censor"), (90, 95, 0, np.inf)),
    (ITEMS, False, dict(max_seconds=100, beyond="condition"), (90, 95, 0, 100)),
    (ITEMS, True, dict(max_seconds=100, beyond="condition"), (95, np.inf, 0, np.inf)),  # may have stayed longer than 100 s
])  # fmt: skip
@pytest.mark.every_case
def test_when_users_enter_and_leave(items, cut_off, asked, expected):
    assert one(log_of(*items, cut_off=cut_off), **{"min_clicks": 0, **asked}) == expected


@pytest.mark.parametrize(("items", "asked", "reason"), [
    (ITEMS, dict(min_clicks=4), "fewer than 4 clicks"),
    (ITEMS, dict(min_clicks=0, max_seconds=60, beyond="condition"), "more than 60 seconds"),
    (ITEMS, dict(min_clicks=0, max_seconds=60, beyond="exclude"), "more than 60 seconds"),
    (ITEMS, dict(min_clicks=3, max_seconds=50), "more than 50 seconds before click 3"),
    ((ITEMS[0], (True, None, 4.0)), dict(min_clicks=1), "a click at an unknown time"),
])  # fmt: skip
@pytest.mark.every_case
def test_sessions_that_are_left_out(items, asked, reason):
    found = stays(log_of(*items), **asked)
    assert (len(found), found.excluded) == (0, {reason: 1})
    paper = stays_of_paper(log_of(*ITEMS), min_clicks=3)  # from the beginning
    assert (paper.lower[0], paper.upper[0], paper.entry[0], paper.limit[0]) == (80.0, 80.0, 0.0, np.inf)


@pytest.mark.slow
def test_ranks_out_of_order_are_taken_in_time():
    shuffled = log_of(ITEMS[3], ITEMS[0], ITEMS[4], ITEMS[2], ITEMS[1])
    for until, clicks in product(("end", "click"), (1, 2, 3)):
        assert one(shuffled, until=until, min_clicks=clicks) == one(log_of(*ITEMS), until=until, min_clicks=clicks)


def test_without_times_seconds_add_up_down_the_list():
    timed = generated_log(5, users=6, sessions=3)
    user = stays(InteractionLog.of(generated_log(6, users=4, sessions=2, half_life=2000.0)), min_clicks=0).user
    assert user.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    found, added = (stays(InteractionLog.of(frame)) for frame in (timed, timed.drop(columns="time")))
    for name in ("lower", "upper", "entry"):
        assert getattr(added, name) == pytest.approx(getattr(found, name))
    untimed = InteractionLog.of(timed.drop(columns=["time", "document_seconds"]))
    refused(lambda: stays(untimed), BadLog, "no column 'time'")


def test_what_is_no_stay_or_shape():
    refused(lambda: fit(Stays.from_seconds([1, 2]), "weibul"), BadParameter, "no shape 'weibul'")
    refused(lambda: Stays.from_seconds([10], [5]), BadParameter, "entry ≤ lower ≤ upper ≤ limit")
