"""The loops of docs/loops.rst give the scores of the package, for all pairs of their functions."""

import random
from functools import partial

import pytest

from pyterrier_cwla import evaluate, score
from tests.model.test_against_reference import parsed
from tests.support import loops, reference

CONTINUATIONS = ["prec(3)", "rbp(0.8)", "dcg(5)", "ap1", "ap2", "rr", "cascade(0.9)", "inst(2)", "insq(2)", "decay(5)"]


def function(text, table):
    name, parameters = parsed(text)
    return partial(table[name], **parameters)


@pytest.mark.parametrize("A", ["etg", "erg", "err", "avg", "max", "fin", "fgt(0.5)", "pe(0.3)"])
@pytest.mark.parametrize("C", CONTINUATIONS)
def test_loops_and_package_agree(C, A):
    rng = random.Random(f"{C} {A}")
    for end in ("open", "stop"):
        if end == "open" and C.startswith("ins"):  # users leave too slowly for a loop to the last one
            continue
        gains = [rng.choice([0, 0, 0.25, 0.5, 0.75]) for _ in range(6)] + [0.5]
        efforts = [rng.choice([0.5, 1, 2]) for _ in gains]
        view = loops.View(gains, efforts, unseen=2.0)
        last = len(gains) if end == "stop" else None
        parts = function(C, reference.CONTINUATIONS), function(A, reference.AGGREGATIONS)
        expected = loops.expected_value(view, *parts, last)
        found = score(gains, C=C, A=A, efforts=efforts, unseen=2, end=end)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_table_1():
    shares = [0.8, 1, 1, 0.7, 0.4, 0]
    view = loops.View([0.7, 0.4, 0, 1, 0.5, 0.3])
    assert loops.expected_value(view, lambda view, i: shares[i - 1], loops.erg) == pytest.approx(0.518, abs=5e-4)


def test_ndcg_as_on_the_page():
    """The example of docs/loops.rst."""

    def dcg_at_10(gains):
        return loops.expected_value(loops.View(gains[:10]), partial(loops.dcg, k=10), loops.etg)

    judged = [0, 2, 1, 0, 3, 0, 0, 1, 0, 2, 3, 1, 3]  # the last two were not retrieved
    run = {"q": {f"d{i}": -float(i) for i in range(11)}}
    qrels = {"q": {f"d{i}": grade for i, grade in enumerate(judged)}}
    expected = dcg_at_10(judged[:11]) / dcg_at_10(sorted(judged, reverse=True))
    assert evaluate(qrels, run, ["nDCG@10"]).iloc[0, 0] == pytest.approx(expected, rel=1e-12)


def test_slow_users_need_a_last_rank():
    with pytest.raises(ValueError, match="users leave too slowly"):
        loops.expected_value(loops.View([1]), loops.dcg, loops.etg)
