"""Labels and names of measures in every surface: columns, titles, reports, pictures and LaTeX."""

import json
import re

import ir_measures
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client
from ir_measures import AP, nDCG
from sklearn.linear_model import LinearRegression

from pyterrier_cwla import TBG, LambdaMART, compare, evaluate, explain, out_of_fold, scorer, stream
from pyterrier_cwla.behaviour import simulate
from pyterrier_cwla.evaluation import cluster
from pyterrier_cwla.learning import get_scorer, register_scorers, unregister_scorers
from pyterrier_cwla.studies import (
    Rated,
    discriminative_power,
    fit,
    groups_left_out,
    metric_agreement,
    robustness,
    user_agreement,
)
from tests.studies.systems.test_power import systems
from tests.support.messages import refused

QRELS, RUNS = systems(runs=4, queries=8, documents=10)
WORDS = {f"d{number}": 50 * number + 1 for number in range(10)}
PLAIN = TBG(lengths=WORDS)
NAMED = {"quick_users & <slow>": PLAIN(half_life=60), "TBG": PLAIN, "early": nDCG @ 5, "AP": "AP"}
LISTED = [PLAIN(half_life=60, label="quick_users & <slow>"), PLAIN, "early=nDCG@5", AP]
LABEL, NAMES = next(iter(NAMED)), list(NAMED)
HASH = re.compile(r"table_[0-9a-f]{16}|/tmp")


@pytest.fixture(params=[NAMED, LISTED], ids=["dict", "list"])
def measures(request):
    return request.param


@pytest.mark.slow
def test_evaluations(measures, tmp_path):
    one = evaluate(QRELS, RUNS, measures)
    assert one.columns.tolist() == NAMES
    as_frame("run3").to_parquet(tmp_path / "run3.parquet")
    streamed = pd.concat(stream(QRELS, tmp_path / "run3.parquet", measures))
    assert streamed.columns.tolist() == ["run", "query_id", *NAMES]
    with Client(processes=False, dashboard_address=":0", set_as_default=False) as client:
        found = cluster.evaluate(QRELS, tmp_path, measures, client=client)
        assert found.columns.tolist() == NAMES
        assert found.loc["run3"].tolist() == one.loc["run3"].tolist()
        by_query = cluster.evaluate(QRELS, tmp_path, measures, True, client=client).compute(scheduler=client)
        assert by_query.columns.tolist() == ["run", "query_id", *NAMES]


def test_comparisons(measures):
    found = compare(QRELS, RUNS, {**NAMED, "SetF": "SetF"} if measures is NAMED else [*measures, "SetF"], "run0")
    assert found.measures == [*NAMES, "SetF"]
    assert found.about["measures"][LABEL] == repr(PLAIN(half_life=60))
    assert found.wide().columns.tolist() == [*NAMES, "SetF"]
    assert r"quick\_users \& $<$slow$>$" in found.to_latex()
    html = found._repr_html_()
    assert "quick_users &amp; &lt;slow&gt;" in html
    for text in (repr(found), html, found.to_latex()):
        assert not HASH.search(text)


@pytest.mark.slow
@pytest.mark.parametrize("study", [discriminative_power, metric_agreement, robustness, groups_left_out, user_agreement])
def test_studies(study, measures, tmp_path):
    more = {discriminative_power: {"progress": False}, robustness: {"progress": False, "seeds": 2, "resamples": 50},
            groups_left_out: {"groups": {name: name for name in RUNS}}, user_agreement: {"cv": 4}}  # fmt: skip
    given = (rated(),) if study is user_agreement else (QRELS, RUNS)
    found = study(*given, measures=measures, **more.get(study, {}))
    assert list(found.about["measures"]) == NAMES
    assert found.about["measures"]["TBG"] == repr(PLAIN)
    found.report(tmp_path)
    text = "".join(path.read_text() for path in tmp_path.rglob("*") if path.suffix in (".html", ".csv"))
    assert "quick_users &amp; &lt;slow&gt;" in text
    assert not HASH.search(text + repr(found))
    assert json.loads(json.dumps(found.about, default=str))


def rated(run=RUNS["run2"]):
    return Rated.lists(QRELS, run, {qid: float(number % 4) for number, qid in enumerate(QRELS)})


def as_frame(run):
    rows = [(q, d, s) for q, of in RUNS[run].items() for d, s in of.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])


def test_fits():
    run = as_frame("run2").assign(doc_length=lambda run: run["doc_id"].map(WORDS))
    found = fit("users=TBG(half_life=$h,unseen=3)", {"h": [30, 300]}, rated(run), cv=2, repeats=1, progress=False)
    assert str(found.measure) == "users"
    assert "users" in repr(found)
    assert ir_measures.parse_measure(found.about["measure"]) == ir_measures.parse_measure(repr(found.measure))


@pytest.mark.slow
@pytest.mark.parametrize("label", [None, "quick users"])
def test_single_measures(label):
    measure, name = PLAIN(label=label), label or "TBG"
    explained = explain(QRELS, RUNS["run3"], "1", measure)
    assert explained.measure == name
    assert repr(explained).startswith(f"{name} of topic 1")
    simulated = simulate(QRELS, RUNS["run3"], measure, users=50)
    assert simulated.name == name
    assert f"users of {name} on each" in simulated.title
    for text in (repr(explained), repr(simulated), simulated._repr_html_()):
        assert name in text
        assert not HASH.search(text)
    assert repr(scorer(measure)) == f"scorer({name!r})"
    assert repr(LambdaMART(measure)).startswith(f"LambdaMART({name!r}")


def rows():
    qid = np.repeat(np.arange(6).astype(str), 5)
    rng = np.random.default_rng(1)
    docno = np.tile([f"d{number}" for number in range(5)], 6)
    index = pd.MultiIndex.from_arrays([qid, docno], names=["qid", "docno"])
    return rng.normal(size=(30, 2)), pd.Series(rng.integers(0, 3, 30), index=index)


@pytest.mark.slow
def test_scikit_learn(measures):
    X, y = rows()
    found = out_of_fold(LinearRegression(), X, y, measures, cv=3)
    assert found.by_query.columns.tolist() == ["qid", "fold", *NAMES]
    assert found.mean.index.tolist() == NAMES
    plain = out_of_fold(LinearRegression(), X, y, [PLAIN, AP], cv=3)
    assert plain.mean.tolist() == found.mean[["TBG", "AP"]].tolist()
    others = TBG(lengths={"d1": 1})
    try:
        register_scorers([PLAIN(label="users"), "early=nDCG@5"])
        assert repr(get_scorer("users")) == "scorer('users')"
        assert repr(get_scorer("early")) == "scorer('early')"
        refused(lambda: register_scorers([PLAIN, others]), "two measures are called 'TBG'", ValueError)
    finally:
        unregister_scorers()
