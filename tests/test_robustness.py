"""Robustness to missing judgments, against loops that thin out the judgments and score them anew."""

from itertools import combinations
from math import inf, log2, sqrt

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pyterrier_cwla import CWLA, evaluate
from pyterrier_cwla.align import Judgments
from pyterrier_cwla.compare import measures_by_name
from pyterrier_cwla.errors import BadParameter, BadRun
from pyterrier_cwla.files import find_runs, read_qrels, read_run
from pyterrier_cwla.significance import wilcoxon_test
from pyterrier_cwla.studies import robustness_plots as plots
from pyterrier_cwla.studies.holes import Depths, Fractions, f_qrels, plain_judgments
from pyterrier_cwla.studies.incomplete import MEASURES, grade_weights, robustness, robustness_to_depth
from pyterrier_cwla.studies.masking import Masking, best_ranks, of_pairs
from pyterrier_cwla.studies.robust_groups import groups_left_out, plot_falls
from pyterrier_cwla.studies.robust_order import knee, knee_table
from pyterrier_cwla.studies.robust_significance import accuracy, g_mean

mpl.use("Agg")
FEW = (0.1, 0.3, 0.6)
FAST = {"resamples": 50, "progress": False}


def generated(seed=0, queries=6, runs=6, depth=40, documents=80, judged=60):
    """Judgments, and runs of falling quality as nested dicts; some topics are not answered by all."""
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
]  # fmt: skip


@pytest.fixture(scope="module")
def study():
    return robustness(QRELS, RUNS, fractions=FEW, seeds=3, pairs=8, complete=None, **FAST)


# ---- masked scores


def left(qrels, kept):
    """Judgments as a frame, and those of which some are kept, of a mask in the order of rows."""
    frame = pd.DataFrame([(q, d, g) for q, some in qrels.items() for d, g in some.items()])
    return frame.set_axis(["query_id", "doc_id", "relevance"], axis=1)[kept]


def scored(masking, kept):
    """[measures × levels × runs × queries]"""
    found = masking.scores(masking.whole, kept)
    return found.reshape(*found.shape[:2], len(masking.runs), -1)


@pytest.mark.parametrize("seed", range(3))
def test_masked_scores_are_those_of_an_evaluation_by_the_judgments_that_are_left(seed):
    qrels, runs = generated(seed, queries=4, runs=3)
    named = {**measures_by_name(SCORED), "TBG": CWLA(C="decay(60)", A="etg", gain="clicksave", effort="time",
             lengths=LENGTHS, norm="ideal")}  # fmt: skip
    masking = Masking.of(plain_judgments(qrels), runs, named, pool="judged")
    pool = masking.whole.pool
    kept = np.concatenate([
        Fractions(FEW).kept(pool.query, pool.grade, pool.query, seed),
        np.random.default_rng(seed).random((2, len(pool.grade))) < 0.5,
    ])  # fmt: skip
    found = scored(masking, kept)
    for level, mask in enumerate(kept):
        expected = evaluate(left(qrels, mask), runs, named.values(), by_query=True)
        expected = expected.to_numpy().T.reshape(len(named), len(runs), -1)
        np.testing.assert_allclose(found[:, level], expected, rtol=0, atol=1e-12)
    f = f_qrels(left(qrels, slice(None)), 0.3, seed)
    assert f.equals(left(qrels, kept[1]))


def loops(run, grades, hidden):
    """bpref, infAP, binary nDCG and AP of one ranking, straight from their definitions; ``hidden``: in the pool, and
    nobody knows how."""
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
    masking = Masking.of(plain_judgments(QRELS), RUNS, measures_by_name(MEASURES), pool=pool)
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


def test_rows_that_are_scattered_are_masked_alike():
    frame = left(QRELS, slice(None))
    shuffled = frame.sample(frac=1, random_state=1)
    named = measures_by_name(["Bpref", "AP"])
    one, other = (Masking.of(Judgments(some), RUNS, named) for some in (frame, shuffled))
    keep = set(zip(*[f_qrels(frame, 0.3)[name] for name in ("query_id", "doc_id")]))
    masks = []
    for masking, some in ((one, frame), (other, shuffled)):
        rows = np.array([pair in keep for pair in zip(some.query_id, some.doc_id)])
        masks.append(scored(masking, rows[np.arange(len(rows))[masking.judgments.pool_order]][None]))
    by_query = [dict(zip(m.judgments.qids, np.moveaxis(s, -1, 0))) for m, s in zip((one, other), masks)]
    for query in QRELS:
        np.testing.assert_array_equal(by_query[0][query], by_query[1][query])


