"""Tests of the change of a metric when two items are swapped: against loops from the equations, and against `evaluate`."""

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from pyterrier_cwla import CWLA, aggregation, continuation
from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.learning.lambdamart import LambdaMART
from pyterrier_cwla.learning.metrics import measure_score
from pyterrier_cwla.learning.swaps import by_pairs, by_paths, by_rank_weights, by_scoring_anew, by_sums, way_to_swap
from pyterrier_cwla.learning.training_rows import TrainingRows
from pyterrier_cwla.measures.declarations import metric_of
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.model import parse
from pyterrier_cwla.model.language import TABLES
from pyterrier_cwla.model.view import UnknownEffort, View
from tests.model.test_against_reference import AGGREGATIONS, CONTINUATIONS, EFFORTS, parsed, takes_signed_gains
from tests.support import reference

LINEAR, EXPONENTIAL = ("linear", {}), ("exponential", {})


def changes_by_loops(grades, words, at, **setting):
    """Return the score of one ranking with the items of two ranks swapped, minus its score."""
    a, b = at
    order = list(range(len(grades)))
    order[a], order[b] = b, a
    judged = {"judged": grades, "judged_words": words}
    return reference.score([grades[i] for i in order], words=[words[i] for i in order], **judged, **setting) - (
        reference.score(grades, words=words, **judged, **setting)
    )


def assert_changes_are_those_of_loops(C, rng, grades, gains):
    """Compare ΔM of random lists for all A; `gains` has gains of the package, each with that of the loops."""
    compared = 0
    for A in AGGREGATIONS:
        effort = rng.choice(["unit", "unit", "ratio(4)", "time"])
        options = {
            "end": rng.choice(["open", "open", "stop", 5, 40]),
            "norm": rng.choice(["none", "none", "all", "ideal"] if effort == "unit" else ["none", "all"]),
            "gain": rng.choice([*gains]),
            "unseen": None if effort == "unit" else 0.25 if effort == "ratio(4)" else 9.0,
        }
        k = rng.choice([None, None, 4])
        given = {name: value for name, value in options.items() if value is not None}
        labels = [rng.choice(grades) for _ in range(rng.choice([2, 7, 7, 9]))]
        words = [rng.choice([0, 40, 300, 900]) for _ in labels]
        objective = LambdaMART(CWLA(C=C, A=A, effort=effort, max_rel=3, cutoff=k, **given), doc_length=words)
        scores = -np.arange(len(labels), dtype=float)
        try:
            found = objective.changes(labels, scores, [len(labels)])[0]
        except CWLAError:  # no finite value; other tests check the error
            continue
        setting = {**options, "C": CONTINUATIONS[C], "A": AGGREGATIONS[A], "k": k, "max_rel": 3}
        setting |= {"effort": EFFORTS[effort], "gain": gains[options["gain"]]}
        for at in [(0, len(labels) - 1), *(sorted(rng.sample(range(len(labels)), 2)) for _ in range(3))]:
            expected = changes_by_loops(labels, words, at, **setting)
            assert found[tuple(at)] == pytest.approx(expected, rel=0, abs=1e-10), (A, setting, labels, at)
            compared += 1
    assert compared > 20


@pytest.mark.slow
@pytest.mark.parametrize("C", CONTINUATIONS)
def test_every_continuation_with_every_aggregation(C):
    gains = {"linear": LINEAR, "exponential": EXPONENTIAL}
    assert_changes_are_those_of_loops(C, random.Random(C), [0, 0, 1, 2, 3], gains)


@pytest.mark.slow
@pytest.mark.parametrize("C", [C for C, parts in CONTINUATIONS.items() if takes_signed_gains(parts)])
def test_swaps_with_signed_gains(C):
    """Documents judged 0 harm, and so do those of grade 3; negative grades have no gain."""
    gains = {"table({0:-0.5,1:0.3,2:1,3:-1})": ("signed_table", {"map": {0: -0.5, 1: 0.3, 2: 1, 3: -1}})}
    assert_changes_are_those_of_loops(C, random.Random(f"signed {C}"), [0, 0, -1, 1, 2, 3], gains)


