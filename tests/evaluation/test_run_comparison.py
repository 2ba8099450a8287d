"""Comparisons of runs: numbers equal those of scipy or plain loops, and all output formats agree."""

import io
import itertools
import json
import operator
import re
import shutil
import subprocess
import sys
import warnings
from fractions import Fraction
from functools import partial
from html.parser import HTMLParser
from math import inf, nan, sqrt

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, CWLAError, CWLAWarning, UnknownSpec
from pyterrier_cwla.evaluation import significance
from pyterrier_cwla.evaluation.driver import evaluate
from pyterrier_cwla.evaluation.run_comparison import compare
from pyterrier_cwla.studies import discriminative_power
from tests.support.generated import collection, harmless
from tests.support.messages import refused

stats = pytest.importorskip("scipy.stats")
multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests

MEASURES = ["nDCG@10", "AP", "RR", "P@5", "TBG"]
TESTED = tuple(significance.PAIRED_TESTS)

SIZE = ir_measures.define_byquery(lambda qrels, run: len(run), name="Size")  # another provider computes it


def frames(queries, runs=3):
    """Return judgments of queries 1…n−1 and runs over queries 2…n."""
    made = [collection(seed, queries=queries, lengths=True) for seed in range(runs)]
    return made[0].qrels, {name: one.run for name, one in zip("abcdefgh", made, strict=False)}


QRELS, RUNS = frames(queries=20)


def by_query(qrels=QRELS, runs=RUNS, measures=MEASURES):
    """Return a table of scores [queries, measures] for each run."""
    table = evaluate(qrels, runs, measures, by_query=True)
    return {run: table.loc[run] for run in runs}


def quickly(*given, **more):
    """Compare with few resamples and without correction, for tests that do not depend on them."""
    return compare(*given, **{"resamples": 200, "correction": None, **more})


def compared(table, baseline):
    return table[table.run != baseline]


@pytest.fixture(scope="module")
def found():
    return compare(QRELS, RUNS, MEASURES, baseline="a", seed=7)


def test_scores_are_those_of_evaluate():
    """Means, sums of counts and geometric means are equal to the last bit."""
    measures = [*MEASURES, "NumRel", "NumRet", "GeometricMean(measure='AP')"]
    table = quickly(QRELS, RUNS, measures, baseline=False).table
    wide = table.pivot(index="run", columns="measure", values="score")
    pd.testing.assert_frame_equal(wide[measures], evaluate(QRELS, RUNS, measures), check_names=False, check_exact=True)
    assert list(table.columns) == ["run", "measure", "score", "score_low", "score_high"]
    assert list(zip(table.run, table.measure)) == list(itertools.product(RUNS, measures))


@pytest.mark.slow
@pytest.mark.parametrize("queries", [5, 12, 20, 60])
def test_p_values_are_those_of_scipy_called_one_by_one(queries):
    """Cases: fewer than 13 queries, zeros and ties, more than 50 queries."""
    qrels, runs = frames(queries)
    scores = by_query(qrels, runs)
    table = quickly(qrels, runs, MEASURES, baseline="b", seed=3, resamples=999).table
    for row in compared(table, "b").itertuples():
        one, base = (scores[run][row.measure].to_numpy() for run in (row.run, "b"))
        d = np.round(one - base, 12)
        assert row.p_t == pytest.approx(stats.ttest_rel(one, base).pvalue, rel=1e-9)
        d_without_zeros = d[d != 0]
        wilcoxon = stats.wilcoxon(d_without_zeros).pvalue if len(d_without_zeros) > 1 else 1.0
        assert row.p_wilcoxon == pytest.approx(wilcoxon, rel=1e-9)
        permuted = stats.permutation_test(
            (d,), lambda d, axis: np.abs(np.round(d.sum(axis), 10)), permutation_type="samples", n_resamples=999,
            vectorized=True, alternative="greater", rng=np.random.default_rng(3),
        ).pvalue  # fmt: skip
        assert row.p_randomisation == pytest.approx(permuted, abs=1e-12)
        assert row.effect == pytest.approx(stats.ttest_rel(one, base).statistic / sqrt(len(d)), rel=1e-9)
        assert row.difference == pytest.approx(one.mean() - base.mean(), abs=1e-12)


def loop_over_signs(values):
    """Return the share of sign assignments with an absolute sum at least as large as observed, in fractions."""
    values = [Fraction(float(v)) for v in values]
    sums = [sum(s * v for s, v in zip(signs, values)) for signs in itertools.product((1, -1), repeat=len(values))]
    return sum(abs(total) >= abs(sum(values)) for total in sums) / len(sums)


def mean_ranks(values):
    return [sum(w < v for w in values) + (1 + sum(w == v for w in values)) / 2 for v in values]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_exact_tests_are_plain_loops_over_all_signs(seed):
    """The differences include zeros, ties and values that cancel."""
    d = np.random.default_rng(seed).integers(-3, 4, (5, 9)) / 8
    p = significance.randomisation_test(d, 1000, seed=0)
    assert p == pytest.approx([loop_over_signs(one) for one in d], abs=1e-12)
    ranks = [np.sign(one[one != 0]) * mean_ranks(np.abs(one[one != 0]).tolist()) for one in d]
    assert significance.wilcoxon_test(d) == pytest.approx([loop_over_signs(one) for one in ranks], abs=1e-12)


def test_signs_are_random_only_where_there_are_too_many():
    d = np.random.default_rng(0).normal(0.3, 1, (4, 10))
    exact = significance.randomisation_test(d, 2**10, seed=0)
    assert (exact == significance.randomisation_test(d, 2**10, seed=1)).all()
    random = significance.randomisation_test(d, 2**10 - 1, seed=0)
    assert (random != exact).any()
    assert random == pytest.approx(exact, abs=0.1)


