"""Measures of intents: loops straight from the definitions, IntentAware, files, warnings and errors."""

from math import log2

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import AP_IA, ERR_IA, NRBP, P_IA, StRecall, alpha_DCG, alpha_nDCG, nERR_IA, nNRBP

from pyterrier_cwla import CWLAWarning, evaluate
from pyterrier_cwla.errors import BadParameter
from tests.measures.test_intents import diversity
from tests.support.messages import refused

SEEDS = range(6)


def collection(seed, ties=None):
    """Return judgments of up to four intents and a run; documents of one score if `ties`, by default for odd seeds."""
    run, qrels = diversity(seed, (-1, 0, 1, 2), ties=bool(seed % 2) if ties is None else ties)
    return qrels, run.sort_values("query_id", kind="stable", ignore_index=True)


def by_query(provider, measures, qrels, run):
    return {(m.query_id, str(m.measure)): m.value for m in provider.iter_calc(measures, qrels, run)}


# ---- loops


class Topic:
    """Ranked documents of a query, and the relevant documents of each intent, in the order of ndeval's intents."""

    def __init__(self, listed, relevant):
        self.listed, self.relevant = listed, [docs for docs in relevant if docs]

    def greedy(self, alpha):
        left, seen, chosen = sorted(set().union(*self.relevant), reverse=True), [0] * len(self.relevant), []
        while left:
            gains = [
                sum((1 - alpha) ** m for docs, m in zip(self.relevant, seen, strict=True) if doc in docs)
                for doc in left
            ]
            chosen.append(left.pop(max(range(len(left)), key=lambda n: round(gains[n], 12))))
            seen = [m + (chosen[-1] in docs) for docs, m in zip(self.relevant, seen, strict=True)]
        return chosen

    def total(self, listed, alpha, worth, k):
        return sum(
            (1 - alpha) ** sum(other in docs for other in listed[:i]) * worth(i + 1)
            for docs in self.relevant
            for i, doc in enumerate(listed[:k])
            if doc in docs
        )

    def novelty(self, alpha, worth, k, ideal):
        top = self.total(self.listed, alpha, worth, k)
        if ideal:
            bottom = self.total(self.greedy(alpha), alpha, worth, k)
        else:
            bottom = len(self.relevant) * sum((1 - alpha) ** i * worth(i + 1) for i in range(k)) if k > 1 else 1
        return top / bottom if bottom else 0.0

    def average_precision(self):
        each = [
            sum(len(docs & {*self.listed[: i + 1]}) / (i + 1) for i, doc in enumerate(self.listed) if doc in docs)
            / len(docs)
            for docs in self.relevant
        ]
        return sum(each) / len(each) if each else 0.0


def topics(qrels, run, rel=1, judged_only=False):
    for query, judged in qrels.groupby("query_id"):
        listed = run[run.query_id == query].sort_values(["score", "doc_id"], ascending=[False, True]).doc_id.tolist()
        if judged_only:
            listed = [doc for doc in listed if doc in {*judged.doc_id[judged.relevance >= 0]}]
        names = [name for name in dict.fromkeys(qrels.iteration) if name in {*judged.iteration}]
        some = [judged[(judged.iteration == name) & (judged.relevance >= rel)] for name in names]
        yield query, Topic(listed, [{*rows.doc_id} for rows in some])


