"""Set measures, interpolated precision, accuracy and utility: loops, pytrec_eval and ir_measures, and undefined values."""

import ir_measures
import numpy as np
import pytest
from ir_measures import SetP

from pyterrier_cwla import compare, evaluate
from pyterrier_cwla.errors import BadParameter
from tests.support.generated import collection, harmless
from tests.support.messages import refused

SEEDS = range(4)


def frames(seed):
    return collection(seed, grades=(-1, 0, 1, 2, 3), ties=bool(seed % 2))


def by_query(measures, made):
    return evaluate(made.qrels, made.run, measures, by_query=True).droplevel("run")


@pytest.mark.parametrize("seed", SEEDS)
def test_values_of_trec_eval(seed):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is a peer")
    made = harmless(frames(seed))
    qrels, run = (
        {query: dict(zip(some.doc_id, some[value], strict=True)) for query, some in frame.groupby("query_id")}
        for frame, value in ((made.qrels, "relevance"), (made.run, "score"))
    )
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"11pt_avg", "utility", "num_rel_ret"}).evaluate(run)
    found = by_query(["11pt_avg", "utility", "num_rel_ret"], made)
    assert found.columns.tolist() == ["AP11pt", "SetUtility", "NumRet(rel=1)"]
    assert SetP(relative=True) in ir_measures.cwla.evaluator([SetP(relative=True)], made.qrels).measures
    assert len(theirs) > 3
    for query, values in theirs.items():
        expected = [values[name] for name in ("11pt_avg", "utility", "num_rel_ret")]
        assert found.loc[query].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_utility_without_results_is_that_of_the_formula(prints, tmp_path):
    """One result that is not relevant is worse than no result."""
    qrels = {"1": {"a": 1, "b": 1, "c": 1, "n": 0}, "2": {"a": 1}, "3": {"a": 0}}
    given = ("missed=1", "missed=2,spared=0.5,documents=9", "missed=1,judged_only=True")
    names = [f"SetUtility({parameters})" for parameters in given]
    without = evaluate(qrels, {"2": {"a": 1.0}}, names, by_query=True)
    assert without.to_numpy().tolist() == [[-3, -2 * 3 + 6 / 2, -3], [1, 1 + 8 / 2, 1], [0, 9 / 2, 0]]
    assert evaluate(qrels, {"1": {"n": 1.0}}, names[:1], by_query=True).iloc[0, 0] == -1 - 3
    files = tmp_path / "qrels.txt", tmp_path / "run.txt"
    files[0].write_text("".join(f"{q} 0 {d} {grade}\n" for q, judged in qrels.items() for d, grade in judged.items()))
    files[1].write_text("2 Q0 a 1 1.0 x\n")
    said = " ".join(prints("evaluate", *files, "-m", names[0]).split())
    assert "score 0 (the worth of what is missed and spared for SetUtility): run (2)." in said
    assert "score 0: run (2)." in " ".join(prints("evaluate", *files, "-m", "SetUtility").split())


def test_accuracy_without_a_pair_is_not_defined():
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1}, "3": {"a": 1}, "4": {"a": 1}}
    run = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}, "3": {"b": 1.0}}
    found = evaluate(qrels, run, ["Accuracy", "AP"], by_query=True)
    assert found["Accuracy"].tolist()[0] == 1.0
    assert found["Accuracy"].isna().tolist() == [False, True, True, True]
    assert evaluate(qrels, run, ["Accuracy"]).iloc[0, 0] == 1.0
    assert np.isnan(evaluate(qrels, {"2": {"a": 1.0}}, ["Accuracy"]).iloc[0, 0])
    with pytest.raises(BadParameter, match="Accuracy has no value for query '2': leave the measure or the query out"):
        compare(qrels, run, ["AP", "Accuracy"])


def test_the_command_names_queries_without_accuracy(prints, tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n3 0 a 0\n")
    (tmp_path / "run.txt").write_text("1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n2 Q0 b 1 1.0 x\n")
    text = " ".join(prints("evaluate", tmp_path / "qrels", tmp_path / "run.txt", "-m", "Accuracy", "-m", "AP").split())
    assert "Accuracy has no value for some topics, which the means leave out: run (2)." in text
    by_query = prints("evaluate", tmp_path / "qrels", tmp_path / "run.txt", "-m", "Accuracy", "--by-query")
    assert "Accuracy has no value for some topics: run (2)." in " ".join(by_query.split())


@pytest.mark.parametrize("measure,says", [
    ("SetUtility(spared=1)", "needs documents="),
    ("SetUtility(spared=1,documents=2)", "documents=2 of SetUtility is less than the 3 documents"),
    ("SetUtility(other=-1)", "other must be a number in [0, inf)"),
    ("IPrec", "IPrec needs recall=, as in IPrec@0.1"),
    ("IPrec@1.5", "recall"),
    ("SetF(beta=-1)", "beta must be a number in [0, inf)"),
])  # fmt: skip
def test_errors(measure, says):
    refused(lambda: evaluate({"q": {"a": 1, "b": 0, "c": 0}}, {"q": {"a": 1.0, "b": 0.5, "c": 0.1}}, [measure]), says)