def drawn_signs(n, resamples, seed):
    """Return the signs that scipy draws."""
    drawn = []
    stats.permutation_test(
        (np.ones(n),), lambda signs, axis: drawn.append(signs) or signs.sum(axis), permutation_type="samples",
        n_resamples=resamples, vectorized=True, rng=np.random.default_rng(seed),
    )  # fmt: skip
    observed, *random = drawn
    assert observed.tolist() == [1] * n
    return np.concatenate(random)


@pytest.mark.parametrize("seed", range(3))
def test_p_of_random_signs_counts_the_observed_ones(seed):
    """Phipson and Smyth (2010), section 4: p = (b + 1)/(m + 1), two-sided; b of m draws are at least as extreme."""
    d = np.random.default_rng(seed).integers(-8, 9, (5, 20)) / 16
    signs = drawn_signs(20, 300, seed)
    expected = []
    for one in d:
        sums = [sum(s * v for s, v in zip(drawn, one)) for drawn in signs.tolist()]
        expected.append((sum(abs(total) >= abs(sum(one)) for total in sums) + 1) / 301)
    assert significance.randomisation_test(d, 300, seed).tolist() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n", [4, 20, 200])
def test_where_the_mean_difference_is_0_every_sign_is_as_large(n, seed):
    d = np.repeat(np.random.default_rng(7).random((3, n // 2)), 2, axis=1) * np.tile([1, -1], n // 2)
    d[2] = 0
    for differences in (d, significance.without_noise(d / 3, 1.0)):
        assert significance.randomisation_test(differences, 150, seed).tolist() == [1.0] * 3


@pytest.mark.parametrize("digit", [5, 15, 25])
def test_equal_sums_tie_wherever_they_are_cut_off(digit):
    """Equal sums whose last digit is 5 are rounded alike, whatever the order of addition."""
    rng = np.random.default_rng(digit)
    d = np.round(rng.random((50, 6)), 3)
    d[:, 0] += digit * 1e-11  # the eleventh digit of the sum is 5
    expected = [loop_over_signs([round(v * 1e13) for v in one]) for one in d.tolist()]
    assert significance.randomisation_test(d, 64, seed=0) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("queries", "resamples"), [(2, 100), (6, 100), (7, 100), (30, 100), (30, 999)])
def test_the_lowest_p_is_that_of_differences_that_are_all_alike(queries, resamples):
    """Of all signs, the observed ones and their negation are as extreme; of random signs, only the observed ones."""
    signs, lowest = significance.lowest_p_of_randomisation(queries, resamples)
    assert signs == ("all signs" if 2**queries <= resamples else "random signs")
    p = significance.randomisation_test(np.ones((1, queries)), resamples, seed=0)
    assert p == lowest if signs == "all signs" or queries == 30 else p >= lowest


def test_wilcoxon_decides_between_exact_and_approximate_for_each_comparison_alone():
    """scipy decides once per array, so a single tie would make every p-value approximate."""
    rng = np.random.default_rng(0)
    clean, tied = rng.normal(0.2, 1, 20), np.repeat(rng.normal(0.2, 1, 10), 2)
    zeros = np.append(clean[:17], np.zeros(3))
    p = significance.wilcoxon_test(np.stack([clean, tied, zeros]))
    exact, approximate = ({"method": method} for method in ("exact", "asymptotic"))
    assert p[0] == stats.wilcoxon(clean, **exact).pvalue != stats.wilcoxon(clean, **approximate).pvalue
    assert p[1] == stats.wilcoxon(tied, **approximate).pvalue
    assert p[2] == stats.wilcoxon(clean[:17], **exact).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("correction", significance.CORRECTIONS)
@given(
    st.lists(
        st.sampled_from([0.0, 0.003, 0.01, 0.04, 0.5, 1.0, nan]) | st.floats(0, 1, allow_subnormal=False), min_size=1
    )
)
def test_corrections_are_those_of_statsmodels(correction, p):
    with np.errstate(divide="ignore"):
        expected = multipletests(p, method=correction)[1]
    found = significance.corrected(np.array(p), correction)
    if correction.startswith("fdr"):  # another order of products
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)
    else:
        np.testing.assert_array_equal(found, expected)


def test_corrected_p_values_keep_the_shape_and_need_no_statsmodels(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.stats.multitest", None)
    found = significance.corrected(np.array([[0.01, 0.04], [0.03, 0.01]]), "holm")
    np.testing.assert_allclose(found, [[0.04, 0.06], [0.06, 0.04]])


@pytest.mark.slow
def test_corrections_are_over_runs_and_measures_together():
    for name in (None, *significance.CORRECTIONS):
        found = quickly(QRELS, RUNS, [*MEASURES, "NumRel"], baseline="a", correction=name)
        rows = compared(found.table, "a")
        assert len(rows) == 2 * (len(MEASURES) + 1) == found.about["comparisons"]
        for test in TESTED:
            with np.errstate(divide="ignore"):
                expected = rows[f"p_{test}"] if name is None else multipletests(rows[f"p_{test}"], method=name)[1]
            assert rows[f"p_{test}_corrected"].tolist() == pytest.approx([*expected], abs=1e-12)


@pytest.mark.slow
def test_intervals_are_those_of_a_plain_loop_over_the_same_resamples():
    scores = by_query()
    n = len(scores["a"])
    table = quickly(QRELS, RUNS, MEASURES, baseline="a", resamples=400, seed=5, confidence=0.9).table
    drawn = np.random.default_rng(5).integers(0, n, (400, n))
    for row in table.itertuples():
        one, base = (scores[run][row.measure].to_numpy() for run in (row.run, "a"))
        means = [np.mean([one[q] for q in queries]) for queries in drawn]
        assert (row.score_low, row.score_high) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])), abs=1e-9)
        if row.run != "a":
            means = [np.mean([one[q] - base[q] for q in queries]) for queries in drawn]
            found = (row.difference_low, row.difference_high)
            assert found == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])), abs=1e-9)