@pytest.mark.slow
@pytest.mark.parametrize("judged_only", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_values_by_loops(seed, judged_only):
    qrels, run = collection(seed)
    more = {"judged_only": True} if judged_only else {}
    wanted = [
        *(alpha_nDCG(alpha=0.3, **more) @ 6, alpha_DCG(**more) @ 6, ERR_IA(rel=2, **more) @ 4, nERR_IA(**more) @ 30),
        *(P_IA(**more) @ 5, AP_IA(**more), StRecall @ 4, NRBP(alpha=0.2, beta=0.7), nNRBP(beta=0.8)),
    ]
    found = by_query(ir_measures.cwla, wanted, qrels, run)
    names = [str(measure) for measure in wanted]
    for (query, t), (_, strict), (_, whole) in zip(
        topics(qrels, run, 1, judged_only), topics(qrels, run, 2, judged_only), topics(qrels, run), strict=True
    ):
        expected = [
            t.novelty(0.3, lambda i: 1 / log2(i + 1), 6, ideal=True),
            t.novelty(0.5, lambda i: 1 / log2(i + 1), 6, ideal=False),
            strict.novelty(0.5, lambda i: 1 / i, 4, ideal=False),
            t.novelty(0.5, lambda i: 1 / i, 30, ideal=True),
            sum(doc in docs for docs in t.relevant for doc in t.listed[:5]) / 5 / max(len(t.relevant), 1),
            t.average_precision(),
            sum(bool(docs & {*whole.listed[:4]}) for docs in whole.relevant) / max(len(whole.relevant), 1),
            whole.total(whole.listed, 0.2, lambda i: 0.7 ** (i - 1), 1000)
            * (1 - 0.8 * 0.7)
            / max(len(whole.relevant), 1),
            whole.novelty(0.5, lambda i: 0.8 ** (i - 1), 1000, ideal=True),
        ]
        assert [found[query, name] for name in names] == pytest.approx(expected, abs=1e-12), query


# ---- identities, entries, warnings, errors


@pytest.mark.parametrize("seed", SEEDS)
def test_means_over_intents_are_those_of_intent_aware(seed):
    """Without ties: AP-IA, P-IA and subtopic recall are IntentAware measures, and ERR-IA is a multiple of one."""
    qrels, run = collection(seed, ties=False)
    found = evaluate(
        qrels, run,
        ["AP_IA", "P_IA@5", "StRecall@5", "ERR_IA@5", "IntentAware(measure='AP')", "IntentAware(measure='P@5')",
         "IntentAware(measure='Success@5')",
         "IntentAware(measure=\"CWLA(C='rr',A='err',gain='table({1:0.5,2:0.5})',max_rel=2)@5\")"],
        by_query=True,
    ).to_numpy().copy()  # fmt: skip
    highest = sum(0.5**i / i for i in range(1, 6))
    found[:, 7] /= highest
    np.testing.assert_allclose(found[:, :4], found[:, 4:], atol=1e-12)


def test_judgments_without_intents_are_one_intent_with_a_warning():
    pytest.importorskip("pyndeval", reason="pyndeval is a peer")
    qrels, run = collection(2)
    qrels = qrels.drop_duplicates(["query_id", "doc_id"])
    for given in (qrels.drop(columns="iteration"), qrels.assign(iteration="0")):
        with pytest.warns(CWLAWarning, match="all queries have one intent"):
            ours = by_query(ir_measures.cwla, [alpha_nDCG @ 5], given, run)
        assert ours == pytest.approx(by_query(ir_measures.pyndeval, [alpha_nDCG @ 5], given, run), abs=1e-9)


def test_the_greedy_ideal_may_be_beaten():
    """c covers two intents; with a and b first, each of three intents is seen twice in the first three ranks."""
    qrels = pd.DataFrame(
        [("q", doc, 1, intent) for doc, intents in (("a", "12"), ("b", "34"), ("c", "135")) for intent in intents],
        columns=["query_id", "doc_id", "relevance", "iteration"],
    )
    best = evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["alpha_nDCG(alpha=1.0)@2"]).iloc[0, 0]
    expected = (2 + 2 / log2(3)) / (3 + 1 / log2(3))
    assert best == pytest.approx(expected)


def test_files_without_a_relevant_document(tmp_path):
    """As the judgments of intent 0 of TREC 2009, which are of documents that are relevant to no intent."""
    qrels, run = collection(1)
    nothing = pd.DataFrame([(q, f"d{d}", 0, 0) for q in "123" for d in range(9)], columns=qrels.columns)
    for name, others in (("some", qrels.assign(iteration=qrels.iteration.astype(int) + 1)), ("none", qrels.head(0))):
        rows = pd.concat([nothing, others])[["query_id", "iteration", "doc_id", "relevance"]]
        rows.to_csv(tmp_path / name, sep=" ", header=False, index=False)
        found = evaluate(tmp_path / name, run, ["alpha_nDCG@20", "ERR_IA@20", "AP_IA", "NRBP"])
        assert (found > 0).all(axis=None) == (name == "some")


def test_parameters_out_of_range():
    for name in ("alpha_nDCG", "alpha_DCG", "ERR_IA", "nERR_IA", "P_IA", "StRecall"):
        says = f"{name} needs cutoff=, as in {name}@10"
        refused(lambda name=name: evaluate(*collection(0), [name]), BadParameter, says)
    refused(lambda: evaluate(*collection(0), ["alpha_nDCG(alpha=1.5)@5"]), BadParameter, "alpha")
    refused(lambda: evaluate(*collection(0), ["NRBP(beta=2)"]), BadParameter, "beta")
    refused(lambda: evaluate(*collection(0), ["ERR_IA@1000000000"]), BadParameter, "at most", "4,194,304")
