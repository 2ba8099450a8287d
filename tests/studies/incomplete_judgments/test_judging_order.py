"""Tests of the order of documents to judge and of simulated judging, against loops that score the runs again."""

import warnings
from copy import deepcopy
from itertools import combinations
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pyterrier_cwla import TBG, UDCG, Mixture, evaluate
from pyterrier_cwla.behaviour import PredictedRelevance
from pyterrier_cwla.errors import BadJudgments, BadParameter
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from pyterrier_cwla.studies import next_judgments, plot_judging, plot_possible_changes, simulated_judging
from pyterrier_cwla.studies.incomplete_judgments.judging_order import _orders, _revealed, ids_of, one_measure
from pyterrier_cwla.studies.incomplete_judgments.missing_judgments import NOWHERE, Candidates, best_ranks
from tests.studies.incomplete_judgments.test_robustness import generated as of_falling_quality
from tests.support.messages import refused
from tests.support.readable import assert_readable

LENGTHS = {f"d{d}": 40.0 + 9 * d for d in range(20)}
MEASURES = [
    "RBP(rel=1,p=0.7)", "nDCG@4", "AP(rel=2)", "ERR", "Bpref", "infAP", "AP(judged_only=True)", "Rprec", "P@3",
    "CWLA(C='inst(2)',A='erg',max_rel=2)", "CWLA(C='rr',A='erg',max_rel=2)", "QMeasure", "GeometricMean(measure='AP')",
    "Mixture(measures={'one':'RBP(rel=1)','two':'RBP(rel=2,p=0.5)'})", TBG(lengths=LENGTHS, half_life=60),
    "Logistic(measure='AP')", UDCG(abstention={str(q): {f"d{d}": (d + q) % 5 / 4 for d in range(0, 14, 2)} for q in range(3)}) @ 4,
]  # fmt: skip