@pytest.mark.slow
def test_counts_are_sums_with_intervals_of_sums():
    named = {"retrieved": "NumRet(rel=1)", "share": "P@5"}
    table = compare(QRELS, RUNS, named, baseline="a").table.set_index(["run", "measure"])
    counts = {run: of_run["NumRet(rel=1)"].to_numpy() for run, of_run in by_query(measures=["NumRet(rel=1)"]).items()}
    n, row = len(counts["a"]), table.loc["b", "retrieved"]
    assert row.difference == counts["b"].sum() - counts["a"].sum()
    drawn = np.random.default_rng(0).integers(0, n, (10_000, n))
    d = (counts["b"] - counts["a"])[drawn].sum(axis=1)
    assert (row.difference_low, row.difference_high) == pytest.approx(tuple(np.quantile(d, [0.025, 0.975])), abs=1e-6)


@pytest.mark.slow
def test_geometric_means_are_compared_on_their_logarithms():
    measure = "GeometricMean(measure='AP')"
    logs = {run: of_run[measure].to_numpy() for run, of_run in by_query(measures=[measure]).items()}
    row = compare(QRELS, RUNS, [measure], baseline="a").table.set_index("run").loc["b"]
    gm = {run: np.exp(values.mean()) for run, values in logs.items()}
    assert row.score == pytest.approx(gm["b"])
    assert row.difference == pytest.approx(gm["b"] - gm["a"])
    n = len(logs["a"])
    drawn = np.random.default_rng(0).integers(0, n, (10_000, n))
    of_resamples = {run: np.exp(values[drawn].mean(axis=1)) for run, values in logs.items()}
    ends = [np.quantile(of_resamples["b"], 0.025), np.quantile((of_resamples["b"] - of_resamples["a"]), 0.975)]
    assert [row.score_low, row.difference_high] == pytest.approx(ends, abs=1e-9)
    assert row.p_t == pytest.approx(stats.ttest_rel(logs["b"], logs["a"]).pvalue)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_table():
    one, same, other = (quickly(QRELS, RUNS, MEASURES, baseline="a", seed=seed, resamples=500) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one.table, same.table, check_exact=True)
    assert one.about == same.about
    assert (one.table.score_low != other.table.score_low).any()
    assert (compared(one.table, "a").p_randomisation != compared(other.table, "a").p_randomisation).any()
    assert (compared(one.table, "a").p_t == compared(other.table, "a").p_t).all()


@pytest.mark.slow
def test_how_many_are_resampled_at_a_time_changes_nothing(monkeypatch, found):
    monkeypatch.setattr(significance, "_CELLS", 19 * 37)
    pd.testing.assert_frame_equal(compare(QRELS, RUNS, MEASURES, baseline="a", seed=7).table, found.table)


