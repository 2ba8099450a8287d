"""Result pages of typed elements: files of cwl_eval, costs and gains by type, and the values of cwl_eval itself."""

import random
from functools import partial

import numpy as np
import pandas as pd
import pytest
from cwl.cwl_eval import read_in_cost_file
from cwl.ruler.measures.cwl_precision import PrecisionCWLMetric
from cwl.ruler.measures.cwl_rbp import RBPCWLMetric
from cwl.ruler.ranking import RankingMaker
from cwl.seeker.trec_qrel_handler import TrecQrelHandler

from pyterrier_cwla import CWLA, evaluate
from pyterrier_cwla.data import (
    read_element_costs,
    read_element_gains,
    read_result_pages,
    with_element_costs,
    with_element_gains,
)
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, MalformedFile
from tests.support.messages import refused

KINDS = {"web": 12.5, "image": 2.0, "ad": 0.75, "news": 6.0}


@pytest.fixture
def files(tmp_path):
    """Gains, a page per topic and costs, in the formats of cwl_eval; scores and ranks there are arbitrary."""
    rng = random.Random(5)
    gains, pages = [], []
    for topic in range(8):
        elements = rng.sample(range(60), 15)
        gains += [f"{topic} 0 e{e} {rng.choice([0, 0.25, 0.6, 1])}" for e in elements if rng.random() < 0.7]
        pages += [f"{topic} {rng.choice([*KINDS])} e{e} {rng.randint(1, 9)} {rng.random():.3f} r" for e in elements]
    costs = [f"{kind}\t{cost}" for kind, cost in KINDS.items()]
    paths = []
    for name, lines in (("gains", gains), ("pages", pages), ("costs", costs)):
        paths.append(tmp_path / f"{name}.txt")
        paths[-1].write_text("\n".join(lines) + "\n")
    return paths


def by_cwl_eval(gains, pages, costs, metric):
    """Expected utility, total utility and total cost of each topic, in the loop of cwl_eval."""
    judged, known, makers = TrecQrelHandler(str(gains)), read_in_cost_file(str(costs)), {}
    for line in pages.read_text().splitlines():
        topic, element, doc_id, *_ = line.split()
        makers.setdefault(topic, RankingMaker(topic, judged, known)).add(doc_id, element)
    values = {}
    for topic, maker in makers.items():
        metric.measure(maker.get_ranking())
        values[topic] = (metric.expected_utility, metric.expected_total_utility, metric.expected_total_cost)
    return values


@pytest.mark.parametrize(("C", "metric"), [
    ("rbp(0.8)", RBPCWLMetric(0.8)), ("rbp(0.5)", RBPCWLMetric(0.5)), ("prec(5)", PrecisionCWLMetric(5)),
])  # fmt: skip
def test_the_values_of_cwl_eval(files, C, metric):
    gains, pages, costs = files
    wanted = by_cwl_eval(*files, metric)
    run = with_element_costs(read_result_pages(pages), read_element_costs(costs))
    known = {"gain": "raw", "effort": "seconds", "unseen": 1, "end": 1000}
    measures = [CWLA(C=C, A=A, **known, label=A) for A in ("etg", "effort", "erg")]
    qrels = read_element_gains(gains)
    found = evaluate(qrels, run, measures, by_query=True).reset_index().set_index("query_id")
    for topic, (_, total, spent) in wanted.items():
        values = found.loc[topic, ["etg", "effort", "erg"]].tolist()
        assert values == pytest.approx([total, spent, total / spent], rel=1e-9), topic


