"""Evaluation on a Dask cluster: same numbers as in one process, also if workers die."""

import gzip
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from dask import dataframe
from dask.distributed import Client, KilledWorker, LocalCluster
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV, GroupKFold

from pyterrier_cwla import CWLA, TBG, CannotScore, CWLAError, continuation, demo, evaluate, register_lengths, scorer
from pyterrier_cwla.behaviour import simulate
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, MalformedFile, MissingLength, UnknownSpec
from pyterrier_cwla.evaluation import cluster
from pyterrier_cwla.evaluation.cluster import InFiles, _Parts
from pyterrier_cwla.files.run_files import sources
from pyterrier_cwla.pipelines import OptunaSearch
from pyterrier_cwla.studies import robustness
from tests.support.messages import refused

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Client of a cluster with two worker processes."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None,
                     local_directory=str(tmp_path_factory.mktemp("dask"))) as local,
        Client(local) as connected,
    ):  # fmt: skip
        yield connected


def ranker():
    """Return an estimator that predicts a column of X. Its class is local, so workers cannot import it."""

    class Column(RegressorMixin, BaseEstimator):
        def __init__(self, column=0):
            self.column = column

        def fit(self, X, y):
            self.fitted_ = True
            return self

        def predict(self, X):
            return np.asarray(X)[:, self.column]

    return Column()


def systems(runs=6, queries=9, seed=0):
    rng = np.random.default_rng(seed)
    documents = [f"d{n}" for n in range(12)]
    qrels = {f"q{q}": dict(zip(documents, map(int, rng.integers(0, 3, 12)))) for q in range(queries)}
    return qrels, {f"run {n}": {q: dict(zip(documents, rng.random(12).tolist())) for q in qrels} for n in range(runs)}


STUDIES = {
    "robustness": lambda jobs: robustness(
        *systems(), ["nDCG", "Bpref"], seeds=2, pairs=3, resamples=50, progress=False, n_jobs=jobs
    ).tables()["order"].frame,
    "simulate": lambda jobs: simulate(*systems(2), "ERR", users=500, progress=False, n_jobs=jobs).by_query,
}  # fmt: skip


@pytest.mark.parametrize("study", STUDIES)
def test_studies_and_simulations_find_the_same(study, client):
    expected = STUDIES[study](1)
    with cluster.workers(client):
        found = STUDIES[study](-1)
    pd.testing.assert_frame_equal(found, expected, check_exact=True, check_index_type=False)


def rows(seed=0, queries=9, each=6):
    rng = np.random.default_rng(seed)
    qid = np.repeat([f"q{number}" for number in range(queries)], each)
    docno = [f"d{number}" for number in range(len(qid))]
    labels = rng.integers(0, 3, len(qid))
    X = labels[:, None] + rng.normal(0, 2, (len(qid), 3))
    words = dict(zip(docno, rng.integers(10, 900, len(qid)).tolist()))
    return X, pd.Series(labels, pd.MultiIndex.from_arrays([qid, docno], names=["qid", "docno"])), qid, words


@pytest.mark.parametrize("own", [False, True])
def test_scikit_learns_search_by_our_scorers(own, client):
    """The table of lengths and the continuation exist only in this process."""
    X, y, qid, words = rows()
    register_lengths("here_alone", words)

    @continuation
    def bored(view):
        return 1 / (1 + view.i)

    scoring = scorer(CWLA(C=bored, A="etg", max_rel=2) if own else "TBG(half_life=120,lengths='here_alone')")
    search = GridSearchCV(ranker(), {"column": [0, 1, 2]}, cv=GroupKFold(3), scoring=scoring)
    expected = search.fit(X, y, groups=qid).cv_results_["mean_test_score"]
    with cluster.workers(client):
        found = search.fit(X, y, groups=qid).cv_results_["mean_test_score"]
    assert found.tolist() == expected.tolist()
    assert len(set(found)) == 3


