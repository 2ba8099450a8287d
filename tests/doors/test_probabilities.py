"""Expected scores of judgments that are probabilities are the same through all doors."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRanker

from pyterrier_cwla import GroupedRanker, LambdaMART, compare, evaluate, explain, scorer
from pyterrier_cwla.errors import CannotScore
from pyterrier_cwla.evaluation import stop_distribution
from pyterrier_cwla.explorer import Exploration
from pyterrier_cwla.files import formats
from pyterrier_cwla.learning.metrics import measure_score
from pyterrier_cwla.measures.named import measures_of
from tests.support.generated import as_pyterrier
from tests.support.messages import refused

from .doors import DOORS, Column, frames
from .rows import Data
from .test_doors import check

MEASURES = measures_of([
    "Expected(measure='RBP(rel=1)')", "Expected(measure='RR')", "Expected(measure='nDCG@5',samples=50)",
    "Expected(measure=\"CWLA(C='rbp(0.8)',A='max',max_rel=2)\",prior=0.2)",
    "Expected(measure=\"CWLA(C='inst(1)',A='erg',max_rel=2)\",samples=50,what='std')",
])  # fmt: skip
NAMES = [str(measure) for measure in MEASURES]


def made(binary):
    """Return a run and judgments of five topics with probabilities, some documents unjudged."""
    rng = np.random.default_rng(7)
    rows = [(f"q{q}", f"d{d}", float(score)) for q in range(5) for d, score in enumerate(rng.permutation(9))]
    run = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    qrels = run[["query_id", "doc_id"]].sample(frac=0.7, random_state=1)
    p = rng.dirichlet([0.3, 0.3, 0.3], len(qrels))
    chances = {"p_relevant": p[:, 1]} if binary else {f"p_{grade}": p[:, grade] for grade in range(3)}
    return run, qrels.assign(**chances)


OF_FRAMES = ("as_polars", "as_arrow", "as_parquet", "means", "several_runs", "queries_alone", "compared", "cached_twice",
             "streamed", "dask_partitions", "provider", "provider_means", "experiment")  # fmt: skip
DATA = {kind: Data(*made(kind == "binary")) for kind in ("binary", "graded")}


@pytest.mark.every_case
@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("door", OF_FRAMES)
def test_frames(door, kind, tmp_path):
    check(DOORS[door], DATA[kind], lambda: NAMES, tmp_path)


@pytest.fixture(params=DATA)
def data(request):
    """Return the run, the judgments, and the expected scores by topic."""
    made = DATA[request.param]
    return made.run, made.qrels, frames(made, MEASURES)


def test_forms_of_judgments(data, tmp_path, prints):
    run, qrels, wanted = data
    files = {name: tmp_path / f"qrels.{name}" for name in ("csv", "parquet", "tsv", "txt")}
    qrels.to_parquet(files["parquet"])
    for name, separator in (("csv", ","), ("tsv", "\t"), ("txt", " ")):
        qrels.assign(model="m").to_csv(files[name], sep=separator, index=False)
    trec = qrels.assign(iteration="0").rename(columns={"query_id": "topic", "doc_id": "docno"})
    trec.to_csv(tmp_path / "trec.csv", index=False)
    forms = [qrels.sample(frac=1, random_state=3), as_pyterrier(qrels), list(qrels.itertuples(index=False))]
    for form in [*forms, *files.values(), tmp_path / "trec.csv"]:
        found = evaluate(form, run, MEASURES, by_query=True).loc["run"]
        pd.testing.assert_frame_equal(found.loc[wanted.index], wanted, check_exact=True)
    assert any("independent" in note for note in compare(qrels, {"one": run, "two": run}, MEASURES).notes())
    run.to_parquet(tmp_path / "run.parquet")
    options = [option for name in NAMES for option in ("-m", name)]
    text = prints("evaluate", files["csv"], tmp_path / "run.parquet", *options, "--by-query", "--format", "csv")
    assert [line.split(",")[1] for line in text.splitlines()[1:]] == wanted.index.tolist()


def test_labelled_rows(data):
    run, qrels, wanted = data
    rows = run.merge(qrels, how="left")
    labels = rows.filter(regex="^p_")
    y = (labels.iloc[:, 0] if labels.shape[1] == 1 else labels).set_axis(
        pd.MultiIndex.from_arrays([rows.query_id, rows.doc_id], names=["qid", "docno"])
    )
    for measure in MEASURES:
        value = scorer(measure, greater_is_better=True)(Column(), rows[["score"]].to_numpy(), y)
        assert value == pytest.approx(wanted[str(measure)].mean(), rel=1e-12)
        values = measure_score(measure, y, rows.score, qid=rows.query_id, docno=rows.doc_id, average=False)
        assert values.tolist() == pytest.approx(wanted.loc[rows.query_id.unique(), str(measure)].tolist(), rel=1e-12)
    with pytest.raises(CannotScore, match=r"only Expected\(measure=…\) reads"):
        scorer("nDCG@5")(Column(), rows[["score"]].to_numpy(), y)
    known = y.notna() if y.ndim == 1 else y.notna().all(axis=1)
    ranker = GroupedRanker(LGBMRanker(objective=LambdaMART("nDCG@5"), n_estimators=2, verbose=-1))
    refused(lambda: ranker.fit(rows.loc[known.to_numpy(), ["score"]], y[known]), "probabilities")


@pytest.mark.parametrize(
    "inner",
    ["RR", "RBP(rel=1)", "CWLA(C='rbp(0.8)',A='max',max_rel=2)", "CWLA(C='cascade(0.8)',A='utility(log2)',max_rel=2)",
     "CWLA(C='decay(4)',A='smeared(4)',effort='by_grade({0:1,1:2,2:5})',max_rel=2,end='stop')"],
)  # fmt: skip
def test_explanations_add_up(inner):
    run, qrels = made(binary=False)
    measure = f'Expected(measure="{inner}")'
    explained = explain(qrels, run, "q1", measure)
    score = evaluate(qrels, run, [measure], by_query=True).loc[("run", "q1"), :].iloc[0]
    assert explained.score == pytest.approx(score, rel=1e-12)
    parts = explained.table["L·A"].sum() + explained.beyond
    assert parts == pytest.approx(score, rel=1e-12)
    if explained.adds_gains:
        assert explained.contributions.sum() == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize(
    "inner",
    ["Mixture(measures={'a':'RBP(rel=1)','b':'RBP(rel=1,p=0.5)'})", "IntentAware(measure='RBP(rel=1)')",
     "ByTopic(measure='RBP(rel=1)',parameters={'q1':{'p':0.5}},other='measure')"],
)  # fmt: skip
def test_parts_are_explained(inner):
    run, qrels = made(binary=True)
    intents = pd.concat([qrels.assign(iteration="1"), qrels.assign(iteration="2", p_relevant=0.25)])
    qrels, measure = intents if "Intent" in inner else qrels, f'Expected(measure="{inner}")'
    score = evaluate(qrels, run, [measure], by_query=True).loc[("run", "q1"), :].iloc[0]
    assert explain(qrels, run, "q1", measure).score == pytest.approx(score, rel=1e-12)


def test_what_needs_grades_or_a_mean_refuses_probabilities():
    run, qrels = made(binary=True)
    refused(lambda: explain(qrels, run, "q1", "Expected(measure='RR',what='std')"), "is no mean")
    refused(lambda: explain(qrels, run, "q1", "Expected(measure='nDCG@5')"), "samples of labels")
    refused(lambda: Exploration(qrels, run), "only Expected")
    refused(lambda: stop_distribution(qrels, run, "RR"), "only Expected")
    intents = pd.concat([qrels.assign(iteration="1"), qrels.assign(iteration="2")])
    objective = LambdaMART("IntentAware(measure='RBP(rel=1)')", qrels=intents, qid=run.query_id, docno=run.doc_id)
    refused(lambda: objective.gradients(np.zeros(len(run)), run.score, [9] * 5), "only Expected")


HOSTILE = {
    "query_id,doc_id,p_relevant\nq,a,0.5\nq,b,": ":3: p_relevant '' is no number",
    "query_id,doc_id,p_relevant\nq,a,0.5\nq,a,0.4": "'a' is judged twice",
    "query_id,doc_id,p_0,p_2\nq,a,0.5,0.5": "not 'p_1'",
    "doc_id,p_relevant\na,0.5": "expected 4 fields",
    "query_id,doc_id,p_relevant\nq,a,2": "p_relevant is 2",
    "query_id,doc_id,p_relevant\nq,a,inf": "p_relevant is inf",
}


@pytest.mark.parametrize("text", HOSTILE)
def test_files_that_are_refused(text, tmp_path):
    path = tmp_path / "qrels.csv"
    path.write_text(text)
    refused(lambda: evaluate(path, {"q": {"a": 1.0}}, ["Expected(measure='RR')"]), HOSTILE[text])


def test_files_with_other_columns_of_probabilities(tmp_path):
    """A document may have the name of such a column, and judgments may have grades as well."""
    (tmp_path / "qrels.txt").write_text("1 0 p_1,x 1\n1\t0\tb 0\n")
    assert formats.read_qrels(tmp_path / "qrels.txt")["doc_id"].to_pylist() == ["p_1,x", "b"]
    made(binary=True)[1].assign(relevance=1).to_csv(tmp_path / "both.csv", index=False)
    names = formats.read_qrels(tmp_path / "both.csv").column_names
    assert {*names} == {"query_id", "doc_id", "relevance", "p_relevant"}
