"""Explanations of mixtures and of measures by topic: columns that add up, per class of users and in total."""

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, ByTopic, Mixture, evaluate, explain
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.evaluation import ExplainedMixture
from tests.support.generated import collection
from tests.support.messages import refused

CELL = "CWLA(C='{}',A='{}',max_rel=3)"
MIXTURES = {
    "time": Mixture(measures={"hasty": "TBG(half_life=60)", "patient": TBG}, weights={"hasty": 0.25, "patient": 0.75}),
    "ideal": Mixture(measures={"low": "nDCG@3", "deep": "nDCG"}),
    "adaptive": Mixture(measures={"goal": CELL.format("inst(2)", "erg"), "static": CELL.format("rbp(0.8)", "erg")}),
    "not linear": Mixture(measures={"best": CELL.format("rbp(0.9)", "max"), "last": CELL.format("prec(4)", "fin")}),
    "long": Mixture(measures={"cut": "RBP(p=0.5,rel=1)", "open": CELL.format("rbp(0.8)", "erg")}),
    "nested": Mixture(measures={"two": Mixture(measures={"a": "P@3", "b": "P@5"}), "one": "P@10"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("seed", [1, 2])
def test_columns_add_up_to_the_score(name, seed):
    frames, measure = collection(seed, lengths=True), MIXTURES[name]
    scores = evaluate(frames.qrels, frames.run, [measure], by_query=True).droplevel("run").iloc[:, 0]
    for query in ("2", "3", "4"):
        found = explain(frames.qrels, frames.run, query, measure)
        assert isinstance(found, ExplainedMixture)
        assert found.score == pytest.approx(scores[query], abs=1e-12)
        totals, table = found.totals, found.table
        assert table["adds"].sum() + totals.loc["total", "beyond"] == pytest.approx(found.score, abs=1e-12)
        for one, explanation in found.explanations.items():
            row = totals.loc[one]
            assert table[f"adds: {one}"].sum() + row["beyond"] == pytest.approx(row["adds"], abs=1e-12)
            assert row["adds"] == pytest.approx(found.shares[one] * explanation.score, abs=1e-15)
        own = [column for column in table if column.startswith("adds: ")]
        np.testing.assert_allclose(table[own].sum(axis=1), table["adds"], atol=1e-15)
        assert totals.loc["total", "score"] == pytest.approx(found.score, abs=1e-12)
        assert totals.loc["total", "share"] == pytest.approx(1)


@pytest.mark.slow
def test_classes_with_and_without_discounts_add_values_of_users_who_stop():
    """Weighted gains and values for users who stop are two decompositions of a score: one column has only one."""
    measures = {"linear": CELL.format("rbp(0.8)", "etg"), "best": CELL.format("rbp(0.9)", "max")}
    frames = collection(1)
    found = explain(frames.qrels, frames.run, "2", Mixture(measures=measures))
    for name, one in found.explanations.items():
        expected = 0.5 * one.table["L·A"] / one.divisor
        assert found.table[f"adds: {name}"].tolist() == pytest.approx(expected.tolist())
    totals, table = found.totals, found.table
    assert table["adds"].sum() + totals.loc["total", "beyond"] == pytest.approx(found.score, abs=1e-12)
    assert "L·A / N: linear" in str(found)
    assert "adds: linear" not in str(found)


def test_shares_of_users_by_rank():
    qrels, run = {"q": {"a": 1, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    cells = {name: f"CWLA(C='rbp({phi})',A='etg',max_rel=1)" for name, phi in (("low", 0.5), ("high", 0.9))}
    found = explain(qrels, run, "q", Mixture(measures=cells, weights={"low": 0.2, "high": 0.8}, label="users"))
    assert found.table["V"].tolist() == pytest.approx([1, 0.2 * 0.5 + 0.8 * 0.9, 0.2 * 0.25 + 0.8 * 0.81])
    assert found.table["L"].tolist()[0] == pytest.approx(0.2 * 0.5 + 0.8 * 0.1)
    assert found.table["docno"].tolist() == ["a", "b", "c"]
    assert found.table["adds"].tolist() == pytest.approx([1, 0, 0.2 * 0.25 + 0.8 * 0.81])
    assert found.totals.loc["total", ["items", "effort"]].tolist() == pytest.approx([0.2 * 2 + 0.8 * 10] * 2)
    assert found.title == "users of topic q"
    assert "adds: high" in str(found)
    assert "adds: high" in found._repr_html_()


def test_classes_of_several_units_and_of_longer_lists():
    words, run = {"a": 100, "b": 300}, {"q": {"a": 2.0, "b": 1.0}}
    timed = "CWLA(C='rbp(0.5)',A='etg',effort='time',max_rel=1,unseen=12)"
    counted = "CWLA(C='prec(4)',A='etg',max_rel=1)"
    measure = Mixture(measures={"seconds": TBG(lengths=words), "more": TBG(lengths=words, half_life=9)})
    found = explain({"q": {"a": 1}}, run, "q", measure)
    assert found.totals.loc["total", "effort"] == pytest.approx(found.totals["effort"].iloc[:2].mean(), nan_ok=True)
    both = Mixture(measures={"seconds": timed, "documents": counted})
    rows = [("q", d, s, float(words[d])) for d, s in run["q"].items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "doc_length"])
    found = explain({"q": {"a": 1}}, frame, "q", both)
    assert np.isnan(found.totals.loc["total", "effort"])
    assert len(found.table) == 4
    assert np.isnan(found.table["V"].iloc[3])  # unknown for users of the class whose table is shorter
    assert found.table["adds"].sum() == pytest.approx(found.score)


@pytest.mark.slow
def test_by_topic_is_explained_by_the_measure_of_the_topic():
    frames = collection(3)
    measure = ByTopic(measure="RBP(rel=1)", parameters={"2": {"p": 0.5}}, other="measure", label="own")
    for query, same in (("2", "RBP(p=0.5,rel=1)"), ("3", "RBP(rel=1)")):
        found, expected = (explain(frames.qrels, frames.run, query, one) for one in (measure, same))
        assert found.table.equals(expected.table)
        assert found.measure == "own"
    both = explain(frames.qrels, frames.run, "2", Mixture(measures={"own": measure, "usual": "RBP(rel=1)"}))
    assert both.score == pytest.approx(np.mean([one.score for one in both.explanations.values()]))
    own = measure(other="error")
    says = "topic '3' has no parameters. ", "Add its parameters, or write other='measure'"
    refused(lambda: explain(frames.qrels, frames.run, "3", own), BadParameter, *says)


def test_errors():
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    both, differ = {"a": run, "b": run}, Mixture(measures={"all": "P@5", "judged": "P(judged_only=True)@5"})
    refused(lambda: explain(qrels, both, "q", MIXTURES["long"]), BadParameter, "need a measure of one class of users")
    refused(lambda: explain(qrels, run, "q", differ), BadParameter, "different rankings, because judged_only= differs")


@pytest.mark.slow
def test_on_the_command_line(tmp_path, cli):
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 1\n")
    (tmp_path / "run").write_text("q Q0 a 0 2 t\nq Q0 x 0 1.5 t\nq Q0 b 0 1 t\n")
    text = "users=Mixture(measures={'hasty':P@1,'patient':P@4})"
    arguments = ("explain", tmp_path / "qrels", tmp_path / "run", "-q", "q", "-m", text)
    code, out, told = cli(*arguments, "--depth", "2")
    assert code == 0, told
    assert "users of topic q in run: 0.7500" in out
    for line in ("hasty 0.5000 1.0000 1.0000 1.0000 1.0000 0.5000", "… 2 more 0.1250 0.0000 0.1250",
                 "1 a 1 1.0000 0.5000 0.6250 0.5000 0.1250", "total 0.7500 0.5000 0.2500"):  # fmt: skip
        assert line in " ".join(out.split())
    for more in (("--plot", tmp_path / "x.svg"), (tmp_path / "run",)):
        code, _, told = cli(*arguments[:3], *more, *arguments[3:])
        assert code == 2
        assert "a measure of one class of users" in told
