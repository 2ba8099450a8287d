"""Tests of simulated judging, against a loop that reveals judgments, scores the runs and chooses the next documents."""

from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

from pyterrier_cwla import evaluate
from pyterrier_cwla.errors import BadJudgments, BadParameter
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from pyterrier_cwla.studies import next_judgments, plot_judging, simulated_judging
from pyterrier_cwla.studies.incomplete_judgments.judging_order import _orders, _revealed, ids_of, one_measure
from pyterrier_cwla.studies.incomplete_judgments.missing_judgments import NOWHERE, Candidates, best_ranks
from tests.support.messages import refused
from tests.support.readable import assert_readable

mpl.use("Agg")
MEASURE = "CWLA(C='rbp(0.7)',A='erg',max_rel=2)"


def generated(seed=0, queries=4, runs=4, depth=8, documents=16):
    rng = np.random.default_rng(seed)
    names = [f"d{d}" for d in range(documents)]
    qrels = {str(q): {d: int(rng.choice([0, 0, 1, 2])) for d in names} for q in range(queries)}
    made = {}
    for name, noise in zip("ABCDEF"[:runs], np.linspace(0.5, 2, runs)):
        scored = {q: {d: g + noise * rng.normal() for d, g in judged.items()} for q, judged in qrels.items()}
        made[name] = {q: dict(sorted(of.items(), key=lambda pair: -pair[1])[:depth]) for q, of in scored.items()}
    return qrels, made


def means(judged, runs):
    """Return mean scores over the four topics, of which some may have no judgment."""
    scores = dict.fromkeys(runs, 0.0)
    if judged:
        by_query = evaluate(judged, runs, [MEASURE], by_query=True).groupby("run").sum().iloc[:, 0]
        scores |= (by_query / 4).to_dict()
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("pairs", ["open", "all"])
def test_documents_are_revealed_in_the_order_of_the_changes(pairs):
    """Each batch has the documents of the largest changes by the judgments so far, and τ is that of these judgments."""
    qrels, runs = generated()
    found = simulated_judging(qrels, runs, MEASURE, orders=[pairs], batch=7).steps
    candidates = Candidates.from_runs(qrels, runs, one_measure(MEASURE)[1])
    hidden = ~candidates.unjudged & (best_ranks(candidates.masking.whole) < NOWHERE)
    ids = list(zip(*ids_of(candidates.masking.judgments, np.arange(len(hidden)))))
    masks = list(_revealed(candidates, hidden, _orders(candidates, 0)[pairs], 7))
    assert found.judgments.tolist() == [int((mask & hidden).sum()) for mask in masks]
    full = means(qrels, runs)
    for step, (mask, then) in enumerate(zip(masks, [*masks[1:], masks[-1]])):
        judged = {}
        for (q, d), revealed in zip(ids, mask):
            if revealed:
                judged.setdefault(q, {})[d] = qrels[q][d]
        now = means(judged, runs)
        tau = np.nan_to_num(stats.kendalltau(np.round([*now.values()], 10), np.round([*full.values()], 10)).statistic)
        sign = [[np.sign(round(of[a] - of[b], 10)) for a, b in combinations(runs, 2)] for of in (now, full)]
        assert found.tau[step] == pytest.approx(tau)
        assert found.different_pairs[step] == sum(one != other for one, other in zip(*sign))
        chosen = next_judgments(judged, runs, MEASURE, pairs=pairs, topics="all").documents
        change = dict(zip(zip(chosen.query_id, chosen.doc_id), chosen.change))
        new = sorted((change[pair] for pair, was, will in zip(ids, mask, then) if will and not was), reverse=True)
        assert new == pytest.approx(sorted(change.values(), reverse=True)[: len(new)])


def test_by_rank_and_at_random():
    qrels, runs = generated(1)
    found = simulated_judging(qrels, runs, MEASURE, orders=["rank", "random"], batch=5, seed=3)
    steps = found.steps[found.steps.order == "best rank"].set_index("judgments")
    for depth in range(1, 9):
        pool = {(q, d) for run in runs.values() for q, ranked in run.items() for d in [*ranked][:depth]}
        if len(pool) in steps.index:
            judged = {q: {d: g for d, g in of.items() if (q, d) in pool} for q, of in qrels.items()}
            now, full = means(judged, runs), means(qrels, runs)
            tau = stats.kendalltau([*now.values()], [*full.values()]).statistic
            assert steps.tau[len(pool)] == pytest.approx(tau)
    again = simulated_judging(qrels, runs, MEASURE, orders=["rank", "random"], batch=5, seed=3)
    assert again.steps.equals(found.steps)


@pytest.mark.slow
def test_judgments_needed():
    qrels, runs = generated(2)
    found = simulated_judging(qrels, runs, "nDCG@5", batch=5)
    for row in found.needed.itertuples():
        own = found.steps[found.steps.order == row.order]
        after, before = own[own.judgments >= row.same_order], own[own.judgments < row.same_order]
        assert (after.different_pairs == 0).all()
        assert before.empty or before.different_pairs.iloc[-1] > 0
        assert (own[own.judgments >= row.knee].tau > 0.9).all()
    assert {*found.tables()} == {"needed", "steps"}
    assert {*found.pictures()} == {"steps"}
    assert "judgments needs" in found.headline()
    assert_readable(plot_judging(found).figure)


@pytest.mark.parametrize("more, says", [
    ({"orders": ["ranks"]}, "'ranks' is no order of judging. Near: 'rank'"),
    ({"orders": []}, "orders is empty"),
    ({"tau": "c"}, "tau='c' is no kind of τ"),
    ({"batch": 0}, "batch=0"),
    ({"seed": -1}, "seed=-1"),
    ({"qrels": {"0": {"unknown": 1}}}, "no document of these runs is judged"),
])  # fmt: skip
def test_errors(more, says):
    qrels, runs = generated()
    given = {"qrels": qrels, "runs": runs, "measure": MEASURE, **more}
    refused(lambda: simulated_judging(**given), says, (BadParameter, BadJudgments))


@pytest.mark.real_data
@pytest.mark.slow
def test_trec_covid(data):
    """By changes of differences, runs are in their final order earlier than at random."""
    folder = data / "trec-covid-r1"
    runs = {path.name: read_run(path) for path in sorted(find_runs(folder / "runs"))[::30]}
    found = simulated_judging(read_qrels(folder / "qrels.txt"), runs, MEASURE, orders=["open", "random"], batch=100)
    needed = found.needed.set_index("order")
    assert needed.same_order["changes of open pairs"] < needed.same_order["random"]