def test_a_pair_is_judged_by_what_either_of_the_two_has():
    names = list(RUNS)
    masking = Masking.of(plain_judgments(QRELS), RUNS, measures_by_name(SCORED), pool="judged")
    pairs = np.array([[0, 3], [4, 1]])
    whole = of_pairs(masking.whole, masking.queries, pairs)
    found = masking.scores(whole, np.ones((1, len(whole.pool.grade)), bool)).reshape(len(SCORED), 2, 2, -1)
    for number, pair in enumerate(pairs):
        two = {names[run]: RUNS[names[run]] for run in pair}
        has = {q: {d: g for d, g in some.items() if any(d in run.get(q, {}) for run in two.values())}
               for q, some in QRELS.items()}  # fmt: skip
        expected = evaluate(has, two, SCORED, by_query=True).to_numpy().T.reshape(len(SCORED), 2, -1)
        np.testing.assert_allclose(found[:, number], expected, rtol=0, atol=1e-12)


def test_the_best_rank_of_each_judged_document():
    masking = Masking.of(plain_judgments(QRELS), RUNS, measures_by_name(["AP"]))
    orders = [{q: sorted(some, key=some.get, reverse=True) for q, some in run.items()} for run in RUNS.values()]
    first = [
        min([order[q].index(d) + 1 for order in orders if d in order.get(q, ())], default=inf)
        for q, some in QRELS.items()
        for d in some
    ]
    found = best_ranks(masking.whole).astype(float)
    assert np.where(found > 1e6, inf, found).tolist() == first


# ---- the order of runs


def test_the_order_of_runs_by_loops(study):
    """τ_a and discordant pairs of every seed, from judgments that are thinned out as anybody could."""
    frame = left(QRELS, slice(None))
    names, found = list(RUNS), study.order.table().set_index(["level", "measure"])
    full = evaluate(QRELS, RUNS, MEASURES.values()).loc[names].to_numpy()
    for level in FEW:
        taus, discordant = [], []
        for seed in range(3):
            thin = f_qrels(frame, level, seed)
            scores = evaluate(thin, RUNS, MEASURES.values()).loc[names].to_numpy()
            signs = [
                np.sign(np.round(scores[i] - scores[j], 10)) * np.sign(np.round(full[i] - full[j], 10))
                for i, j in combinations(range(len(names)), 2)
            ]
            taus.append(np.mean(signs, axis=0))
            discordant.append((np.array(signs) < 0).sum(axis=0))
        for number, name in enumerate(MEASURES):
            if name == "infAP":  # which knows of the whole pool; see the loops above
                continue
            assert found.tau[level, name] == pytest.approx(np.mean(taus, axis=0)[number], abs=1e-12)
            assert found.discordant_pairs[level, name] == pytest.approx(np.mean(discordant, axis=0)[number])


def test_the_distance_is_the_correlation_in_other_units(study):
    """K = (1 − τ)·n(n − 1)/4 where nothing ties."""
    table, n = study.order.table(), len(RUNS)
    assert (table.discordant_pairs - (1 - table.tau_a) * n * (n - 1) / 4).abs().max() < 1e-9
    last = table[table.level == 1]
    assert (last[["tau", "low", "high"]] == 1).all(axis=None)


def test_intervals_hold_the_estimate_and_differences_are_paired(study):
    table = study.order.table()
    assert ((table.low <= table.tau) & (table.tau <= table.high)).all()
    one, other = study.above("nDCG", "bpref"), study.above("bpref", "nDCG")
    assert one.difference.to_numpy() == pytest.approx(-other.difference.to_numpy(), abs=1e-12)
    assert one.low.to_numpy() == pytest.approx(-other.high.to_numpy(), abs=1e-12)
    assert (study.above("AP", "AP")[["difference", "low", "high"]] == 0).all(axis=None)
    assert set(study.above("AP", "AP").verdict) == {"undecided"}
    accurate = study.tests.above("nDCG", "bpref")
    assert ((accurate.low <= accurate.difference) & (accurate.difference <= accurate.high)).all()


def test_a_measure_that_sees_all_is_found_to_be_above_one_that_sees_next_to_nothing():
    """NumRet does not look at judgments, so its order stays; the order of a random measure does not."""
    qrels, runs = generated(3, queries=20, runs=12, judged=80)
    runs = {n: {q: dict(list(s.items())[: 40 - i]) for q, s in r.items()} for i, (n, r) in enumerate(runs.items())}
    found = robustness(qrels, runs, ["NumRet", "RR(rel=2)"], fractions=(0.05,), pairs=0, complete=None, **FAST)
    assert found.above("NumRet", "RR(rel=2)").verdict.tolist() == ["yes"]
    assert found.above("RR(rel=2)", "NumRet").verdict.tolist() == ["no"]
    assert found.tests is None
    assert "Yes: the mean difference" in str(found)


