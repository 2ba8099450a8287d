"""Comparison of user models with cwl_eval over its 1000 ranks: BPM, information foraging, NERR, SET and INSQ."""

import numpy as np
import pytest
from cwl.ruler.measures.cwl_bpm import BPMCWLMetric, BPMDCWLMetric
from cwl.ruler.measures.cwl_ift import IFTGoalCWLMetric, IFTGoalRateCWLMetric, IFTRateCWLMetric
from cwl.ruler.measures.cwl_insq import INSQCWLMetric
from cwl.ruler.measures.cwl_nerr import NERReq8CWLMetric, NERReq9CWLMetric, NERReq10CWLMetric, NERReq11CWLMetric
from cwl.ruler.measures.cwl_set import SETCWLMetric
from cwl.ruler.ranking import Ranking

from pyterrier_cwla import score
from tests.measures.test_equations import Topic, dynamic_bpm

PEERS = {
    "bpm(1, 10)": BPMCWLMetric(T=1, K=10),
    "bpm(2.25, 100)": BPMCWLMetric(T=2.25, K=100),
    "bpm(0.5, 2.5)": BPMCWLMetric(T=0.5, K=2.5),
    "ift_goal(2, 0.9, 1)": IFTGoalCWLMetric(2, 0.9, 1),
    "ift_goal(0.5, 3, 10)": IFTGoalCWLMetric(0.5, 3, 10),
    "ift_rate(0.2, 0.9, 1)": IFTRateCWLMetric(0.2, 0.9, 1),
    "ift_rate(0.05, 0.3, 20)": IFTRateCWLMetric(0.05, 0.3, 20),
    "product(ift_goal(2, 0.9, 1), ift_rate(0.2, 0.9, 1))": IFTGoalRateCWLMetric(2, 0.9, 1, 0.2, 0.9, 1),
    "product(ift_goal(1, 0.3, 10), ift_rate(0.3, 2, 5))": IFTGoalRateCWLMetric(1, 0.3, 10, 0.3, 2, 5),
    "product(rr, prec(10))": NERReq8CWLMetric(10),
    "product(rr, carterette1(20))": NERReq9CWLMetric(20),
    "product(rr, rbp(0.9))": NERReq10CWLMetric(0.9),
    "product(rr, insq(2))": NERReq11CWLMetric(2),
    "economic(0.5, 10)": SETCWLMetric(0.5, 10),
    "economic(1, 7)": SETCWLMetric(1, 7),
    "economic(0.01, 300)": SETCWLMetric(0.01, 300),
    "economic(0.3, 2000)": SETCWLMetric(0.3, 2000),
    "insq(1)": INSQCWLMetric(1),
    "insq(3.5)": INSQCWLMetric(3.5),
}


def rankings(seed, sizes=(1, 5, 30, 300, 1000)):
    """Return random gains, a third of them 0, for lists of several lengths."""
    rng = np.random.default_rng(seed)
    return [rng.choice([0, 0, 0.25, 0.5, 0.9], n) * (rng.random(n) < 0.7) for n in sizes]


def theirs(metric, gains):
    return metric.measure(Ranking("t", np.array(gains), np.ones(len(gains))))


@pytest.mark.parametrize("C", PEERS)
def test_expected_rate_of_gain(C):
    for seed in range(3):
        lists = rankings(seed)
        found = score([list(r) for r in lists], C=C, A="erg", end=1000)
        assert found == pytest.approx([theirs(PEERS[C], r) for r in lists], abs=1e-10)
        assert (found > 0).sum() >= 4


@pytest.mark.parametrize("C", ["ift_goal(1000, 0.9, 1e4)", "ift_rate(1000, 0.9, 1e4)", "ift_goal(0.001, 0.9, 1e4)"])
def test_foraging_does_not_overflow(C):
    """cwl_eval raises OverflowError for the first of these, so the values are compared with limits."""
    gains = [0.5, 0, 1]
    limit = {"ift_goal(1000": 1.5 / 1000, "ift_rate(1000": 0.5, "ift_goal(0.001": 0.5}
    value = score(gains, C=C, A="erg", end=1000)
    assert value == pytest.approx(next(v for start, v in limit.items() if C.startswith(start)), abs=1e-12)
    with pytest.raises(OverflowError):
        theirs(IFTGoalCWLMetric(1000, 0.9, 1e4), gains)


def test_the_dynamic_player_adapts_and_cwl_evals_does_not():
    """cwl_eval moves T instead of K, and before the test of the item itself."""
    differ = 0
    for gains in rankings(4, (3, 8, 15, 30)) + [np.array([1.0, 1, 0, 0, 1]), np.array([0.0, 0, 0, 0, 1])]:
        for T, K, h_b, h_c, m in (
            (1, 4, 0.5, 1, 0.5),
            (2, 6, 1, 2, 0.25),
            (3, 10, 0, 1.5, 0.5),
            (1.5, 5, 0.75, 0, 0.5),
        ):
            ours = score(list(gains), C=f"bpm({T}, {K}, {h_b}, {h_c}, {m})", A="erg", end=1000)
            assert ours == pytest.approx(dynamic_bpm(Topic(2 * gains, []), T, K, h_b, h_c, m), abs=1e-12)
            differ += abs(ours - theirs(BPMDCWLMetric(T, K, h_b, h_c, m), gains)) > 1e-6
    assert differ > 5
