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
from pyterrier_cwla.model.gains import GIVEN
from pyterrier_cwla.model.language import parse
from pyterrier_cwla.model.metric import Metric
from pyterrier_cwla.model.scoring import ROUTES, fastest, over_all_ranks, raw_score, score, walk_values
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


@pytest.mark.every_case
@pytest.mark.parametrize("name", CONTINUATIONS)
@given(data=st.data())
def test_continuations_of_ranks_and_efforts_alone_are_known(name, data):
    C = data.draw(continuations(name))
    assert replace(PLAIN, C=C).rank_only == is_static(C)


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
        metric = replace(PLAIN, C=parse(f"product({factors})", "continuation"))
        refused(lambda metric=metric: score(metric, aligned([[1, 0]])), BadParameter, words)


def test_the_effort_of_items_between_hits():
    """It is that of grade 0, if it is also the effort of unseen items."""
    metric = replace(PLAIN, effort=BUILT_IN["effort"]["by_grade"]({0: 0.5, 1: 2, 2: 1}))
    assert metric.flat_effort == replace(metric, unseen=0.5).flat_effort == 0.5
    assert replace(metric, unseen=1.5).flat_effort is None