def test_ranks_of_runs_and_their_scores(study):
    table = study.rankings
    assert len(table) == 4 * 4 * len(RUNS)
    full = evaluate(QRELS, RUNS, MEASURES.values())
    last = table[table.level == 1].pivot(index="run", columns="measure", values="score")[list(MEASURES)]
    np.testing.assert_allclose(last.loc[full.index], full, atol=1e-12)
    best = table[(table.level == 1) & (table.measure == "AP") & (table["rank"] == 1)].run
    assert best.tolist() == [full.iloc[:, 3].idxmax()]


def test_knees():
    """Strictly above 0.9, and whether a curve falls below again."""
    levels = (0.1, 0.2, 0.5, 1.0)
    curves = np.array([[0.9, 0.9000001, 0.95, 1], [0.95, 0.9, 0.95, 1], [0.1, 0.2, 0.3, 0.9]])
    assert knee(levels, curves).tolist() == [0.2, 0.1, inf]
    table = knee_table(levels, list("abc"), curves.T, np.stack([curves.T, curves.T - 0.06]))
    assert table.falls_again_at.fillna(0).tolist() == [0, 0.2, 0]
    assert table.highest_seed.tolist() == [1, 1, inf]


# ---- tests between runs


def test_conclusions_by_loops():
    """One pair: f-qrels of its own pool, scipy's test, and the four cells, seed by seed."""
    runs = {name: RUNS[name] for name in ("run0", "run5")}
    found = robustness(QRELS, runs, ["AP", "Bpref"], fractions=FEW, seeds=3, pool="judged", **FAST).tests
    has = {q: {d: g for d, g in some.items() if any(d in run.get(q, {}) for run in runs.values())}
           for q, some in QRELS.items()}  # fmt: skip
    masking = Masking.of(plain_judgments(QRELS), runs, measures_by_name(["AP", "Bpref"]))
    whole = of_pairs(masking.whole, len(QRELS), np.array([[0, 1]]))
    frame = left(QRELS, [d in has[q] for q, some in QRELS.items() for d in some])
    for seed in range(3):
        kept = Fractions(FEW).kept(whole.pool.query, whole.pool.grade, whole.pool.query, [seed, 1, 0])
        for level in range(4):
            scores = evaluate(frame[kept[level]], runs, ["AP", "Bpref"], by_query=True)
            for number, measure in enumerate(["AP", "Bpref"]):
                d = (scores.loc["run0"] - scores.loc["run5"])[measure].round(12)
                p = stats.wilcoxon(d[d != 0]).pvalue if (d != 0).sum() > 1 else 1.0
                assert found.p[seed, level, number, 0] == pytest.approx(p, abs=1e-12)


def test_the_confusion_by_loops(study):
    tests = study.tests
    for level in range(4):
        for number, name in enumerate(MEASURES):
            rates = []
            for seed in range(3):
                C = np.zeros((2, 2))
                for pair in range(8):
                    truly, now = (tests.p[seed, at, number, pair] <= 0.05 for at in (3, level))
                    C[int(truly), int(now)] += 1
                assert study.confusion(tests.levels[level], seed).loc[name].to_numpy().tolist() == C.tolist()
                rates.append((C[0, 0] + C[1, 1]) / 8)
            row = tests.table().set_index(["level", "measure"]).loc[(tests.levels[level], name)]
            assert row.accuracy == pytest.approx(np.mean(rates))
            assert row.false_positives == row.rejected_accepted
            assert row.false_negatives == row.accepted_rejected
            assert row.accuracy_low - 1e-6 <= row.accuracy <= row.accuracy_high + 1e-6


@pytest.mark.parametrize(
    ("cells", "accurate"), [((62, 5, 22, 176), 0.898), ((66, 6, 37, 157), 0.838), ((59, 3, 30, 174), 0.876)]
)
def test_accuracy_and_g_mean_of_the_papers_example(cells, accurate):
    """Bompada et al. (2007), Table 4."""
    assert accuracy(np.array(cells)) == pytest.approx(accurate, abs=5e-4)
    C11, C12, C21, _ = cells
    assert g_mean(np.array(cells)) == pytest.approx(sqrt(C11 / (C11 + C12) * C11 / (C11 + C21)))
    assert np.isnan(g_mean(np.array([0, 0, 0, 3])))


