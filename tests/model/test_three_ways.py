"""Agreement of the three evaluation routes (all ranks, hits, rank weights), and the facts that select one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import continuation
from pyterrier_cwla.data.rankings import Pool, Rankings
from pyterrier_cwla.errors import BadParameter, NoFiniteValue
from pyterrier_cwla.measures.catalogue import PLAIN
from pyterrier_cwla.model import scoring as walk_scores
from pyterrier_cwla.model.browsing import Walk
from pyterrier_cwla.model.gains import GIVEN
from pyterrier_cwla.model.language import parse
from pyterrier_cwla.model.metric import Metric
from pyterrier_cwla.model.scoring import ROUTES, fastest, over_all_ranks, raw_score, score, walk_values
from pyterrier_cwla.model.view import View
from tests.support.messages import refused
from tests.support.strategies import BUILT_IN, aggregations, continuations, ends, gains, is_static, numbers

OTHER_VALUES = ("total_gain", "staying", "expected_effort", "expected_items")

CONTINUATIONS, AGGREGATIONS = BUILT_IN["continuation"], BUILT_IN["aggregation"]


@pytest.fixture(autouse=True, scope="module")
def gaps_of_any_length():
    """Take the route over hits for dense rankings as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk_scores, "RANKS_PER_COLUMN", 0)
        yield


def aligned(lists, elsewhere=()):
    """Return rankings with these gains, and with gains of documents that were not retrieved, by query."""
    found = Rankings.of_gains(lists)
    more = [(query, gain) for query, gains in enumerate(elsewhere) for gain in gains]
    judged = sorted([*zip(found.query.tolist(), found.grade.tolist(), strict=True), *more])
    pool = Pool(len(lists), np.array([q for q, _ in judged], int), np.array([g for _, g in judged], float))
    return Rankings.of_gains(lists, pool)


def ways(metric: Metric, rankings: Rankings, names=("score",)) -> dict:
    """Return the values by all ranks and by every route that applies, in the order in which routes are tried."""
    applicable = [over_all_ranks, *(route.compute for route in ROUTES if route.when(metric, names))]
    found = {way.__name__: _or_none(lambda way=way: way(metric, rankings, names)) for way in applicable}
    return {name: values for name, values in found.items() if values is not None}


def _or_none(way):
    try:
        return way()
    except NoFiniteValue:
        return None


def cut(metric: Metric, rankings: Rankings) -> Rankings:
    return rankings.first(metric.end) if isinstance(metric.end, int) else rankings


def agreeing(metric: Metric, rankings: Rankings, names: tuple[str, ...]) -> dict:
    """Return the values of all ways, which agree; an error is raised by all of them."""
    found = ways(metric, rankings, names)
    for name, values in found.items():
        np.testing.assert_allclose(values, next(iter(found.values())), rtol=1e-9, atol=1e-11, err_msg=name)
    if not found:
        with pytest.raises(NoFiniteValue):
            walk_values(metric, rankings, names)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("A", AGGREGATIONS)
@pytest.mark.parametrize("C", CONTINUATIONS)
@given(data=st.data())
def test_every_route_agrees_with_all_ranks(C, A, data):
    """A new route is in the list, and is tried here, also with negative gains and unjudged items."""
    signed = data.draw(st.booleans())
    some = st.one_of(st.none(), st.sampled_from([-0.5, 0.0, 0.25, 1.0]), numbers(-1, 1))
    of_one, others = (
        (st.lists(some, max_size=25), st.lists(numbers(-1, 1), max_size=3)) if signed else (gains(), gains(3))
    )
    lists = [np.array(one, float) for one in data.draw(st.lists(of_one, min_size=1, max_size=4))]
    elsewhere = data.draw(st.lists(others, min_size=len(lists), max_size=len(lists)))
    effort = parse(data.draw(st.sampled_from(["unit", "ratio(4)", "ratio(0.5)"])), "effort")
    C, A, end = data.draw(continuations(C)), data.draw(aggregations(A)), data.draw(ends())
    try:
        metric = replace(PLAIN, C=C, A=A, end=end, **({"gain": GIVEN} if signed else {"effort": effort}))
    except BadParameter:
        assert signed
        assert C.fact("gains_from_0")()
        return
    rankings = cut(metric, aligned(lists, elsewhere))
    for names in (("score",), *((name,) for name in OTHER_VALUES), OTHER_VALUES):
        found = agreeing(metric, rankings, names)
        first = fastest(ROUTES, over_all_ranks, metric, names).__name__
        if first in found:
            np.testing.assert_array_equal(walk_values(metric, rankings, names), found[first])


