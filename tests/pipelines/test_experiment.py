"""Tests of the measures in PyTerrier: experiments, grid searches, and worker processes."""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, nDCG

from pyterrier_cwla import CWLA, TBG, QMeasure, Residual, aggregation, continuation, register_lengths
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.measures.labels import labelled
from tests.support.generated import as_pyterrier, collection, harmless
from tests.support.messages import refused

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*topic.s. not found in qrels")]

RBP = CWLA(C="rbp(0.8)", A="erg", max_rel=3)
MEASURES = [AP, nDCG @ 10, TBG, RBP, Residual(measure=RBP)]
FRAMES = harmless(collection(1, queries=12, depth=15, lengths=True))
OTHER = collection(2, queries=12, depth=15, lengths=True)
RUN, QRELS = as_pyterrier(FRAMES.run), as_pyterrier(FRAMES.qrels)
TOPICS = pd.DataFrame({"qid": sorted(set(RUN.qid) | set(QRELS.qid))}).assign(query=lambda t: "about " + t.qid)
WORDS = dict(zip(FRAMES.run.doc_id, FRAMES.run.doc_length, strict=True))


class Mixture(pt.Transformer):
    """Transformer that ranks the documents of two runs by a weighted sum of their scores."""

    def __init__(self, share: float = 0.0, lengths: bool = True):
        self.share, self.lengths = share, lengths

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        both = RUN.merge(as_pyterrier(OTHER.run), on=["qid", "docno"], how="outer", suffixes=("", "_other")).fillna(0.0)
        both["score"] = (1 - self.share) * both.score + self.share * both.score_other
        columns = ["qid", "docno", "score"] + (["doc_length"] if self.lengths else [])
        both["doc_length"] = both.docno.map(WORDS).fillna(100.0)
        return pt.model.add_ranks(topics[["qid", "query"]].merge(both[columns], on="qid"))


def means(run, qrels=QRELS, measures=MEASURES):
    """Compute the means by the ir_measures provider alone."""
    values = ir_measures.cwla.calc_aggregate(measures, pt.model.to_ir_measures(qrels), pt.model.to_ir_measures(run))
    return {str(measure): value for measure, value in values.items()}


def test_lengths_are_the_column_s_or_the_default_table_s():
    given = {"names": ["plain", "column"], "validate": "error"}
    runs = [RUN.drop(columns="doc_length"), RUN.assign(doc_length=7)]
    register_lengths(WORDS)
    table = pt.Experiment(runs, TOPICS, QRELS, [TBG, nDCG @ 10], **given)
    expected = [means(RUN.assign(doc_length=RUN.docno.map(WORDS)))["TBG"], means(runs[1])["TBG"]]
    assert table["TBG"].tolist() == pytest.approx(expected, abs=1e-12)
    assert abs(expected[0] - expected[1]) > 0.01


def test_labels_are_the_columns_of_experiments():
    words, longer = TBG(lengths=WORDS), TBG(lengths={d: 9 + n for d, n in WORDS.items()})
    measures = [longer(label="longer"), AP, words, RBP(label="users of RBP")]
    found = pt.Experiment([RUN], TOPICS, QRELS, measures, names=["a"])
    assert sorted(found.columns) == sorted(["name", "longer", "AP", "TBG", "users of RBP"])
    assert [name for name in found if name not in ("name", "AP")] == ["longer", "TBG", "users of RBP"]
    plain = means(RUN, measures=[longer(label="x"), words, RBP])
    assert found.iloc[0][["longer", "TBG", "users of RBP"]].tolist() == pytest.approx(list(plain.values()), abs=1e-12)
    by_query = pt.Experiment([RUN], TOPICS, QRELS, measures, names=["a"], perquery=True)
    assert set(by_query.measure) == {"longer", "AP", "TBG", "users of RBP"}
    for twice, name in (([words, AP, longer], "TBG"), ([words(label="same"), RBP(label="same")], "same")):
        says = f"two measures are called '{name}'"
        refused(lambda: pt.Experiment([RUN], TOPICS, QRELS, twice), BadParameter, says)  # noqa: B023


def test_significance_is_that_of_the_values_per_query():
    given = [RUN, as_pyterrier(OTHER.run)], TOPICS, QRELS, MEASURES
    values = pt.Experiment(*given, names=["a", "b"], perquery=True)
    options = {"names": ["a", "b"], "baseline": 0, "correction": "holm", "round": {str(TBG): 2}}
    tested = pt.Experiment(*given, **options).set_index("name").loc["b"]
    wide = values.pivot(index=["name", "qid"], columns="measure", values="value")
    for measure in map(str, MEASURES):
        of_b = wide.loc["b", measure]
        difference = of_b - wide.loc["a", measure]
        assert tested[measure] == pytest.approx(of_b.mean(), abs=1e-12 if measure != "TBG" else 0.005)
        assert [tested[f"{measure} {sign}"] for sign in "+-"] == [(difference > 0).sum(), (difference < 0).sum()]
        assert 0 <= tested[f"{measure} p-value"] <= tested[f"{measure} p-value corrected"]
    assert tested["TBG"] == np.round(tested["TBG"], 2)