def test_wilcoxon_is_scipys_row_by_row():
    """Few and many queries, ties and zeros, all decided for each comparison alone."""
    rng = np.random.default_rng(0)
    for n, rows in ((3, 6), (8, 4), (13, 1), (20, 6), (30, 6), (50, 6), (51, 6), (70, 6)):
        clean, tied, some = rng.normal(0.3, 1, (3, rows, n))
        d = np.concatenate([clean, np.round(tied, 1), some * (rng.random((rows, n)) < 0.6), np.zeros((1, n))])
        left = [row[row != 0] for row in d]
        expected = [stats.wilcoxon(row).pvalue if len(row) > 1 else 1.0 for row in left]
        assert wilcoxon_test(d) == pytest.approx(expected, abs=1e-12)
    assert wilcoxon_test(np.zeros((0, 5))).shape == (0,)


# ---- the study as a whole


def numbers(study):
    return [study.order.scores, study.order.resampled, study.tests.p]


def test_started_again_side_by_side_or_at_once_it_is_the_same(study, tmp_path, monkeypatch):
    """What was done is taken from the folder; more seeds take what there is."""
    how = {"fractions": FEW, "pairs": 8, "complete": None, **FAST}
    first = robustness(QRELS, RUNS, seeds=2, keep=tmp_path, **how)
    again = robustness(QRELS, RUNS, seeds=3, keep=tmp_path, **how)
    beside = robustness(QRELS, RUNS, seeds=3, jobs=2, **how)
    for one, other, third in zip(*map(numbers, (study, again, beside)), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)
    np.testing.assert_array_equal(first.order.scores, study.order.scores[:2])
    monkeypatch.setattr(Masking, "scores", None)  # nothing is scored any more
    kept = robustness(QRELS, RUNS, seeds=3, keep=tmp_path, **how)
    np.testing.assert_array_equal(kept.tests.p, study.tests.p)
    assert str(kept) == str(study)


def test_other_judgments_are_other_pieces(tmp_path):
    how = {"fractions": FEW, "pairs": 0, "seeds": 1, "keep": tmp_path, "complete": None, **FAST}
    one = robustness(QRELS, RUNS, ["AP"], **how)
    changed = {q: {d: int(g == 2) for d, g in some.items()} for q, some in QRELS.items()}
    other = robustness(changed, RUNS, ["AP"], **how)
    assert (one.order.scores != other.order.scores).any()


def test_short_runs_are_left_out_and_named():
    short = {**RUNS, "short": {q: dict(list(some.items())[:30]) for q, some in RUNS["run0"].items()}}
    found = robustness(QRELS, short, ["AP"], fractions=(0.5,), seeds=1, pairs=0, complete=0.8, **FAST)
    assert found.about["left_out"] == {"short": 180}
    assert found.runs == list(RUNS)
    assert any("left out: 'short'" in said for said in found.limits())
    with pytest.raises(BadRun, match="give complete=None"):
        robustness(QRELS, {n: short[n] for n in ("run0", "short")}, ["AP"], **FAST)


def test_what_it_shows(study):
    tables, pictures = study.tables(), study.pictures()
    assert set(pictures) == {"order", "differences", "accuracy", "g_mean"}
    assert set(tables) == {"order", "knees_of_order", "differences", "rankings", "tests", "knees_of_accuracy",
                           "confusion"}  # fmt: skip
    assert all(len(shown.frame) and "6 runs, 6 topics, 3 seeds" in shown.caption for shown in tables.values())
    for picture in pictures.values():
        ax = picture.draw(None)
        assert ax.get_ylabel()
        lines = {tuple(np.round(line.get_ydata(), 9)) for line in ax.lines}
        column = "difference" if "difference" in picture.data else "value"
        for _, rows in picture.data.groupby("measure" if column == "value" else "comparison"):
            assert tuple(np.round(rows[column], 9)) in lines
        mpl.pyplot.close(ax.figure)
    findings = study.findings()
    assert any(said.startswith("So the order nDCG above infAP above bpref") for said in findings)
    assert sum(said.startswith("Is the test more accurate by") for said in findings) == 3


