"""Tests of observed continuation probabilities C(i), from views and from last clicks."""

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import score
from pyterrier_cwla.behaviour.logs.adapters import chiir24_log
from pyterrier_cwla.behaviour.logs.log import InteractionLog
from pyterrier_cwla.behaviour.logs.observed_browsing import (
    continuing_from_last_clicks,
    continuing_from_views,
    plot_continuing,
)
from pyterrier_cwla.errors import BadLog, BadParameter
from tests.support.messages import refused


def seen_to(depths, cut=(), clicked=None, users=None):
    """Build a log with one session per depth; the sessions in ``cut`` are cut off at their last rank."""
    rows = []
    for number, depth in enumerate(depths):
        for rank in range(1, depth + 1):
            click = rank in clicked[number] if clicked else False
            rows.append(dict(user=f"u{number % (users or len(depths))}", session=f"s{number}", topic="t", rank=rank, docno=f"d{rank}",
                             clicked=click, grade=float(rank % 2), cut_off=number in cut))  # fmt: skip
    return InteractionLog.of(rows)


def by_loops(depths, kept):
    """Compute C rank by rank: users who continued, of those who were observed to continue or leave."""
    table = {}
    for rank in range(1, max(depths) + 1):
        at_risk = on = 0
        for depth, censored in zip(depths, kept):
            if depth > rank:
                at_risk, on = at_risk + 1, on + 1
            elif depth == rank and not censored:
                at_risk += 1
        if at_risk:
            table[rank] = (at_risk, at_risk - on, on / at_risk)
    return table


def rows_of(found):
    table = found.table
    return dict(zip(table["rank"], zip(table["at_risk"], table["left"], table["C"])))


def test_from_views_against_loops():
    rng = np.random.default_rng(0)
    depths = rng.geometric(0.3, 80).clip(max=8).tolist()
    cut = {*rng.choice(80, 15, replace=False).tolist()}
    log = seen_to(depths, cut, users=20)
    assert rows_of(continuing_from_views(log, resamples=50)) == by_loops(depths, [k in cut for k in range(80)])
    ended = [k in cut or depth == 8 for k, depth in enumerate(depths)]
    found = continuing_from_views(log, last_rank=8, resamples=50)
    assert rows_of(found) == by_loops(depths, ended)
    assert f"{sum(ended)} sessions were interrupted or reached the end of their list" in " ".join(found.notes)


def test_the_share_that_is_there_is_that_of_kaplan_and_meier():
    """Against statsmodels: ΠC(j) is the survival function of the depth, censored where sessions were cut off."""
    api = pytest.importorskip("statsmodels.duration.api")
    rng = np.random.default_rng(1)
    depths = rng.geometric(0.2, 100)
    cut = set(np.flatnonzero(rng.random(100) < 0.3).tolist())
    found = continuing_from_views(seen_to(depths.tolist(), cut), resamples=20).table
    left = np.array([k not in cut for k in range(100)])
    curve = api.SurvfuncRight(depths - 0.5 * ~left, left)  # censored before leaving the last rank
    survival = dict(zip(found["rank"], found["C"].cumprod()))
    for rank, share in zip(curve.surv_times, curve.surv_prob):
        assert survival[rank] == pytest.approx(share)


def test_from_last_clicks_against_loops():
    rng = np.random.default_rng(2)
    clicked = [{*rng.choice(10, rng.integers(0, 4), replace=False).tolist()} - {0} for _ in range(60)]
    found = continuing_from_last_clicks(seen_to([9] * 60, clicked=clicked), resamples=20)
    last = [max(ranks) for ranks in clicked if ranks]
    assert rows_of(found) == by_loops(last, [False] * len(last))
    assert found.sessions == len(last)
    assert f"{60 - len(last)} of 60 sessions are excluded: they have no clicks" in " ".join(found.notes)
    assert "too low" in found.notes[0]
    assert found.table["C"].iloc[-1] == 0
    censored = continuing_from_last_clicks(seen_to([9] * 60, clicked=clicked), last_rank=9, resamples=20).table
    assert 9 not in censored["rank"].tolist()


def test_ranks_without_rows_were_passed_and_unseen_ones_do_not_count():
    log = seen_to([1, 2, 4, 4])
    gaps = continuing_from_views(log.only(log.rows["rank"] != 3), resamples=20)
    assert rows_of(gaps) == rows_of(continuing_from_views(log, resamples=20))
    rows = seen_to([4] * 4).rows
    shown = rows.assign(seen=rows["rank"] <= rows["session"].map({"s0": 1, "s1": 2, "s2": 4, "s3": 4}))
    assert rows_of(continuing_from_views(shown, resamples=20)) == rows_of(gaps)