def generated(seed, queries=3, runs=3, depth=7, documents=14):
    """Generate judgments (one topic has none above 0, some grades are −1) and runs; one run lacks a topic."""
    rng = np.random.default_rng(seed)
    names = [f"d{d}" for d in range(documents)]
    qrels = {
        str(q): {d: int(rng.choice([-1, 0, 0, 1, 2])) for d in rng.permutation(names)[: documents // 3].tolist()}
        for q in range(queries)
    }
    qrels["0"]["elsewhere"] = 2
    qrels["1"] = dict.fromkeys(qrels["1"], 0)

    def ranked():
        return {d: float(rng.normal()) for d in rng.permutation(names)[:depth].tolist()}

    made = {name: {str(q): ranked() for q in range(queries)} for name in "ABCDEF"[:runs]}
    del made["B"]["2"]
    return qrels, made


def means(qrels, runs, measure):
    """Return the mean score of each run; of logarithms for geometric means."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_query = evaluate(qrels, runs, [measure], by_query=True)
    return by_query.groupby("run").mean().iloc[:, 0].to_dict()


def slow(qrels, runs, measure, grades, pairs=None):
    """Return for each unjudged document and grade the change of the difference of each pair of runs."""
    now, pairs = means(qrels, runs, measure), pairs or list(combinations(runs, 2))
    found = {}
    for run in runs.values():
        for q, ranked in run.items():
            for d in ranked:
                if (q, d) in found or qrels.get(q, {}).get(d, -1) >= 0:
                    continue
                found[q, d] = {}
                for grade in grades:
                    judged = deepcopy(qrels)
                    judged.setdefault(q, {})[d] = grade
                    then = means(judged, runs, measure)
                    found[q, d][grade] = {(a, b): (then[a] - then[b]) - (now[a] - now[b]) for a, b in pairs}
    return found


def largest(by_grade):
    return max(abs(change) for by_pair in by_grade.values() for change in by_pair.values())


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_changes_are_those_of_scoring_again(measure):
    qrels, runs = generated(MEASURES.index(measure))
    expected = slow(qrels, runs, measure, (0, 1, 2))
    found = next_judgments(qrels, runs, measure, pairs="all").documents
    assert {*zip(found.query_id, found.doc_id)} == {*expected}
    for row in found.itertuples():
        by_grade = expected[row.query_id, row.doc_id]
        assert row.change == pytest.approx(largest(by_grade), abs=1e-9)
        assert row.mean_change == pytest.approx(max(np.abs([*p.values()]).mean() for p in by_grade.values()), abs=1e-9)
        if row.change > 0:
            assert abs(by_grade[row.grade][row.first, row.second]) == pytest.approx(row.change, abs=1e-9)
    assert (found.change.diff().dropna() <= 0).all()


def test_ties_and_depth_are_those_of_the_evaluation():
    """Documents of equal scores are ordered by id, descending."""
    qrels, runs = {"1": {"z": 1}}, {"A": {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}, "B": {"1": {"c": 2.0, "d": 1.0}}}
    found = next_judgments(qrels, runs, "RBP(rel=1,p=0.5)")
    ranks = found.documents.set_index("doc_id").best_rank.to_dict()
    assert ranks == {"c": 1, "b": 2, "d": 2, "a": 3}
    two = next_judgments(qrels, runs, "RBP(rel=1,p=0.5)", depth=2).documents
    assert {*two.doc_id} == {"c", "b", "d"}
    one = next_judgments(qrels, runs, "RBP(rel=1,p=0.5)", depth=1).documents
    assert [*one.doc_id, *one.best_rank, *one.runs] == ["c", 1, 2]


@pytest.mark.slow
def test_pairs_with_a_baseline_alone():
    qrels, runs = generated(5, runs=4)
    pairs = [("C", other) for other in "ABD"]
    expected = slow(qrels, runs, "nDCG", (1, 2), pairs)
    study = next_judgments(qrels, runs, "nDCG", baseline="C", pairs="all")
    assert {*study.documents["first"]} == {"C"}
    assert [*study.pairs["second"]] == ["A", "B", "D"]
    for row in study.documents.itertuples():
        assert row.change == pytest.approx(largest(expected[row.query_id, row.doc_id]), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_open_pairs(seed):
    """Pairs are open by the rule of the documentation, and documents are ordered for these pairs alone."""
    qrels, runs = generated(seed, runs=5, queries=4)
    qrels = {q: {d: grade for d, grade in judged.items() if grade >= 0} for q, judged in qrels.items()}
    runs["Z"] = {q: {**{d: 9.0 for d, g in judged.items() if g > 0}, "last": 0.0} for q, judged in qrels.items()}
    measure = "CWLA(C='rbp(0.3)',A='erg',max_rel=2)"
    changes = slow(qrels, runs, measure, (1, 2))
    now = means(qrels, runs, measure)
    study = next_judgments(qrels, runs, measure)
    still = []
    for row in study.pairs.itertuples():
        of_pair = [by_grade[2][row.first, row.second] for by_grade in changes.values()]
        difference = now[row.first] - now[row.second]
        assert row.difference == pytest.approx(difference)
        assert row.lowest == pytest.approx(difference + sum(min(0, change) for change in of_pair))
        assert row.highest == pytest.approx(difference + sum(max(0, change) for change in of_pair))
        assert row.open == (abs(difference) < 3 * sqrt(sum(change**2 for change in of_pair)) / 2)
        still += [(row.first, row.second)] * row.open
    for row in study.documents.itertuples():
        by_grade = changes[row.query_id, row.doc_id]
        of_open = {grade: {pair: change[pair] for pair in still} for grade, change in by_grade.items()}
        assert row.change == pytest.approx(largest(of_open), abs=1e-9)


def test_pairs_are_settled_where_judgments_change_little():
    judged = {q: {"good": 1, "bad": 0} for q in "1234"}
    runs = {"A": {q: {"good": 2.0, "a": 1.0} for q in "1234"}, "B": {q: {"bad": 2.0, "b": 1.0} for q in "1234"}}
    runs["C"] = {q: {"good": 2.0, "c": 1.0} for q in "1234"}
    study = next_judgments(judged, runs, "RBP(rel=1,p=0.2)")
    assert study.pairs["open"].tolist() == [False, True, False]
    assert {*study.documents.doc_id[study.documents.change > 0]} == {"a", "c"}
    rule = "the difference is less than 3 times the standard deviation that independent judgments could add."
    assert f"The order of 1 of 3 pairs of runs is open: {rule}" in study.findings()


@pytest.mark.slow
def test_predicted_grades_may_be_decimal_and_from_clicks():
    """A grade of 1.25 is grade 1 with probability 0.75, and grade 2 with probability 0.25."""
    qrels, runs = generated(7)
    rng = np.random.default_rng(7)
    expected = slow(qrels, runs, "Bpref(rel=2)", (0, 1, 2))
    predicted = {}
    for q, d in [*expected][2:]:
        predicted.setdefault(q, {})[d] = float(rng.choice([0, 0.5, 1, 1.25, 2]))
    study = next_judgments(qrels, runs, "Bpref(rel=2)", pairs="all", predicted=predicted)
    assert "2 documents without a predicted grade come last" in study.limits()[-1]
    assert f"{len(runs)} runs, {study.about['queries']} topics" in str(study)
    found = study.documents
    assert found.expected_change.isna().sum() == 2
    assert found.expected_change.isna().tolist() == sorted(found.expected_change.isna())
    for row in found.dropna(subset="predicted").itertuples():
        grade, by_grade = predicted[row.query_id][row.doc_id], expected[row.query_id, row.doc_id]
        assert row.predicted == grade
        low = int(grade)
        shares = [(g, share) for g, share in ((low, 1 - (grade - low)), (low + 1, grade - low)) if share]
        value = sum(share * largest({0: by_grade[g]}) for g, share in shares)
        assert row.expected_change == pytest.approx(value, abs=1e-9)
    assert (found.expected_change.dropna().diff().dropna() <= 0).all()
    qrels = {"1": {"x": 1, "y": 0}}
    runs = {"A": {"1": {"a": 3.0, "b": 2.0, "x": 1.0}}, "B": {"1": {"c": 3.0, "y": 2.0, "x": 1.0}}}
    rows = [("1", "a", 0.0), ("1", "b", 0.4), ("1", "c", 0.2)]
    table = pd.DataFrame(rows, columns=["topic", "docno", "relevance"]).assign(sessions=9)
    clicks = PredictedRelevance(table, {0: 0.0, 1: 0.8}, True)
    found = next_judgments(qrels, runs, "RBP(rel=1,p=0.5)", predicted=clicks).documents
    assert [*zip(found.doc_id, found.predicted, found.expected_change)] == [
        ("c", 0.25, pytest.approx(0.25 * 0.5)), ("b", 0.5, pytest.approx(0.5 * 0.25)), ("a", 0, 0)
    ]  # fmt: skip
    assert found.change.tolist() == [0.5, 0.25, 0.5]


def test_topics_without_judgments_and_the_highest_grade():
    qrels, runs = generated(2)
    runs["A"]["new"] = {"n1": 2.0, "n2": 1.0}
    assert "new" not in {*next_judgments(qrels, runs, "AP").documents.query_id}
    found = next_judgments(qrels, runs, "RBP(rel=1)", topics="all", pairs="all")
    assert found.about["queries"] == 4
    first = found.documents[found.documents.doc_id == "n1"].iloc[0]
    assert first.change == pytest.approx(0.2 / 4)
    nothing = next_judgments({}, runs, "RBP(rel=1)", topics="all").documents
    assert set(nothing.query_id) == {"0", "1", "2", "new"}
    refused(lambda: next_judgments({}, runs, "RBP(rel=1)"), "topics='all'", BadJudgments)
    qrels, runs = {"1": {"x": 1}}, {"A": {"1": {"a": 2.0}}, "B": {"1": {"x": 2.0}}}
    assert next_judgments(qrels, runs, "ERR").about["highest_grade"] == 1
    assert next_judgments(qrels, runs, "nDCG", max_rel=3).about["highest_grade"] == 3
    four = next_judgments(qrels, runs, "CWLA(C='rbp(0.5)',A='erg',max_rel=4)")
    classes = {"a": "CWLA(C='rbp(0.5)',A='erg',max_rel=4)", "b": "CWLA(C='rbp(0.9)',A='erg',max_rel=3)"}
    assert next_judgments(qrels, runs, Mixture(measures=classes)).about["highest_grade"] == 3
    assert four.documents[["change", "grade"]].iloc[0].tolist() == [0.5, 4.0]


@pytest.mark.slow
def test_a_study_says_what_it_found(tmp_path):
    qrels, runs = generated(1)
    study = next_judgments(qrels, runs, "nDCG")
    first = study.documents.iloc[0]
    start = f"Judge {first.doc_id} for topic {first.query_id} first: grade {first.grade:g} would change"
    assert study.headline().startswith(start)
    covered = study.covered()
    assert covered[["this_order", "by_best_rank"]].iloc[-1].tolist() == pytest.approx([1, 1])
    assert (covered.this_order >= covered.by_best_rank - 1e-12).all()
    assert_readable(plot_possible_changes(study).figure)
    same = dict.fromkeys("AB", runs["A"])
    none = next_judgments(qrels, same, "nDCG")
    assert none.headline() == "No unjudged document can change a comparison of these runs by nDCG."
    assert none.covered().iloc[-1].tolist()[1:] == [0, 0]
    page = study.report(tmp_path / "report").read_text()
    assert page.index('<details id="table-documents" open>') < page.index("What was found")


def test_differences_stay_within_the_range_of_the_measure():
    qrels = {"1": {"a": 1, "b": 0}}
    runs = {"A": {"1": {"a": 9.0} | {f"d{d}": 1 / d for d in range(1, 40)}}, "B": {"1": {"b": 1.0}}}
    assert next_judgments(qrels, runs, "nDCG").pairs[["lowest", "highest"]].values.tolist() == [[-1, 1]]
    pairs = next_judgments(qrels, runs, "PrecisionWithin(T=1,effort='unit',gain='table({0: -1, 1: 1})')").pairs
    assert pairs[["difference", "lowest", "highest"]].to_numpy().tolist() == [[2, 2, 2]]
    none = next_judgments(qrels, {"A": {"1": {"a": 1.0}}, "B": {"1": {"b": 1.0}}}, "AP")
    assert none.documents.empty
    assert not none.pairs["open"].any()
    assert none.findings()[0] == "0 of 0 unjudged documents can change a comparison."
    sums = next_judgments(qrels, runs, "CWLA(C='dcg',A='etg',max_rel=1)")  # the range of etg has no end
    assert sums.pairs.highest[0] == pytest.approx(sum(1 / np.log2(rank + 1) for rank in range(1, 41)))


@pytest.mark.every_case
@pytest.mark.parametrize("more, says", [
    ({"pairs": "some"}, "pairs='some': give 'open' or 'all'"),
    ({"depth": 0}, "depth=0"),
    ({"topics": "none"}, "topics='none': give 'judged' or 'all'"),
    ({"baseline": "AA"}, "baseline='AA' is no run"),
    ({"measure": "NumRel"}, "sum over topics"),
    ({"measure": "IntentAware(measure='AP')"}, "intents"),
    ({"measure": TBG(lengths=LENGTHS, norm="ideal")}, "Choose norm='none'"),
    ({"measure": {"one": "AP", "two": "RR"}}, "one measure orders the documents, not 2"),
    ({"runs": {"A": {"1": {"a": 1.0}}}}, "at least 2 by name, not 1 run"),
    ({"runs": {"1": {"a": 1.0}}}, "at least 2 by name, not 1 run"),
    ({"measure": "ByTopic(measure='RBP(rel=1)',parameters={'1':{'p':0.5}})"}, "parameters by topic"),
    ({"max_rel": 0}, "max_rel=0: give the highest grade"),
    ({"max_rel": 5, "measure": "ERR"}, "max_rel=5 is above the highest grade of ERR, 4"),
    ({"predicted": {"1": {"b": 3}}}, "topic '1': 'b' has grade 3, above the highest grade, 1"),
    ({"orders": ["ranks"]}, "'ranks' is no order of judging. Near: 'rank'"),
    ({"orders": []}, "orders is empty"),
    ({"tau": "c"}, "tau='c' is no kind of τ"),
    ({"batch": 0}, "batch=0"),
    ({"seed": -1}, "seed=-1"),
    ({"batch": 1, "qrels": {"1": {"unknown": 1}}}, "no document of these runs is judged"),
])  # fmt: skip
def test_errors(more, says):
    runs = {"A": {"1": {"a": 1.0}}, "B": {"1": {"b": 1.0}}}
    given = {"qrels": {"1": {"a": 1}}, "runs": runs, "measure": "AP", **more}
    study = simulated_judging if {*more} & {"orders", "tau", "batch", "seed"} else next_judgments
    refused(lambda: study(**given), says, (BadParameter, BadJudgments))


SIMULATED = "CWLA(C='rbp(0.7)',A='erg',max_rel=2)"


def fully_judged(seed=0):
    return of_falling_quality(seed, queries=4, runs=4, depth=8, documents=16, judged=16)


def means_of_all(judged, runs):
    """Return mean scores over the four topics, of which some may have no judgment."""
    scores = dict.fromkeys(runs, 0.0)
    if judged:
        by_query = evaluate(judged, runs, [SIMULATED], by_query=True).groupby("run").sum().iloc[:, 0]
        scores |= (by_query / 4).to_dict()
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("pairs", ["open", "all"])
def test_documents_are_revealed_in_the_order_of_the_changes(pairs):
    """Each batch has the documents of the largest changes by the judgments so far, and τ is that of these judgments."""
    qrels, runs = fully_judged()
    found = simulated_judging(qrels, runs, SIMULATED, orders=[pairs], batch=7).steps
    candidates = Candidates.from_runs(qrels, runs, one_measure(SIMULATED)[1])
    hidden = ~candidates.unjudged & (best_ranks(candidates.masking.whole) < NOWHERE)
    ids = list(zip(*ids_of(candidates.masking.judgments, np.arange(len(hidden)))))
    masks = list(_revealed(candidates, hidden, _orders(candidates, 0)[pairs], 7))
    assert found.judgments.tolist() == [int((mask & hidden).sum()) for mask in masks]
    full = means_of_all(qrels, runs)
    for step, (mask, then) in enumerate(zip(masks, [*masks[1:], masks[-1]])):
        judged = {}
        for (q, d), revealed in zip(ids, mask):
            if revealed:
                judged.setdefault(q, {})[d] = qrels[q][d]
        now = means_of_all(judged, runs)
        tau = np.nan_to_num(stats.kendalltau(np.round([*now.values()], 10), np.round([*full.values()], 10)).statistic)
        sign = [[np.sign(round(of[a] - of[b], 10)) for a, b in combinations(runs, 2)] for of in (now, full)]
        assert found.tau[step] == pytest.approx(tau)
        assert found.different_pairs[step] == sum(one != other for one, other in zip(*sign))
        chosen = next_judgments(judged, runs, SIMULATED, pairs=pairs, topics="all").documents
        change = dict(zip(zip(chosen.query_id, chosen.doc_id), chosen.change))
        new = sorted((change[pair] for pair, was, will in zip(ids, mask, then) if will and not was), reverse=True)
        assert new == pytest.approx(sorted(change.values(), reverse=True)[: len(new)])


@pytest.mark.slow
def test_by_rank_and_at_random():
    qrels, runs = fully_judged(1)
    found = simulated_judging(qrels, runs, SIMULATED, orders=["rank", "random"], batch=5, seed=3)
    steps = found.steps[found.steps.order == "best rank"].set_index("judgments")
    for depth in range(1, 9):
        pool = {(q, d) for run in runs.values() for q, ranked in run.items() for d in [*ranked][:depth]}
        if len(pool) in steps.index:
            judged = {q: {d: g for d, g in of.items() if (q, d) in pool} for q, of in qrels.items()}
            now, full = means_of_all(judged, runs), means_of_all(qrels, runs)
            tau = stats.kendalltau([*now.values()], [*full.values()]).statistic
            assert steps.tau[len(pool)] == pytest.approx(tau)
    again = simulated_judging(qrels, runs, SIMULATED, orders=["rank", "random"], batch=5, seed=3)
    assert again.steps.equals(found.steps)
    qrels, runs = fully_judged(2)
    found = simulated_judging(qrels, runs, "nDCG@5", batch=5)
    for row in found.needed.itertuples():
        own = found.steps[found.steps.order == row.order]
        after, before = own[own.judgments >= row.same_order], own[own.judgments < row.same_order]
        assert (after.different_pairs == 0).all()
        assert before.empty or before.different_pairs.iloc[-1] > 0
        assert (own[own.judgments >= row.knee].tau > 0.9).all()
    assert {*found.tables()} == {"needed", "steps"}
    assert {*found.pictures()} == {"steps"}
    assert "judgments needs" in found.headline()
    assert_readable(plot_judging(found).figure)


@pytest.mark.real_data
@pytest.mark.slow
def test_judging_trec_covid(data):
    folder = data / "trec-covid-r1"
    runs = {path.name: read_run(path) for path in sorted(find_runs(folder / "runs"))[::30]}
    found = simulated_judging(read_qrels(folder / "qrels.txt"), runs, SIMULATED, orders=["open", "random"], batch=100)
    needed = found.needed.set_index("order")
    assert needed.same_order["changes of open pairs"] < needed.same_order["random"]
