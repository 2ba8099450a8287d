"""Evaluation on a Dask cluster: same numbers as in one process, also if workers die."""

import os
import signal
import subprocess
import sys
from functools import partial

import dask
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from dask import dataframe
from dask.distributed import Client, KilledWorker, LocalCluster
from dask.sizeof import sizeof
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV, GroupKFold

from pyterrier_cwla import CWLA, TBG, CannotScore, CWLAError, continuation, demo, evaluate, register_lengths, scorer
from pyterrier_cwla.behaviour import simulate
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, MalformedFile, MissingLength, UnknownSpec
from pyterrier_cwla.evaluation import cluster
from pyterrier_cwla.pipelines import OptunaSearch
from pyterrier_cwla.studies import robustness
from pyterrier_cwla.tasks.parallel import _Common, side_by_side
from tests.support.generated import collection as generated
from tests.support.generated import write_trec
from tests.support.messages import refused

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Client of a cluster with two worker processes, which Dask does not give up if they die twice within 15 seconds."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
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


def systems(runs=6):
    made = [generated(seed, queries=9, grades=(0, 1, 2)) for seed in range(runs)]
    return made[0].qrels, {f"run {number}": one.run for number, one in enumerate(made)}


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
    with cluster.workers(client), pytest.raises(CannotScore, match="doc_length"):
        search.fit(X, y, groups=qid)
    register_lengths(words)
    with cluster.workers(client):
        found = search.fit(X, y, groups=qid).cv_results_["mean_test_score"].tolist()
    of_file = cluster.evaluate(qrels, tmp_path / "run.parquet", [TBG], client=client).iloc[0, 0]
    assert found == search.fit(X, y, groups=qid).cv_results_["mean_test_score"].tolist()
    assert of_file == evaluate(qrels, run, [TBG(lengths=words)]).iloc[0, 0]


@pytest.fixture(scope="module")
def collection():
    return demo.collection(documents=120, topics=6)


def test_pyterriers_searches_by_our_measures(collection, client):
    texts = collection.documents.set_index("docno")["text"]
    words = {docno: len(text.split()) for docno, text in texts.items()}
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


DOCUMENTS = [f"d{number}" for number in range(60)]
MEASURES = ["nDCG@10", "AP", "ERR@20", "infAP", "ESL(wanted=2)", "Compat", "GMAP", "NumRel", "TBG(lengths='of_the_cluster')",
            "INST(T=2,max_rel=2)", "Residual(measure=\"CWLA(C='rbp(0.8)',A='erg',max_rel=2)\")"]  # fmt: skip


@pytest.fixture(scope="module")
def qrels():
    """Judgments, also of a query that no run answers."""
    register_lengths("of_the_cluster", {document: 10.0 + 37 * n % 900 for n, document in enumerate(DOCUMENTS)})
    return generated(1, queries=24, grades=(0, 1, 2)).qrels


@pytest.fixture(scope="module")
def runs():
    """Runs with rankings of different lengths, and ties."""
    made = [generated(seed, queries=24).run.sample(frac=0.6, random_state=seed) for seed in range(3)]
    made = [run.sort_values("query_id", ascending=seed > 0, kind="stable") for seed, run in enumerate(made)]
    return dict(zip(["bm25", "dense", "both"], (run.reset_index(drop=True) for run in made), strict=True))


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