@pytest.mark.slow
def test_who_goes_on_with_08_is_found_and_bounded():
    hits = 0
    for seed in range(60):
        depths = np.random.default_rng(seed).geometric(0.2, 400).clip(max=20).tolist()
        table = continuing_from_views(seen_fast(depths), last_rank=20, resamples=200).table.head(5)
        hits += ((table["low"] <= 0.8) & (table["high"] >= 0.8)).sum()
    assert hits >= 0.9 * 60 * 5


def seen_fast(depths):
    session = np.repeat(np.arange(len(depths)), depths)
    rank = np.arange(len(session)) - np.repeat(np.cumsum(depths) - depths, depths) + 1
    return InteractionLog.of(pd.DataFrame({
        "user": np.char.add("u", (session % 100).astype(str)), "session": np.char.add("s", session.astype(str)), "topic": "t",
        "rank": rank, "docno": np.char.add("d", rank.astype(str)), "clicked": False,
    }))  # fmt: skip


def test_smoothing_draws_ranks_with_few_sessions_to_the_mean():
    found = continuing_from_views(seen_to([1, 1, 2, 3, 3, 5]), prior=4, resamples=20).table
    mean = (found["at_risk"] - found["left"]).sum() / found["at_risk"].sum()
    for row in found.itertuples():
        assert row.smoothed == pytest.approx((row.at_risk - row.left + 4 * mean) / (row.at_risk + 4))
    plain = continuing_from_views(seen_to([1, 1, 2, 3, 3, 5]), prior=0, resamples=20).table
    assert plain["smoothed"].tolist() == plain["C"].tolist()


def test_what_was_found_is_a_continuation():
    found = continuing_from_views(seen_to([1, 2, 3, 3]), last_rank=3, prior=0, resamples=20)
    assert found.spec() == "fixed(0.75, 0.6667)"
    assert found.spec(1) == "fixed(0.75)"
    assert score([1, 1, 1], C=found.spec(), A="etg") == pytest.approx(1 + 0.75 + 0.75 * 0.6667)


def test_what_a_log_cannot_tell_is_an_error():
    words = "the last clicks of the log contain no continuation and no end of a session"
    refused(lambda: continuing_from_last_clicks(seen_to([2, 3])), BadLog, words)
    refused(lambda: continuing_from_views(seen_to([1, 1]), last_rank=1), BadLog, "the views of the log contain no cont")
    deep = "last_rank=2: the log has sessions that go down to rank 3"
    refused(lambda: continuing_from_views(seen_to([1, 3]), last_rank=2), BadParameter, deep)
    refused(lambda: continuing_from_views(seen_to([1, 3]), prior=-1), BadParameter, "prior=-1")


def test_the_picture_has_the_continuations_of_metrics_beside_it():
    found = continuing_from_views(seen_to([1, 2, 3, 3, 4]), resamples=20)
    ax = plot_continuing(found, ["RBP(p=0.8,rel=1)", "AdaptiveERR(max_rel=1)"], depth=4)
    lines = {line.get_color(): line.get_ydata() for line in ax.lines}
    assert any(np.allclose(values, 0.8) for values in lines.values() if len(values) == 4)
    # Grades 1, 0, 1, 0 from rank 1: users of ERR continue from ranks 1 and 3 with probability 1/2.
    V = np.array([[1, 0.5, 0.5, 0.25, 0.25]] * 3 + [[1, 0.5, 0.5, 0.5, 0.5], [1, 0.5, 0.5, 0.5, 0.5]]).mean(axis=0)
    assert any(np.allclose(values, V[1:] / V[:-1]) for values in lines.values() if len(values) == 4)
    assert ax.get_xlabel() == "rank (documents)"
    assert "5 sessions of 5 users" in " ".join(ax.get_title(loc="left").split())


@pytest.mark.slow
@pytest.mark.real_data
def test_users_of_a_study_leave_where_a_page_ends(data):
    """Result pages in the study have about 5 results; few users leave within a page."""
    log = chiir24_log(data / "chiir24-satisfaction")
    C = continuing_from_views(log, last_rank=50, resamples=50).table.set_index("rank")["C"]
    assert max(C[5], C[10], C[15]) < 0.9 < 0.95 < min(C[1], C[6], C[11], C[16])
    last = continuing_from_last_clicks(log, last_rank=50, resamples=50)
    assert last.sessions == 1230
