"""Tests of the measures in PyTerrier: experiments, grid searches, and worker processes."""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import ir_measures
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, nDCG

from pyterrier_cwla import CWLA, TBG, Residual, register_lengths
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.measures.labels import labelled
from tests.support.generated import as_pyterrier, collection, harmless

pytestmark = [pytest.mark.slow,
              pytest.mark.filterwarnings("ignore:The inplace keyword", "ignore:.*topic.s. not found in qrels")]  # fmt: skip

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


def row(table, name):
    return {m: v for m, v in table.set_index("name").loc[name].items() if m in map(str, MEASURES)}


def test_an_experiment_has_our_columns_also_with_default_lengths():
    other = as_pyterrier(OTHER.run)
    table = pt.Experiment([RUN, other], TOPICS, QRELS, MEASURES, names=["a", "b"])
    assert sorted(table.columns) == sorted(["name", *map(str, MEASURES)])
    assert row(table, "a") == pytest.approx(means(RUN), abs=1e-12)
    assert row(table, "b") == pytest.approx(means(other), abs=1e-12)
    given = {"names": ["plain", "column"], "validate": "error"}
    runs = [RUN.drop(columns="doc_length"), RUN.assign(doc_length=7)]
    register_lengths(WORDS)
    table = pt.Experiment(runs, TOPICS, QRELS, [TBG, nDCG @ 10], **given)
    expected = [means(RUN.assign(doc_length=RUN.docno.map(WORDS)))["TBG"], means(runs[1])["TBG"]]
    assert table["TBG"].tolist() == pytest.approx(expected, abs=1e-12)
    assert abs(expected[0] - expected[1]) > 0.01


ORDER = """
import ir_measures, pandas as pd, pyterrier as pt
from ir_measures import AP
from pyterrier_cwla import CWLA, TBG, GradedTBG, QMeasure, Residual
qrels = pd.DataFrame({"qid": ["1", "2"], "docno": ["a", "a"], "label": [1, 1]})
run = pd.DataFrame({"qid": ["1", "2"], "docno": ["a", "b"], "score": [1.0, 1.0], "rank": [0, 0], "doc_length": 9})
topics = pd.DataFrame({"qid": ["1", "2"], "query": ["x", "y"]})
cell = CWLA(C="rbp(0.5)", A="erg", max_rel=1, label="a cell")
measures = [QMeasure, TBG, AP, cell, GradedTBG, TBG @ 20, TBG(half_life=9), Residual(measure=cell)]
for asked in (measures, measures[::-1], sorted(measures, key=str)):
    found = pt.Experiment([run], topics, qrels, asked)
    ours = [str(measure) for measure in asked if measure != AP]
    assert list(found)[1:] == ["AP", *ours], list(found)
    by_query = pt.Experiment([run], topics, qrels, asked, perquery=True)
    assert list(by_query.measure[:8]) == ["AP", *ours], by_query
for _ in range(2):
    print(*ir_measures.calc_aggregate(set(measures), pt.model.to_ir_measures(qrels), pt.model.to_ir_measures(run)))
    measures = [TBG @ number for number in (3, 1, 2)]
"""


@pytest.mark.nightly
@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_columns_have_the_order_asked_for_with_any_seed(seed):
    """ir_measures collects measures in sets, whose order depends on the seed of Python's hashes."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-W", "ignore", "-c", ORDER]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "TBG@1 TBG@2 TBG@3"  # not validated: by name


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
    with pytest.raises(BadParameter, match="two measures are called 'TBG'"):
        pt.Experiment([RUN], TOPICS, QRELS, [words, AP, longer])
    with pytest.raises(BadParameter, match="two measures are called 'same'"):
        pt.Experiment([RUN], TOPICS, QRELS, [words(label="same"), RBP(label="same")])


@pytest.mark.parametrize("batch_size", [2, 5, 100])
@pytest.mark.parametrize("topics", [TOPICS, TOPICS[3:7], TOPICS[::-1]])
def test_batches_change_nothing(topics, batch_size):
    """Includes judged topics that are not in the last batch; PyTerrier scores them with an empty run."""
    given = {"names": ["a"], "filter_by_topics": False}
    whole = pt.Experiment([Mixture()], topics, QRELS, MEASURES, **given)
    batched = pt.Experiment([Mixture()], topics, QRELS, MEASURES, batch_size=batch_size, **given)
    assert row(batched, "a") == pytest.approx(row(whole, "a"), abs=1e-12)


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
    with pytest.raises(ValueError, match="doc_length"):
        pt.Experiment([Mixture(lengths=False)], TOPICS, QRELS, [TBG, AP], **given)
    with pytest.raises(ValueError, match="doc_length"):
        pt.Experiment([RUN.drop(columns="doc_length")], TOPICS, QRELS, [TBG], **given)
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


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("measure", [TBG(half_life=120), RBP(label="of RBP"), TBG(lengths=WORDS, missing="mean") @ 5])
def test_a_grid_search_takes_a_measure_object(measure, jobs):
    """PyTerrier looks up the values by the measure object; this works because a measure equals its own name."""
    mixture = Mixture()
    given = {"jobs": jobs, "return_type": "both"}
    _, best, setting = pt.GridSearch(mixture, {mixture: {"share": SHARES}}, TOPICS, QRELS, measure, **given)
    by_share = {share: means(Mixture(share)(TOPICS), measures=[measure])[str(measure)] for share in SHARES}
    assert best == pytest.approx(max(by_share.values()), abs=1e-12)
    assert by_share[setting[0][2]] == max(by_share.values())
    if jobs == 1:  # with several jobs, PyTerrier sets the parameter of a copy in the worker
        assert mixture.share == setting[0][2]


NOTEBOOK = """
import pandas as pd
import pyterrier as pt
from pyterrier_cwla import CWLA, aggregation, continuation

