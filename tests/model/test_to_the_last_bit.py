"""The value of a query depends on that query only: equal to the last bit with any other queries in the call."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import evaluate, score
from pyterrier_cwla.errors import NoFiniteValue
from pyterrier_cwla.model import view_columns as query_chunks
from tests.support.strategies import aggregations, continuations, ends

EFFORTS = {
    "unit": {},
    "by_grade": {"effort": "by_grade({0: 0.25, 0.25: 0.5, 0.5: 1, 1: 1.5})"},
    "given": {},
    "given, also of the unseen": {"unseen": 2.5},
}


def rankings(seed, queries, deepest):
    """Return rankings of all lengths, with relevant documents at the top, at all ranks or nowhere, and efforts."""
    rng = np.random.default_rng(seed)
    lists = []
    for n in rng.integers(0, deepest, queries, endpoint=True).tolist():
        last = rng.integers(0, n, endpoint=True)
        lists.append(np.append(rng.choice([0, 0, 0.25, 0.5, 1.0], last), np.zeros(n - last)))
    return lists, [rng.uniform(0.1, 9, len(gains)) for gains in lists]


@pytest.mark.parametrize("cells", [64, 1 << 17])
@given(
    st.integers(0, 2**32),
    st.integers(2, 12),
    st.sampled_from([6, 40, 400]),
    continuations(),
    aggregations(),
    ends(),
    st.sampled_from(["none", "ideal", "all"]),
    st.sampled_from(list(EFFORTS)),
    st.none() | st.integers(1, 60),
)
def test_a_ranking_scores_the_same_alone_and_among_others(cells, seed, queries, deepest, C, A, end, norm, effort, k):
    lists, efforts = rankings(seed, queries, deepest)
    given_efforts = effort.startswith("given")
    options = dict(C=str(C), A=str(A), end=end, cutoff=k, norm="none" if given_efforts else norm, **EFFORTS[effort])

    def scored(which):
        more = {"efforts": [efforts[query] for query in which]} if given_efforts else {}
        try:
            return score([lists[query] for query in which], **options, **more)
        except NoFiniteValue:
            return None

    alone = [scored([query]) for query in range(queries)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_chunks, "CELLS", cells)
        together = scored(range(queries))
    if together is None:
        assert any(one is None for one in alone)
    else:
        np.testing.assert_array_equal(together, np.concatenate(alone))


MEASURES = [
    *("nDCG@10", "AP", "RR", "RBP(rel=1)", "ERR@20", "INST(T=1,max_rel=2)", "Bpref", "infAP", "Judged@10"),
    "AP(judged_only=True)",
    *("TBG(lengths='made')", "GradedTBG(lengths='made')", "UMeasure(T=99,max_rel=2,lengths='made')", "AdaptiveRBP"),
    *("TBG(lengths='made',norm='ideal')", "DynamicBPM(T=1,K=10,max_rel=2)", "IFT(T=2,A=0.2,max_rel=2)", "AdaptiveAP"),
    "Residual(measure=\"CWLA(C='rbp(0.8)',A='erg',max_rel=2)\")",
    "CWLA(C='insq(1)',A='avg',max_rel=2)",
    "CWLA(C='rr',A='pe(0.5)',max_rel=2,end='stop')",
]


@pytest.mark.slow
def test_a_query_s_value_does_not_depend_on_others():
    """Each of 20 queries has the same value if a run answers all, one, or some of them, alone and with other runs."""
    from pyterrier_cwla import register_lengths

    rng = np.random.default_rng(1)
    documents = [f"d{i}" for i in range(600)]
    register_lengths("made", dict(zip(documents, rng.integers(10, 2000, 600).tolist(), strict=True)))
    qrels = {f"q{q}": {d: int(rng.integers(-1, 3)) for d in rng.choice(documents, 90, False)} for q in range(20)}
    run = {q: {d: float(rng.normal()) for d in rng.choice(documents, rng.integers(1, 500), False)} for q in qrels}
    whole = evaluate(qrels, run, MEASURES, by_query=True).loc["run"]
    for some in ([q] for q in qrels):
        alone = evaluate(qrels, {q: run[q] for q in some}, MEASURES, by_query=True).loc["run"]
        np.testing.assert_array_equal(alone.loc[some], whole.loc[some])
    halves = {"even": {q: run[q] for q in list(qrels)[::2]}, "odd": {q: run[q] for q in list(qrels)[1::2]}}
    beside = evaluate(qrels, {"whole": run, **halves}, MEASURES, by_query=True)
    np.testing.assert_array_equal(beside.loc["whole"], whole)
    np.testing.assert_array_equal(beside.loc["even"] + beside.loc["odd"], whole)