def test_texts_are_names_of_measures_and_ids_are_strings():
    run = pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [1.0], "rank": [0]})
    topics, qrels = run[["qid"]], pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1]})
    table = pt.Experiment([run], topics, qrels, ["map", "RBP(rel=1)", RBP])
    assert table.columns.tolist() == ["name", "map", "RBP(rel=1)", str(RBP)]
    assert table.loc[0, "RBP(rel=1)"] == pytest.approx(0.2)
    source = pt.Transformer.from_df(run)
    with pytest.raises(ValueError, match=r"no measure 'TBC'.*TBG"):
        pt.GridSearch(source, {source: {"df": [run]}}, topics, qrels, "TBC")
    run, topics, qrels = (frame.assign(qid=1) for frame in (run, topics, qrels))
    with pytest.raises(ValueError, match=r"query_id of the judgments must be strings.*convert it with \.astype\(str\)"):
        pt.Experiment([run], topics, qrels, [RBP])


@pytest.mark.parametrize("batch_size", [2, 5, 100])
@pytest.mark.parametrize("topics", [TOPICS, TOPICS[3:7], TOPICS[::-1]])
def test_batches_change_nothing(topics, batch_size):
    """Includes judged topics that are not in the last batch; PyTerrier scores them with an empty run."""
    given = {"names": ["a"], "filter_by_topics": False}
    whole = pt.Experiment([Mixture()], topics, QRELS, MEASURES, **given)
    batched = pt.Experiment([Mixture()], topics, QRELS, MEASURES, batch_size=batch_size, **given)
    pd.testing.assert_frame_equal(batched, whole, rtol=0, atol=1e-12)


def test_saved_runs_lose_their_columns_but_not_their_lengths(tmp_path):
    """A TREC file has no column doc_length; a table passed to the measure gives the length of each document."""
    register_lengths("in_the_test", {d: WORDS.get(d, 100.0) for d in Mixture()(TOPICS).docno})
    measures = [AP, TBG(lengths="in_the_test"), TBG(lengths="in_the_test") @ 5]
    given = {"names": ["mixture"], "save_dir": str(tmp_path)}
    first = pt.Experiment([Mixture()], TOPICS, QRELS, measures, **given)
    assert (tmp_path / "mixture.res.gz").exists()
    again = pt.Experiment([Mixture()], TOPICS, QRELS, measures, save_mode="reuse", **given)
    pd.testing.assert_frame_equal(first, again)
    assert first[str(measures[1])][0] == pytest.approx(means(Mixture()(TOPICS), measures=[TBG])["TBG"], abs=1e-12)
    with pytest.raises(ValueError, match=r"give TBG\(lengths="):
        pt.Experiment([Mixture()], TOPICS, QRELS, [TBG], save_mode="reuse", **given)
    given = {"names": ["mixture"], "validate": "error"}
    assert pt.Experiment([Mixture()], TOPICS, QRELS, [TBG, AP], **given)["TBG"][0] > 0
    for without in (Mixture(lengths=False), RUN.drop(columns="doc_length")):
        with pytest.raises(ValueError, match="doc_length"):
            pt.Experiment([without], TOPICS, QRELS, [TBG, AP], **given)
    bound = TBG(lengths=WORDS, missing="mean")
    pt.Experiment([Mixture(lengths=False)], TOPICS, QRELS, [bound, RBP], **given)


