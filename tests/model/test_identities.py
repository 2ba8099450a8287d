"""Identities between metrics from the papers, exact and approximate, each with its conditions."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyterrier_cwla import CWLA, TBG, aggregation, evaluate, explain_gains, score
from pyterrier_cwla.errors import NoFiniteValue
from pyterrier_cwla.measures.catalogue import PLAIN
from pyterrier_cwla.model.language import parse
from pyterrier_cwla.model.residuals import residual_is_a_bound
from tests.support.messages import refused
from tests.support.strategies import aggregations, continuations, ends, gains, numbers

RBP = numbers(0, 0.99).map("rbp({})".format)
ELSEWHERE = st.lists(numbers(0, 1), max_size=3)


def near(value, **more):
    return pytest.approx(value, **({"rel": 1e-9, "abs": 1e-11} | more))


@aggregation
def certainty(view):
    """A(i) = 1, so that the score is ΣL, the share of users who leave."""
    return 1.0 + 0 * view.r


@given(gains(), RBP)
def test_rank_biased_precision_is_what_the_last_item_gave(r, C):
    """Moffat et al. (2022), section 3: CWLA(C_RBP, A_ERG) = RBP = CWLA(C_RBP, A_fin), since W = L at the open end."""
    phi = parse(C, "continuation")["phi"]
    textbook = (1 - phi) * sum(gain * phi**i for i, gain in enumerate(r))
    assert score(r, C=C, A="erg") == near(textbook)
    assert score(r, C=C, A="fin") == near(textbook)
    if r:
        assert score(r, C=C, A="erg", end="stop") == near(textbook / (1 - phi ** len(r)))


@given(gains(), ELSEWHERE, st.one_of(st.none(), st.integers(1, 20)))
def test_both_users_of_average_precision(r, elsewhere, k):
    """Moffat et al. (2022), Eq. 10 with 17, Eq. 22 with 19, Eq. 11; also for graded gain and unretrieved documents."""
    R, cut = math.fsum(r + elsewhere), r[:k]
    textbook = sum(gain * sum(cut[:i]) / i for i, gain in enumerate(cut, start=1)) / R if R else 0.0
    assert score(r, judged=r + elsewhere, C="ap1", A="erg", cutoff=k) == near(textbook)
    assert score(r, judged=r + elsewhere, C="ap2", A="avg", cutoff=k) == near(textbook)


@given(gains().filter(any))
def test_the_users_of_average_precision_see_different_numbers_of_items(r):
    """Moffat et al. (2022), section 3: ap1 and ap2 have equal scores and different expected numbers of items."""
    first = explain_gains(r, C="ap1", A="erg").expected_items
    assert first == near(sum(r) / sum(g / i for i, g in enumerate(r, start=1)))
    second = sum(i * g for i, g in enumerate(r, start=1)) / sum(r)
    assert explain_gains(r, C="ap2", A="avg").expected_items == near(second)


def test_nobody_continues_under_ap2_after_all_gain():
    """0.1 + 0.2 + 0.3, the total of the judgments, is greater than 0.3 + 0.2 + 0.1 by rounding."""
    found = explain_gains([0.3, 0.2, 0.1], judged=[0.1, 0.2, 0.3], C="ap2", A="avg")
    assert found.table["C"].iloc[-1] == 0


def test_gain_above_a_threshold_alone_may_be_wanted():
    """V⁺ of ap1 is R / Σ r_j/j. With rel=2, both sums count documents of grade 2 or more, retrieved or not."""
    items = explain_gains([2, 1, 0, 3], judged=[2, 1, 0, 3, 2, 1], C="ap1(rel=2)", A="erg", gain="raw").expected_items
    assert items == near(3 / (1 + 1 / 4))


FINITE = ("prec", "rbp", "inst", "insq", "decay", "carterette1", "carterette2")


@given(gains(), continuations(*FINITE, "cascade", "fixed", "dcg"), ends())
def test_total_gain_is_rate_times_items(r, C, end):
    """Moffat et al. (2022), after Eq. 6: ETG = V⁺·ERG if ΣL = 1, V converges to 0 and V⁺ is finite."""
    if C.name == "cascade":
        assume(C["gamma"] < 0.999)
    assume(C.name != "dcg" or C["k"] is not None or end != "open")
    assume(r or end != "stop")
    items = explain_gains(r, C=C, A="etg", end=end).expected_items
    assert score(r, C=C, A="certainty", end=end) == near(1)
    assert score(r, C=C, A="items", end=end) == near(items)
    assert score(r, C=C, A="etg", end=end) == near(items * score(r, C=C, A="erg", end=end))


@given(gains(), continuations(), aggregations(), ELSEWHERE, st.integers(1, 9))
def test_at_the_open_end_unseen_items_are_items_without_gain(r, C, A, elsewhere, more):
    """The ranking is infinite, so explicit zeros after its end change nothing (docs/conventions.rst)."""
    judged = r + elsewhere
    try:
        expected = score(r, judged=judged, C=C, A=A)
    except NoFiniteValue:
        refused(lambda: score(r + [0] * more, judged=judged, C=C, A=A), NoFiniteValue)
    else:
        assert score(r + [0] * more, judged=judged, C=C, A=A) == near(expected)


@given(gains(), gains(), continuations("prec", "rbp", "dcg"))
def test_cells_that_read_no_gain(first, second, C):
    """Table 3, X: constants for all rankings, which depend on the parameter only."""
    assert score(first, C=C, A="err") == near(score(second, C=C, A="err"))


@given(gains(4, 1), ELSEWHERE)
def test_cells_that_read_no_order(r, elsewhere):
    """Table 3, XX: any permutation of the same documents has the same score."""
    orders = [list(order) for order in itertools.permutations(r)]
    for A in ("etg", "fin"):
        scores = score(orders, judged=[r + elsewhere] * len(orders), C="ap2", A=A)
        assert max(scores) == near(min(scores))


@given(gains(), continuations(), ends())
def test_parts_that_are_other_parts(r, C, end):
    """Moffat et al. (2022), section 3: A_fgt and A_PE range between A_fin and A_ETG, and between A_fin and A_max."""

    pairs = [("fgt(0)", "fin"), ("fgt(1)", "etg"), ("pe(0)", "fin"), ("pe(1)", "max"), ("utility(power(0))", "etg")]
    pairs.append(("per_item", "avg"))  # with unit effort
    for A, other in pairs:
        assert score(r, C=C, A=A, end=end) == near(score(r, C=C, A=other, end=end))


@given(gains(), aggregations(), ends())
def test_continuations_that_are_other_continuations(r, A, end):
    pairs = [("rbp(0)", "prec(1)"), ("dcg(1)", "prec(1)"), ("cascade(1)", "rr"), ("fixed(1,1)", "prec(3)")]
    pairs += [("budget(3)", "prec(3)"), ("budget(4,True)", "prec(4)")]
    for one, other in pairs:
        assert score(r, C=one, A=A, end=end) == near(score(r, C=other, A=A, end=end))
    assert score(r, C="decay(1)", A=A, end=end) == near(score(r, C="rbp(0.5)", A=A, end=end))
    if not isinstance(end, int) or end >= len(r):  # without a cutoff, the total gain is that of the ranking
        assert score(r, C="ap1(ranking)", A=A, end=end) == near(score(r, C="ap1", A=A, end=end))
        assert score(r, C="ap2(ranking)", A=A, end=end) == near(score(r, C="ap2", A=A, end=end))


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), continuations(), aggregations(), st.data())
def test_documents_of_equal_grade_can_be_swapped(grades, C, A, data):
    ids = [f"d{number}" for number in range(len(grades))]
    one, other = data.draw(st.permutations(range(len(grades))))[:2]
    assume(grades[one] == grades[other])
    swapped = [ids[{one: other, other: one}.get(rank, rank)] for rank in range(len(ids))]
    runs = {name: {"q": dict(zip(order, range(len(ids), 0, -1)))} for name, order in (("a", ids), ("b", swapped))}
    try:
        found = evaluate({"q": dict(zip(ids, grades))}, runs, [CWLA(C=C, A=A, gain="exponential", max_rel=3)])
    except NoFiniteValue:
        assume(False)
    assert found.iloc[0, 0] == found.iloc[1, 0]


@pytest.mark.parametrize(("C", "A", "poor", "rich"), [
    ("rr", "max", [0, 0, 1], [0.5, 0, 1]), ("inst(1)", "max", [0.5, 0, 1], [0.5, 0.5, 1]),
    ("ap2", "avg", [1, 0, 0], [1, 0, 0.75]), ("ap1", "erg", [1, 0, 0], [1, 0, 0.75]),
    ("rr", "fin", [0, 0, 1], [0.5, 0, 1]), ("rr", "pe(0.5)", [0, 0, 1], [0.5, 0, 1]),
    ("cascade(0.8)", "max", [0, 1, 0], [0.5, 1, 0]), ("cascade(0.9)", "utility(table(0.2,1,0.1))", [0, 1, 1], [0.5, 1, 1]),
    ("carterette2(3)", "etg", [0, 1, 1], [0.25, 1, 1]),
])  # fmt: skip
def test_residuals_are_no_bounds_where_gain_lowers_scores(C, A, poor, rich):
    """Raising one gain lowers the score for rr+max, inst+max, ap2+avg, rr+fin (docs/conventions.rst, Residuals)."""
    assert score(rich, C=C, A=A) < score(poor, C=C, A=A) - 0.01
    metric = replace(PLAIN, C=parse(C, "continuation"), A=parse(A, "aggregation"), max_rel=1)
    assert not residual_is_a_bound(metric)


def test_time_biased_gain_of_an_unlimited_supply():
    """17.204 with the default parameters; the paper prints 17.1 (docs/conventions.rst)."""
    supply = 0.4928 / (1 - 2 ** (-(4.4 + 0.64 * 7.8) / 224))
    assert supply == pytest.approx(17.204, abs=5e-4)
    found = evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, [TBG(norm="unlimited", lengths={"d": 100})]).iloc[0, 0]
    assert found == near(0.4928 / supply)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.integers(0, 40)), min_size=1, max_size=6),
    st.sampled_from(["etg", "smeared(9)"]),
    st.sampled_from(["open", "stop", 1, 2, 3, 5]),
    st.sampled_from([None, 1, 2, 4]),
    numbers(1, 30),
    st.booleans(),
)
def test_ideals_of_time_biased_gain_and_of_budgets_are_exact(items, A, end, k, scale, decays):
    """Sorted by g/(1 − 2^(−e/h)), or by dynamic programme with a cutoff, and by g/e; compared with all orders."""
    assume(decays or (k is None and not isinstance(end, int)))
    r, efforts = map(list, zip(*items, strict=True))
    C = f"decay({scale})" if decays else f"budget({scale},partial=True)"
    same = {"C": C, "A": A, "end": end, "cutoff": k, "unseen": 5}
    orders = list(itertools.permutations(items))
    best = max(score([[g for g, _ in o] for o in orders], efforts=[[e for _, e in o] for o in orders], **same))
    found = score(r, efforts=efforts, norm="ideal", **same)
    assert found == near(score(r, efforts=efforts, **same) / best if best else 0)


STATICS = ("prec", "rbp", "dcg", "insq", "decay", "carterette1", "fixed")


@given(gains(6, 1), ELSEWHERE, continuations(*STATICS), aggregations("etg", "erg", "max"), ends())
def test_the_ideal_of_static_metrics_is_never_beaten(r, elsewhere, C, A, end):
    """The ideal sorts judged documents by decreasing grade. With a static C no score exceeds it."""
    assume(not (C.name == "dcg" and C["k"] is None and A.name == "erg" and end == "open"))
    assume(not (A.name == "erg" and end == "stop"))  # a shorter list may end before users stop
    value = score(r, judged=r + elsewhere, C=C, A=A, norm="ideal", end=end)
    assert 0 <= value <= 1 + 1e-9
    if not elsewhere and sorted(r, reverse=True) == r and any(r):
        assert value == near(1) or value == 0
