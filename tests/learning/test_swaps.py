"""Tests of the change of a metric when two items are swapped: against loops from the equations, and against `evaluate`."""

import random
from collections import Counter
from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest

from pyterrier_cwla import CWLA, aggregation, continuation
from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.learning.lambdamart import LambdaMART
from pyterrier_cwla.learning.metrics import measure_score
from pyterrier_cwla.learning.swaps import by_pairs, by_scoring_anew, way_to_swap
from pyterrier_cwla.learning.training_rows import TrainingRows
from pyterrier_cwla.model.language import TABLES
from pyterrier_cwla.model.view import UnknownEffort
from tests.model.test_against_reference import AGGREGATIONS, CONTINUATIONS, EFFORTS, parsed, takes_signed_gains
from tests.support import reference

SIGNED = {"map": {0: -0.5, 1: 0.3, 2: 1, 3: -1}}
GAINS = {
    "linear": ("linear", {}),
    "exponential": ("exponential", {}),
    "table({0:-0.5,1:0.3,2:1,3:-1})": ("signed_table", SIGNED),
}


def changes_by_loops(grades, words, at, **setting):
    """Return the score of one ranking with the items of two ranks swapped, minus its score."""
    a, b = at
    order = list(range(len(grades)))
    order[a], order[b] = b, a
    judged = {"judged": grades, "judged_words": words}
    return reference.score([grades[i] for i in order], words=[words[i] for i in order], **judged, **setting) - (
        reference.score(grades, words=words, **judged, **setting)
    )


def compared(C, A, rng, labels, pairs=100, **options):
    """Compare ΔM of lists with loops; return the way, the number of swaps, and that of those that change the score."""
    setting = {"effort": "unit", "end": "open", "gain": "linear", "max_rel": 3, "unseen": None, "k": None, **options}
    given = {name: value for name, value in setting.items() if value is not None and name != "k"}
    words = [[rng.choice([0, 40, 300, 900]) for _ in own] for own in labels]
    measure, sizes = CWLA(C=C, A=A, cutoff=setting["k"], **given), list(map(len, labels))
    objective = LambdaMART(measure, doc_length=flat(words))
    found = objective.changes(flat(labels), -np.arange(sum(sizes), dtype=float), sizes)
    setting |= {
        "C": parsed(C),
        "A": AGGREGATIONS[A],
        "gain": GAINS[setting["gain"]],
        "effort": EFFORTS[setting["effort"]],
    }
    if setting["unseen"] is None and A == "etg":
        setting["unseen"] = 100.0  # no score depends on it; the reference wants a number
    changed = []
    for of_query, own, lengths in zip(found, labels, words):
        every = [*combinations(range(len(own)), 2)]
        for at in rng.sample(every, min(pairs, len(every))):
            expected = changes_by_loops(own, lengths, at, **setting)
            assert of_query[at] == pytest.approx(expected, rel=0, abs=1e-10), (own, lengths, at)
            changed.append(expected != 0)
    return way_to_swap(measure.metric, max(sizes)), len(changed), sum(changed)


@pytest.mark.slow
@pytest.mark.parametrize(("C", "gains"), [
    *((C, ["linear", "exponential"]) for C in CONTINUATIONS),
    *((C, [*GAINS][2:]) for C, parts in CONTINUATIONS.items() if takes_signed_gains(parts)),
])  # fmt: skip
def test_every_continuation_with_every_aggregation(C, gains):
    """The signed gains of grades 0 and 3 are negative; negative grades have no gain."""
    rng, swaps = random.Random(f"{C} {gains}"), 0
    for A in AGGREGATIONS:
        effort = rng.choice(["unit", "unit", "ratio(4)", "time"])
        grades = [0, 0, 1, 2, 3] if len(gains) == 2 else [0, 0, -1, 1, 2, 3]
        options = {
            "end": rng.choice(["open", "open", "stop", 5, 40]), "k": rng.choice([None, None, 4]), "effort": effort,
            "norm": rng.choice(["none", "none", "all", "ideal"] if effort == "unit" else ["none", "all"]),
            "gain": rng.choice(gains), "unseen": {"unit": None, "ratio(4)": 0.25, "time": 9.0}[effort],
        }  # fmt: skip
        labels = [[rng.choice(grades) for _ in range(rng.choice([2, 7, 7, 9]))]]
        with suppress(CWLAError):  # no finite value; other tests check the error
            swaps += compared(C, A, rng, labels, pairs=4, **options)[1]
    assert swaps > 20