def test_the_way_that_is_fast_enough_is_taken():
    def way(measure, longest=100):
        return way_to_swap(metric_of(measures_of([measure])[0]), longest)

    for measure in ("nDCG@10", "RBP(rel=1)", "P@5", "INSQ(max_rel=2)", "CWLA(C='rbp(0.8)',A='avg',max_rel=2)"):
        assert way(measure) is by_rank_weights
    for measure in ("ERR", "ERR@10", "RR", "TBG", "TBG@10", "Cascade(max_rel=2)", "AdaptiveGRBP(effort='ratio(4)')"):
        assert way(measure) is by_sums
    for measure in (
        *("INST(max_rel=2)", "AP", "AP@10", "AdaptiveGAP(effort='ratio(4)')", "CWLA(C='rr',A='etg',gain='binary')"),
        *("CWLA(C='rbp(0.8)',A='max',max_rel=2)", "CWLA(C='inst(1)',A='pe(0.5)',max_rel=2)"),
        *("CWLA(C='cascade(0.5)',A='err',max_rel=2)@10", "UMeasure(T=99,max_rel=2)"),
    ):
        assert way(measure) is by_paths
    for measure in (
        "UMeasure(T=99,max_rel=2,effort='reading')",
        "CWLA(C='rr',A='avg',max_rel=2,effort='time')",
        "CWLA(C='inst(1)',A='erg',max_rel=2,end=12)@4",
    ):
        assert way(measure) is by_pairs
    for A in ("utility(log2)", "fgt(0.5)"):
        assert way(f"CWLA(C='inst(1)',A='{A}',max_rel=2)") is by_scoring_anew
    assert way("CWLA(C='ap1',A='max',max_rel=2)") is by_scoring_anew


def test_the_way_of_functions_of_users_depends_on_their_facts():
    @continuation
    def bored(view, after: float):
        return after / (after + view.i)

    @continuation
    def satisfied_by_much(view):
        return 1 - 0.9 * view.r**2

    @aggregation
    def first_impression(view):
        return view.G / (1 + view.i) ** 2

    @aggregation(linear_in_gain=True)
    def recalled(view):
        return 0.5 * view.fading(0.5) / view.i + view.r

    def way(C, A):
        return way_to_swap(CWLA(C=C, A=A, max_rel=3, end="stop").metric, 9)

    assert way(satisfied_by_much, "etg") is by_sums
    assert way(bored(2), first_impression) is by_paths
    assert way(satisfied_by_much, recalled) is by_scoring_anew


def test_terms_of_an_aggregation_are_its_sum():
    """Σ L(i)·A(i) = Σ V(i)·φ(i)·w_i for lists that all users leave; the terms are compared with the function itself."""
    rng = np.random.default_rng(3)
    r, i = rng.random((1, 12)), np.arange(1.0, 13)[None, :]
    e = rng.random((1, 12)) + 0.5
    C = 0.8 * (1 - r)
    C[0, -1] = 0
    V = np.concatenate([[[1.0]], np.cumprod(C, axis=1)[:, :-1]], axis=1)
    for text in ("etg", "utility(log2)", "smeared(3)", "err"):
        A = parse(text, "aggregation")
        uniform = text == "err"
        view = View(i, r, r, lambda _: None, None if uniform else e)
        phi, w = A.fact("credit_terms")(i, r, e, C)
        assert (V * phi * w).sum() == pytest.approx((V * (1 - C) * A(view)).sum(), rel=1e-12)


