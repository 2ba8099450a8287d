"""Tests of missing judgments and of robustness to them, against loops that remove judgments and score the runs again."""

import json
from dataclasses import replace
from fractions import Fraction
from math import inf, log2, sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pyterrier_cwla import CWLA, UDCG, ByTopic, Mixture, evaluate
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun
from pyterrier_cwla.evaluation.run_comparison import measures_by_name
from pyterrier_cwla.evaluation.score_cache import key_in_cache
from pyterrier_cwla.rendering.figures import measure_look
from pyterrier_cwla.rendering.numbers import percent
from pyterrier_cwla.studies import grade_weights, groups_left_out, plot_falls, robustness, robustness_to_depth
from pyterrier_cwla.studies.incomplete_judgments import missing_judgments as masking_module
from pyterrier_cwla.studies.incomplete_judgments import robustness_result as results
from pyterrier_cwla.studies.incomplete_judgments import robustness_study as robust_pieces
from pyterrier_cwla.studies.incomplete_judgments.missing_judgments import (
    FRACTIONS,
    Depths,
    Fractions,
    Masking,
    checked_groups,
    f_qrels,
    knee,
    knee_table,
    lacking,
    of_pairs,
    plain_judgments,
)
from pyterrier_cwla.studies.incomplete_judgments.robustness_result import PairTests, accuracy, g_mean
from pyterrier_cwla.studies.incomplete_judgments.robustness_study import MEASURES, Resampling, Work, identity
from pyterrier_cwla.tasks.hashing import fingerprint
from tests.support.generated import as_pyterrier, collection
from tests.support.messages import refused

FEW = (0.1, 0.3, 0.6)
FAST = {"complete": None, "resamples": 50, "progress": False}
FULL = {"fractions": FEW, "seeds": 3, "pairs": 8, **FAST}
ORDER = {"fractions": FEW, "seeds": 1, "pairs": 0, **FAST}


def generated(seed=0, queries=6, runs=6, depth=40, documents=80, judged=60):
    """Generate judgments, and runs of decreasing quality as nested dicts; some runs lack some topics."""
    rng = np.random.default_rng(seed)
    qrels, made = {}, {f"run{number}": {} for number in range(runs)}
    for query in map(str, range(queries)):
        grades = {f"d{d}": int(grade) for d, grade in enumerate(rng.choice([0, 0, 0, 1, 1, 2], documents))}
        pool = rng.permutation(sorted(grades))[:judged].tolist()
        qrels[query] = {d: grades[d] for d in pool}
        for number, name in enumerate(made):
            if (number, query) == (1, "3"):
                continue
            scores = {d: grade + (1 + number) * rng.normal() for d, grade in grades.items()}
            best = sorted(scores, key=scores.get, reverse=True)[:depth]
            made[name][query] = {d: scores[d] for d in best}
    return qrels, made


QRELS, RUNS = generated()
LENGTHS = {f"d{d}": 50.0 + 7 * d for d in range(80)}
SCORED = [
    *MEASURES.values(), "nDCG", "P@10", "RBP(rel=1)", "ERR", "Judged@10", "Rprec", "NumRelRet", "AP(judged_only=True)",
    "CWLA(C='inst(2)',A='erg',max_rel=2)", "GeometricMean(measure='AP')", "Residual(measure='RBP(rel=1)')",
    "Logistic(measure='AP')", "ESL(judged_only=True)", "ESL(wanted=2)", "Compat(p=0.5)", Mixture(measures={"a": "AP", "b": "P@5"}),
    ByTopic(measure="RBP(rel=1)", parameters={str(q): {"p": 0.3 + q / 9} for q in range(6)}, other="measure"), UDCG(abstention={str(q): {f"d{d}": (d + q) % 7 / 6 for d in range(0, 80, 2)} for q in range(6)}) @ 20,
]  # fmt: skip


def timed(lengths):
    return CWLA(C="decay(60)", A="etg", gain="clicksave", effort="time", lengths=lengths, norm="ideal")


@pytest.fixture(scope="module")
def study():
    return robustness(QRELS, RUNS, **FULL)


def masking_of(measures=("Bpref", "AP"), qrels=QRELS, runs=RUNS, pool="judged", **more):
    return Masking.from_runs(plain_judgments(qrels), runs, measures_by_name(measures), pool, **more)


def found_by(runs):
    return {q: {d: g for d, g in some.items() if any(d in run.get(q, {}) for run in runs.values())}
            for q, some in QRELS.items()}  # fmt: skip


def top(depth):
    return {n: {q: set(sorted(of, key=of.get)[-depth:]) for q, of in run.items()} for n, run in RUNS.items()}


def without(group, groups, depth=10):
    """Return the judgments that runs outside a group contributed, and those that no run did."""
    seen = top(depth)
    by = {(q, d): {groups[n] for n in RUNS if d in seen[n].get(q, ())} for q, some in QRELS.items() for d in some}
    return {q: {d: g for d, g in some.items() if by[q, d] != {group}} for q, some in QRELS.items()}


def left(qrels, kept):
    frame = pd.DataFrame([(q, d, g) for q, some in qrels.items() for d, g in some.items()])
    return frame.set_axis(["query_id", "doc_id", "relevance"], axis=1)[kept]


