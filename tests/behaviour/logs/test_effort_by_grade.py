"""Tests of effort vectors estimated from logs: Jiang and Allan (2016), Eq. 6 and Table 2."""

import numpy as np
import pytest

from pyterrier_cwla import CWLA, evaluate
from pyterrier_cwla.behaviour.logs.adapters import chiir24_log
from pyterrier_cwla.behaviour.logs.calibration import calibrate
from pyterrier_cwla.behaviour.logs.log import InteractionLog
from pyterrier_cwla.behaviour.logs.observed_browsing import grade_efforts, plot_grade_efforts
from pyterrier_cwla.errors import BadLog, BadParameter
from pyterrier_cwla.model import parse
from tests.support.messages import refused

TABLE_2 = {0: (0.26, 20.6, 9.8), 1: (0.50, 37.1, 23.0), 2: (0.55, 60.3, 37.6)}


def table_2(summaries=False):
    """Generate 20 users who saw 100 results of each of three grades, with click rates and times of the paper's Table 2."""
    rows = []
    for user in range(20):
        for grade, (share, seconds, _) in TABLE_2.items():
            clicks = round(100 * share)
            for k in range(100):
                longer = 1 + 0.5 * (-1) ** user  # pairs of users, one slower and one faster than the mean
                row = dict(user=f"u{user:02}", session=f"g{grade}", topic="t", rank=k + 1, docno=f"d{grade}-{k}", clicked=k < clicks,
                           grade=grade, document_seconds=seconds * longer if k < clicks else None)  # fmt: skip
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
    unknown = rows.assign(
        document_seconds=rows["document_seconds"].mask(rows["rank"] == 1),
        grade=rows["grade"].mask(rows["docno"] == "d1-99"),
    )
    told = grade_efforts(InteractionLog.of(unknown), summary_seconds=4.4, resamples=20)
    assert "20 seen results are unjudged and contribute only to t_summary" in told.notes
    assert "60 clicked results have no seconds and contribute only to P_click" in told.notes
    assert told.p_click[1].value == pytest.approx(50 / 99)
    assert told.seconds[1].value == pytest.approx(37.1)


@pytest.mark.slow
def test_what_is_missing_is_an_error():
    rows = table_2().rows
    refused(lambda: grade_efforts(table_2()), BadLog, "give summary_seconds=")
    refused(lambda: grade_efforts(rows.drop(columns="grade"), 4.4), BadLog, "no column 'grade'")
    refused(lambda: grade_efforts(rows.drop(columns="document_seconds"), 4.4), BadLog, "no 'document_seconds'")
    high = rows["grade"] == 2
    unclicked = rows.assign(clicked=rows["clicked"] & ~high, document_seconds=rows["document_seconds"].mask(high))
    refused(lambda: grade_efforts(unclicked, 4.4), BadLog, "no clicked result of grade 2 has seconds")
    refused(lambda: grade_efforts(table_2(), summary_seconds=-1), BadParameter, "summary_seconds=-1")
    assert grade_efforts(table_2(), summary_seconds=0, resamples=2).summary_seconds.value == 0


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
def test_a_study_without_lengths(data):
    """Relevant documents take longer and are clicked more often, so they have a higher effort."""
    efforts = grade_efforts(chiir24_log(data / "chiir24-satisfaction"), summary_seconds=4.4)
    assert efforts.p_click[0].value == pytest.approx(0.199, abs=5e-4)
    assert efforts.p_click[1].value == pytest.approx(0.353, abs=5e-4)
    assert efforts.relative[0].high < 1


def test_what_was_seen_has_to_have_grades_and_seconds_on_summaries():
    rows = [
        dict(user=f"u{n}", session="s", topic="t", rank=r, docno=f"d{r}", clicked=r == 1, seen=r == 1,
             grade=None if r == 1 else 1, document_seconds=20.0 if r == 1 else None, summary_seconds=None if r == 1 else 3)
        for n in range(3) for r in (1, 2)
    ]  # fmt: skip
    refused(lambda: grade_efforts(rows, 4.4), BadLog, "no result that was seen has a grade")
    apart = [{**row, "session": str(row["rank"]), "grade": 1} for row in rows]
    refused(lambda: grade_efforts(apart), BadLog, "give summary_seconds=")