@pytest.mark.slow
def test_the_same_run_twice_differs_in_nothing():
    """Differences are 0 and p-values 1, without warnings or NaN."""
    runs = {"a": RUNS["a"], "again": RUNS["a"].sample(frac=1, random_state=0), "b": RUNS["b"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for correction in ("holm", "sidak", "holm-sidak", "fdr_by"):
            table = quickly(QRELS, runs, MEASURES, baseline="a", correction=correction).table
            rows = table[table.run == "again"]
            assert (rows[["difference", "difference_low", "difference_high", "effect"]] == 0).all(axis=None)
            assert (rows[[c for c in rows if c.startswith("p_")]] == 1).all(axis=None)


def test_noise_in_the_last_bit_is_no_difference():
    """1/3 − 1/12 and 0.7 − 0.45 both equal 1/4, but their floats differ."""
    raw = np.array([[1 / 3 - 1 / 12, 0.7 - 0.45, 0.1 - 0.35]])
    assert len(set(np.abs(raw[0]))) == 3
    assert np.abs(significance.without_noise(raw, 0.7)).tolist() == [[0.25, 0.25, 0.25]]
    d = significance.without_noise(np.full((1, 20), 0.1 + 0.2) - 0.3, 0.3)
    assert (significance.t_test(d), significance.wilcoxon_test(d), significance.effect_sizes(d)) == (1, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.2, 1 / 3, 1 / 7])
def test_equal_sums_of_different_differences_tie(part):
    """Sums such as 1/3 + 1/3 and 2/3 tie as in integer arithmetic, even where their floats differ."""
    parts = np.random.default_rng(1).integers(-4, 5, (6, 9))
    d = significance.without_noise(parts * part * 7.3, 7.3)
    p = significance.randomisation_test(d, 1000, seed=0)
    assert p == pytest.approx([loop_over_signs(one) for one in parts], abs=1e-12)


def test_equal_runs_have_equal_intervals_to_the_last_bit():
    """A matrix product may sum equal rows in different orders."""
    scores = np.tile(np.random.default_rng(0).random(43) / 3, (7, 1))
    ends = significance.intervals(scores, lambda means: means - means[0], 0.95, 1001, seed=0)
    assert not np.any(ends)


def test_the_same_difference_everywhere_is_infinitely_sure_for_t_only():
    d = np.full((1, 6), -0.25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert significance.t_test(d) == 0
        assert significance.effect_sizes(d) == -inf
        assert significance.wilcoxon_test(d) == significance.randomisation_test(d, 100, 0) == 2 / 2**6


def test_a_baseline_is_not_compared_with_itself(found):
    own = found.table[found.table.run == "a"]
    compared_columns = [c for c in found.table if not c.startswith(("run", "measure", "score"))]
    assert own[compared_columns].isna().all(axis=None)
    assert compared(found.table, "a").notna().all(axis=None)


def test_queries_that_a_run_does_not_answer_score_0():
    short = RUNS["b"][RUNS["b"].query_id.isin(["2", "3", "4"])]
    found = quickly(QRELS, {"a": RUNS["a"], "short": short}, ["AP"], baseline="a")
    scores = by_query(measures=["AP"])["b"].AP
    row = found.table.set_index("run").loc["short"]
    assert row.score == pytest.approx(scores[["2", "3", "4"]].sum() / len(scores))
    assert found.about["unanswered"] == {"a": 1, "short": len(scores) - 3}
    assert found.about["correction"] is None
    assert "Topics that a run does not answer score 0: a (1), short (16)." in found.notes()


def test_two_queries_are_enough_and_one_is_not():
    two = quickly(QRELS[QRELS.query_id.isin(["2", "3"])], RUNS, ["AP"], baseline="a")
    assert two.table.notna().sum().sum() == 3 * 5 + 2 * (4 + 2 * len(TESTED))
    assert (compared(two.table, "a").p_randomisation >= 2 / 2**2).all()
    says = "only '2' is judged: intervals and tests need at least two topics"
    refused(lambda: quickly(QRELS[QRELS.query_id == "2"], RUNS, ["AP"]), BadJudgments, says)


def written(run, path, tag):
    """Write a run in TREC format."""
    path.write_text("".join(f"{r.query_id} Q0 {r.doc_id} 1 {r.score} {tag}\n" for r in run.itertuples()))


def test_what_to_report_stands_in_about(found):
    import pyterrier_cwla

    about = found.about
    assert about["version"] == pyterrier_cwla.__version__
    assert about["query_ids"] == list(dict.fromkeys(QRELS.query_id))
    assert (about["queries"], about["seed"], about["baseline"], about["alpha"]) == (19, 7, "a", 0.05)
    assert compare(QRELS, RUNS, {"time": "TBG"}).about["measures"] == {"time": "TBG"}
    json.dumps(about)


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"baseline": "A"}, BadParameter, "baseline='A' is no run. Near: 'a'."),
    ({"baseline": "x"}, BadParameter, "baseline='x' is no run. Available: a, b, c."),
    ({"test": "wilcoxson"}, BadParameter, "test='wilcoxson' is no test. Near: 'wilcoxon'."),
    ({"correction": "Holms"}, BadParameter, "'Holms' is no correction. Near: 'holm', 'holm-sidak', 'hommel'."),
    ({"confidence": 95}, BadParameter, "confidence=95 must be between 0 and 1"),
    ({"resamples": 10}, BadParameter, "resamples=10 must be a whole number from 100"),
    ({"seed": None}, BadParameter, "seed=None must be a whole number"),
    ({"qrels": RUNS, "runs": QRELS}, BadJudgments, "the judgments are runs by name: judgments are given first"),
    ({"qrels": RUNS}, BadJudgments, "the judgments are tables by name, as runs are: judgments are given first"),
    ({"measures": []}, BadParameter, "measures is empty"),
    ({"measures": ["AQ"]}, CWLAError, "no measure 'AQ'"),
    ({"runs": {}}, BadRun, "there is no run"),
    ({"runs": {"a": RUNS["a"]}, "baseline": "a"}, BadParameter, "'a' is the only run"),
    ({"runs": {"a": RUNS["a"], "x": {"301": {"d1": 1.0}}}}, BadRun, "x: none of the 19 judged topics"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:run and judgments have no query in common")
def test_what_is_wrong_is_said(given, error, message):
    refused(lambda: compare(**{"qrels": QRELS, "runs": RUNS, "measures": ["AP"], **given}), error, message)


@pytest.mark.slow
def test_the_first_run_is_the_baseline_unless_there_is_none():
    by_default = quickly(QRELS, RUNS, ["AP"])
    pd.testing.assert_frame_equal(by_default.table, quickly(QRELS, RUNS, ["AP"], baseline="a").table)
    assert by_default.about["baseline"] == "a"
    without = quickly(QRELS, RUNS, ["AP"], baseline=False)
    assert "significantly" not in repr(without)
    refused(lambda: without.rows(), BadParameter, "there is no pair of runs to show")
    alone = quickly(QRELS, RUNS["a"], "AP")
    assert alone.table[["run", "measure"]].to_numpy().tolist() == [["run", "AP"]]
    assert alone.notes()[-2] == "Nothing is compared: there is only one run."
    assert alone.about["comparisons"] == 0


def test_measures_by_which_no_document_is_relevant():
    with pytest.warns(CWLAWarning, match=r"AP\(rel=9\): no document is relevant, since the highest grade .* is 3\."):
        quickly(QRELS, RUNS, ["AP", "AP(rel=9)"])


@pytest.mark.slow
def test_importing_it_imports_nothing_heavy():
    code = (
        "import sys, pyterrier_cwla.evaluation.run_comparison; print({'statsmodels', 'scipy.stats'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


@pytest.fixture(scope="module")
def clear():
    """Comparison of four runs by three measures: the perfect run is significantly better, the reversed run worse."""
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(d < 4) for d in range(12)} for q in range(16)}
    noise = {q: dict(zip(judged, rng.normal(0, 1, len(judged)).tolist())) for q, judged in qrels.items()}

    def run(weight):
        return {q: {d: noise[q][d] + weight * grade for d, grade in judged.items()} for q, judged in qrels.items()}

    runs = {"base_line & co": run(1.0), "<b>best</b>": run(9.0), "worst#1": run(-9.0), "same": run(1.0)}
    return compare(qrels, runs, {"nDCG@5": "nDCG@5", "AP_%": "AP", "R <1>": "RR"}, baseline="base_line & co")


@pytest.mark.slow
def test_marks_are_those_of_the_table(clear):
    wide = clear.wide()
    for row in compared(clear.table, "base_line & co").itertuples():
        expected = ("▲" if row.difference > 0 else "▼") if row.p_t_corrected < 0.05 else ""
        assert (expected == {"<b>best</b>": "▲", "worst#1": "▼", "same": ""}[row.run]) or row.measure == "R <1>"
        text = wide.loc[row.run, row.measure]
        assert text.startswith(f"{row.score:.3f}{expected} ")
        ends = [float(number) for number in re.findall(r"-?\d+\.\d+", text.replace("−", "-"))]
        assert ends == pytest.approx([row.score, row.difference, row.difference_low, row.difference_high], abs=5.1e-4)