@continuation
def bored(view, after: float = 2):
    return after / (after + view.i)

@aggregation
def second_thoughts(view, share: float):
    return share * view.best + (1 - share) * view.G / view.i

class Fixed(pt.Transformer):
    def __init__(self):
        self.reverse = False

    def transform(self, topics):
        rows = [(q, d, -s if self.reverse else s) for q in topics.qid for d, s in [("a", 3.0), ("b", 2.0), ("c", 1.0)]]
        return pt.model.add_ranks(pd.DataFrame(rows, columns=["qid", "docno", "score"]))

if __name__ == "__main__":
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["x", "y"]})
    qrels = pd.DataFrame([("1", "c", 1), ("2", "b", 1), ("2", "c", 2)], columns=["qid", "docno", "label"])
    fixed, values = Fixed(), []
    grid = {fixed: {"reverse": [False, True]}}
    measure = CWLA(C="bored(3)", A=second_thoughts(0.5), max_rel=2)
    for jobs in (1, 2):
        table = pt.GridScan(fixed, grid, topics, qrels, [measure], jobs=jobs)
        values.append(table[str(measure)].tolist())
        best = pt.GridSearch(fixed, grid, topics, qrels, measure, jobs=jobs, return_type="best_setting")
        values.append([best[0], best[1][0][2]])
    print(values[0] == values[2] and values[1] == values[3], values[1][1], str(measure), sep="; ")
"""


@pytest.mark.nightly
def test_a_function_of_a_notebook_works_in_worker_processes(tmp_path):
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    done = subprocess.run([sys.executable, "notebook.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    last = done.stdout.splitlines()[-1] if done.stdout else done.stderr
    assert last == "True; True; CWLA(C='bored(3)',A='second_thoughts(0.5)',max_rel=2)", done.stderr


def test_saved_labelled_and_timed_measures_are_columns(tmp_path):
    pt.Experiment([RUN], TOPICS, QRELS, [TBG, RBP], names=["a"], save_dir=str(tmp_path))
    assert set(pd.read_csv(tmp_path / "aggregated.csv").columns) == {"name", "TBG", str(RBP)}
    found = pt.Experiment([RUN], TOPICS, QRELS, [nDCG @ 10, labelled(nDCG @ 10, "early"), AP])
    assert found["early"].item() == found["nDCG@10"].item() > 0
    assert {"AP", "early", "nDCG@10"} < set(found.columns)
    table = pt.Experiment([Mixture()], TOPICS, QRELS, [TBG, "mrt", "map"], names=["a"])
    assert {"TBG", "mrt", "map"} <= set(table.columns)
    assert pt.measures.TBG == TBG == pt.cwla.TBG
    assert pt.measures.CWLA(C="rbp(0.8)", A="erg", max_rel=3) == RBP
    assert pt.measures.Residual(measure=TBG) == "Residual(measure='TBG')"
    assert pt.measures.TBG @ 10 == "TBG@10"


def _columns(measures, **given):
    found = pt.Experiment([RUN], TOPICS, QRELS, measures, names=["a"], **given)
    return [name for name in found if name not in ("name", "AP")]


def test_every_thread_has_its_own_order_of_columns():
    lists = [[TBG @ k for k in order] for order in ((1, 2, 3), (3, 2, 1), (2, 3, 1), (2, 1, 3))]
    started = threading.Barrier(len(lists), timeout=60)

    def several(measures):
        started.wait()
        return [_columns(measures, perquery=False) for _ in range(5)]

    with ThreadPoolExecutor(len(lists)) as pool:
        for measures, found in zip(lists, pool.map(several, lists), strict=True):
            assert found == [[str(measure) for measure in measures]] * 5


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