def test_every_route_is_the_first_for_some_users():
    """A route after one whose case includes its own is never taken."""
    users = [replace(PLAIN, C=parse(C, "continuation")) for C in ("rbp(0.8)", "rr", "inst(1)")]
    taken = {fastest(ROUTES, over_all_ranks, metric, ("score",)) for metric in users}
    never = [route.compute.__name__ for route in ROUTES if route.compute not in taken]
    assert not never, f"{never}: put them before the routes that come first, or add users to this test who take them"


def test_every_way_is_taken():
    rankings = aligned([[1, 0, 0.5], [0, 1]])

    def ways_of(C):
        return set(ways(replace(PLAIN, C=parse(C, "continuation")), rankings)) - {"over_all_ranks"}

    assert ways_of("rbp(0.8)") == {"by_rank_weights", "over_hits_and_gaps"}
    assert ways_of("dcg(5)") == {"by_rank_weights"}
    assert ways_of("rr") == {"over_hits"}
    for C in ("inst(1)", "bpm(1,4)", "ift_goal(1)", "cascade(0.8)", "product(rr,rbp(0.8))", "product(rr,inst(1))"):
        assert ways_of(C) == {"over_hits_and_gaps"}
    for C in ("ift_rate(0.2)", "carterette2(3)", "product(inst(1),rbp(0.8))"):
        assert ways_of(C) == set()


def test_what_lies_too_deep_for_weights_is_found_rank_by_rank():
    far = np.zeros(5000)
    far[4999] = 1.0
    deep = replace(PLAIN, C=CONTINUATIONS["dcg"]())
    expected = [1 / np.log2(5001), 1.0]
    np.testing.assert_allclose(score(deep, aligned([far, [1.0]])), expected, rtol=1e-12)
    err = replace(PLAIN, C=CONTINUATIONS["rr"](), A=AGGREGATIONS["err"]())
    assert score(err, aligned([far])) == pytest.approx(1 / 5000)


def test_sparse_and_dense_rankings_mix(monkeypatch):
    """A ranking takes the route over hits if it has few; its score does not depend on other rankings."""
    monkeypatch.setattr(walk_scores, "RANKS_PER_COLUMN", 8)
    sparse = np.zeros(200)
    sparse[[2, 150]] = 1
    lists = [np.ones(200), sparse, [1.0], sparse * 0]
    for C in ("inst(1)", "bpm(2,300)", "cascade(0.99)"):
        metric = replace(PLAIN, C=parse(C, "continuation"), A=AGGREGATIONS["erg"](), end="stop")
        alone = [raw_score(metric, aligned([one]))[0] for one in lists]
        np.testing.assert_array_equal(raw_score(metric, aligned(lists)), alone)
        np.testing.assert_allclose(alone, over_all_ranks(metric, aligned(lists))[:, 0], rtol=1e-12)


def view(lists, total=None):
    """Return a view of lists of equal length."""
    r = np.array(lists, float)
    whole = r.sum(axis=1, keepdims=True) if total is None else np.full((len(r), 1), float(total))
    seen = View(np.arange(1.0, r.shape[1] + 1)[None, :], r, r, lambda rel: whole if rel is None else np.ceil(whole))
    seen.spend = lambda: np.array([[2.0]])
    return seen


def values(spec, seen):
    return np.broadcast_to(np.asarray(spec(seen), float), (len(seen.r), np.shape(seen.i)[-1]))


def test_facts_that_few_functions_state():
    """V of dcg and of some laws converges to 0 so slowly that V⁺ is infinite. Only ``unit`` costs 1 for all documents."""
    stated = {
        fact: {name for name, part in BUILT_IN[kind].items() if getattr(part.facts, fact)}
        for kind, fact in (("aggregation", "linear_in_gain"), ("continuation", "vanishes"), ("effort", "unit_effort"))
    }
    assert AGGREGATIONS.keys() - stated["linear_in_gain"] == {"err", "max", "pe", "items", "effort"}
    assert stated["vanishes"] == {"dcg", "weibull", "log_logistic", "log_normal", "hyperbolic"}
    assert stated["unit_effort"] == {"unit"}


def _walk(C, seen):
    return Walk(replace(PLAIN, C=C), seen)


@pytest.mark.parametrize("name", CONTINUATIONS)
@given(data=st.data())
def test_rank_only(name, data):
    """Gains do not change a static C. The package detects static continuations itself."""
    spec = data.draw(continuations(name))
    assert replace(PLAIN, C=spec).rank_only == is_static(spec)
    if is_static(spec):
        first, second = (values(spec, view([r], 9)) for r in (data.draw(gains(9, 9)), data.draw(gains(9, 9))))
        np.testing.assert_array_equal(first, second)


