"""Tests of click metrics, against loops over the clicks of each session."""

import math
from collections import Counter
from functools import partial
from statistics import mean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import evaluate
from pyterrier_cwla.behaviour.clicks.click_positions import click_metrics, weighted_correlation
from pyterrier_cwla.behaviour.logs.log import InteractionLog
from pyterrier_cwla.errors import BadLog, BadParameter
from tests.support.messages import refused

NAMES = ["QCTR", "UCTR", "MaxRR", "MeanRR", "MinRR", "PLC", "SS"]
UNJUDGED = float("nan")


def slow_metrics(clicked, grades, good):
    """Compute the formulas of FORMULAS.md from the clicked ranks of one session and the grades of its list."""
    if not clicked:
        return [0.0] * 7
    reciprocal = [1 / rank for rank in clicked]
    success = float(any(grades[rank - 1] >= good for rank in clicked))
    found = max(reciprocal), mean(reciprocal), min(reciprocal)
    return [len(clicked), 1.0, *found, len(clicked) / max(clicked), success]


@st.composite
def sessions(draw):
    """Generate sessions of two topics with few different lists; ranks may be missing and grades unknown."""
    grades = {t: {d: draw(st.sampled_from([0, 1, 2, 3, UNJUDGED])) for d in "abcde"} for t in "qr"}
    found = []
    for number in range(draw(st.integers(1, 8))):
        topic = draw(st.sampled_from("qr"))
        documents = draw(st.sampled_from(["abcd", "abce", "bacd", "abcde", "abc"]))
        left_out = draw(st.sampled_from([0, 0, 0, 2, 5]))
        clicked = draw(st.sets(st.integers(1, len(documents)))) - {left_out}
        found.append((f"u{number % 3}", f"s{number}", topic, documents, left_out, sorted(clicked)))
    return grades, found


def as_log(grades, found):
    return InteractionLog.of([
        dict(user=u, session=s, topic=t, rank=r, docno=d, clicked=r in clicked, grade=grades[t][d])
        for u, s, t, documents, left_out, clicked in found for r, d in enumerate(documents, 1) if r != left_out
    ])  # fmt: skip


@pytest.mark.slow
@given(sessions(), st.integers(1, 5), st.sampled_from([1, 2]), st.booleans())
def test_click_metrics_are_those_of_a_loop(given_sessions, depth, good, judged_only):
    grades, found = given_sessions
    log = as_log(grades, found)
    whole, reasons = {}, Counter()
    for user, session, topic, documents, left_out, clicked in found:
        top = documents[:depth]
        if len(top) < depth or left_out in range(1, depth + 1):
            reasons[f"not all of the top {depth} in the log"] += 1
        elif judged_only and any(math.isnan(grades[topic][d]) for d in top):
            reasons[f"not all of the top {depth} judged"] += 1
        else:
            of_list = [grades[topic][d] for d in top]
            whole[user, session] = (topic, top, slow_metrics([r for r in clicked if r <= depth], of_list, good))
    if not log.has("grade"):
        refused(lambda: click_metrics(log, depth, good, judged_only), BadLog, "no column 'grade'")
        return
    if not whole:
        refused(lambda: click_metrics(log, depth, good, judged_only), BadLog, "no session is left")
        return
    metrics = click_metrics(log, depth, good, judged_only)
    known = log.rows.dropna(subset=["grade"]).groupby("topic")
    judged = {topic: dict(zip(rows["docno"], rows["grade"])) for topic, rows in known}
    assert metrics.excluded == reasons
    assert len(metrics.sessions) == len(whole)
    lists = {}
    for row in metrics.sessions.to_dict("records"):
        topic, top, expected = whole[row["user"], row["session"]]
        assert [row[name] for name in NAMES] == pytest.approx(expected)
        assert lists.setdefault(row["configuration"], (topic, top)) == (topic, top)
    assert len(set(lists.values())) == len(lists) == len(metrics.configurations)
    for name, row in metrics.configurations.iterrows():
        of = [values for topic, top, values in whole.values() if (topic, top) == lists[name]]
        assert (row["topic"], row["n"]) == (lists[name][0], len(of))
        assert [row[metric] for metric in NAMES] == pytest.approx([mean(column) for column in zip(*of)])
        run = metrics.run[metrics.run["query_id"] == name].sort_values("score", ascending=False)
        assert "".join(run["doc_id"]) == lists[name][1]
        qrels = metrics.qrels[metrics.qrels["query_id"] == name].set_index("doc_id")["relevance"].to_dict()
        assert qrels == judged.get(row["topic"], {})  # also of documents below the depth
    for _, of_topic in metrics.configurations.groupby("topic", sort=False):
        assert of_topic["n"].is_monotonic_decreasing
        assert [name.split("/")[1] for name in of_topic.index] == [str(i + 1) for i in range(len(of_topic))]