def test_workers_receive_the_default_table_of_lengths(client, tmp_path):
    """Files and searches; workers have no default table of their own."""
    X, y, qid, words = rows()
    documents = np.unique(y.index.get_level_values("docno"))
    run = pd.DataFrame({"query_id": "q", "doc_id": documents, "score": np.arange(len(documents), 0, -1.0)})
    run.to_parquet(tmp_path / "run.parquet")
    qrels = {"q": {documents[1]: 1, documents[4]: 1}}
    search = GridSearchCV(ranker(), {"column": [0, 1, 2]}, cv=GroupKFold(3), scoring=scorer("TBG"))
    register_lengths(words)
    with cluster.workers(client):
        found = search.fit(X, y, groups=qid).cv_results_["mean_test_score"].tolist()
    of_file = cluster.evaluate(qrels, tmp_path / "run.parquet", [TBG], client=client).iloc[0, 0]
    assert found == search.fit(X, y, groups=qid).cv_results_["mean_test_score"].tolist()
    assert of_file == evaluate(qrels, run, [TBG(lengths=words)]).iloc[0, 0]


def test_what_cannot_be_scored_stops_a_search(client):
    X, y, qid, _ = rows()
    search = GridSearchCV(ranker(), {"column": [0, 1]}, cv=GroupKFold(3), scoring=scorer("TBG"))
    with cluster.workers(client), pytest.raises(CannotScore, match="doc_length"):
        search.fit(X, y, groups=qid)


@pytest.fixture(scope="module")
def collection():
    return demo.collection(documents=120, topics=6)


def test_pyterriers_searches_by_our_measures(collection, client):
    words = {
        docno: len(text.split()) for docno, text in collection.documents[["docno", "text"]].itertuples(index=False)
    }
    bm25 = demo.systems(collection)["BM25"]
    ask = bm25, {bm25: {"b": [0.1, 0.5, 0.9]}}, collection.topics, collection.qrels, TBG(lengths=words)
    value, [(_, name, best)] = pt.GridSearch(*ask, return_type="best_setting")
    with cluster.workers(client):
        found, [(_, same, setting)] = pt.GridSearch(*ask, jobs=2, return_type="best_setting")
        assert (found, same, setting) == (value, name, best)


def test_our_search_retrieves_on_the_workers(collection, client, monkeypatch):
    monkeypatch.setattr(pt.java, "parallel_init", lambda *given: __import__("os").environ.update(JAVA_WOULD="run"))

    def found(**given):
        bm25 = demo.systems(collection)["BM25"]
        ask = bm25, {bm25: {"b": (0.0, 1.0)}}, collection.topics, collection.qrels
        return OptunaSearch(*ask, TBG, trials=4, verbose=False, **given).trials.drop(columns="seconds")

    expected = found()
    with cluster.workers(client):
        pd.testing.assert_frame_equal(found(jobs=2), expected, check_exact=True)
    assert set(client.run(lambda: __import__("os").environ.get("JAVA_WOULD")).values()) == {"run"}


QUERIES = [f"q{number:02}" for number in range(24)]
DOCUMENTS = np.array([f"d{number:03}" for number in range(90)])
MEASURES = ["nDCG@10", "AP", "ERR@20", "infAP", "ESL(wanted=2)", "Compat", "GMAP", "NumRel", "TBG(lengths='of_the_cluster')",
            "INST(T=2,max_rel=2)", "Residual(measure=\"CWLA(C='rbp(0.8)',A='erg',max_rel=2)\")"]  # fmt: skip


@pytest.fixture(scope="module")
def qrels():
    """Judgments, including queries that no run answers."""
    rng = np.random.default_rng(1)
    register_lengths("of_the_cluster", dict(zip(DOCUMENTS.tolist(), rng.integers(10, 900, 90).tolist())))
    judged = [(query, doc) for query in [*QUERIES[4:], "x", "y"] for doc in rng.choice(DOCUMENTS, 25, replace=False)]
    return pd.DataFrame(judged, columns=["query_id", "doc_id"]).assign(relevance=rng.integers(0, 3, len(judged)))