def test_a_dask_data_frame_scores_as_frames_do(expected, qrels, runs, client, monkeypatch):
    """Also with several threads in a worker, and where cut queries meet in several places."""
    frame = as_one(runs)
    for partitions in (1, 2):
        given = dataframe.from_pandas(frame, npartitions=partitions, sort=False)
        same(expected, qrels, given, client)
    means = cluster.evaluate(qrels, given, MEASURES, client=client)
    pd.testing.assert_frame_equal(means, expected[1], check_exact=True)
    renamed = frame.sample(frac=1, random_state=1).rename(columns={"query_id": "qid", "doc_id": "docno"})
    renamed = renamed.astype({"qid": "category", "docno": object})
    given = dataframe.from_pandas(renamed, npartitions=5, sort=False)
    same(expected, qrels, given, client)
    how = dict(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0", set_as_default=False)
    with Client(**how) as two:
        same(expected, qrels, given, two)
    monkeypatch.setattr(cluster, "_CUT", 200)
    monkeypatch.setattr(cluster, "_ROWS", 30)
    frame = frame.sample(frac=1, random_state=2)
    found = same(expected, qrels, dataframe.from_pandas(frame, npartitions=7, sort=False), client)
    assert found.npartitions == 3


def test_files_score_as_frames_do_and_results_can_be_written(expected, qrels, runs, client, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    runs["bm25"].to_parquet(folder / "bm25.parquet", row_group_size=100)
    write_trec(runs["dense"], folder / "dense.txt")
    (folder / "both.parquet").mkdir()
    for number, start in enumerate(range(0, len(runs["both"]), 150)):
        runs["both"][start : start + 150].to_parquet(folder / "both.parquet" / f"part.{number}.parquet")
    found = same(expected, qrels, folder, client)
    found.to_parquet(tmp_path / "results")
    read = pd.read_parquet(tmp_path / "results")
    pd.testing.assert_frame_equal(read.set_index(["run", "query_id"]).loc[expected[0].index], expected[0])
    found = cluster.evaluate(qrels, {"other": folder / "bm25.parquet"}, ["AP"], client=client)
    assert found.to_dict() == {"AP": {"other": expected[1].loc["bm25", "AP"]}}


def test_a_notebooks_own_users_and_tables_go_with_the_measures(qrels, runs, client, tmp_path, monkeypatch):
    """Workers run in another folder, so the relative path does not exist there."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"docno": DOCUMENTS, "words": 100}).to_csv("words.csv", index=False)

    @continuation
    def fickle(view):
        return 1 / (1 + view.i)

    measures = [CWLA(C=fickle, A="etg", max_rel=2, norm="ideal"), TBG(lengths=dict.fromkeys(DOCUMENTS, 100))]
    measures.append(TBG(lengths="words.csv", half_life=60))
    expected = evaluate(qrels, runs, measures)
    found = cluster.evaluate(qrels, dataframe.from_pandas(as_one(runs), npartitions=3), measures, client=client)
    pd.testing.assert_frame_equal(found.loc[expected.index], expected, check_exact=True)


def test_values_are_kept_and_taken_from_there(expected, qrels, runs, client, tmp_path, monkeypatch):
    """Values of earlier files stay after an interruption."""
    files = {name: tmp_path / f"{name}.txt" for name in runs}
    for name, path in files.items():
        write_trec(runs[name], path)
    *_, last = runs
    scores_of_runs = cluster.scores_of_runs
    ask = {"client": client, "cache_dir": tmp_path / "kept"}

    def interrupted(client, sent, queries, given):
        if last in [source.name for source in given.sources]:
            raise KeyboardInterrupt
        return scores_of_runs(client, sent, queries, given)

    with monkeypatch.context() as patch:
        patch.setattr(cluster, "_EACH", 1)
        patch.setattr(cluster, "scores_of_runs", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cluster.evaluate(qrels, files, MEASURES[:4], **ask)
        patch.setattr(cluster, "scores_of_runs", None)
        done = {name: path for name, path in files.items() if name != last}
        found = cluster.evaluate(qrels, done, MEASURES[:4], **ask)
        pd.testing.assert_frame_equal(found, expected[1].loc[[*done], found.columns], check_exact=True)
    pd.testing.assert_frame_equal(cluster.evaluate(qrels, files, MEASURES, **ask), expected[1], check_exact=True)
    monkeypatch.setattr(cluster, "scores_of_runs", None)
    found = cluster.evaluate(qrels, files, MEASURES, by_query=True, **ask).compute(scheduler=client)
    pd.testing.assert_frame_equal(keyed(found, expected[0]), expected[0], check_exact=True)
    with pytest.raises(BadParameter, match="cache_dir= is for runs in files"):
        cluster.evaluate(qrels, dataframe.from_pandas(runs["bm25"], npartitions=1), MEASURES, **ask)


def test_what_is_wrong_is_said_as_in_one_process(qrels, runs, client, tmp_path):
    run = runs["bm25"]

    def ask(runs, measures=("AP",), **more):
        return cluster.evaluate(qrels, runs, measures, client=client, **more)

    def frame(run, partitions=2):
        return dataframe.from_pandas(run, npartitions=partitions, sort=False)

    def wrong(runs, *says, **more):
        refused(lambda: ask(runs, **more), *says)

    of_pyterrier = run[["query_id", "score"]].rename(columns={"query_id": "qid"})
    for rows, *says in (
        (pd.concat([run, run[:1]]), f"'{run.query_id[0]}': '{run.doc_id[0]}' is retrieved twice"),
        (run.assign(docno=["x", *run["doc_id"][1:]]), "'doc_id' and 'docno' with one meaning, and they differ", " in row 0"),
        (run.assign(score=run.score.where(run.index != 300)), "has the score NaN"),
        (run.assign(query_id=7), "partition ", ": query_id ", " must be strings"),
        (of_pyterrier, "no column 'docno'; there is 'qid', 'score'"),
    ):  # fmt: skip
        wrong(frame(rows), BadRun, *says)
    ask(frame(run.assign(docno=run["doc_id"])))
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
    for where in (None, tmp_path / "kept"):
        wrong(both, BadRun, "two runs have the name 'one' (in ", "a.parquet and ", "b.parquet): give", cache_dir=where)
        for none in ([], (), {}):
            wrong(none, BadRun, "there is no run to evaluate", cache_dir=where)
    write_trec(run, tmp_path / "run.txt")
    with open(tmp_path / "run.txt", "a") as file:
        file.write("q1 Q0 d1 7")
    wrong(tmp_path / "run.txt", MalformedFile, f"run.txt:{len(run) + 1}: expected 6 fields", " found 4")
    with pytest.warns(UserWarning, match="no query in common") as told:
        ask(frame(run.assign(query_id="z" + run.query_id)))
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="no document of run is judged for its query") as told:
        ask(frame(run.assign(doc_id="z" + run.doc_id), partitions=5))
    assert [one.filename for one in told if "judged" in str(one.message)] == [__file__]


@pytest.mark.parametrize(("later", "says"), [(n, f"{n} rows were scored, and 9 counted") for n in (6, 12)])
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
from pyterrier_cwla.evaluation import cluster
from tests.support.messages import refused
assert "dask" not in sys.modules
for says in ("there is no Dask client: make one first", 'pip install "dask[dataframe]'):
    refused(lambda: cluster.evaluate({}, "run.txt", ["AP"]), says)
    sys.modules["distributed"] = None
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


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


def test_dask_knows_the_size_of_arguments_and_who_kills_every_worker(client):
    """joblib's Dask backend scatters arguments above one kilobyte, so that each worker receives them once."""
    assert dict(side_by_side({"two": partial(pow, 2, 2), "three": partial(pow, 3, 2)})) == {"two": 4, "three": 9}
    assert sizeof(_Common(1)) < 100
    assert 8e6 <= sizeof(_Common({"grades": np.zeros(1_000_000)})) < 8.001e6
    with pytest.raises(CWLAError, match="workers died repeatedly during the same task"), cluster.workers(client):
        raise KilledWorker("work", "worker", 3)