PRODUCTS = {
    "constant_beyond_list": {"rr,rbp(0.5)": True, "rr,insq(2)": False, "insq(2),rr": False, "insq(1),insq(2)": False},
    "ignores_zero_gain": {"rr,carterette3(0.5)": True, "rr,rbp(0.5)": False, "rbp(0.5),rr": False, "insq(1),insq(2)": False},
    "eventually_leaves": {"rr,rbp(0.5)": True, "decay,rr": True, "rbp(0.5),decay": True, "rr,cascade(1)": False},
    "vanishes": {"rr,dcg": True, "dcg,rr": True, "dcg,dcg": True, "rr,rbp(0.5)": False},
    "last_rank": {"prec(3),prec(5)": 3, "prec(5),carterette1(3)": 3, "rr,prec(3)": 3, "prec(3),rr": 3, "dcg,prec(4)": 4,
                  "dcg,dcg": 0, "dcg,rr": 0, "rr,rbp(0.5)": 0},
}  # fmt: skip


@pytest.mark.parametrize("fact", PRODUCTS)
def test_what_is_so_of_products(fact):
    """C is constant, or 1, if both factors are; all users leave if one factor makes them; the first last rank is the last."""
    for factors, so in PRODUCTS[fact].items():
        C = parse(f"product({factors})", "continuation")
        assert (replace(PLAIN, C=C).last_rank if fact == "last_rank" else bool(C.fact(fact))) == so, factors


@continuation(gives_survival=True)
def half_at_first(view):
    return 0.5 / view.i


def test_what_gives_v_is_no_factor():
    words = "half_at_first defines more than the probability C, and so cannot be a factor"
    for factors in ("half_at_first,rr", "rr,half_at_first"):
        refused(lambda given=factors: parse(f"product({given})", "continuation")(view([[1, 0]])), BadParameter, words)


@pytest.mark.parametrize("factors", ["rr,insq(2)", "insq(2),rr", "insq(2),carterette3(0.5)", "rbp(0.5),insq(2)"])
def test_items_beyond_of_products(factors):
    """If one factor is 1 at unseen items, the other one determines V⁺. Otherwise no closed form exists."""
    r = [0.5, 0, 0.25]
    spec = parse(f"product({factors})", "continuation")
    assert (spec.fact("items_beyond") is None) == ("rbp" in factors)
    walk = _walk(spec, view([r]))
    m = np.arange(1.0, 10**5 + 1)[None, :]
    V = walk.reach * np.cumprod(np.append(1.0, walk.goes_on(m)))
    rest = V[..., -1] * (len(r) + 2 * 2 + 1e5)
    assert walk.items_beyond.item() == pytest.approx(V[..., :-1].sum() + rest.item(), rel=1e-6)


@pytest.mark.parametrize("A", AGGREGATIONS)
@pytest.mark.parametrize("C", CONTINUATIONS)
@given(data=st.data())
def test_ways_agree_where_grades_cost_effort(C, A, data):
    """The route over hits, with the effort of non-relevant items between them, agrees with the route over all ranks."""
    grades = st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0]), max_size=25)
    lists = data.draw(st.lists(grades, min_size=1, max_size=4))
    elsewhere = data.draw(
        st.lists(st.lists(st.sampled_from([1.0, 2.0]), max_size=3), min_size=len(lists), max_size=len(lists))
    )
    costs = {grade: data.draw(numbers(0.1, 3)) for grade in (0, 1, 2)}
    effort, gain = BUILT_IN["effort"]["by_grade"](costs), BUILT_IN["gain"]["table"]({1: 0.5, 2: 1})
    C, A = data.draw(continuations(C)), data.draw(aggregations(A))
    metric = replace(PLAIN, C=C, A=A, effort=effort, gain=gain, end=data.draw(ends()))
    rankings = cut(metric, aligned(lists, elsewhere))
    assert metric.flat_effort == costs[0]
    explicit = _or_none(lambda: over_all_ranks(metric, rankings)[:, 0])
    found = _or_none(lambda: raw_score(metric, rankings))
    assert (found is None) == (explicit is None)
    if found is not None:
        np.testing.assert_allclose(found, explicit, rtol=1e-9, atol=1e-11)
    assert replace(metric, unseen=costs[0]).flat_effort == costs[0]
    assert replace(metric, unseen=costs[0] + 1).flat_effort is None
