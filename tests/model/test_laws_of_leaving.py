"""Continuations by a law of leaving: V against distributions of scipy, tails against closed forms, and simulated users."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from pyterrier_cwla import CWLA, explain_gains, score
from pyterrier_cwla.behaviour.simulation.simulator import simulate
from pyterrier_cwla.errors import BadParameter, NoFiniteValue
from tests.support.messages import refused

#: Distributions of the time of leaving in scipy.
LAWS = {
    "weibull": stats.weibull_min,
    "log_logistic": stats.fisk,
    "log_normal": stats.lognorm,
    "hyperbolic": stats.lomax,
}
POSITIVE = st.floats(0.2, 5)
EFFORTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 7.0, 40.0]), min_size=1, max_size=6)


@pytest.mark.parametrize("law", LAWS)
@given(shape=POSITIVE, scale=st.floats(0.1, 100), efforts=EFFORTS)
def test_item_i_is_seen_by_those_who_stay_longer(law, shape, scale, efforts):
    seen = explain_gains([1.0] * len(efforts), efforts=efforts, C=f"{law}({shape},{scale})", A="etg", unseen=1)
    spent = np.concatenate([[0.0], np.cumsum(efforts)])
    S = LAWS[law](shape, scale=scale).sf(spent)
    np.testing.assert_allclose(seen.table["V"], S[:-1], rtol=1e-9, atol=1e-12)
    assert seen.score == pytest.approx(S[:-1].sum(), rel=1e-9)


@pytest.mark.parametrize(("shape", "scale", "unseen"), [(1.05, 30, 1), (1.2, 30, 7), (2.5, 300, 0.01), (1.01, 5, 40)])
def test_the_tail_of_the_hyperbolic_law_is_hurwitz_zeta(shape, scale, unseen):
    """Σ_{j≥0} (1 + j·e/s)^(−c) = (e/s)^(−c)·ζ(c, s/e)."""
    found = score([1], efforts=[unseen], C=f"hyperbolic({shape},{scale})", A="items", unseen=unseen)
    assert found == pytest.approx((unseen / scale) ** -shape * special.zeta(shape, scale / unseen), rel=1e-9)


@pytest.mark.parametrize(("shape", "scale", "unseen"), [(1.05, 30, 1), (1.2, 30, 7), (1.5, 300, 0.01), (3, 50, 2)])
def test_log_logistic_tails_are_incomplete_beta_functions(shape, scale, unseen):
    """20,000 ranks, and after them (by Euler and Maclaurin) ∫S/e + S/2, with a beta function as the integral."""
    ranks, end = np.arange(20_000) * unseen, 20_000 * unseen
    S = 1 / (1 + (end / scale) ** shape)
    a, b = 1 - 1 / shape, 1 / shape
    rest = scale / shape * special.beta(a, b) * special.betainc(a, b, S) / unseen + S / 2
    expected = (1 / (1 + (ranks / scale) ** shape)).sum() + rest
    found = score([1], efforts=[unseen], C=f"log_logistic({shape},{scale})", A="items", unseen=unseen)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("C", ["hyperbolic(1,30)", "hyperbolic(0.5,30)", "log_logistic(1,30)", "log_logistic(0.7,30)"])
def test_no_gain_per_item_without_a_finite_number_of_items(C):
    for A in ("erg", "items", "effort"):
        with pytest.raises(NoFiniteValue, match="infinite V⁺"):
            score([1, 0], C=C, A=A)
    for A in ("etg", "avg", "err", "max"):
        assert 0 < score([1, 0], C=C, A=A) <= 1
    assert score([1, 0], C=C, A="erg", end="stop") > 0


@pytest.mark.parametrize(
    "C", ["log_normal(3.2,10)", "log_normal(6,10)", "weibull(0.1,5)", "weibull(0.05,5)", "hyperbolic(1.001,3)"]
)
def test_a_finite_number_of_items_is_not_called_infinite(C):
    """V⁺ = 1,673.9 for the first: the mean is scale·exp(shape²/2)."""
    for A in ("erg", "items", "effort"):
        with pytest.raises(NoFiniteValue, match=r"too slowly to sum V⁺, which may be finite: give .*end='stop'"):
            score([1], C=C, A=A)
    assert np.isnan(explain_gains([1], C=C, A="etg").expected_items)


@pytest.mark.parametrize("law", LAWS)
def test_parameters_are_checked(law):
    for values in ("0,1", "1,0", "-1,2"):
        with pytest.raises(BadParameter, match=r"shape|scale"):
            score([1], C=f"{law}({values})", A="etg")
    refused(lambda: score([1], C=f"product(rr,{law}(1,2))", A="etg"), BadParameter, "cannot be a factor of a product")


QRELS, RUN = {"q": {"a": 1, "b": 0, "c": 2}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}


@pytest.mark.parametrize("C", ["hyperbolic(1.3,60)", "log_logistic(1.2,60)", "weibull(0.3,60)", "log_normal(2,60)"])
def test_simulated_users_leave_by_the_law_however_late(C):
    """The time of users is the first end of an item after the time of leaving, also after thousands of items."""
    name, parameters = C.split("(")[0], eval(C[C.index("(") :])
    measure = CWLA(C=C, A="etg", gain="linear", effort="by_grade({0:2,1:5,2:9})", max_rel=2)
    users = simulate(QRELS, RUN, measure, users=4000, sampling="stratified", keep=True, progress=False).users()
    time = users["time"].to_numpy()
    assert np.isfinite(time).all()
    for t in (16.0, 100.0, 1e4, 1e5):
        expected = LAWS[name](parameters[0], scale=parameters[1]).sf(t)
        assert (time > t).mean() == pytest.approx(expected, abs=2e-3)
    assert time.max() > 4e4


@pytest.mark.parametrize("C", ["log_logistic(0.8,3)", "hyperbolic(1,3)"])
@pytest.mark.parametrize("unseen", [0, 1e-3, 2])
def test_infinite_mean_times_are_errors_for_unseen_items(C, unseen):
    for A in ("erg", "effort"):
        with pytest.raises(NoFiniteValue):
            score([1, 0, 1], C=C, A=A, efforts=[1, 2, 1], effort="given", unseen=unseen)
