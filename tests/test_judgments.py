"""Measures for incomplete judgments against trec_eval, topic by topic: bpref, infAP, condensed lists, geometric means."""

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from generated import collection

import pyterrier_cwla
from pyterrier_cwla import CWLA, GeometricMean, Residual, evaluate
from pyterrier_cwla.files import find_runs, read_qrels, read_run

#: trec_eval's names, and ours; nDCG is left out where grades are negative, at which pytrec_eval may never return.
NAMES = {"map": "AP({})", "map_cut_5": "AP({})@5", "P_5": "P({})@5", "Rprec": "Rprec({})", "recip_rank": "RR({})",
         "recall_10": "R({})@10", "success_5": "Success({})@5"}  # fmt: skip
JUDGED_ALL = {"bpref": "Bpref({})", "infAP": "infAP({})"}


def nested(frame, value):
    return {
        q: dict(zip(some.doc_id, some[value].tolist(), strict=True))
        for q, some in frame.groupby("query_id", sort=False)
    }


def trec_eval(qrels, run, names, rel=1, judged_only=False):
    """Without topics of negative grades alone: there pytrec_eval writes to foreign memory, and all values are 0."""
    qrels = qrels[qrels.groupby("query_id").relevance.transform("max") >= 0]
    wanted = {name.replace("_5", ".5").replace("_10", ".10") for name in names}
    evaluator = pytrec_eval.RelevanceEvaluator(
        nested(qrels, "relevance"), wanted, relevance_level=rel, judged_docs_only_flag=judged_only
    )
    return pd.DataFrame(evaluator.evaluate(nested(run, "score"))).T


def agrees(qrels, run, rel=1, judged_only=False, more=None):
    ours = NAMES | ({} if judged_only else JUDGED_ALL) | (more or {})
    given = f"rel={rel}" + (",judged_only=True" if judged_only else "")
    texts = [text.format(given) for text in ours.values()]
    found = evaluate(qrels, run, texts, by_query=True).loc["run"]
    theirs = trec_eval(qrels, run, ours, rel, judged_only).reindex(index=found.index, columns=[*ours], fill_value=0.0)
    np.testing.assert_allclose(found.to_numpy(), theirs.to_numpy(), atol=1e-9)
    return found


@pytest.mark.parametrize("judged_only", [False, True])
@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_generated_judgments_with_negative_grades(seed, rel, judged_only):
    """−1 and −2: not judged for bpref and condensed lists, in the pool and not judged for infAP."""
    frames = collection(seed, queries=25)
    found = agrees(frames.qrels, frames.run, rel, judged_only)
    assert (found > 0).any().all()


@pytest.mark.parametrize("grades", [(0,), (1, 2), (-1, -2), (-2, 0), (-1, 1)])
def test_judgments_of_some_kinds_alone(grades):
    frames = collection(3, grades=grades)
    for judged_only in (False, True):
        agrees(frames.qrels, frames.run, 1, judged_only)


@pytest.mark.parametrize("seed", range(3))
def test_ndcg_of_condensed_lists(seed):
    frames = collection(seed, grades=(0, 0, 1, 2, 3))
    ours = ["nDCG(judged_only=True)", "nDCG(judged_only=True)@10"]
    found = evaluate(frames.qrels, frames.run, ours, by_query=True).loc["run"]
    theirs = trec_eval(frames.qrels, frames.run, ["ndcg", "ndcg_cut_10"], judged_only=True)
    np.testing.assert_allclose(found, theirs.reindex(found.index, fill_value=0.0)[["ndcg", "ndcg_cut_10"]], atol=1e-9)


def condensed(frames):
    """Per query the grades of what is judged, in rank order."""
    judged = frames.run.merge(frames.qrels[frames.qrels.relevance >= 0], on=["query_id", "doc_id"])
    judged["score"] = judged.score.astype(np.float32)
    judged = judged.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False])
    return judged.groupby("query_id").relevance.apply(list)


@pytest.mark.parametrize(("C", "A"), [("rbp(0.8)", "erg"), ("inst(2)", "erg"), ("rr", "err"), ("prec(5)", "max")])
def test_any_metric_on_condensed_lists(C, A):
    """As if the run had never held what is not judged."""
    frames = collection(8)
    measure = CWLA(C=C, A=A, gain="exponential", max_rel=3, judged_only=True)
    found = evaluate(frames.qrels, frames.run, [measure], by_query=True).loc["run"].iloc[:, 0]
    lists = condensed(frames)
    judged = frames.qrels.groupby("query_id").relevance.apply(list)
    for query, value in found.items():
        alone = pyterrier_cwla.score(
            lists.get(query, []), judged=[max(g, 0) for g in judged[query]], C=C, A=A, gain="exponential", max_rel=3
        )
        assert value == pytest.approx(alone if query in lists else 0.0, abs=1e-12)


def slow_rbp(grades, p):
    """RBP and its residual in a loop over 2000 ranks: what is not judged, or not retrieved, could be relevant."""
    base = sum((1 - p) * p**i for i, g in enumerate(grades) if g is not None and g >= 1)
    unknown = sum((1 - p) * p**i for i in range(2000) if i >= len(grades) or grades[i] is None)
    return base, unknown