def test_pages_keep_their_order_and_need_types_and_costs(files, tmp_path):
    run = read_result_pages(files[1])
    first = [line.split()[2] for line in files[1].read_text().splitlines() if line.startswith("3 ")]
    page = run[run.query_id == "3"].sort_values("score", ascending=False)
    assert page.doc_id.tolist() == first
    assert page.score.tolist() == [-1.0 - i for i in range(len(first))]
    run = pd.DataFrame({"qid": "1", "docno": [*"ab"], "score": [2.0, 1.0]})
    web = {"a": "web", "b": "web"}
    for retrieved, costs, types, error, says in (
        (run, KINDS, {"a": "web"}, BadRun, "topic '1', document 'b' has no element type, but None"),
        (
            run,
            KINDS,
            pd.Series(web | {"b": "wep"}),
            BadRun,
            "'b' has the element type 'wep', without a cost. Near: 'web'",
        ),
        *(
            (run, {"web": one}, web, BadParameter, "the cost of element type 'web' is")
            for one in (-1, np.nan, "3", np.inf)
        ),
        (run.drop(columns="docno"), KINDS, {}, BadRun, "the run has no column doc_id or docno"),
    ):
        refused(partial(with_element_costs, retrieved, costs, types), error, says)
    (tmp_path / "gains.txt").write_text("1 0 a 1.5\n")
    assert read_element_gains(tmp_path / "gains.txt", max_gain=2).relevance.tolist() == [1.5]
    pd.DataFrame({"element": [*KINDS], "cost": KINDS.values()}).to_parquet(tmp_path / "costs.parquet")
    assert read_element_costs(tmp_path / "costs.parquet") == KINDS


@pytest.mark.slow
def test_the_command_writes_costs_that_others_read(cli, files, tmp_path):
    _, pages, costs = files
    code, _, told = cli("pages", pages, costs, "-o", tmp_path / "run.parquet")
    assert code == 0, told
    expected = with_element_costs(read_result_pages(pages), read_element_costs(costs)).drop(columns="element")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "run.parquet"), expected, check_dtype=False)
    costs.write_text("web 3\n")
    code, _, told = cli("pages", pages, costs, "-o", tmp_path / "other.parquet")
    assert "without a cost" in told
    assert "pages.txt" in told


def test_gains_by_type_replace_grades():
    """A column of types and a table of types give the same gains; grades of 0 or less stay."""
    qrels = pd.DataFrame({"query_id": "1", "doc_id": [*"abcd"], "relevance": [2, 1, 0, -1], "element": [*"xyxy"]})
    gains = {"x": {1: 0.5, 2: 1}, "y": {1: 0.1, 2: 0.2}}
    by_column = with_element_gains(qrels, gains)
    assert by_column.relevance.tolist() == [1.0, 0.1, 0.0, -1.0]
    types = dict(zip(qrels.doc_id, qrels.element, strict=True))
    by_table = with_element_gains(qrels.drop(columns="element").rename(columns={"doc_id": "docno"}), gains, types)
    assert by_table.relevance.tolist() == by_column.relevance.tolist()
    odd = "document 'b' has the grade ", ": grades are numbers"
    for judged, given, error, *says in (
        (qrels, {"y": gains["y"]}, BadJudgments, "topic '1', document 'a' has the element type 'x', without gains"),
        (qrels, gains | {"x": {1: 1}}, BadJudgments, "document 'a': element type 'x' has no gain for grade 2."),
        *((qrels.assign(relevance=[1, one, 0, 0]), gains, BadJudgments, *odd) for one in (np.nan, "2")),
        (qrels, {"x": {1: -1}}, BadParameter, "the gain of element type 'x' at grade 1 is -1"),
        (qrels.drop(columns="relevance"), gains, BadJudgments, "no column relevance or label"),
        (qrels.drop(columns="element"), gains, BadJudgments, "the judgments have no column element: give elements="),
    ):
        refused(partial(with_element_gains, judged, given), error, *says)


@pytest.mark.parametrize(("text", "read", "error", "says"), [
    ("web 1\nweb 2\n", read_element_costs, MalformedFile, "element type 'web' has a second cost"),
    ("web -1\n", read_element_costs, MalformedFile, "doc_cost is -1"),
    ("web\n", read_element_costs, MalformedFile, "expected 2 fields (element cost)"),
    ("1 web a 1 2 x\n1 ad a 2 1 x\n", read_result_pages, MalformedFile, "stands twice in the ranking"),
    ("1 web a\n", read_result_pages, MalformedFile, "expected 6 fields"),
    ("1 0 a 1.5\n", read_element_gains, BadJudgments, "the gain of 'a' is 1.5: gains are from 0 to max_gain=1"),
    ("1 0 a -0.5\n", read_element_gains, BadJudgments, "gains are from 0"),
])  # fmt: skip
def test_errors_name_the_file(text, read, error, says, tmp_path):
    path = tmp_path / "file.txt"
    path.write_text(text)
    refused(lambda: read(path), error, says, str(path))