@pytest.mark.slow
def test_the_test_that_marks_is_chosen_beforehand():
    """With five queries the randomisation test cannot reach significance, and a note states this."""
    qrels, runs = frames(queries=6)
    found = compare(qrels, runs, ["AP", "RR"], baseline="a", test="randomisation", resamples=100)
    assert not found.wide().map(lambda text: "▲" in text or "▼" in text).any(axis=None)
    assert found.notes()[-1] == (
        "In a paired randomisation test, no p is below .062, .25 corrected for 4 comparisons: there are too few topics."
    )
    other = compare(QRELS, RUNS, MEASURES, baseline="a", test="randomisation", resamples=100)
    assert other.notes()[-1].endswith(".099 corrected for 10 comparisons: give more resamples.")
    enough = compare(QRELS, RUNS, MEASURES, baseline="a", test="randomisation", resamples=1000)
    assert "no p is below" not in " ".join(enough.notes())


def test_what_stands_beside_the_score(clear):
    row = clear.table.iloc[0]
    assert clear.wide(interval="score").iloc[0, 0] == f"{row.score:.3f} [{row.score_low:.3f}, {row.score_high:.3f}]"
    assert clear.wide().iloc[0, 0] == clear.wide(interval=None).iloc[0, 0] == f"{row.score:.3f}"
    refused(lambda: clear.wide(interval="both"), BadParameter, "interval='both' is no interval")
    alone = compare(QRELS, RUNS, ["AP"], baseline=False)
    pd.testing.assert_frame_equal(alone.wide(), alone.wide(interval="score"))


@pytest.mark.slow
def test_notes_say_test_correction_comparisons_and_queries(clear):
    text = " ".join(clear.notes())
    assert "Means over 16 topics." in text
    assert "p < .05 in a paired t-test over topics, Holm-corrected for all 9 comparisons of the table." in text
    assert "95\N{NO-BREAK SPACE}% confidence interval (percentile bootstrap over topics, 10,000 resamples)" in text
    plain = " ".join(compare(QRELS, RUNS, ["AP"], baseline="a", correction=None, confidence=0.99).notes())
    assert "p < .01 in a paired t-test over topics, not corrected for all 2 comparisons of the table." in plain
    kinds = compare(QRELS, RUNS, ["AP", "NumRel", "GeometricMean(measure='AP')"], baseline="a").notes()[0]
    assert kinds == ("Means over 19 topics; of NumRel the sum; of GeometricMean(measure='AP') the geometric mean"
                     " (tested on logarithms).")  # fmt: skip


@pytest.mark.slow
def test_numbers_of_any_size_are_readable():
    runs = {"a": RUNS["a"], "b": RUNS["b"].groupby("query_id").head(7)}
    wide = quickly(QRELS, runs, ["NumRet", "NumRet(rel=1)", "AP"], baseline="a").wide(interval="score")
    assert wide.loc["b", "NumRet"] == "126▼ [112, 133]"
    assert re.fullmatch(r"0\.\d{3}▼ \[0\.\d{3}, 0\.\d{3}\]", wide.loc["b", "AP"])
    long = {"long": "CWLA(C='rbp(0.99)',A='items',max_rel=3)"}  # users see 100 documents; 18 queries
    assert quickly(QRELS, RUNS, long, baseline=False).wide().loc["a", "long"].startswith("94.74 [")
    assert "−0.000" not in quickly(QRELS, {"a": RUNS["a"], "b": RUNS["a"]}, ["AP"], baseline="a").wide().to_string()