@pytest.fixture(scope="module")
def runs():
    """Runs with rankings of different lengths, ties, and different orders of queries."""

    def run(rng):
        sizes = {query: rng.integers(1, 40) for query in rng.permutation(QUERIES)[:-2]}
        found = [(query, doc) for query, size in sizes.items() for doc in rng.choice(DOCUMENTS, size, replace=False)]
        return pd.DataFrame(found, columns=["query_id", "doc_id"]).assign(score=rng.integers(0, 30, len(found)) / 3)

    return {name: run(np.random.default_rng(seed)) for seed, name in enumerate(["bm25", "dense", "both"])}


@pytest.fixture(scope="module")
def expected(qrels, runs):
    return evaluate(qrels, runs, MEASURES, by_query=True), evaluate(qrels, runs, MEASURES)


def keyed(found, like):
    """Return the scores by run and query, with the types of the index of `like`; Dask has others with pandas 2."""
    return found.astype(like.index.dtypes.to_dict()).set_index(like.index.names)


def same(expected, qrels, given, client):
    by_query, _ = expected
    found = cluster.evaluate(qrels, given, MEASURES, by_query=True, client=client)
    assert isinstance(found, dataframe.DataFrame)
    table = keyed(found.compute(scheduler=client), by_query)
    pd.testing.assert_frame_equal(table.loc[by_query.index], by_query, check_exact=True)
    return found


def as_one(runs):
    return pd.concat([run.assign(run=name) for name, run in runs.items()], ignore_index=True)


def as_trec(run, path):
    columns = run.assign(Q0="Q0", rank=1, tag="tag")[["query_id", "Q0", "doc_id", "rank", "score", "tag"]]
    columns.to_csv(path, sep=" ", header=False, index=False)


@pytest.mark.parametrize("partitions, scattered", [(1, False), (2, False), (5, True)])
def test_a_dask_data_frame_scores_as_frames_do(partitions, scattered, expected, qrels, runs, client):
    frame = as_one(runs)
    if scattered:
        frame = frame.sample(frac=1, random_state=1)
    if partitions == 5:
        frame = frame.rename(columns={"query_id": "qid", "doc_id": "docno"})
        frame = frame.astype({"qid": "category", "docno": object})
    same(expected, qrels, dataframe.from_pandas(frame, npartitions=partitions, sort=False), client)


def test_means_are_those_of_frames(expected, qrels, runs, client):
    frame = dataframe.from_pandas(as_one(runs), npartitions=5, sort=False)
    found = cluster.evaluate(qrels, frame, MEASURES, client=client)
    pd.testing.assert_frame_equal(found, expected[1], check_exact=True)


def test_threads_of_a_worker_change_nothing(expected, qrels, runs):
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0", set_as_default=False
    ) as two:
        same(expected, qrels, dataframe.from_pandas(as_one(runs), npartitions=5, sort=False), two)


