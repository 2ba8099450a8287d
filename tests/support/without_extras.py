"""What a user does first, in an environment without extras: prints values and messages of errors as JSON.

``tests/test_without_extras.py`` runs this file with the Python of a fresh environment, in which there are no tests.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyterrier as pt
from pyterrier.measures import CWLA, TBG, nDCG
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_score

import pyterrier_cwla
from pyterrier_cwla import CWLAError, GroupedRanker, compare, evaluate, explain, register_lengths, scorer
from pyterrier_cwla.data import find_duplicates

QRELS = pd.DataFrame({"qid": ["1", "1", "1", "2", "2"], "docno": [*"abcab"], "label": [2, 0, 1, 0, 1]})
RUN = pd.DataFrame({"qid": ["1", "1", "1", "2", "2"], "docno": [*"bacab"], "score": [9.0, 8, 7, 5, 4]})
TOPICS = pd.DataFrame({"qid": ["1", "2"], "query": ["mental illness drugs", "retrieval"]})


def works():
    """Return values of everything that needs no extra."""
    words = register_lengths("words", {"a": 320, "b": 1150, "c": 90})
    measures = [nDCG @ 10, TBG(lengths=words), CWLA(C="inst(1)", A="max", max_rel=2)]
    ranked = pt.model.add_ranks(RUN)
    experiment = pt.Experiment([pt.Transformer.from_df(ranked)], TOPICS, QRELS, measures, names=["bm25"])
    runs = {"bm25": RUN, "other": RUN.assign(score=-RUN["score"])}
    compared = compare(QRELS, runs, measures, baseline="bm25")
    explained = explain(QRELS, RUN, "1", TBG(lengths=words))
    features, labels = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3 % 2
    qids = pd.Index(np.repeat(np.arange(6), 10).astype(str), name="qid")
    judged = pd.Series(labels, index=qids)
    scores = cross_val_score(
        LogisticRegression(), features, judged, groups=qids, cv=GroupKFold(3), scoring=scorer("ERR")
    )
    return {
        "folder": str(Path(pyterrier_cwla.__file__).parent),
        "experiment": experiment.loc[0, [*map(str, measures)]].tolist(),
        "evaluate": evaluate(QRELS, RUN, measures).iloc[0].tolist(),
        "compare": [str(compared), compared._repr_html_()],
        "explain": [str(explained), explained._repr_html_()],
        "scores": scores.tolist(),
        "duplicates": len(find_duplicates({"d1": "a b", "d2": "a b"})),
    }


def report():
    runs = {str(seed): RUN.assign(score=np.random.default_rng(seed).random(len(RUN))) for seed in range(4)}
    pyterrier_cwla.studies.metric_agreement(QRELS, runs, ["AP", "nDCG"], resamples=100).report("report")


def search():
    cut = pt.RankCutoff(5)
    pipeline = pt.Transformer.from_df(pt.model.add_ranks(RUN)) >> cut
    pyterrier_cwla.OptunaSearch(pipeline, {cut: {"k": (1, 5)}}, TOPICS, QRELS, "AP", trials=2)


#: Calls that need an extra.
NEED = {
    "plots": lambda: explain(QRELS, RUN, "1", TBG(unseen=1, lengths={"a": 1, "b": 2, "c": 3})).plot(),
    "duplicates": lambda: find_duplicates({"d1": "a b", "d2": "a c"}, 0.5),
    "studies": report,
    "lightgbm": lambda: GroupedRanker().fit([[1.0], [2.0]], [0, 1], qid=["1", "1"]),
    "tune": search,
    "demo": lambda: pyterrier_cwla.demo.systems(pyterrier_cwla.demo.collection(0, 20, 2)),
    "cluster": lambda: pyterrier_cwla.evaluation.cluster.evaluate({}, "run.txt", ["AP"]),
}


def messages():
    """Return the message of each part that needs an extra; null where it works."""
    found = dict.fromkeys(NEED)
    for extra, call in NEED.items():
        try:
            call()
        except CWLAError as error:
            found[extra] = str(error)
    return found


if __name__ == "__main__":
    print(json.dumps({"works": works, "messages": messages}[sys.argv[1]]()))
