"""Continuation probabilities C(i) and efforts by grade that logs show: Jiang and Allan (2016), Eq. 6 and Table 2."""

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import CWLA, evaluate, score
from pyterrier_cwla.behaviour.logs.adapters import chiir24_log
from pyterrier_cwla.behaviour.logs.calibration import calibrate
from pyterrier_cwla.behaviour.logs.log import InteractionLog
from pyterrier_cwla.behaviour.logs.observed_browsing import (
    continuing_from_last_clicks,
    continuing_from_views,
    grade_efforts,
    plot_continuing,
    plot_grade_efforts,
)
from pyterrier_cwla.errors import BadLog, BadParameter
from pyterrier_cwla.model import parse
from tests.support.messages import refused

TABLE_2 = {0: (0.26, 20.6, 9.8), 1: (0.50, 37.1, 23.0), 2: (0.55, 60.3, 37.6)}


def seen_to(depths, cut=(), clicked=None, users=None):
    """Build a log with one session per depth; the sessions in ``cut`` are cut off at their last rank."""
    session = np.repeat(np.arange(len(depths)), depths)
    rank = np.arange(len(session)) - np.repeat(np.cumsum(depths) - depths, depths) + 1
    rows = pd.DataFrame({"session": session, "rank": rank, "topic": "t", "grade": rank % 2.0})
    return InteractionLog.of(rows.assign(
        user="u" + (rows["session"] % (users or len(depths))).astype(str), docno="d" + rows["rank"].astype(str),
        clicked=[bool(clicked) and r in clicked[s] for s, r in zip(session.tolist(), rank.tolist())],
        cut_off=rows["session"].isin(list(cut)), session="s" + rows["session"].astype(str),
    ))  # fmt: skip


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


def test_from_last_clicks_against_loops():
    rng = np.random.default_rng(2)
    clicked = [{*rng.choice(10, rng.integers(0, 4), replace=False).tolist()} - {0} for _ in range(60)]
    found = continuing_from_last_clicks(seen_to([9] * 60, clicked=clicked), resamples=20)
    last = [max(ranks) for ranks in clicked if ranks]
    assert rows_of(found) == by_loops(last, [False] * len(last))
    assert found.sessions == len(last)
    assert repr(found).startswith("C(i) from ")
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
        table = continuing_from_views(seen_to(depths, users=100), last_rank=20, resamples=200).table.head(5)
        hits += ((table["low"] <= 0.8) & (table["high"] >= 0.8)).sum()
    assert hits >= 0.9 * 60 * 5


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


def test_logs_that_contain_no_continuation():
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


def table_2(summaries=False):
    """Generate 20 users who saw 100 results of each of three grades, with click rates and times of the paper's Table 2."""
    rows = []
    for user in range(20):
        longer = 1 + 0.5 * (-1) ** user  # pairs of users, one slower and one faster than the mean
        for grade, (share, seconds, _) in TABLE_2.items():
            for k in range(100):
                clicked = k < round(100 * share)
                row = dict(user=f"u{user:02}", session=f"g{grade}", topic="t", rank=k + 1, docno=f"d{grade}-{k}", grade=grade,
                           clicked=clicked, document_seconds=seconds * longer if clicked else None)  # fmt: skip
                rows.append(row | ({"summary_seconds": 440.0 if k == 0 else None} if summaries else {}))
    return InteractionLog.of(rows)


def test_the_numbers_of_the_papers_table_2():
    efforts = grade_efforts(table_2(), summary_seconds=4.4)
    for row in efforts.table.itertuples():
        share, seconds, total = TABLE_2[row.grade]
        assert row.t_summary == 4.4
        assert row.P_click == pytest.approx(share, abs=1e-12)
        assert row.t_click == pytest.approx(seconds, abs=1e-9)
        assert row.t == pytest.approx(4.4 + share * seconds, abs=1e-9)
        assert row.t == pytest.approx(total, abs=0.0501)  # printed in the paper: 9.756, 22.95 and 37.565
    assert efforts.table["relative"].round(2).tolist() == [0.26, 0.61, 1.0]
    assert efforts.by_grade(2) == "by_grade({0: 0.26, 1: 0.61, 2: 1})"
    numbers = "p_click={0: 0.26, 1: 0.5, 2: 0.55}, seconds={0: 20.6, 1: 37.1, 2: 60.3}"
    assert efforts.grade_time(2) == f"grade_time(summary_seconds=4.4, {numbers})"
    assert parse(efforts.grade_time(), "effort") == parse("grade_time", "effort")  # the defaults are this table


def test_they_are_efforts_of_metrics():
    efforts = grade_efforts(table_2(), summary_seconds=4.4)
    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    measure = CWLA(C="prec(3)", A="effort", end="stop", gain="binary")
    measures = [measure(effort=effort) for effort in (efforts.by_grade(), efforts.grade_time())]
    scores = evaluate(qrels, run, measures).iloc[0].tolist()
    assert scores[1] == pytest.approx(37.565 + 22.95 + 9.756, abs=1e-9)
    assert scores[0] == pytest.approx(scores[1] / 37.565, abs=1e-3)