BY_PAIRS = {
    "U-measure by words": ("patience(300)", "etg", {"effort": "reading(20,0.1,0.9,0.4)"}),
    "U-measure by words, to rank 4": ("patience(300)", "etg", {"effort": "reading(20,0.1,0.9,0.4)", "k": 4}),
    "U-measure with a budget of words": ("budget(150)", "etg", {"effort": "reading(20,0.1,0.9,0.4)"}),
    "U-measure with a budget of words, in part": ("budget(290,partial=True)", "etg", {"effort": "reading(20,0.1,0.9,0.4)", "k": 4}),
    "gain per word within a budget": ("budget(290,partial=True)", "erg", {"effort": "reading(20,0.1,0.9,0.4)", "unseen": 100}),
    "RR, mean gain by time": ("rr", "avg", {"effort": "time"}),
    "RR, mean gain by time, closed": ("rr", "avg", {"effort": "time", "end": "stop"}),
    "RR, mean gain by time, to rank 5": ("rr", "avg", {"effort": "time", "unseen": 9, "end": 5, "k": 3}),
    "RBP, mean gain by time": ("rbp(0.8)", "avg", {"effort": "time", "unseen": 9}),
    "RBP, mean gain by time, to rank 3": ("rbp(0.8)", "avg", {"effort": "time", "unseen": 9, "k": 3}),
    "leaving by words, mean gain": ("decay(500)", "avg", {"effort": "reading(20,0.1,0.9,0.4)", "unseen": 9}),
    "a law of leaving by time": ("weibull(1.5,300)", "etg", {"effort": "time", "unseen": 9}),
    "a law of leaving by time, gain per second": ("log_logistic(1.8,30)", "erg", {"effort": "time", "end": 40, "unseen": 9}),
    "INST, gain per second": ("inst(1)", "erg", {"effort": "time", "unseen": 9}),
    "INST, gain per second, to rank 3": ("inst(1)", "erg", {"effort": "time", "unseen": 9, "k": 3}),
    "INST, rate of unseen items": ("inst(1)", "erg", {"effort": "ratio(4)", "unseen": 2.5}),
    "INST, to rank 3 of 40": ("inst(1)", "erg", {"end": 40, "k": 3}),
    "AP, mean gain by time": ("ap2(rel=1)", "avg", {"effort": "time", "end": 40, "unseen": 9}),
    "BPM by time": ("bpm(0.77,90.5)", "max", {"effort": "time", "unseen": 9}),
    "foraging by time": ("ift_rate(0.2,0.9,1)", "pe(0.5)", {"effort": "time", "unseen": 9, "k": 4}),
    "INST with forgetting": ("inst(1)", "fgt(0.8)", {}),
    "INST with forgetting, to rank 3": ("inst(1)", "fgt(0.8)", {"k": 3}),
    "INST with forgetting, closed": ("inst(1)", "fgt(0.8)", {"end": "stop"}),
    "AP with forgetting, to rank 5": ("ap2", "fgt(0.8)", {"end": 5}),
    "RR with the gain of the last item": ("rr", "fgt(0)", {"k": 4}),
    "leaving by time, with forgetting": ("decay(500)", "fgt(0.8)", {"effort": "time", "unseen": 9}),
    "foraging, nothing is forgotten": ("ift_rate(0.2,0.9,1)", "fgt(1)", {"end": 40}),
    "RBP, effort-weighted, without effort after the list": ("rbp(0.8)", "err", {"effort": "ratio(4)", "unseen": 0, "k": 1}),
    "BPM by time, effort-weighted, closed": ("bpm(0.77,90.5)", "err", {"effort": "time", "end": "stop"}),
    "20 grades": ("inst(2.25,rel=1)", "erg", {"max_rel": 20}),
    "20 grades, to rank 4": ("ap2", "max", {"max_rel": 20, "k": 4}),
    "20 grades, efforts by grade": ("rbp(0.8)", "avg", {"max_rel": 20, "effort": "ratio(4)"}),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BY_PAIRS)