def residuals_agree(qrels, run, p):
    text = f"CWLA(C='rbp({p})',A='erg',gain='binary(1)')"
    found = evaluate(qrels, run, [text, Residual(measure=text)], by_query=True).loc["run"]
    grades = nested(qrels, "relevance")
    answered = 0
    for query, some in run.groupby("query_id"):
        if query in grades:
            order = sorted(zip(some.score.astype(np.float32), some.doc_id, strict=True), reverse=True)
            expected = slow_rbp([grades[query].get(document) for _, document in order], p)
            assert found.loc[query].tolist() == pytest.approx(expected, abs=1e-9)
            answered += 1
    return answered


def test_residuals_of_generated_runs():
    frames = collection(6)
    assert residuals_agree(frames.qrels, frames.run, 0.8) > 10


def test_no_judging_leaves_the_interval():
    """Base ≤ score ≤ base + residual, whatever the unjudged documents turn out to be."""
    frames = collection(2)
    text = "RBP(rel=1,p=0.8)"
    bounds = evaluate(frames.qrels, frames.run, [text, f"Residual(measure='{text}')"], by_query=True)
    rng = np.random.default_rng(1)
    known = frames.qrels.set_index(["query_id", "doc_id"]).index
    rest = frames.run[["query_id", "doc_id"]][~frames.run.set_index(["query_id", "doc_id"]).index.isin(known)]
    for share in (0, 0.3, 1):
        guessed = rest[rest.query_id.isin(frames.qrels.query_id)].assign(relevance=0)
        guessed["relevance"] = (rng.random(len(guessed)) < share).astype(int)
        truth = evaluate(pd.concat([frames.qrels, guessed]), frames.run, [text], by_query=True).iloc[:, 0]
        truth = truth.reindex(bounds.index)
        assert (bounds.iloc[:, 0] <= truth + 1e-12).all()
        assert (truth <= bounds.sum(axis=1) + 1e-12).all()


# ---- geometric means


def gm_map(qrels, run):
    values = trec_eval(qrels, run, ["gm_map"]).gm_map.to_numpy()
    return pytrec_eval.compute_aggregated_measure("gm_map", values)


def test_gmap():
    """trec_eval's, which leaves out what the run does not answer; ours counts it with the floor."""
    frames = collection(4)
    answered = frames.qrels[frames.qrels.query_id.isin(frames.run.query_id)]
    measure = GeometricMean(measure="AP")
    assert evaluate(answered, frames.run, [measure]).iloc[0, 0] == pytest.approx(gm_map(answered, frames.run), abs=1e-9)
    assert measure.calc_aggregate(answered, frames.run) == evaluate(answered, frames.run, [measure]).iloc[0, 0]
    values = {m.query_id: m.value for m in measure.iter_calc(answered, frames.run)}
    ap = evaluate(answered, frames.run, ["AP"], by_query=True).loc["run"].AP
    assert values == pytest.approx(np.log(np.maximum(ap, 1e-5)).to_dict(), abs=1e-12)
    assert evaluate(frames.qrels, frames.run, [measure]).iloc[0, 0] < gm_map(answered, frames.run)


def test_the_geometric_mean_of_any_measure():
    frames = collection(5)
    for measure, floor in ((CWLA(C="inst(1)", A="erg", max_rel=3), 1e-5), ("Rprec", 0.01), ("Bpref", 1e-3)):
        each = evaluate(frames.qrels, frames.run, [measure], by_query=True).iloc[:, 0]
        found = evaluate(frames.qrels, frames.run, [GeometricMean(measure=measure, floor=floor)]).iloc[0, 0]
        assert found == pytest.approx(np.prod(np.maximum(each, floor) ** (1 / len(each))), rel=1e-9)


# ---- together


def test_one_call_for_all_is_one_call_for_each():
    frames, other = collection(7), collection(70)
    measures = ["AP", "Bpref", "infAP", "nDCG(judged_only=True)", "Judged@10", "Residual(measure='RBP(rel=1)')", "NumRel",
                "Rprec(judged_only=True)", "GeometricMean(measure='AP')", "CWLA(C='inst(1)',A='max',max_rel=3)"]  # fmt: skip
    runs = {"a": frames.run, "b": other.run, "c": frames.run.head(200)}
    together = evaluate(frames.qrels, runs, measures, by_query=True)
    for name, run in runs.items():
        for measure in measures:
            alone = evaluate(frames.qrels, run, [measure], by_query=True).loc["run"]
            np.testing.assert_allclose(together.loc[name][alone.columns[0]], alone.iloc[:, 0], rtol=0, atol=1e-12)


# ---- the real runs


@pytest.mark.real_data
def test_all_runs_of_trec_covid(data):
    qrels = read_qrels(data / "trec-covid-r1" / "qrels.txt").to_pandas()
    paths = find_runs(data / "trec-covid-r1" / "runs")
    assert len(paths) == 143
    ndcg = {"ndcg": "nDCG({})", "ndcg_cut_10": "nDCG({})@10"}
    for path in paths:
        run = read_run(path).to_pandas()
        agrees(qrels, run)
        agrees(qrels, run, judged_only=True)
        condensed = evaluate(qrels, run, [text.format("judged_only=True") for text in ndcg.values()], by_query=True)
        theirs = trec_eval(qrels.assign(relevance=qrels.relevance.clip(lower=0)), run, ndcg, judged_only=True)
        np.testing.assert_allclose(condensed.loc["run"].reindex(theirs.index), theirs[list(ndcg)], atol=1e-9)
        gmap = evaluate(qrels, run, [GeometricMean(measure="AP")]).iloc[0, 0]
        assert gmap == pytest.approx(gm_map(qrels, run), abs=1e-9)
    assert residuals_agree(qrels, run, 0.5) == 30