SHARES = [0.0, 0.25, 0.5, 1.0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grid_scan(jobs):
    mixture = Mixture()
    table = pt.GridScan(mixture, {mixture: {"share": SHARES}}, TOPICS, QRELS, MEASURES, jobs=jobs)
    assert table.tran_0_share.tolist() == SHARES
    for share, values in zip(SHARES, table[list(map(str, MEASURES))].to_dict("records"), strict=True):
        assert values == pytest.approx(means(Mixture(share)(TOPICS), qrels=QRELS), abs=1e-12)


def of_a_notebook():
    """Return a measure of functions that worker processes cannot import."""

    @continuation
    def bored(view, after: float = 2):
        return after / (after + view.i)

    @aggregation
    def second_thoughts(view, share: float):
        return share * view.best + (1 - share) * view.G / view.i

    return CWLA(C="bored(3)", A=second_thoughts(0.5), max_rel=3)


@pytest.mark.every_case
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    "measure", [TBG(half_life=120), RBP(label="of RBP"), TBG(lengths=WORDS, missing="mean") @ 5, of_a_notebook]
)
def test_a_grid_search_takes_a_measure_object(measure, jobs):
    """PyTerrier looks up the values by the measure object; this works because a measure equals its own name."""
    mixture, measure = Mixture(), measure() if measure is of_a_notebook else measure
    given = {"jobs": jobs, "return_type": "both"}
    _, best, setting = pt.GridSearch(mixture, {mixture: {"share": SHARES}}, TOPICS, QRELS, measure, **given)
    by_share = {share: means(Mixture(share)(TOPICS), measures=[measure])[str(measure)] for share in SHARES}
    assert best == pytest.approx(max(by_share.values()), abs=1e-12)
    assert by_share[setting[0][2]] == max(by_share.values())
    if jobs == 1:  # with several jobs, PyTerrier sets the parameter of a copy in the worker
        assert mixture.share == setting[0][2]


def test_saved_labelled_and_timed_measures_are_columns(tmp_path):
    pt.Experiment([RUN], TOPICS, QRELS, [TBG, RBP], names=["a"], save_dir=str(tmp_path))
    assert set(pd.read_csv(tmp_path / "aggregated.csv").columns) == {"name", "TBG", str(RBP)}
    found = pt.Experiment([RUN], TOPICS, QRELS, [nDCG @ 10, labelled(nDCG @ 10, "early"), AP])
    assert found["early"].item() == found["nDCG@10"].item() > 0
    assert {"AP", "early", "nDCG@10"} < set(found.columns)
    table = pt.Experiment([Mixture()], TOPICS, QRELS, [TBG, "mrt", "map"], names=["a"])
    assert {"TBG", "mrt", "map"} <= set(table.columns)
    assert pt.measures.CWLA(C="rbp(0.8)", A="erg", max_rel=3) == RBP
    assert pt.measures.Residual(measure=TBG) == "Residual(measure='TBG')"


def _columns(measures, **given):
    found = pt.Experiment([RUN], TOPICS, QRELS, measures, names=["a"], **given)
    return [name for name in found if name not in ("name", "AP")]


ORDERED = [QMeasure, TBG @ 3, TBG, RBP(label="a cell"), TBG @ 20, TBG(half_life=9), Residual(measure=RBP)]


def test_every_thread_has_its_own_order_of_columns():
    lists = [ORDERED, ORDERED[::-1], sorted(ORDERED, key=str), ORDERED[3:] + ORDERED[:3]]
    started = threading.Barrier(len(lists), timeout=60)

    def several(measures):
        started.wait()
        return [_columns(measures, perquery=False) for _ in range(5)]

    with ThreadPoolExecutor(len(lists)) as pool:
        for measures, found in zip(lists, pool.map(several, lists), strict=True):
            assert found == [[str(measure) for measure in measures]] * 5
    by_query = pt.Experiment([RUN], TOPICS, QRELS, [*ORDERED, AP], names=["a"], perquery=True)
    assert [name for name in by_query.measure.unique() if name != "AP"] == list(map(str, ORDERED))


def test_measures_that_were_not_validated_are_in_alphabetical_order():
    assert _columns([TBG @ 3, AP, TBG @ 1]) == ["TBG@3", "TBG@1"]
    given = {"names": ["a"], "perquery": True, "validate": "ignore"}
    by_query = pt.Experiment([RUN], TOPICS, QRELS, [TBG @ 3, TBG @ 2, TBG @ 1], **given)
    assert list(by_query.measure[:3]) == ["TBG@1", "TBG@2", "TBG@3"]
    provider = next(one for one in ir_measures.DefaultPipeline.providers if one.NAME == "cwla")
    _columns([TBG @ 3, TBG @ 1])
    copied = pickle.loads(pickle.dumps(provider))
    assert copied.supports(TBG)
    assert [str(one) for one in copied.evaluator({TBG @ 3, TBG @ 1}, FRAMES.qrels).measures] == ["TBG@1", "TBG@3"]


@pytest.mark.nightly
@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_columns_have_the_order_asked_for_with_any_seed(seed):
    """ir_measures collects measures in sets, whose order depends on the seed of Python's hashes."""
    tests = [f"{__file__}::{test.__name__}" for test in (
        test_every_thread_has_its_own_order_of_columns, test_measures_that_were_not_validated_are_in_alphabetical_order,
    )]  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-n", "0", "-m", "", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout
