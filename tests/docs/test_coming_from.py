"""Numbers of other tools on the page "Coming from another tool", computed with these tools."""

import re
from pathlib import Path

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from cwl.ruler.measures.cwl_ap import APCWLMetric, TrAPCWLMetric
from cwl.ruler.measures.cwl_dcg import NDCGCWLMetric
from cwl.ruler.measures.cwl_ift import IFTGoalRateCWLMetric
from cwl.ruler.measures.cwl_inst import INSTCWLMetric
from cwl.ruler.measures.cwl_rbp import RBPCWLMetric
from cwl.ruler.measures.cwl_rr import RRCWLMetric
from cwl.ruler.measures.cwl_tbg import TBGCWLMetric
from cwl.ruler.measures.cwl_umeasure import UMeasureCWLMetric
from cwl.ruler.ranking import Ranking

from pyterrier_cwla import evaluate, score
from pyterrier_cwla.evaluation import residual
from tests.support import reference

PAGE = (Path(__file__).parents[2] / "docs" / "coming_from.rst").read_text()
QRELS = {"1": {"a": 2, "b": 0, "c": 1}}
RUN = {"1": {"b": 3.0, "a": 2.0, "c": 1.0}}
TIED = {"1": {"a": 1.0, "b": 1.0}}


def ours(qrels, run, measure):
    return evaluate(qrels, run, [measure]).iloc[0, 0]


def cwl_eval(metric, gains, costs=None):
    """Return cwl_eval's expected utility, expected total utility, total cost and depth."""
    metric.measure(Ranking("1", np.array(gains, float), np.array(costs or [1] * len(gains), float)))
    return metric.expected_utility, metric.expected_total_utility, metric.expected_total_cost, metric.expected_items


def rows(section):
    """Return the rows of the tables in a section of the page, as lists of cells."""
    text = re.split(rf"^{section}\n-+\n", PAGE, flags=re.M)[1]
    text = re.split(r"^[^\n]+\n---+\n", text, flags=re.M)[0]
    found = re.findall(r"^   \* - (.*?)(?=^   \* - |^\S|\Z)", text, re.M | re.S)
    return [[" ".join(cell.split()) for cell in row.split("\n     - ")] for row in found]


def test_names_of_trec_eval():
    """test_equal_to_peers and test_counting of ``tests/measures`` compare the values."""
    listed = [row for row in rows("trec_eval") if re.match(r"``[a-zP1]\w+``", row[0])]
    names = [re.findall(r"``(.+?)``", " ".join(cells)) for cells in zip(*listed)]
    pairs = dict(zip(*names, strict=True))
    assert len(pairs) == 23
    for theirs, name in pairs.items():
        assert evaluate(QRELS, RUN, [theirs]).columns.tolist() == [name]


def test_what_the_page_says_of_trec_eval():
    run = {"1": {"a": 1.0}}
    found = pytrec_eval.RelevanceEvaluator(QRELS, {"ndcg", "ndcg_cut.1"}).evaluate(run)["1"]
    assert ours(QRELS, run, "nDCG@1") == found["ndcg_cut_1"] == 1
    assert found["ndcg"] < 0.8
    found = pytrec_eval.RelevanceEvaluator(QRELS, {"gm_map"}).evaluate(RUN)["1"]["gm_map"]
    assert np.exp(found) == pytest.approx(ours(QRELS, RUN, "GeometricMean(measure='AP')"), abs=1e-12)
    missed = pytrec_eval.RelevanceEvaluator(QRELS, {"gm_map"}).evaluate({"1": {"x": 1.0}})["1"]["gm_map"]
    assert np.exp(missed) == pytest.approx(ours(QRELS, {"1": {"x": 1.0}}, "GeometricMean(measure='AP')")) == 1e-5
    two = {"1": {"a": 1}, "2": {"a": 1}}
    assert [*pytrec_eval.RelevanceEvaluator(two, {"num_rel"}).evaluate({"1": {"a": 1.0}})] == ["1"]
    assert ours(two, {"1": {"a": 1.0}}, "NumRel") == 1
    with pytest.raises(TypeError, match="integer"):
        pytrec_eval.RelevanceEvaluator({"1": {"a": 0.5}}, {"map"})
    half = ours({"1": {"a": 0.5, "b": 1}}, {"1": {"a": 1.0}}, "CWLA(C='rbp(0.8)',A='erg',max_rel=1)")
    assert half == pytest.approx(0.1)
    close = {"1": {"a": 1.00000001, "b": 1.0}}
    for run in (TIED, close):
        found = pytrec_eval.RelevanceEvaluator({"1": {"a": 1}}, {"recip_rank"}).evaluate(run)["1"]["recip_rank"]
        assert found == ours({"1": {"a": 1}}, run, "RR") == 0.5


def test_numbers_of_ir_measures():
    numbers = {"INST(max_rel=2)": 0.265163, "CWLA(C='inst(1)',A='erg',max_rel=2)": 0.265003, "ERR@10": 0.110677,
               "CWLA(C='rbp(0.8)',A='erg',max_rel=2)": 0.224, "RBP(p=0.8,rel=1)": 0.288}  # fmt: skip
    for measure, stated in numbers.items():
        assert str(stated) in PAGE
        assert ours(QRELS, RUN, measure) == pytest.approx(stated, abs=5e-7)
    INST = ir_measures.INST(max_rel=2)
    assert ir_measures.cwl_eval.calc_aggregate([INST], QRELS, RUN)[INST] == pytest.approx(0.265163, abs=5e-7)
    assert ir_measures.calc_aggregate([ir_measures.RR @ 10], {"1": {"a": 1}}, TIED)[ir_measures.RR @ 10] == 1.0


GAINS, SECONDS = [0, 1, 0.5], [30, 20, 10]


@pytest.mark.parametrize("metric, theirs, mine", [
    ("``RBPCWLMetric(0.999)``, EU", cwl_eval(RBPCWLMetric(0.999), GAINS)[0], score(GAINS, C="rbp(0.999)", A="erg")),
    ("``APCWLMetric()`` of", cwl_eval(APCWLMetric(), [0, 1, 1])[0],
     ours({"1": dict.fromkeys("bcde", 1)}, {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}, "AP")),
    ("``RRCWLMetric()`` of", cwl_eval(RRCWLMetric(), [0, 0.5, 1])[0], score([0, 0.5, 1], C="rr", A="erg")),
    ("``NDCGCWLMetric(5)``, EU", cwl_eval(NDCGCWLMetric(5), GAINS)[0], ours(QRELS, RUN, "nDCG@5")),
    ("``TBGCWLMetric(60)``", cwl_eval(TBGCWLMetric(60), GAINS, SECONDS)[1],
     score(GAINS, C="decay(60)", A="etg", efforts=SECONDS)),
    ("``UMeasureCWLMetric(60)``", cwl_eval(UMeasureCWLMetric(60), GAINS, SECONDS)[1],
     score(GAINS, C="patience(60)", A="etg", efforts=SECONDS, unseen=1)),
])  # fmt: skip
def test_numbers_of_cwl_eval(metric, theirs, mine):
    row = next(row for row in rows("cwl_eval") if row[0].startswith(metric) and len(row) == 4)
    printed = [re.findall(r"\d\.\d+", cell)[-1] for cell in row[1:3]]
    for text, value in zip(printed, (theirs, mine)):
        assert float(text) == pytest.approx(value, abs=0.51 * 10 ** -len(text.split(".")[1]))


@pytest.mark.slow
def test_equivalents_of_cwl_eval():
    """The table of names: the same values for EU, ETU, total cost and depth."""
    for A, expected in zip(("erg", "etg", "effort", "items"), cwl_eval(RBPCWLMetric(0.8), GAINS)):
        assert score(GAINS, C="rbp(0.8)", A=A, end=1000) == pytest.approx(expected, abs=1e-9)
    assert score([0, 1, 1], C="ap1(ranking)", A="erg") == pytest.approx(cwl_eval(APCWLMetric(), [0, 1, 1])[0])
    assert score(GAINS, C="inst(1)", A="erg", end=1000) == pytest.approx(cwl_eval(INSTCWLMetric(1), GAINS)[0])
    assert score([0, 1, 2], C="rr(rel=1)", A="erg", max_rel=2) == pytest.approx(cwl_eval(RRCWLMetric(), [0, 0.5, 1])[0])
    ift = IFTGoalRateCWLMetric(2, 0.9, 10, 0.2, 0.9, 10)
    assert ours(QRELS, RUN, "IFT(T=2,A=0.2,max_rel=2)") == pytest.approx(cwl_eval(ift, GAINS)[0])
    metric = RBPCWLMetric(0.8)
    metric.residuals = True
    cwl_eval(metric, [0, np.nan, 1])
    found = residual([[0, np.nan, 1]], C="rbp(0.8)", A="erg", max_rel=1)
    assert found == pytest.approx(metric.residual_expected_utility) == pytest.approx(0.672)
    with pytest.raises(AttributeError):
        cwl_eval(TrAPCWLMetric(), [0, 1, 1])


def test_numbers_of_the_script_of_compat():
    """The script sums to depth 1000, whatever the lengths of both lists."""
    found = reference.compatibility(RUN["1"], QRELS["1"]), reference.compatibility(RUN["1"], QRELS["1"], depth=1000)
    assert "{{'ir_measures': {:.4f}, 'script': {:.4f}}}".format(*found) in PAGE
    filled = {"1": RUN["1"] | {f"unjudged {i}": -i for i in range(1, 998)}}
    assert [ours(QRELS, run, "Compat") for run in (RUN, filled)] == pytest.approx(found, abs=1e-12)
    many = {f"d{i}": i % 2 for i in range(1000)}
    whole = {f"d{i}": 1.0 / (1 + i * 7 % 1000) for i in range(1000)}
    assert ours({"1": many}, {"1": whole}, "Compat") == pytest.approx(reference.compatibility(whole, many, depth=1000))


def test_numbers_of_ranx():
    """Values of ranx 0.3.21; where ranx is installed, they are computed."""
    assert ours(QRELS, RUN, "CWLA(C='rbp(0.8)',A='erg',gain='raw')") == pytest.approx(0.448)
    assert ours(QRELS, RUN, "nDCG(dcg='exp-log2')@10") == pytest.approx(0.6590, abs=5e-5)
    assert ours(QRELS, RUN, "CWLA(C='prec(5)',A='etg',gain='binary')") == pytest.approx(2)
    ranx = pytest.importorskip("ranx", reason="ranx is an extra of the benchmarks")
    names = {"ndcg@10": "nDCG@10", "ndcg_burges@10": "nDCG(dcg='exp-log2')@10", "map": "AP", "mrr": "RR", "map-l2": "AP(rel=2)",
             "rbp.80": "CWLA(C='rbp(0.8)',A='erg',gain='raw')", "r-precision": "Rprec", "hit_rate@5": "Success@5",
             "precision@10": "P@10", "recall@100": "R@100", "bpref": "Bpref",
             "hits@5": "CWLA(C='prec(5)',A='etg',gain='binary')"}  # fmt: skip
    for theirs, name in names.items():
        assert ranx.evaluate(ranx.Qrels(QRELS), ranx.Run(RUN), theirs) == pytest.approx(ours(QRELS, RUN, name))
    for tied in (TIED, {"1": {"a": 1.00000001, "b": 1.0}}):
        assert ranx.evaluate(ranx.Qrels({"1": {"a": 1}}), ranx.Run(tied), "mrr") == 1.0