def test_pairs_of_documents_of_rankings_of_unequal_lengths(name):
    C, A, given = BY_PAIRS[name]
    rng = random.Random(name)
    k, highest = given.get("k"), given.get("max_rel", 3)
    options = {"effort": "unit", "end": "open", "gain": "linear", "max_rel": highest, **given}
    if "k" in options:
        options["cutoff"] = options.pop("k")
    measure = CWLA(C=C, A=A, **options)
    sizes = [1, 9, 6, 8, 2]
    grades = [[rng.choice([0, 0, rng.randint(1, highest)]) for _ in range(n)] for n in sizes]
    if highest > 3:
        grades[1], grades[3] = list(range(9)), list(range(20, 12, -1))
    words = [[rng.choice([0, 40, 300, 900]) for _ in own] for own in grades]
    scores = -np.arange(sum(sizes), dtype=float)
    found = LambdaMART(measure, doc_length=flat(words)).changes(flat(grades), scores, sizes)
    setting = {"C": parsed(C), "A": AGGREGATIONS[A], "gain": LINEAR, "effort": EFFORTS[options["effort"]]}
    setting |= {"max_rel": highest, "end": options["end"], "k": k, "unseen": options.get("unseen")}
    if name.startswith("U-measure"):
        setting["unseen"] = 100.0  # no score depends on it; the reference wants a number
    moved = 0
    for of_query, own, lengths in zip(found, grades, words):
        for at in combinations(range(len(own)), 2):
            expected = changes_by_loops(own, lengths, at, **setting)
            assert of_query[at] == pytest.approx(expected, rel=0, abs=1e-10), (own, lengths, at)
            moved += expected != 0
    assert moved >= 10
    if highest == 3:
        assert way_to_swap(measure.metric, max(sizes)) is (by_scoring_anew if "fgt" in A else by_pairs)


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["unit", "time"])
def test_shares_of_all_gain_stay_probabilities(effort):
    rng = np.random.default_rng(3)
    for highest in (3, 30):  # thirds and thirtieths are rounded, and so are their sums
        y, words = rng.integers(0, highest + 1, 40), rng.integers(0, 900, 40)
        measure = CWLA(C="ap2", A="avg", gain="linear", max_rel=highest, effort=effort, unseen=9)
        objective = LambdaMART(measure, doc_length=words)
        assert np.isfinite(objective.gradients(y, rng.normal(size=40), [25, 15])).all()
        assert np.isfinite(np.concatenate([c.ravel() for c in objective.changes(y, np.zeros(40), [25, 15])])).all()


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["nDCG", "TBG", "INST(max_rel=3)", "AP", "CWLA(C='rbp(0.8)',A='max',max_rel=3)",
                                     "UMeasure(T=99,max_rel=3,effort='ratio(4)')", "UMeasure(T=900,max_rel=3,effort='reading')"])  # fmt: skip
def test_gradients_are_close_to_those_of_float64(measure, monkeypatch):
    rng = np.random.default_rng(5)
    y, predicted, words = rng.integers(0, 4, 120), rng.normal(size=120), rng.integers(1, 900, 120)
    objective = LambdaMART(measure, doc_length=words)
    found = objective.gradients(y, predicted, [60, 60])
    for name in ("in_order", "rankings"):
        usual = getattr(TrainingRows, name)
        monkeypatch.setattr(TrainingRows, name, lambda *given, usual=usual: usual(*given[:-1], np.float64))
    exact = LambdaMART(measure, doc_length=words).gradients(y, predicted, [60, 60])
    for one, other in zip(found, exact):
        assert np.abs(one - other).max() < 1e-4 * np.sqrt(np.mean(other**2))
        assert (one != other).any()


@pytest.mark.parametrize("C", ["rbp(0.999)", "inst(100)", "ap2"])
def test_rounding_errors_of_changes_are_small_beside_the_score(C):
    rng = np.random.default_rng(5)
    y, predicted = rng.integers(0, 5, 100), rng.normal(size=100)
    objective = LambdaMART(CWLA(C=C, A="max", max_rel=4))
    _, rows, _ = objective._prepared(y, predicted, [100])
    [(queries, place)] = rows.chunks
    place, _ = rows.in_order(queries, place, predicted, float)
    found, exact = (
        [change for _, change in rows.changes(rows.rankings(queries, place, dtype), 30)]
        for dtype in (np.float32, float)
    )
    error = max(np.abs(one - other).max() for one, other in zip(found, exact))
    assert 0 < error < 2e-6 * measure_score(objective.measure, [y], [predicted])