def test_lengths_go_along_with_the_run():
    log = as_log({"q": dict(a=2, b=1, c=2)}, [("u", "s1", "q", "abc", 0, [1])])
    rows = log.rows.assign(words=[100, 50, 10])
    metrics = click_metrics(InteractionLog.of(rows), depth=2)
    assert metrics.run["doc_length"].tolist() == [100, 50]
    assert evaluate(metrics.qrels, metrics.run, ["TBG"]).notna().all(axis=None)


def test_what_is_left_out_is_said():
    grades = {"q": dict(a=1, b=0, c=UNJUDGED)}
    found = [("u", "1", "q", "ab", 0, [1]), ("u", "2", "q", "ac", 0, [1])]
    found += [("u", "3", "q", "ab", 1, []), ("v", "1", "q", "a", 0, [])]
    metrics = click_metrics(as_log(grades, found), depth=2)
    title, *_, remark = repr(metrics).splitlines()
    assert title == "Click metrics of 1 configuration (top 2) of 1 topic in 1 session."
    assert remark == "Left out: 3 sessions (not all of the top 2 in the log: 2; not all of the top 2 judged: 1)."
    assert f"<li>{remark}</li>" in metrics._repr_html_()
    assert len(click_metrics(as_log(grades, found), depth=2, judged_only=False).sessions) == 2


def test_errors_of_click_metrics():
    log = as_log({"q": dict(a=1, b=0)}, [("u", "1", "q", "ab", 0, [1])])
    for depth in (0, 2.5, "2"):
        refused(partial(click_metrics, log, depth), BadParameter, "depth=")
    says = "no session is left (1 have not all of the top 3 in the log): use a smaller depth"
    refused(lambda: click_metrics(log, 3), BadLog, says)
    plain = InteractionLog.of(log.rows.drop(columns="grade"))
    refused(lambda: click_metrics(plain, 2), BadLog, "judged_only=False")
    refused(lambda: click_metrics(plain, 2, good=1, judged_only=False), BadLog, "good needs grades")
    metrics = click_metrics(plain, 2, judged_only=False)
    assert metrics.qrels.empty
    assert metrics.configurations["QCTR"].tolist() == [1]


values = st.integers(-1000, 1000).map(lambda n: n / 8)


@given(st.lists(st.tuples(values, values, st.integers(0, 6)), min_size=2, max_size=12))
def test_weighted_correlation_is_numpy_s_of_repeated_pairs(triples):
    x, y, n = map(np.array, zip(*triples))
    if n.sum() == 0:
        refused(lambda: weighted_correlation(x, y, n), BadParameter, "not all 0")
        return
    repeated = np.repeat(x, n), np.repeat(y, n)
    if np.ptp(repeated[0]) == 0 or np.ptp(repeated[1]) == 0:
        assert math.isnan(weighted_correlation(x, y, n))
        return
    found = weighted_correlation(x, y, n)
    assert found == pytest.approx(np.corrcoef(*repeated)[0, 1], abs=1e-9)
    covariance = np.cov(x, y, fweights=n)
    assert found == pytest.approx(covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1]), abs=1e-9)
    assert weighted_correlation(3 * x - 1, -y, n / 7) == pytest.approx(-found, abs=1e-9)


def test_correlations_of_tiny_and_huge_numbers_and_of_series():
    x, y, n = np.array([1.0, 2, 4]), np.array([3.0, 1, 7]), np.array([1.0, 2, 3])
    expected = weighted_correlation(x, y, n)
    assert weighted_correlation(x * 1e-200, y * 1e200, n) == pytest.approx(expected, abs=1e-12)
    first, second = (pd.Series(values, list("abc")) for values in (x, y))
    assert weighted_correlation(first, second, n) == pytest.approx(expected)
    refused(lambda: weighted_correlation(first, second.iloc[::-1], n), BadParameter, "different indices")


@pytest.mark.parametrize("columns, message", [
    (([1, 2], [1, 2], [1]), "columns of equal length"),
    (([[1, 2]], [[1, 2]], [[1, 1]]), "columns of equal length"),
    (([1, UNJUDGED], [1, 2], [1, 1]), "must be finite"),
    (([1, 2], [1, 2], [1, -1]), "not be negative"),
])  # fmt: skip
def test_what_has_no_weighted_correlation(columns, message):
    refused(lambda: weighted_correlation(*columns), BadParameter, message)