class Structure(HTMLParser):
    """Check that HTML tags are balanced, and collect the text between them."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], set(), ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html_is_well_formed_and_escaped(clear):
    html = Structure(clear._repr_html_())
    assert not html.open
    for name in [*clear.runs, *clear.measures, *clear.notes(), "Bold: the highest."]:
        assert name in html.text
    assert "<b>best</b>" not in clear._repr_html_()
    best = clear.table.loc[clear.table[clear.table.measure == "AP_%"].score.idxmax()].score
    assert f"<b>{best:.3f}</b>▲" in clear._repr_html_()
    assert 'title="d_z +' in clear._repr_html_()


def test_the_name_of_a_run_may_be_any():
    found = quickly(QRELS, {1: RUNS["a"], 'say "x"': RUNS["b"]}, ["AP"], baseline=1)
    assert Structure(found._repr_html_()).text.count('say "x"') == 2  # in the table and in the notes
    assert found.to_latex().count("say") == 2
    assert found.wide().index.tolist() == [1, 'say "x"']


@pytest.mark.parametrize("columns", ["60", "100"])
def test_text_is_the_wide_table_and_what_it_means_and_fits_the_terminal(clear, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    text = repr(clear)
    assert max(map(len, text.split("\n"))) <= int(columns)
    words = set(text.split())
    assert all(word in words for cell in clear.wide().to_numpy().flat for word in cell.split())
    assert text.split()[-len(" ".join(clear.notes()).split()) :] == " ".join(clear.notes()).split()
    assert "Bold" not in text


def balanced(latex):
    """Assert that braces, environments, formulas and rows of cells are balanced, and return the rows of the table."""
    text = "\n".join(line for line in latex.split("\n") if not line.startswith("%"))
    assert not re.search(r"(?<!\\)[%#~^_](?!\{\\(up|down)arrow\})", text)
    plain = re.sub(r"\\([&%$#_{}]|\\)", lambda m: "\n" if m[1] == "\\" else "", text)
    depth = list(itertools.accumulate({"{": 1, "}": -1}.get(c, 0) for c in plain))
    assert min(depth) == depth[-1] == 0
    assert plain.count("$") % 2 == 0
    open_ = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        assert kind == "begin" or open_.pop() == name
        if kind == "begin":
            open_.append(name)
    assert not open_
    columns = len(re.search(r"\\begin\{tabular\}\{(\w+)\}", text)[1])
    rows = [line for line in text.split("\\toprule")[1].split("\\bottomrule")[0].split("\n") if "&" in line]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {columns - 1}
    assert all(row.endswith("\\\\") and not row.startswith(("[", "*")) for row in rows)
    return rows


def test_latex_is_balanced_and_escaped(clear):
    latex = clear.to_latex(label="tab:runs")
    rows = balanced(latex)
    assert rows[0] == r" & nDCG@5 & AP\_\% & R $<$1$>$ \\"
    assert rows[1].startswith(r"base\_line \& co & 0.")
    assert rows[2] == r"{\scriptsize baseline} &  &  &  \\"
    assert rows[3].startswith(r"$<$b$>$best$<$/b$>$ & \textbf{1.000}\rlap{$^{\uparrow}$} & ")
    assert r"worst\#1 & 0.000\rlap{$^{\downarrow}$} & " in latex
    assert r"{\scriptsize $-$" in latex
    assert r"\label{tab:runs}" in latex
    assert (r"$\uparrow$ $\downarrow$: significantly higher or lower than base\_line \& co, $p <$ .05 in a paired t-test"
            r" over topics, Holm-corrected for all 9 comparisons of the table.") in latex  # fmt: skip
    for interval in ("score", None):
        balanced(clear.to_latex(interval=interval))
    assert r"base\_line \& co {\scriptsize baseline} & 0." in clear.to_latex(interval=None)
    assert clear.to_latex(interval=None).count("scriptsize") == 1
    assert "\\caption{Mine. Means over " in clear.to_latex(caption=" Mine")
    assert "\\caption{Whose? Means over " in clear.to_latex(caption="Whose?")
    assert clear.to_latex(caption="") == clear.to_latex()


def test_names_at_the_start_of_a_row_stay_there():
    r"""LaTeX parses \\ [x] and \\ * as one command."""
    found = quickly(QRELS, {"[x]": RUNS["a"], "*": RUNS["b"]}, ["AP"])
    assert [row.split(" & ")[0] for row in balanced(found.to_latex())][1::2] == ["{[}x]", "{*}"]


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs LaTeX")
def test_latex_compiles(tmp_path):
    names = ["[x] a_b & c", "<b>be|st</b>~^\\", "*worst#1 {$%}"]
    found = quickly(QRELS, dict(zip(names, RUNS.values())), {"nDCG_@5": "nDCG@5", "#": "NumRet"}, baseline=names[0],
                    correction="sidak")  # fmt: skip
    tables = "".join(found.to_latex(interval=kind, label=f"t{kind}") for kind in ("difference", "score", None))
    document = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}{tables}\\end{{document}}"
    (tmp_path / "t.tex").write_text(document)
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout


def printed(found, width):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(found)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 400])
def test_a_table_fits_the_terminal(clear, width):
    text = printed(clear, width)
    assert max(map(len, text.split("\n"))) <= width
    lines = [line.split() for line in text.split("\n")]
    for measure in clear.measures:
        assert measure.split() in lines
    for row in clear.table.itertuples():
        assert f"{row.score:.3f}" in text


def test_wide_terminals_show_everything(clear):
    text = printed(clear, 200)
    assert "Left out" not in text
    row = clear.table.set_index(["run", "measure"]).loc["worst#1", "AP_%"]
    p = [row[f"p_{name}_corrected"] for name in TESTED]
    expected = (
        f"worst#1 {row.score:.3f}▼ [{row.score_low:.3f}, {row.score_high:.3f}] {row.difference:+.3f}"
        f" [{row.difference_low:+.3f}, {row.difference_high:+.3f}] {row.effect:+.2f} "
    ) + " ".join("<.001" if value < 0.001 else f"{value:.3f}"[1:] for value in p)
    assert expected.replace(" -", " −").replace("[-", "[−") in [" ".join(line.split()) for line in text.split("\n")]


@pytest.mark.slow
def test_narrow_terminals_say_what_is_left_out(clear):
    steps = ["p Wilcoxon", "p random", "d_z", "intervals of scores", "intervals of Δ"]
    numbers = []
    for width in range(50, 140, 2):
        text, _, names = " ".join(printed(clear, width).split()).partition("Left out at this width: ")
        left_out = names.removesuffix(".").split(", ") if names else []
        numbers.append(len(left_out))
        assert left_out == steps[: len(left_out)]
        assert ("In brackets" in text) == ("intervals of Δ" not in left_out)
        assert ("d_z is the mean" in text) == ("d_z" not in left_out)
        assert "Δ: " in text
        assert "p-values" in text
    assert numbers == sorted(numbers, reverse=True)
    assert set(numbers) == set(range(len(steps) + 1))


def test_without_a_baseline_there_are_scores_and_intervals():
    text = printed(quickly(QRELS, RUNS, ["AP"], baseline=False), 80)
    assert not {"Δ", "d_z", "▲"} & {*text, *text.split()}
    assert "In brackets 95\N{NO-BREAK SPACE}% confidence intervals" in text


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Folder with judgments and three runs as files; the working directory of the commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "runs").mkdir()
    QRELS.assign(i=0)[["query_id", "i", "doc_id", "relevance"]].to_csv("qrels.txt", sep=" ", header=False, index=False)
    for name, run in RUNS.items():
        written(run, tmp_path / "runs" / f"{name}.txt", name)
    words = pd.concat(RUNS.values())[["doc_id", "doc_length"]].drop_duplicates("doc_id")
    words.to_csv("words.tsv", sep="\t", header=["docno", "words"], index=False)
    return tmp_path


@pytest.fixture
def ask(files, cli):
    """Return a function that compares the files by the command and returns exit code, stdout and stderr."""
    return lambda *arguments: cli("compare", "qrels.txt", "runs", *arguments)


@pytest.mark.slow
def test_the_command_writes_what_the_package_computes(files, ask):
    expected = compare("qrels.txt", {name: f"runs/{name}.txt" for name in RUNS}, ["AP", "RR"], baseline="b", seed=4)
    given = ("-m", "AP", "-m", "RR", "--baseline", "b", "--seed", 4)
    code, out, err = ask(*given, "--format", "csv")
    said = "Means over 19 topics.\nTopics that a run does not answer score 0: a (1), b (1), c (1).\n"
    assert (code, err) == (0, said)
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(out)), expected.table, rtol=1e-15)
    _, out, _ = ask(*given, "--format", "jsonl")
    rows = [json.loads(line, parse_constant=pytest.fail) for line in out.splitlines()]
    assert rows[3]["p_t"] is None
    pd.testing.assert_frame_equal(pd.DataFrame(rows), expected.table, check_dtype=False)
    assert ask(*given, "--format", "latex")[1:] == (expected.to_latex(), "")
    assert "Without -m: nDCG@10, AP, RR" in ask()[1]
    assert ask(*given, "-o", "table.tex")[1:] == ("", "")
    assert (files / "table.tex").read_text() == expected.to_latex()


@pytest.mark.slow
def test_the_command_binds_lengths_and_keeps_the_names_of_measures(ask):
    _, out, err = ask("-m", "TBG", "--lengths", "words.tsv", "-o", "c.parquet")
    assert (out, err.count("TBG: with the lengths of words.tsv.")) == ("", 1)
    import pyarrow.parquet

    assert pd.read_parquet("c.parquet").measure.unique().tolist() == ["TBG"]
    origin = json.loads(pyarrow.parquet.read_schema("c.parquet").metadata[b"pyterrier_cwla"])
    assert origin["measures"] == {"TBG": "TBG(lengths='words.tsv')"}
    assert (origin["queries"], origin["lengths"]["path"], origin["qrels"]) == (19, "words.tsv", "qrels.txt")


@pytest.mark.parametrize(("arguments", "line"), [
    (("--baseline", "d"), "--baseline d is no run. Available: a, b, c.\n"),
    (
        ("--correction", "holms"),
        "Invalid value for '--correction': 'holms' is not one of 'holm', 'bonferroni', 'sidak', 'holm-sidak',"
        " 'simes-hochberg', 'hommel', 'fdr_bh', 'fdr_by', 'none'.\n",
    ),
    (("-m", "TBG"),
     "a: TBG: the lengths of documents are needed: give --lengths FILE, or a column doc_length in the run.\n"),
])  # fmt: skip
def test_the_command_says_in_one_line_what_is_wrong(ask, arguments, line):
    code, out, err = ask(*(("-m", "AP") if "-m" not in arguments else ()), *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err == line


def test_float_grades_and_measures_of_other_providers():
    """Whole grades of a float column are passed on as integers, and others are named."""
    runs = {name: {"q": {"a": 1.0, "b": at}, "r": {"a": 1.0}} for name, at in (("one", 2.0), ("other", 0.5))}
    whole = {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 1.0}}
    by_others = ir_measures.define_byquery(lambda qrels, run: operator.index(qrels.relevance.sum()), name="Whole")
    assert len(compare(whole, runs, [by_others, "AP"], resamples=100).table) == 4
    between = {"q": {"a": 2, "b": 0.4}, "r": {"a": 1}}
    with pytest.raises(BadParameter, match=r"Document 'b' of query 'q' has grade 0\.4, .* accept integer grades only"):
        compare(between, runs, [by_others], resamples=100)
    assert len(compare(between, runs, ["AP", "ERR"], resamples=100).table) == 4


@pytest.mark.slow
def test_measures_of_other_providers_are_compared_like_ours(tmp_path):
    """Covers frames, measures with names of the user, and files; the reference is ir_measures."""
    frames = [harmless(collection(seed, ties=False, shuffled=False)) for seed in (1, 2)]
    qrels, runs = frames[0].qrels, {"one": frames[0].run, "other": frames[1].run}
    names = ["SetF", "IPrec@0.1", "Compat", "nDCG(gains={0:1,1:4})", "AP"]
    found = compare(qrels, runs, names, baseline="one", resamples=200)
    table = found.table.set_index(["measure", "run"])
    for name in names:
        measure = ir_measures.parse_measure(name)
        for run, frame in runs.items():
            row = table.loc[name, run]
            assert row.score == pytest.approx(ir_measures.calc_aggregate([measure], qrels, frame)[measure], abs=1e-12)
            assert row.score_low <= row.score <= row.score_high
    named = compare(qrels, runs, {"F": "SetF", "P": "P@5"}, baseline="one", resamples=200).table
    assert named.set_index(["measure", "run"]).loc["F", "other"].p_t == table.loc["SetF", "other"].p_t
    files = {name: tmp_path / f"{name}.txt" for name in runs}
    for name, run in runs.items():
        written(run, files[name], name)
    assert compare(qrels, files, names, baseline="one", resamples=200).table.equals(found.table)


def test_accuracy_has_a_value_only_where_something_relevant_is_retrieved():
    """Accuracy is tested alone and together with another measure."""
    judged = {q: {"a": 1, "b": 0} for q in "123"}
    run = {q: {"b": 2.0, "a": 1.0, "c": 0.5} for q in "123"}
    for names in (["Accuracy"], ["SetF", "Accuracy"]):
        assert compare(judged, run, names).table["score"].tolist()[-1] == 0.5
        ask = partial(compare, judged, {**run, "2": {"b": 1.0}}, names)
        refused(ask, BadParameter, "Accuracy has no value for query '2': leave")


def test_measures_of_intents_are_compared_by_judgments_of_intents():
    rows = [(q, d, 1, str((int(q) + n) % 2)) for q in "123" for n, d in enumerate("abc")]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "iteration"])
    scores = [(q, d, s) for q in "123" for d, s in (("a", 2.0), ("x", 1.5), ("c", 1.0 + int(q)), ("b", 0.5))]
    run = pd.DataFrame(scores, columns=["query_id", "doc_id", "score"])
    measure = ir_measures.parse_measure("alpha_nDCG@3")
    found = compare(qrels, {"one": run, "other": run.assign(score=-run.score)}, [measure, "IntentAware(measure='AP')"])
    expected = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    assert 0 < expected < 1
    assert found.table["score"][0] == pytest.approx(expected)


def test_what_no_provider_computes_is_refused(monkeypatch):
    monkeypatch.setattr(ir_measures.DefaultPipeline, "providers", [])
    judged, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"a": 1.0}}
    refused(lambda: compare(judged, run, [SIZE]), UnknownSpec, "Size: no installed provider computes it")


@pytest.mark.slow
@pytest.mark.parametrize(("correction", "says"), [("holm", True), ("hommel", False), ("simes-hochberg", False)])
def test_what_randomisation_cannot_reach_is_said_where_it_is_known(correction, says):
    """Hochberg's and Hommel's corrections do not raise p-values that are all equal."""
    judged = {str(q): {"a": 1, "b": 0} for q in range(6)}
    worse = {q: {"a": 1.0, "b": 2.0} for q in judged}
    better = {f"r{n}": {q: {"a": 2.0, "b": 1.0} for q in judged} for n in range(4)}
    how = dict(baseline="worse", test="randomisation", correction=correction)
    found = compare(judged, {"worse": worse, **better}, ["RR"], **how)
    assert ("no p is below" in repr(found)) == says
    assert (found.table["p_randomisation_corrected"].min() < 0.05) != says


@pytest.mark.slow
def test_json_has_no_infinite_numbers(files, prints):
    run = {q: {"a": 1.0, "b": 2.0} for q in map(str, range(6))}
    judged = {q: {"a": 1, "b": 0} for q in run}
    better = {q: {"a": 2.0, "b": 1.0} for q in run}
    assert np.isinf(compare(judged, {"x": run, "y": better}, ["RR"], baseline="x").table["effect"]).any()
    (files / "all.txt").write_text("".join(f"{q} 0 a 1\n{q} 0 b 0\n" for q in run))
    for name, scores in {"x": run, "y": better}.items():
        rows = [(q, d, score) for q, of_q in scores.items() for d, score in of_q.items()]
        written(pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]), files / f"{name}.run", name)
    out = prints("compare", "all.txt", "x.run", "y.run", "-m", "RR", "--baseline", "x", "--format", "jsonl")
    assert [json.loads(line, parse_constant=pytest.fail)["effect"] for line in out.splitlines()] == [None] * 2


def runs_in_files(folder):
    """Write three runs: two in a Parquet file with a column `run`, and one in a text file."""
    rows = [("a", q, d, s) for q in "1234" for d, s in (("x", 2.0), ("y", 1.0))]
    rows += [("b", q, d, s) for q in "1234" for d, s in (("y", 2.0), ("x", float(q)))]
    two = pd.DataFrame(rows, columns=["run", "query_id", "doc_id", "score"])
    two.to_parquet(folder / "two.parquet")
    (folder / "c.txt").write_text("".join(f"{q} Q0 y 1 2 c\n{q} Q0 x 2 1 c\n" for q in "12"))
    frames = {name: rows.drop(columns="run") for name, rows in two.groupby("run")}
    frames["c"] = pd.DataFrame([(q, d, s) for q in "12" for d, s in (("y", 2.0), ("x", 1.0))],
                               columns=["query_id", "doc_id", "score"])  # fmt: skip
    return [str(folder / "two.parquet"), str(folder / "c.txt")], frames


@pytest.mark.slow
def test_each_run_of_files_and_folders_is_a_row(tmp_path):
    qrels = {q: {"x": 1, "y": 0} for q in "1234"}
    paths, frames = runs_in_files(tmp_path)
    expected = compare(qrels, frames, ["AP", "RR"], baseline="c").table
    for runs in (paths, tmp_path, {"both": paths[0], "c": paths[1]}):
        found = compare(qrels, runs, ["AP", "RR"], baseline="c")
        table = found.table.set_index(["run", "measure"]).loc[[*expected.set_index(["run", "measure"]).index]]
        pd.testing.assert_frame_equal(table.reset_index(), expected)
        assert found.about["queries"] == 4
    power = discriminative_power(qrels, paths, ["AP", "RR"], resamples=100)
    assert set(power.about["run_names"]) == {"a", "b", "c"}
    refused(lambda: compare(qrels, paths, ["AP"], baseline="d"), BadParameter, "baseline='d' is no run")
    both = [compare(qrels, runs, ["AP", SIZE], baseline="c").scores for runs in (paths, tmp_path, frames)]
    for found in both[:2]:  # also by other providers
        pd.testing.assert_frame_equal(found.loc[[*both[2].index]], both[2])
    refused(lambda: discriminative_power(qrels, [paths[1]], ["AP"]), BadParameter, "at least 2 by name, not 1 run")


@pytest.mark.parametrize("name", [0.5, 3, None, pd.Timestamp("2026-01-01")])
def test_names_of_runs_may_have_several_types(name):
    qrels = {str(q): {"a": 1, "b": 0} for q in range(4)}
    run = {str(q): {"a": 1.0, "b": float(q)} for q in range(4)}
    reverse = {q: {document: -score for document, score in of.items()} for q, of in run.items()}
    table = compare(qrels, {name: run, "bm25": reverse}, ["AP", "RR"], "bm25", resamples=100).table
    assert table["measure"].tolist() == ["AP", "RR", "AP", "RR"]
    assert table["difference"].isna().tolist() == [False, False, True, True]
    assert (table["difference"] == table["score"] - table["score"].iloc[2])[:1].all()
    assert table["p_t_corrected"].isna().tolist() == [False, False, True, True]