def test_an_effort_of_unseen_items_that_counts_must_be_known():
    words = [40, 300, 900, 0, 15, 600]
    for options in ({"end": 5, "cutoff": 3}, {"end": 12}):
        measure = CWLA(C="inst(1)", A="erg", max_rel=3, effort="reading", **options)
        with pytest.raises(UnknownEffort):
            LambdaMART(measure, doc_length=words).changes([1, 0, 2, 0, 3, 1], -np.arange(6.0), [6])
    measure = CWLA(C="rr", A="avg", max_rel=3, effort="reading")  # nobody leaves at unseen items
    assert LambdaMART(measure, doc_length=words).changes([1, 0, 2, 0, 3, 1], -np.arange(6.0), [4, 2])


def flat(lists):
    return [value for one in lists for value in one]


@continuation
def weary(view, after: float):
    return after / (after + view.i) * (1 - 0.5 * view.r)


@continuation
def pressed(view):
    return 0.9 * np.exp(-0.002 * view.e) * (1 - 0.3 * (view.grade >= 2))


@aggregation
def hurried(view):
    return view.best * np.exp(-0.001 * view.E)


@aggregation
def thrifty(view):
    return view.G / (1 + view.expected_effort)


@pytest.mark.slow
def test_any_setting_of_the_frame():
    """Random settings: all parts, ends, cutoffs, norms and efforts, with ties, ragged queries and parts defined here."""
    rng = random.Random(4)
    own = [weary(2), pressed, hurried, thrifty]
    compared: Counter = Counter()
    for part in own:  # conftest.py restores the language after the test
        TABLES[part.part.kind if hasattr(part, "part") else part.kind].setdefault(
            part.name, getattr(part, "part", part)
        )
    while sum(compared.values()) < 400:
        options = {
            "C": rng.choice([*CONTINUATIONS, *CONTINUATIONS, weary(2), pressed]),
            "A": rng.choice([*AGGREGATIONS, hurried, thrifty]),
            "end": rng.choice(["open", "open", "stop", 3, 5, 40]),
            "norm": rng.choice(["none", "none", "all", "ideal"]),
            "gain": rng.choice(["linear", "exponential", "binary", "threshold(0.2,0.3,0.5)", "linear(min_rel=1)"]),
            "effort": rng.choice(["unit", "unit", "time", "ratio(4)", "by_grade({0:1,1:2,2:0.5,3:1})"]),
            "cutoff": rng.choice([None, None, 1, 3, 4, 30]),
            "max_rel": 3,
        }
        if options["effort"] == "time":
            options["unseen"] = rng.choice([0, 9])
        sizes = [rng.choice([1, 2, 3, 5, 7]) for _ in range(3)]
        grades = [[rng.choice([0, 0, 0, 1, 2, 3]) for _ in range(n)] for n in sizes]
        words = [[rng.choice([0, 40, 900]) for _ in range(n)] for n in sizes]
        scores = [[rng.choice([0, 1, 2, 3.5]) for _ in range(n)] for n in sizes]
        pairs, swapped = [], []
        for query, n in enumerate(sizes):
            order = sorted(range(n), key=lambda d: -scores[query][d])
            for a, b in [(0, 0), *combinations(range(n), 2)]:
                other = list(order)
                other[a], other[b] = order[b], order[a]
                pairs.append((query, order[a], order[b]))
                swapped.append([-other.index(d) for d in range(n)])
        try:
            measure = CWLA(**options)
            objective = LambdaMART(measure, doc_length=flat(words))
            found = objective.changes(flat(grades), flat(scores), sizes)
            asked = {"doc_length": [words[query] for query, _, _ in pairs], "average": False}
            values = measure_score(measure, [grades[query] for query, _, _ in pairs], swapped, **asked)
        except CWLAError:  # no finite value, or an unknown cost
            continue
        base = {query: value for (query, x, y), value in zip(pairs, values) if x == y}
        for (query, x, y), value in zip(pairs, values):
            assert found[query][x, y] == pytest.approx(value - base[query], rel=0, abs=1e-10 * max(1, abs(value))), (
                measure, grades[query], scores[query], words[query],
            )  # fmt: skip
        compared[way_to_swap(measure.metric, max(sizes)).__name__] += 1
    assert min(compared.values()) > 20
    assert len(compared) == 5