def test_pools_of_some_depth():
    """The pool of all runs, and for a pair that of the two."""
    found = robustness_to_depth(QRELS, RUNS, depths=(3, 10), pairs=4, complete=None, pool="judged", **FAST)
    assert found.holes.levels == (3.0, 10.0, inf)
    top = {q: {d: g for d, g in some.items() if any(d in sorted(r.get(q, {}), key=r.get(q, {}).get)[-10:]
           for r in RUNS.values())} for q, some in QRELS.items()}  # fmt: skip
    expected = evaluate(top, RUNS, MEASURES.values()).to_numpy()
    np.testing.assert_allclose(found.order.means[0, 1].T, expected, atol=1e-12)
    assert "all" in [label.get_text() for label in plots.plot_order(found).get_xticklabels()]
    assert "With a pool of depth 3" in str(found)


def test_weights_of_grades():
    """Binary and by grades 1 and 2: what nDCG makes of judgments that were changed so."""
    named = grade_weights()
    assert list(named) == ["nDCG binary", "nDCG 1:2", "nDCG 1:10", "nDCG 1:100"]
    found = evaluate(QRELS, RUNS, named.values())
    for worth, column in zip((1, 2, 10, 100), found):
        changed = {q: {d: {1: 1, 2: worth}.get(g, g) for d, g in some.items()} for q, some in QRELS.items()}
        np.testing.assert_allclose(found[column], evaluate(changed, RUNS, ["nDCG"])["nDCG"], atol=1e-12)


def test_groups_by_loops():
    """Each group's own judgments taken out of the frame; ranks by hand."""
    groups = dict(zip(RUNS, "AABBCC"))
    found = groups_left_out(QRELS, RUNS, groups, depth=10, complete=None, pool="judged", resamples=50)
    top = {n: {q: set(sorted(some, key=some.get)[-10:]) for q, some in run.items()} for n, run in RUNS.items()}
    full = evaluate(QRELS, RUNS, MEASURES.values())
    for group in "ABC":
        rest = {
            q: {d: g for d, g in some.items()
                if {groups[n] for n in RUNS if d in top[n].get(q, ())} != {group}}
            for q, some in QRELS.items()
        }  # fmt: skip
        without = evaluate(rest, RUNS, MEASURES.values())
        lost = sum(map(len, QRELS.values())) - sum(map(len, rest.values()))
        assert found.lost.set_index("group").judgments[group] == lost > 0
        for name, column in zip(MEASURES, full):
            for row in found.changes[(found.changes.group == group) & (found.changes.measure == name)].itertuples():
                assert row.score_without == pytest.approx(without[column][row.run], abs=1e-12)
                ranks = [1 + (table[column] > table[column][row.run] + 1e-10).sum() for table in (full, without)]
                assert row.falls == ranks[1] - ranks[0]
    assert ((found.falls.falls_low <= found.falls.falls) & (found.falls.falls <= found.falls.falls_high)).all()
    assert plot_falls(found).get_xlabel()
    assert len(found.findings()) == 1 + len(MEASURES)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"seeds": 0}, "seeds=0 must be a whole number"),
        ({"tau": "c"}, "no τ of kind 'c'"),
        ({"pool": "all"}, "pool='all'"),
        ({"fractions": (2,)}, "the fraction 2"),
        ({"alpha": 0}, "alpha=0 must be between"),
        ({"pairs": -1}, "pairs=-1 must be"),
        ({"complete": 2}, "complete=2"),
        ({"measures": "IntentAware(measure='AP')"}, "several intents"),
    ],
)
def test_what_cannot_be_studied(given, says):
    with pytest.raises(BadParameter, match=says.replace("(", r"\(")):
        robustness(QRELS, RUNS, **{"progress": False, **given})
    with pytest.raises(BadParameter, match="give at least 2 by name, not 1 run"):
        robustness(QRELS, {"run0": RUNS["run0"]})


def test_levels_are_checked(study):
    with pytest.raises(BadParameter, match="no level 0\\.2"):
        study.confusion(0.2)
    with pytest.raises(BadParameter, match="no measure 'ndcg' in this study"):
        study.above("ndcg", "AP")
    assert Depths((2,)).says(inf) == "all"


@pytest.mark.real_data
def test_a_slice_of_trec_covid(data):
    runs = {p.name: read_run(p) for p in find_runs(data / "trec-covid-r1" / "runs")[::12]}
    qrels = read_qrels(data / "trec-covid-r1" / "qrels.txt")
    found = robustness(qrels, runs, fractions=(0.05,), seeds=2, pairs=5, complete=None, **FAST)
    for seed in range(2):
        expected = evaluate(f_qrels(qrels, 0.05, seed), runs, ["Bpref", "AP"]).to_numpy()
        np.testing.assert_allclose(found.order.means[seed, 0, [0, 3]].T, expected, atol=1e-12)
    assert found.about["lacking"] == []