READING = {"effort": "reading(20,0.1,0.9,0.4)"}
TIME = {"effort": "time", "unseen": 9}
BY_PAIRS = [
    ("patience(300)", "etg", READING), ("patience(300)", "etg", {**READING, "k": 4}), ("budget(150)", "etg", READING),
    ("budget(290,partial=True)", "etg", {**READING, "k": 4}), ("budget(290,partial=True)", "erg", {**READING, "unseen": 100}),
    ("rr", "avg", {"effort": "time"}), ("rr", "avg", {"effort": "time", "end": "stop"}), ("rr", "avg", {**TIME, "end": 5, "k": 3}),
    ("rbp(0.8)", "avg", {**TIME, "k": 3}), ("decay(500)", "avg", {**READING, "unseen": 9}),
    ("weibull(1.5,300)", "etg", TIME), ("log_logistic(1.8,30)", "erg", {**TIME, "end": 40}),
    ("inst(1)", "erg", {**TIME, "k": 3}), ("inst(1)", "erg", {"effort": "ratio(4)", "unseen": 2.5}),
    ("inst(1)", "erg", {"end": 40, "k": 3}), ("bpm(0.77,90.5)", "max", TIME), ("ift_rate(0.2,0.9,1)", "pe(0.5)", {**TIME, "k": 4}),
    ("ap2", "fgt(0.8)", {"end": 5}), ("rr", "fgt(0)", {"k": 4}), ("decay(500)", "fgt(0.8)", TIME),
    ("rbp(0.8)", "err", {"k": 1, "effort": "ratio(4)", "unseen": 0}), ("bpm(0.77,90.5)", "err", {"effort": "time", "end": "stop"}),
    ("inst(2.25,rel=1)", "erg", {"max_rel": 20}), ("ap2", "max", {"max_rel": 20, "k": 4}),
    ("rbp(0.8)", "avg", {"max_rel": 20, "effort": "ratio(4)"}),
]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.every_case
@pytest.mark.parametrize(("C", "A", "given"), BY_PAIRS)
def test_pairs_of_documents_of_rankings_of_unequal_lengths(C, A, given):
    rng, highest = random.Random(f"{C} {A} {given}"), given.get("max_rel", 3)
    labels = [[rng.choice([0, 0, rng.randint(1, highest)]) for _ in range(n)] for n in (1, 9, 6, 8, 2)]
    if highest > 3:
        labels[1], labels[3] = list(range(9)), list(range(20, 12, -1))
    way, _, changed = compared(C, A, rng, labels, **given)
    assert changed > 5
    assert highest > 3 or way is (by_scoring_anew if "fgt" in A else by_pairs)


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


def test_documents_may_be_free():
    """If unseen ones are, users who leave by effort read on for ever: V⁺ is infinite, and all scores are 0."""

    @continuation(constant_beyond_list=True)
    def busy(view):
        return np.exp(-view.e) * (1 - view.r / 2)

    objective = LambdaMART("CWLA(C='prec(1)',A='erg',effort='by_grade({0:0,1:1})',max_rel=1)")
    assert objective.changes([0, 1], [1, 0], [2])[0].tolist() == [[0, 1], [1, 0]]
    objective = LambdaMART(CWLA(C=busy, A="erg", effort="time", unseen=0, max_rel=1), doc_length=[10, 300])
    assert not objective.changes([0, 1], [1, 0], [2])[0].any()


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
    compared: Counter = Counter()
    for own in (weary(2), pressed, hurried, thrifty):  # conftest.py restores the language after the test
        part = getattr(own, "part", own)
        TABLES[part.kind].setdefault(part.name, part)
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
        grades, words, scores = (
            [[rng.choice(values) for _ in range(n)] for n in sizes]
            for values in ([0, 0, 0, 1, 2, 3], [0, 40, 900], [0, 1, 2, 3.5])
        )
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
            found = LambdaMART(measure, doc_length=flat(words)).changes(flat(grades), flat(scores), sizes)
            asked = {"doc_length": [words[query] for query, _, _ in pairs], "average": False}
            values = measure_score(measure, [grades[query] for query, _, _ in pairs], swapped, **asked)
        except CWLAError:  # no finite value, or an unknown cost
            continue
        base = {query: value for (query, x, y), value in zip(pairs, values) if x == y}
        for (query, x, y), value in zip(pairs, values):
            within = pytest.approx(value - base[query], rel=0, abs=1e-10 * max(1, abs(value)))
            assert found[query][x, y] == within, (measure, grades[query], scores[query], words[query])
        compared[way_to_swap(measure.metric, max(sizes)).__name__] += 1
    assert min(compared.values()) > 20
    assert len(compared) == 5