def test_files_score_as_frames_do_and_results_can_be_written(expected, qrels, runs, client, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    runs["bm25"].to_parquet(folder / "bm25.parquet", row_group_size=100)
    as_trec(runs["dense"], folder / "dense.txt")
    (folder / "both.parquet").mkdir()
    for number, start in enumerate(range(0, len(runs["both"]), 150)):
        runs["both"][start : start + 150].to_parquet(folder / "both.parquet" / f"part.{number}.parquet")
    found = same(expected, qrels, folder, client)
    found.to_parquet(tmp_path / "results")
    read = pd.read_parquet(tmp_path / "results")
    pd.testing.assert_frame_equal(read.set_index(["run", "query_id"]).loc[expected[0].index], expected[0])
    found = cluster.evaluate(qrels, {"other": folder / "bm25.parquet"}, ["AP"], client=client)
    assert found.to_dict() == {"AP": {"other": expected[1].loc["bm25", "AP"]}}


def test_cut_queries_meet_in_as_many_places_as_needed(expected, qrels, runs, client, monkeypatch):
    monkeypatch.setattr(cluster, "_CUT", 200)
    monkeypatch.setattr(cluster, "_ROWS", 30)
    frame = as_one(runs).sample(frac=1, random_state=2)
    found = same(expected, qrels, dataframe.from_pandas(frame, npartitions=7, sort=False), client)
    assert found.npartitions == 3


def test_a_notebooks_own_users_and_tables_go_with_the_measures(qrels, runs, client):
    @continuation
    def fickle(view):
        return 1 / (1 + view.i)

    measures = [CWLA(C=fickle, A="etg", max_rel=2, norm="ideal"), TBG(lengths=dict.fromkeys(DOCUMENTS, 100))]
    expected = evaluate(qrels, runs, measures)
    found = cluster.evaluate(qrels, dataframe.from_pandas(as_one(runs), npartitions=3), measures, client=client)
    pd.testing.assert_frame_equal(found.loc[expected.index], expected, check_exact=True)


def test_a_table_of_lengths_that_only_this_machine_has(expected, qrels, runs, client, tmp_path, monkeypatch):
    """Workers run in another folder, so the relative path does not exist there."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"docno": DOCUMENTS, "words": 100}).to_csv("words.csv", index=False)
    measures = [TBG(lengths="words.csv")]
    wanted = evaluate(qrels, runs["bm25"], measures)
    frame = dataframe.from_pandas(runs["bm25"], npartitions=2)
    pd.testing.assert_frame_equal(cluster.evaluate(qrels, frame, measures, client=client), wanted, check_exact=True)


def test_values_are_kept_and_taken_from_there(expected, qrels, runs, client, tmp_path, monkeypatch):
    for name, run in runs.items():
        as_trec(run, tmp_path / f"{name}.txt")
    files = {name: tmp_path / f"{name}.txt" for name in runs}
    ask = {"client": client, "cache_dir": tmp_path / "kept"}
    found = cluster.evaluate(qrels, files, MEASURES[:4], **ask)
    pd.testing.assert_frame_equal(found, expected[1][found.columns], check_exact=True)
    pd.testing.assert_frame_equal(cluster.evaluate(qrels, files, MEASURES, **ask), expected[1], check_exact=True)
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "scores_of_runs", None)
        found = cluster.evaluate(qrels, files, MEASURES, by_query=True, **ask).compute(scheduler=client)
        pd.testing.assert_frame_equal(keyed(found, expected[0]), expected[0], check_exact=True)
    with pytest.raises(BadParameter, match="cache_dir= is for runs in files"):
        cluster.evaluate(qrels, dataframe.from_pandas(runs["bm25"], npartitions=1), MEASURES, **ask)


def test_values_of_earlier_files_stay_after_an_interruption(qrels, runs, client, tmp_path, monkeypatch):
    files = {name: tmp_path / f"{name}.txt" for name in runs}
    for name, path in files.items():
        as_trec(runs[name], path)
    *_, last = runs
    scores_of_runs = cluster.scores_of_runs

    def interrupted(client, sent, queries, given):
        if last in [source.name for source in given.sources]:
            raise KeyboardInterrupt
        return scores_of_runs(client, sent, queries, given)

    monkeypatch.setattr(cluster, "_EACH", 1)
    monkeypatch.setattr(cluster, "scores_of_runs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cluster.evaluate(qrels, files, ["AP"], client=client, cache_dir=tmp_path / "kept")
    monkeypatch.setattr(cluster, "scores_of_runs", None)
    done = {name: path for name, path in files.items() if name != last}
    found = cluster.evaluate(qrels, done, ["AP"], client=client, cache_dir=tmp_path / "kept")
    pd.testing.assert_frame_equal(found, evaluate(qrels, done, ["AP"]), check_exact=True)


def test_what_is_wrong_is_said_as_in_one_process(qrels, runs, client, tmp_path):
    run = runs["bm25"]

    def ask(runs, measures=("AP",), **more):
        return cluster.evaluate(qrels, runs, measures, client=client, **more)

    def frame(run, partitions=2):
        return dataframe.from_pandas(run, npartitions=partitions, sort=False)

    def wrong(runs, *says, **more):
        refused(lambda: ask(runs, **more), *says)

    wrong(frame(pd.concat([run, run[:1]])), BadRun, f"'{run.query_id[0]}': '{run.doc_id[0]}' is retrieved twice")
    two = frame(run.assign(docno=["x", *run["doc_id"][1:]]))
    wrong(two, BadRun, "the columns 'doc_id' and 'docno' with one meaning, and they differ: ", " in row 0")
    ask(frame(run.assign(docno=run["doc_id"])))
    wrong(frame(run.assign(score=run.score.where(run.index != 300))), BadRun, "has the score NaN")
    wrong(frame(run.assign(query_id=7)), BadRun, "partition ", ": query_id ", " must be strings")
    wrong(frame(run[["query_id", "doc_id"]]), BadRun, "no column 'score'; there is 'query_id', 'doc_id'")
    of_pyterrier = run[["query_id", "score"]].rename(columns={"query_id": "qid"})
    wrong(frame(of_pyterrier), BadRun, "no column 'docno'; there is 'qid', 'score'")
    for measure, *says in (
        ("TBG", MissingLength, "run: TBG: the lengths of documents are needed"),
        ("TBG(missing='mean')", MissingLength, "mean length of a whole run"),
        ("CWLA(C='rr',A='max',max_rel=1)", BadJudgments, "above max_rel=1"),
        ("APP", UnknownSpec, "no measure 'APP'"),
    ):
        wrong(frame(run), *says, measures=[measure])
    for given in (run, {"run": run}, {"run": ["a.txt", "b.txt"]}):
        wrong(given, BadRun, "files or a Dask DataFrame, not ")
    wrong(frame(run[:0], 1), MalformedFile, "empty")
    run.to_parquet(tmp_path / "full.parquet")
    run[:0].to_parquet(tmp_path / "none.parquet")
    (tmp_path / "none.txt").write_text("")
    for empty in ("none.parquet", "none.txt"):
        both = {"full": tmp_path / "full.parquet", "none": tmp_path / empty}
        wrong(both, MalformedFile, f"{empty}: empty; there are no rows in it")
    wrong(tmp_path / "nowhere", MalformedFile, "o such file")
    both = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in both:
        run.assign(run="one").to_parquet(path)
    for cache_dir in (None, tmp_path / "kept"):
        wrong(
            both, BadRun, "two runs have the name 'one' (in ", "a.parquet and ", "b.parquet): give", cache_dir=cache_dir
        )
        for none in ([], (), {}):
            wrong(none, BadRun, "there is no run to evaluate", cache_dir=cache_dir)
    as_trec(run, tmp_path / "run.txt")
    with open(tmp_path / "run.txt", "a") as file:
        file.write("q1 Q0 d1 7")
    wrong(tmp_path / "run.txt", MalformedFile, f"run.txt:{len(run) + 1}: expected 6 fields", " found 4")
    with pytest.warns(UserWarning, match="no query in common") as told:
        ask(frame(run.assign(query_id="z" + run.query_id)))
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="no document of run is judged for its query") as told:
        ask(frame(run.assign(doc_id="z" + run.doc_id), partitions=5))
    assert [one.filename for one in told if "judged" in str(one.message)] == [__file__]


@pytest.mark.parametrize(
    ("later", "says"), [(6, "6 rows were scored, and 9 counted"), (12, "12 rows were scored, and 9 counted")]
)
def test_a_dask_frame_that_changes_while_scored_is_an_error(later, says, client, tmp_path):
    """Either unjudged queries disappear as a whole, or a query gets more rows."""

    def made(number, folder=str(tmp_path)):
        """Return nine rows on the first call and `later` rows on other calls."""
        calls = os.path.join(folder, "calls")
        with open(calls, "ab", buffering=0) as file:
            first = file.tell() == 0
            file.write(b".")
        rows = 9 if first else later
        ids = [(f"q{min(row // 3, 2)}", f"d{row}", float(row)) for row in range(rows)]
        return pd.DataFrame(ids, columns=["query_id", "doc_id", "score"])

    empty = pd.DataFrame({"query_id": pd.array([], "str"), "doc_id": pd.array([], "str"), "score": [0.0][:0]})
    run = dataframe.from_map(made, [0], meta=empty)
    refused(lambda: cluster.evaluate({"q0": {"d0": 1}}, run, ["AP"], client=client), MalformedFile, says)


def test_errors_without_client_or_dask_name_the_way_out():
    code = """
import sys
from pyterrier_cwla import CWLAError
from pyterrier_cwla.evaluation import cluster
assert "dask" not in sys.modules
def said():
    try:
        cluster.evaluate({}, "run.txt", ["AP"])
    except CWLAError as error:
        return str(error)
assert said().startswith("there is no Dask client: make one first")
sys.modules["distributed"] = None
assert 'pip install "dask[dataframe]' in said()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("seed", range(20))
def test_a_worker_that_is_killed_changes_no_number(seed, qrels, runs, client, tmp_path):
    """One worker is killed during its work. ``python -m benchmarks.cluster --kill 20`` runs more trials."""
    calls, here, last = tmp_path / "calls", os.getpid(), int(np.random.default_rng(seed).integers(1, 40))

    @continuation
    def dangerous(view):
        if os.getpid() != here:
            with open(calls, "ab", buffering=0) as file:  # counts the calls in all workers
                file.write(b".")
                if file.tell() == last:
                    os.kill(os.getpid(), signal.SIGKILL)
        return view.i / (1 + view.i)

    measures = [*MEASURES, CWLA(C=dangerous, A="etg", max_rel=2, end="stop")]
    expected = evaluate(qrels, runs, measures)
    frame = dataframe.from_pandas(as_one(runs), npartitions=20, sort=False)
    found = cluster.evaluate(qrels, frame, measures, client=client)
    assert calls.stat().st_size > last
    pd.testing.assert_frame_equal(found.loc[expected.index], expected, check_exact=True)


def test_work_that_kills_every_worker_is_an_error_that_says_so(client):
    with pytest.raises(CWLAError, match="workers died repeatedly during the same task"), cluster.workers(client):
        raise KilledWorker("work", "worker", 3)


def test_dask_knows_the_size_of_shared_arguments():
    """joblib's Dask backend scatters arguments above one kilobyte, so that each worker receives them once."""
    from functools import partial

    from dask.sizeof import sizeof

    from pyterrier_cwla.tasks.parallel import _Common, side_by_side

    assert dict(side_by_side({"two": partial(pow, 2, 2), "three": partial(pow, 3, 2)})) == {"two": 4, "three": 9}
    assert sizeof(_Common(1)) < 100
    assert 8e6 <= sizeof(_Common({"grades": np.zeros(1_000_000)})) < 8.001e6


def test_the_largest_parts_are_scored_first(tmp_path):
    class Noting:
        def map(self, task, parts, **how):
            return [part.work for part in parts]

    rows = [10, 3_000, 200]
    paths = [tmp_path / f"{number}.parquet" for number in rows]
    for path, number in zip(paths, rows, strict=True):
        documents = [f"d{i}" for i in range(number)]
        pd.DataFrame({"query_id": "q", "doc_id": documents, "score": 1.0}).to_parquet(path)
    given = InFiles(sources(paths))
    given.parts = [_Parts([(0, *source.parts)]) for source in given.sources]
    assert given.scored(Noting()) == [3_000, 200, 10]


def test_lines_are_counted_roughly(tmp_path):
    text = "".join(f"301 Q0 FT911-{i} {i} {9 - i / 100} bm25\n" for i in range(1000))
    plain, packed = tmp_path / "plain.txt", tmp_path / "packed.txt.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    for source in sources([plain, packed]):
        assert 300 < sum(part.work for part in source.parts) < 3_000