def scored(masking, kept):
    """Compute scores, shape (measures, levels, runs, queries)."""
    found = masking.scores(masking.whole, kept)
    return found.reshape(*found.shape[:2], len(masking.runs), -1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_masked_scores_equal_evaluations_of_what_is_left(seed):
    """The rows of judgments are scattered."""
    qrels, runs = generated(seed, queries=4, runs=3)
    runs["ties"] = {q: {d: round(score) - 1.0 for d, score in run.items()} for q, run in runs["run0"].items()}
    named = {**measures_by_name(SCORED), "TBG": timed(LENGTHS)}
    frame = left(qrels, slice(None)).sample(frac=1, random_state=seed)
    masking = masking_of(named, frame, runs)
    pool = masking.whole.pool
    kept = np.concatenate([
        Fractions(FEW).kept(pool.query, pool.grade, pool.query, seed),
        np.random.default_rng(seed).random((2, len(pool.grade))) < 0.5,
    ])[[0, 1, 2, 3, 4, 5, 5, 0]]  # fmt: skip
    found = scored(masking, kept)
    for level, mask in enumerate(kept):
        expected = evaluate(frame.iloc[masking.judgments.pool.rows[mask]], runs, named.values(), by_query=True)
        expected = expected.to_numpy().T.reshape(len(named), len(runs), -1)
        np.testing.assert_allclose(found[:, level], expected, rtol=0, atol=1e-12)
    assert f_qrels(frame, 0.3, seed).equals(frame.iloc[np.sort(masking.judgments.pool.rows[kept[1]])])


def loops(run, grades, hidden):
    """Compute bpref, infAP, binary nDCG and AP from their definitions; ``hidden`` is the pool without known grades."""
    order = sorted(run, key=lambda d: (np.float32(run[d]), d), reverse=True)
    R, N = sum(g > 0 for g in grades.values()), sum(g == 0 for g in grades.values())
    bpref = inferred = dcg = ap = 0.0
    for p, document in enumerate(order, 1):
        if grades.get(document, 0) <= 0:
            continue
        above = order[: p - 1]
        rel, non = sum(grades.get(d, 0) > 0 for d in above), sum(grades.get(d, 1) == 0 for d in above)
        bpref += 1 - (min(non, R) / min(R, N) if non else 0)
        in_pool = sum(d in grades or d in hidden for d in above)
        inferred += 1 / p + in_pool / p * (rel + 1e-5) / (rel + non + 2e-5)
        dcg += 1 / log2(p + 1)
        ap += (rel + 1) / p
    ideal = sum(1 / log2(p + 1) for p in range(1, R + 1))
    return [bpref / R, inferred / R, dcg / ideal, ap / R]


@pytest.mark.parametrize("pool", ["whole", "judged"])
def test_the_measures_of_the_paper_are_loops_over_what_is_left(pool):
    masking = masking_of(MEASURES, pool=pool)
    whole = masking.whole
    kept = Fractions((0.2,)).kept(whole.pool.query, whole.pool.grade, whole.pool.query, 7)
    found = scored(masking, kept)[:, 0]
    frame = left(QRELS, kept[0])
    for number, run in enumerate(RUNS.values()):
        for at, query in enumerate(QRELS):
            some = frame[frame.query_id == query]
            grades = dict(zip(some.doc_id, some.relevance.tolist()))
            hidden = set(QRELS[query]) - set(grades) if pool == "whole" else set()
            expected = loops(run[query], grades, hidden) if query in run else [0.0] * 4
            assert found[:, number, at] == pytest.approx(expected, abs=1e-12)


def test_a_pair_is_judged_by_what_either_of_the_two_has():
    names = list(RUNS)
    masking = masking_of(SCORED)
    pairs = np.array([[0, 3], [4, 1]])
    whole = of_pairs(masking.whole, masking.queries, pairs)
    found = masking.scores(whole, np.ones((1, len(whole.pool.grade)), bool)).reshape(len(SCORED), 2, 2, -1)
    for number, pair in enumerate(pairs):
        two = {names[run]: RUNS[names[run]] for run in pair}
        expected = evaluate(found_by(two), two, SCORED, by_query=True).to_numpy().T.reshape(len(SCORED), 2, -1)
        np.testing.assert_allclose(found[:, number], expected, rtol=0, atol=1e-12)


def test_intervals_hold_the_estimate_and_differences_are_paired(study):
    """Without ties, the distance is K = (1 − τ)·n(n − 1)/4; all judgments give all resamples τ = 1."""
    table, n = study.order.table(), len(RUNS)
    assert (table.discordant_pairs - (1 - table.tau_a) * n * (n - 1) / 4).abs().max() < 1e-9
    assert (table.loc[table.level == 1, ["tau", "low", "high"]] == 1).all(axis=None)
    one, other = study.above("nDCG", "bpref"), study.above("bpref", "nDCG")
    assert one.difference.to_numpy() == pytest.approx(-other.difference.to_numpy(), abs=1e-12)
    assert one.low.to_numpy() == pytest.approx(-other.high.to_numpy(), abs=1e-12)
    accurate = study.tests.above("nDCG", "bpref")
    assert ((accurate.low <= accurate.difference) & (accurate.difference <= accurate.high)).all()


def test_measures_that_see_all_are_found_above_others():
    """NumRet ignores judgments, so its order is constant; a random measure has a random order."""
    qrels, runs = generated(3, queries=20, runs=12, judged=80)
    runs = {n: {q: dict(list(s.items())[: 40 - i]) for q, s in r.items()} for i, (n, r) in enumerate(runs.items())}
    found = robustness(qrels, runs, ["NumRet", "RR(rel=2)"], fractions=(0.05,), pairs=0, **FAST)
    assert found.above("NumRet", "RR(rel=2)").verdict.tolist() == ["yes"]
    assert found.above("RR(rel=2)", "NumRet").verdict.tolist() == ["no"]
    assert found.tests is None
    assert "Yes: the mean difference" in str(found)
    found = robustness(QRELS, RUNS, {"a": "AP", "b": "AP"}, fractions=(0.1,), seeds=2, pairs=8, **FAST)
    for table in (found.above("a", "b"), found.tests.above("a", "b")):
        assert (table[["difference", "low", "high"]] == 0).all(axis=None)
        assert table.verdict.tolist() == ["undecided"]


def resampled_by_loops(scores, resamples, seed, part):
    """Compute τ_b for resampled topics; each topic takes the judgments of a resampled seed, once per seed."""
    seeds, levels, measures, _, queries = scores.shape
    rng = np.random.default_rng([seed, part])
    topics = rng.integers(queries, size=(resamples, 1, queries))
    holes = rng.integers(seeds, size=(resamples, seeds, queries))
    taus = np.empty((resamples, levels, measures, seeds))
    for r, level, measure, s in np.ndindex(taus.shape):
        drawn = list(zip(holes[r, s], topics[r, 0]))
        now = np.mean([scores[hole, level, measure, :, topic] for hole, topic in drawn], axis=0)
        truly = np.mean([scores[0, -1, measure, :, topic] for _, topic in drawn], axis=0)
        taus[r, level, measure, s] = stats.kendalltau(now.round(10), truly.round(10)).statistic
    return taus


def test_resampled_topics_by_loops(study):
    scores = study.order.scores[:2, 1:].copy()
    scores[:, 0, 0] = np.arange(6) == 2  # all runs tie: τ is undefined
    scores[0, 0, 0, :, 0] += scores[0, 0, 1, :, 0]
    found = Resampling(scores, "b", 4, 5)("resamples 3")
    taus = resampled_by_loops(scores, 4, 5, 3)
    assert found["tau"] == pytest.approx(np.nanmean(taus, axis=-1), abs=1e-12)
    np.testing.assert_array_equal(found["undefined"], np.isnan(taus).sum(axis=-1))
    assert 0 < found["undefined"][:, 0, 0].sum() < 8
    # Resamples are shifted so that their mean equals the estimate
    order, ends = study.order, (0.025, 0.975)
    one, other = 2, 0  # nDCG and bpref, up to 30 %
    difference = np.mean([order.tau[level, one] - order.tau[level, other] for level in (0, 1)])
    drawn = [np.mean([r[level, one] - r[level, other] for level in (0, 1)]) for r in order.resampled]
    expected = [difference, *(difference + np.quantile(drawn, ends) - np.mean(drawn))]
    assert order.mean_above("nDCG", "bpref", 0.3) == pytest.approx(expected, abs=1e-12)
    levels, knees = (*FEW, 1.0), order.knees()
    for number in range(4):
        centre = np.mean(order.resampled[:, :, number], axis=0)
        found = sorted(
            next((at for at, t in zip(levels, r[:, number] - centre + order.tau[:, number]) if t > 0.9 + 1e-12), inf)
            for r in order.resampled
        )
        assert knees.low[number] == found[1]  # of 50 resamples the quantile 0.025, rounded outwards
        assert knees.high[number] == found[48]


def test_orders_with_ties_are_wholly_like_themselves():
    """For measures with few values, τ with all judgments is 1 and each measure has a knee; τ_a would be below 1."""
    measures = ["Success@10", "P@5", "NumRet(rel=1)", "GeometricMean(measure='AP')"]
    qrels, runs = generated(1, queries=5, runs=8)
    found = robustness(qrels, runs, measures, fractions=(0.3,), seeds=2, pairs=0, **FAST)
    last = found.order.table()[lambda table: table.level == 1]
    assert (last[["tau", "low", "high", "tau_b"]] == 1).all(axis=None)
    assert last.tau_a.iloc[1] < 1
    assert np.isfinite(found.order.knees()[["knee", "high"]]).all(axis=None)
    assert "never" not in str(found)
    tied = 1 - last.tau_a.iloc[1]
    assert any(f"P@5 {percent(round(tied, 3))}" in said and "left out of τ" in said for said in found.limits())
    full = evaluate(qrels, runs, measures)
    shown = found.rankings[lambda table: table.level == 1].pivot(index="run", columns="measure", values="score")
    np.testing.assert_allclose(shown.loc[full.index, measures], full, atol=1e-12)
    runs = {name: RUNS[name] for name in ("run0", "run2", "run4")}
    found = robustness(QRELS, runs, ["AP", "RR", "NumRel"], fractions=(0.3, 0.6), seeds=2, pairs=0, **FAST)
    assert found.order.table()[["tau", "low", "high"]].isna().all(axis=1).tolist() == [False, False, True] * 3
    assert found.order.knees()[["knee", "low", "high"]].isna().all(axis=1).tolist() == [False, False, True]
    assert all("NumRel undefined" in found.findings()[at] for at in (0, -1))
    assert any(f"NumRel {percent(1)} of the pairs" in said for said in found.limits())
    assert [label.get_text() for label in results.plot_order(found).get_xticklabels()] == ["30", "60", "100"]
    for picture in found.pictures().values():
        picture.draw(None)


def test_a_correlation_that_is_not_defined_is_left_out_and_counted():
    """Only one of three topics distinguishes the runs; without it all runs tie."""
    qrels = {q: {d: int(d < "c") for d in "abcdefghijklm"} for q in "123"}
    runs = {name: {q: {d: -number for number, d in enumerate(name if q == "1" else "abcd")} for q in qrels}
            for name in ("abcd", "cabd", "dcab")}  # fmt: skip
    found = robustness(qrels, runs, ["AP"], fractions=(0.5,), seeds=2, pairs=0, **FAST)
    order = found.order
    lost = int(order.undefined.sum())
    assert 0 < lost < 2 * order.resampled.size
    assert np.isnan(order.resampled[:, 1]).any()
    assert np.isfinite(order.table()[["tau", "low", "high"]]).all(axis=None)
    assert order.knees().high.tolist() == [0.5]
    assert any(f"AP {lost} of {2 * 2 * 51} values" in said for said in found.limits())
    scores = np.stack([order.scores[0]] * 3)
    scores[1, 0] = 0.5  # all runs tie for one seed
    assert replace(order, scores=scores).tau.tolist() == order.by_seed[0].tolist()
    found = robustness({q: {"x": 1} for q in qrels}, runs, ["AP"], fractions=(0.5,), seeds=2, pairs=3, **FAST)
    assert found.order.table()["tau"].isna().all()


def test_knees():
    """A knee is strictly above 0.9; curves may fall below 0.9 again."""
    levels = (0.1, 0.2, 0.5, 1.0)
    curves = np.array([[0.9, 0.9000001, 0.95, 1], [0.95, 0.9, 0.95, 1], [0.1, 0.2, 0.3, 0.9]])
    assert knee(levels, curves).tolist() == [0.2, 0.1, inf]
    table = knee_table(levels, list("abc"), curves.T, np.stack([curves.T, curves.T - 0.06]))
    assert table.falls_again_at.fillna(0).tolist() == [0, 0.2, 0]
    assert table.highest_seed.tolist() == [1, 1, inf]


@pytest.mark.slow
def test_conclusions_by_loops(study):
    """One pair of runs: f-qrels of its own pool, scipy's test, and the four cells, for each seed."""
    runs = {name: RUNS[name] for name in ("run0", "run5")}
    found = robustness(QRELS, runs, ["AP", "Bpref"], fractions=FEW, seeds=3, pool="judged", **FAST).tests
    has = found_by(runs)
    whole = of_pairs(masking_of(runs=runs).whole, len(QRELS), np.array([[0, 1]]))
    frame = left(QRELS, [d in has[q] for q, some in QRELS.items() for d in some])
    for seed in range(3):
        kept = Fractions(FEW).kept(whole.pool.query, whole.pool.grade, whole.pool.query, [seed, 1])
        for level in range(4):
            scores = evaluate(frame[kept[level]], runs, ["AP", "Bpref"], by_query=True)
            for number, measure in enumerate(["AP", "Bpref"]):
                d = (scores.loc["run0"] - scores.loc["run5"])[measure].round(12)
                p = stats.wilcoxon(d[d != 0]).pvalue if (d != 0).sum() > 1 else 1.0
                assert found.p[seed, level, number, 0] == pytest.approx(p, abs=1e-12)
    tests, rejected = study.tests, study.tests.p <= 0.05
    for at, level in enumerate(tests.levels):
        for number, name in enumerate(MEASURES):
            for seed in range(3):
                truly, now = rejected[seed, 3, number], rejected[seed, at, number]
                cells = [[sum((truly == one) & (now == other)) for other in (False, True)] for one in (False, True)]
                assert study.confusion(level, seed).loc[name].to_numpy().tolist() == cells
            row = tests.table().set_index(["level", "measure"]).loc[(level, name)]
            assert row.accuracy == pytest.approx((rejected[:, 3, number] == rejected[:, at, number]).mean())
            assert row.false_positives == row.rejected_accepted
            assert row.false_negatives == row.accepted_rejected
            assert row.accuracy_low - 1e-6 <= row.accuracy <= row.accuracy_high + 1e-6


def test_pairs_drawn_anew_by_loops(study):
    """Accuracy and g-mean of resampled pairs; each pair takes the judgments of a resampled seed, once per seed."""
    p = np.random.default_rng(0).random((2, 2, 1, 5)) ** 3
    p[:, -1] = p[:1, -1]
    tests = PairTests((0.1, 1.0), ["m"], p, 0.2, 0.9, 50, 7)
    accurate, geometric = tests._resampled
    pairs = np.random.default_rng([7, 3, 0]).integers(5, size=(50, 1, 5))
    seeds = np.random.default_rng([7, 3, 1]).integers(2, size=(50, 2, 5))
    for r, level in np.ndindex(50, 2):
        found = []
        for s in range(2):
            C = np.zeros((2, 2))
            for pair, seed in zip(pairs[r, 0], seeds[r, s]):
                C[int(p[0, -1, 0, pair] <= 0.2), int(p[seed, level, 0, pair] <= 0.2)] += 1
            TP, P = (C[0, 0] / n if n else 0.0 for n in (C[0].sum(), C[:, 0].sum()))
            found.append(((C[0, 0] + C[1, 1]) / 5, sqrt(TP * P) if C.sum() > C[1, 1] else np.nan))
        assert accurate[r, level, 0] == pytest.approx(np.mean(found, axis=0)[0])
        assert geometric[r, level, 0] == pytest.approx(np.nanmean(found, axis=0)[1], nan_ok=True)
    row = tests.table().iloc[0]
    assert [row.accuracy_low, row.accuracy_high] == pytest.approx(np.quantile(accurate[:, 0, 0], [0.05, 0.95]))
    p = np.full((3, 2, 1, 4), 0.5)
    p[0] = 0.01  # with the first seed, all differences are significant
    found = PairTests((0.1, 1.0), ["m"], p, 0.05, 0.95, 50, 0).table()
    assert found[["g_mean", "g_mean_low", "g_mean_high"]].to_numpy().tolist() == [[1.0] * 3] * 2
    assert found.g_mean_undefined.tolist() == [1, 1]
    p = study.tests.p.copy()
    p[0, :, 2] = 0.01
    limits = replace(study, tests=replace(study.tests, p=p)).limits()
    assert any("g-mean is not defined" in said and "nDCG 4 of 12 values" in said for said in limits)


@pytest.mark.parametrize(
    ("cells", "accurate"), [((62, 5, 22, 176), 0.898), ((66, 6, 37, 157), 0.838), ((59, 3, 30, 174), 0.876)]
)
def test_accuracy_and_g_mean_of_the_papers_example(cells, accurate):
    """Bompada et al. (2007), Table 4."""
    assert accuracy(np.array(cells)) == pytest.approx(accurate, abs=5e-4)
    C11, C12, C21, _ = cells
    assert g_mean(np.array(cells)) == pytest.approx(sqrt(C11 / (C11 + C12) * C11 / (C11 + C21)))
    assert np.isnan(g_mean(np.array([0, 0, 0, 3])))  # no differences and no errors: undefined
    assert g_mean(np.array([[0, 1, 1, 3], [0, 0, 1, 3], [0, 1, 0, 3]]).T).tolist() == [0, 0, 0]


def numbers(study):
    return [study.order.scores, study.order.resampled, study.tests.p]


@pytest.mark.slow
def test_started_again_or_at_once_it_is_the_same(study, tmp_path, monkeypatch):
    how = {**FULL, "cache_dir": tmp_path}
    first = robustness(QRELS, RUNS, **how | {"seeds": 2})
    again = robustness(QRELS, RUNS, **how)
    for one, other in zip(*map(numbers, (study, again)), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first.order.scores, study.order.scores[:2])
    for work in (Work, Resampling):
        monkeypatch.setattr(work, "__call__", None)  # nothing is computed again
    assert str(robustness(QRELS, RUNS, **how)) == str(study)
    other = robustness(QRELS, RUNS, **how, alpha=0.2, confidence=0.8)
    assert (other.tests.rejected != study.tests.rejected).any()
    other = robustness(QRELS, RUNS, **how | {"pairs": 0})
    np.testing.assert_array_equal(other.order.resampled, study.order.resampled)


@pytest.mark.slow
def test_numbers_do_not_depend_on_what_else_is_computed(study, monkeypatch):
    few, levels = robustness(QRELS, RUNS, {"AP": "AP"}, **FULL | {"fractions": FEW[1:2]}), [1, 3]
    np.testing.assert_array_equal(few.tests.p[:, :, 0], study.tests.p[:, levels, 3])
    np.testing.assert_array_equal(few.order.scores[:, :, 0], study.order.scores[:, levels, 3])
    np.testing.assert_array_equal(few.order.resampled[:, :, 0], study.order.resampled[:, levels, 3])
    sizes = {masking_module: ("_HITS", "_RANKINGS"), robust_pieces: ("_PAIR_HITS", "_CELLS"), results: ("_CHUNK",)}
    for module, names in sizes.items():
        for name in names:
            monkeypatch.setattr(module, name, 1)
    found = robustness(QRELS, RUNS, **FULL)
    for one, other in zip(numbers(study), numbers(found), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)  # the order of summation differs
    for one, other in zip(study.tests._resampled, found.tests._resampled):
        np.testing.assert_array_equal(one, other)


def test_the_identity_of_pieces_is_all_that_they_depend_on():
    """The key includes lengths of documents that only ideal rankings contain."""
    short = {n: {q: dict(list(some.items())[:5]) for q, some in run.items()} for n, run in RUNS.items()}
    got = {d for run in short.values() for some in run.values() for d in some}
    assert len(got) < len(LENGTHS)

    def known(measure="AP", fractions=FEW, pool="judged", qrels=QRELS, runs=short):
        masking = masking_of({"m": measure}, qrels, runs, pool)
        return fingerprint(identity(masking, Fractions(fractions)), key_in_cache(masking.measures.values()))

    others = {d: n if d in got else 10 * n for d, n in LENGTHS.items()}
    fewer = {q: dict(list(some.items())[:-1]) for q, some in QRELS.items()}
    other_run = {**short, "run0": short["run1"]}
    found = [known(), known(fractions=(0.1, 0.3)), known(pool="whole"), known(qrels=fewer), known(runs=other_run)]
    found += map(known, (timed(LENGTHS), timed(others)))
    assert len(set(found)) == len(found)
    assert found[0] == known()


def test_short_runs_are_left_out_and_named():
    short = {**RUNS, "short": {q: dict(list(some.items())[:30]) for q, some in RUNS["run0"].items()}}
    found = robustness(QRELS, short, ["AP"], **ORDER | {"complete": 0.8})
    assert found.about["left_out"] == {"short": 180}
    assert found.runs == list(RUNS)
    assert any("of the longest run: 'short'" in said for said in found.limits())
    some, masking = masking_of(SCORED, runs=short, complete=0.8), masking_of(SCORED)
    kept = np.random.default_rng(0).random((2, len(masking.whole.pool.grade))) < 0.5
    np.testing.assert_array_equal(scored(some, kept), scored(masking, kept))
    two = {name: short[name] for name in ("run0", "short")}
    refused(lambda: robustness(QRELS, two, ["AP"], progress=False), "give complete=None", BadRun)


@pytest.mark.slow
def test_what_it_shows(study):
    tables, pictures = study.tables(), study.pictures()
    assert set(pictures) == {"order", "differences", "accuracy", "g_mean"}
    assert set(tables) == {"order", "knees_of_order", "differences", "rankings", "tests", "knees_of_accuracy",
                           "confusion"}  # fmt: skip
    assert all(len(shown.frame) and "6 runs, 6 topics, 3 seeds" in shown.caption for shown in tables.values())
    note = "infAP treats documents with missing judgments as in the pool (pool='whole')"
    assert any(note in said for said in study.limits())
    for picture in pictures.values():
        ax = picture.draw(None)
        assert ax.get_ylabel()
        assert note in picture.caption
        assert "6 topics, 3 seeds" in " ".join(ax.get_title(loc="left").split())
        lines = {tuple(np.round(line.get_ydata(), 9)[np.argsort(line.get_xdata())]) for line in ax.lines}
        column = "difference" if "difference" in picture.data else "value"
        for _, rows in picture.data.groupby("measure" if column == "value" else "comparison"):
            assert tuple(np.round(rows[column], 9)) in lines
    findings = study.findings()
    assert any("over these pairs and topics?" in said for said in findings)
    assert any(said.startswith("So the order nDCG above infAP above bpref") for said in findings)
    assert sum(said.startswith("Is the test by ") for said in findings) == 3


@pytest.mark.slow
def test_pools_of_some_depth():
    """The pool of all runs, and for each pair the pool of both runs."""
    found = robustness_to_depth(QRELS, RUNS, depths=(3, 10), pairs=4, **FAST)
    assert found.holes.levels == (3.0, 10.0, inf)
    expected = evaluate(found_by(top(10)), RUNS, MEASURES.values()).to_numpy()
    np.testing.assert_allclose(found.order.means[0, 1].T, expected, atol=1e-12)
    assert "all" in [label.get_text() for label in results.plot_order(found).get_xticklabels()]
    assert "With a pool of depth 3" in str(found)
    assert "infAP treats documents with missing judgments as not in the pool (pool='judged')" in str(found)
    assert json.loads(json.dumps(found.about, allow_nan=False))["levels"] == [3, 10, "all"]
    found = robustness_to_depth(QRELS, RUNS, ["AP"], depths=(1,), pairs=0, **FAST)
    assert found.order.tau[0, 0] < 0.9
    assert any("AP at all judgments" in said for said in found.findings())
    assert "never" not in str(found)


@pytest.mark.slow
def test_more_than_four_measures_have_a_panel_each():
    named = {f"P at {k}": f"P@{k}" for k in range(1, 7)}
    found = robustness(QRELS, RUNS, named, fractions=(0.5,), pairs=0, **FAST)
    ax = results.plot_order(found)
    curves = results.curves_of(found, "tau")
    for panel, name in zip(ax.child_axes, named, strict=True):
        mine = [line for line in panel.lines if line.get_marker() not in ("", "None")]
        assert panel.get_title(loc="left") == name
        assert [line.get_ydata()[::-1].tolist() for line in mine] == [curves[curves.measure == name].value.tolist()]
        assert len(panel.lines) == len(named) + 1  # all measures, and the line at 0.9
    chosen = results.plot_order(found, measures=["P at 6"])
    assert chosen.lines[0].get_color() == measure_look(5)["color"]
    refused(lambda: results.plot_order(found, measures=["P at 7"]), "'P at 7' is no measure", BadParameter)


def test_weights_of_grades():
    """Compared with nDCG of judgments with changed grades: binary, and several values of grade 2."""
    named = grade_weights()
    assert list(named) == ["nDCG binary", "nDCG 1:2", "nDCG 1:10", "nDCG 1:100"]
    found = evaluate(QRELS, RUNS, named.values())
    for worth, column in zip((1, 2, 10, 100), found):
        changed = {q: {d: {1: 1, 2: worth}.get(g, g) for d, g in some.items()} for q, some in QRELS.items()}
        np.testing.assert_allclose(found[column], evaluate(changed, RUNS, ["nDCG"])["nDCG"], atol=1e-12)


@pytest.mark.slow
def test_groups_by_loops():
    """Judgments that only one group contributed are removed from the frame; ranks are computed in loops.

    A run falls from its rank with all judgments to that without its own group's, also in resamples of topics.
    """
    groups = dict(zip(RUNS, "AABBCC"))
    found = groups_left_out(QRELS, RUNS, groups, depth=10, complete=None, resamples=50, seed=4)
    some = {"": QRELS, **{group: without(group, groups) for group in "ABC"}}
    for group in "ABC":
        lost = sum(map(len, QRELS.values())) - sum(map(len, some[group].values()))
        assert found.lost.set_index("group").judgments[group] == lost > 0
    scores = {
        of: evaluate(rest, RUNS, MEASURES.values(), by_query=True).to_numpy().reshape(len(RUNS), 6, -1)
        for of, rest in some.items()
    }
    for number, (_, row) in enumerate(found.falls.iterrows()):
        falls = []
        for drawn in (np.ones(6), *np.random.default_rng(4).multinomial(6, np.full(6, 1 / 6), 50)):
            means = {of: drawn @ by_query[:, :, number].T / 6 for of, by_query in scores.items()}
            ranks = [
                [sum(means[of] > means[of][at] + 1e-10) for of in ("", groups[run])] for at, run in enumerate(RUNS)
            ]
            falls.append([after - before for before, after in ranks])
        changes = found.changes[found.changes.measure == row["measure"]].set_index("run").loc[[*RUNS]]
        assert changes["falls"].tolist() == falls[0]
        expected = [scores[groups[run]][at, :, number].mean() for at, run in enumerate(RUNS)]
        assert changes["score_without"].tolist() == pytest.approx(expected, abs=1e-12)
        for what, values in (("falls", np.mean(falls, axis=1)), ("moves", np.mean(np.abs(falls), axis=1))):
            ends = values[0] + np.quantile(values[1:], [0.025, 0.975]) - np.mean(values[1:])
            assert row[[what, f"{what}_low", f"{what}_high"]].tolist() == pytest.approx([values[0], *ends], abs=1e-12)
    assert plot_falls(found).get_xlabel()
    assert any("infAP treats documents with missing judgments as not in the pool" in said for said in found.limits())
    other = groups_left_out(QRELS, {**RUNS, "run0": RUNS["run1"]}, groups, ["AP"], complete=None, resamples=50)
    assert other.about["input"] != found.about["input"]
    assert len(found.findings()) == 1 + len(MEASURES)


@pytest.mark.every_case
@pytest.mark.parametrize(("given", "says"), [
    ({"seeds": 0}, "seeds=0 must be a whole number"),
    ({"tau": "c"}, "tau='c' is no kind of τ"),
    ({"pool": "all"}, "pool='all'"),
    ({"fractions": (2,)}, "the fraction 2"),
    ({"alpha": 0}, "alpha=0 must be between"),
    ({"pairs": -1}, "pairs=-1 must be"),
    ({"complete": 2}, "complete=2"),
    ({"measures": "IntentAware(measure='AP')"}, "judgments with intents"),
    ({"runs": {"run0": RUNS["run0"]}}, "give at least 2 by name, not 1 run"),
])  # fmt: skip
def test_what_cannot_be_studied(given, says):
    refused(lambda: robustness(**{"qrels": QRELS, "runs": RUNS, "progress": False, **given}), says, BadParameter)


def test_levels_measures_and_groups_that_there_are_not(study):
    refused(lambda: study.confusion(0.2), "no level 0.2", BadParameter)
    refused(lambda: study.above("ndcg", "AP"), "'ndcg' is no measure of this study", BadParameter)
    refused(lambda: Depths((0,)), "depth 0 must be a whole number", BadParameter)
    refused(lambda: checked_groups({"a": "x", "b": "y"}, "abc"), "'c' has no group", BadParameter)
    refused(lambda: checked_groups({"a": "x", "b": "x"}, "ab"), "all runs are in one group", BadParameter)
    assert Fractions(FRACTIONS).levels == FRACTIONS
    assert len(FRACTIONS) == 17
    assert Fractions((0.5, "0.1")).levels == (0.1, 0.5, 1.0)


def test_the_claim_of_the_paper_is_contradicted_where_it_is(study):
    """nDCG is changed to order the runs in reverse at all levels but the last."""
    scores, resampled = study.order.scores.copy(), study.order.resampled.copy()
    scores[:, :-1, 2], resampled[:, :-1, 2] = -scores[:, -1:, 2], -1
    found = replace(study, order=replace(study.order, scores=scores, resampled=resampled))
    conclusion = next(said for said in found.findings() if said.startswith("So the order"))
    assert "as Bompada et al. (2007) found it, is contradicted here: nDCG is below infAP, nDCG is below" in conclusion
    graded, cut = "(nDCG is graded here)", "Bompada et al., 2007: nDCG@10 is cut, and their nDCG is not"
    for measure, says in (("nDCG", f"found it of binary nDCG {graded}"), ("nDCG@10", f"not the claim of {cut}")):
        assert says in str(robustness(QRELS, RUNS, [measure, "infAP", "Bpref"], **ORDER))
        binary = {q: {d: int(g > 0) for d, g in some.items()} for q, some in QRELS.items()}
        assert "graded here" not in str(robustness(binary, RUNS, [measure, "infAP", "Bpref"], **ORDER))


@pytest.mark.slow
def test_a_file_of_several_runs_is_separated(tmp_path):
    rows = [(run, q, d, s) for q in QRELS for run, of in RUNS.items() for d, s in of.get(q, {}).items()]
    table = pd.DataFrame(rows, columns=["run", "query_id", "doc_id", "score"])
    many, one = tmp_path / "runs.parquet", tmp_path / "run0.parquet"
    table.to_parquet(many)
    expected = robustness(QRELS, RUNS, ["AP"], **ORDER)
    for runs in (many, [str(many)], {"all": many}):
        found = robustness(QRELS, runs, ["AP"], **ORDER)
        assert set(found.runs) == set(RUNS)
        order = [found.runs.index(run) for run in RUNS]
        assert (found.order.scores[:, :, :, order] == expected.order.scores).all()
    table[table["run"] == "run0"].drop(columns="run").to_parquet(one)
    refused(lambda: robustness(QRELS, [many, one], ["AP"], **ORDER), "two runs have the name 'run0'", BadRun)
    refused(lambda: robustness(QRELS, one, ["AP"], **ORDER), "give at least 2 by name, not 1 run", BadParameter)


def judged(relevant, others, unknown=0, topic="q"):
    grades = [1 + number % 2 for number in range(relevant)] + [0] * others + [-1] * unknown
    rows = [(topic, f"{topic}-{number}", grade) for number, grade in enumerate(grades)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


def pairs(frame):
    return set(zip(frame.query_id, frame.doc_id))


SIZES = st.tuples(st.integers(0, 130), st.integers(0, 130), st.integers(0, 3))


@given(st.lists(SIZES, min_size=1, max_size=3), st.integers(1, 1000), st.integers(1, 1000), st.integers(0, 5))
def test_f_qrels_are_nested_and_as_large_as_they_should_be(topics, one, other, seed):
    """Sizes are max(1, ⌊fR⌋) and max(10, ⌊fN⌋), with f as a decimal; documents with grades below 0 are unjudged."""
    qrels = pd.concat([judged(*sizes, topic=str(number)) for number, sizes in enumerate(topics)], ignore_index=True)
    if not len(qrels):
        return
    smaller, larger = sorted([one, other])
    few, more = (f_qrels(qrels, thousandths / 1000, seed) for thousandths in (smaller, larger))
    assert pairs(few) <= pairs(more) <= pairs(qrels)
    for number, (R, N, unknown) in enumerate(topics):
        mine = few[few.query_id == str(number)].relevance
        exact = Fraction(smaller, 1000)
        assert (mine > 0).sum() == min(R, max(1, (exact * R).__floor__()))
        assert (mine == 0).sum() == min(N, max(10, (exact * N).__floor__()))
        assert (mine < 0).sum() == unknown


@pytest.mark.parametrize("fraction", [0, 1.01, -0.5, "half", float("nan"), None])
def test_a_fraction_out_of_its_range(fraction):
    refused(lambda: f_qrels(judged(3, 3), fraction), "must be a number above 0 and up to 1", BadParameter)
    twice = pd.concat([judged(1, 2), judged(1, 2).assign(relevance=2)])
    refused(lambda: f_qrels(twice, 0.5), "judged twice", BadJudgments)


@pytest.mark.slow
def test_a_seed_says_which_judgments_stay_and_all_are_as_likely():
    qrels = judged(20, 40)
    assert f_qrels(qrels, 0.3, 1).equals(f_qrels(qrels, 0.3, 1))
    assert not f_qrels(qrels, 0.3, 1).equals(f_qrels(qrels, 0.3, 2))
    times = sum(qrels.index.isin(f_qrels(qrels, 0.3, seed).index) for seed in range(400))
    expected = np.where(qrels.relevance > 0, 6 / 20, 12 / 40) * 400
    assert np.abs(times - expected).max() < 5 * np.sqrt(400 * 0.3 * 0.7)
    query, grade = np.repeat(np.arange(4), 30), np.tile([0, 1, 2], 40)
    whole = Fractions((0.2, 0.4)).kept(query, grade, query, np.random.default_rng(5))
    rng, less = np.random.default_rng(5), Fractions((0.4,))
    halves = [less.kept(query[part], grade[part], query[part], rng) for part in (slice(60), slice(60, None))]
    assert np.array_equal(np.concatenate(halves, axis=1), whole[1:])


def test_f_qrels_are_rows_of_what_was_given():
    frames = collection(0, queries=6, judged=40)
    kept = f_qrels(frames.qrels, 0.4, 3)
    pd.testing.assert_frame_equal(kept, frames.qrels.loc[kept.index])
    renamed = f_qrels(as_pyterrier(frames.qrels), 0.4, 3)
    assert list(renamed.columns) == ["qid", "docno", "label"]
    assert renamed.index.equals(kept.index)
    nested = {q: dict(zip(some.doc_id, some.relevance)) for q, some in frames.qrels.groupby("query_id", sort=False)}
    assert list(f_qrels(nested, 1.0).columns) == ["query_id", "doc_id", "relevance"]
    qrels = pd.concat([judged(1, 10, topic="good"), judged(0, 20, topic="none"), judged(5, 9, 3, topic="nine")])
    assert lacking(plain_judgments(qrels)) == ["none", "nine"]