@pytest.mark.slow
def test_the_seconds_on_summaries_are_those_of_the_calibration():
    log = table_2(summaries=True)
    efforts = grade_efforts(log)
    assert efforts.summary_seconds.value == pytest.approx(4.4)
    assert efforts.summary_seconds.n == 6000
    calibrated = calibrate(log, depth="seen", resamples=20)["summary_seconds"].value
    assert efforts.summary_seconds.value == pytest.approx(calibrated)
    assert efforts.total[2].value == pytest.approx(37.565)


def test_intervals_are_those_of_resampled_users():
    log = table_2()
    efforts = grade_efforts(log, summary_seconds=4.4, resamples=4000)
    rng = np.random.default_rng(0)
    # 10 users read for 1.5 times the mean, 10 for half of it; all have the same clicks
    drawn = 1 + 0.5 * (2 * rng.binomial(20, 0.5, 20000) / 20 - 1)
    for grade, (share, seconds, _) in TABLE_2.items():
        ends = 4.4 + share * seconds * np.quantile(drawn, [0.025, 0.975])
        assert [efforts.total[grade].low, efforts.total[grade].high] == pytest.approx(ends, rel=0.03)
        assert efforts.p_click[grade].low == pytest.approx(share)
    assert np.isnan(efforts.summary_seconds.low)
    assert np.isnan(efforts.relative[2].low)
    assert efforts.relative[0].low < efforts.relative[0].value < efforts.relative[0].high
    assert efforts.users == 20


@pytest.mark.slow
def test_only_what_was_seen_counts_and_what_is_unknown_is_said():
    rows = table_2().rows
    seen = rows.assign(seen=rows["clicked"] | (rows["rank"] <= 70))
    efforts = grade_efforts(InteractionLog.of(seen), summary_seconds=4.4, resamples=20)
    assert efforts.p_click[1].value == pytest.approx(50 / 70)
    seconds, grades = rows["document_seconds"].mask(rows["rank"] == 1), rows["grade"].mask(rows["docno"] == "d1-99")
    unknown = rows.assign(document_seconds=seconds, grade=grades)
    told = grade_efforts(InteractionLog.of(unknown), summary_seconds=4.4, resamples=20)
    assert "20 seen results are unjudged and contribute only to t_summary" in told.notes
    assert "60 clicked results have no seconds and contribute only to P_click" in told.notes
    assert told.p_click[1].value == pytest.approx(50 / 99)
    assert told.seconds[1].value == pytest.approx(37.1)


@pytest.mark.slow
def test_logs_that_contain_no_efforts():
    rows = table_2().rows
    refused(lambda: grade_efforts(table_2()), BadLog, "give summary_seconds=")
    refused(lambda: grade_efforts(rows.drop(columns="grade"), 4.4), BadLog, "no column 'grade'")
    refused(lambda: grade_efforts(rows.drop(columns="document_seconds"), 4.4), BadLog, "no 'document_seconds'")
    high = rows["grade"] == 2
    unclicked = rows.assign(clicked=rows["clicked"] & ~high, document_seconds=rows["document_seconds"].mask(high))
    refused(lambda: grade_efforts(unclicked, 4.4), BadLog, "no clicked result of grade 2 has seconds")
    refused(lambda: grade_efforts(table_2(), summary_seconds=-1), BadParameter, "summary_seconds=-1")
    assert grade_efforts(table_2(), summary_seconds=0, resamples=2).summary_seconds.value == 0
    unseen = rows.assign(seen=rows["clicked"])
    refused(lambda: grade_efforts(unseen.assign(grade=unseen["grade"].mask(unseen["seen"])), 4.4), BadLog,
            "no result that was seen has a grade")  # fmt: skip
    apart = unseen.assign(summary_seconds=np.where(unseen["seen"], np.nan, 3.0), session=unseen["seen"].astype(str))
    apart = apart.assign(rank=np.arange(len(apart)) + 1, docno="d" + apart.index.astype(str))
    refused(lambda: grade_efforts(apart), BadLog, "give summary_seconds=")


@pytest.mark.slow
def test_the_picture_names_seconds_and_shares():
    ax = plot_grade_efforts(grade_efforts(table_2(), summary_seconds=4.4, resamples=50))
    texts = [text.get_text() for text in ax.texts]
    assert {"9.8 s (0.26)", "37.6 s (1.00)", "summary"} <= {*texts}  # 22.95 s may be rounded up or down
    assert {"22.9 s (0.61)", "23.0 s (0.61)"} & {*texts}
    assert ax.get_ylabel() == "effort (seconds)"
    assert "20 users" in " ".join(ax.get_title(loc="left").split())


@pytest.mark.slow
@pytest.mark.real_data
def test_users_of_a_study(data):
    """Result pages have about 5 results, and few users leave within a page. Relevant documents have a higher effort."""
    log = chiir24_log(data / "chiir24-satisfaction")
    C = continuing_from_views(log, last_rank=50, resamples=50).table.set_index("rank")["C"]
    assert max(C[5], C[10], C[15]) < 0.9 < 0.95 < min(C[1], C[6], C[11], C[16])
    assert continuing_from_last_clicks(log, last_rank=50, resamples=50).sessions == 1230
    efforts = grade_efforts(log, summary_seconds=4.4)
    assert [efforts.p_click[grade].value for grade in (0, 1)] == pytest.approx([0.199, 0.353], abs=5e-4)
    assert efforts.relative[0].high < 1
