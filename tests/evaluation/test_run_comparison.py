"""Comparisons of runs: numbers equal those of scipy or plain loops, and all output formats agree."""

import io
import itertools
import json
import operator
import re
import shutil
import subprocess
import warnings
from fractions import Fraction
from functools import partial
from math import inf, nan, sqrt
from xml.etree import ElementTree

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pyterrier_cwla import __version__
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, CWLAError, CWLAWarning, UnknownSpec
from pyterrier_cwla.evaluation import significance
from pyterrier_cwla.evaluation.driver import evaluate
from pyterrier_cwla.evaluation.run_comparison import compare
from pyterrier_cwla.studies import discriminative_power
from tests.support.generated import collection, harmless, write_trec
from tests.support.messages import refused

stats = pytest.importorskip("scipy.stats")
multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
smf = pytest.importorskip("statsmodels.formula.api")

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


def test_scores_are_those_of_evaluate_and_about_has_what_to_report(found):
    """Means, sums of counts and geometric means are equal to the last bit."""
    measures = [*MEASURES, "NumRel", "NumRet", "GeometricMean(measure='AP')"]
    table = quickly(QRELS, RUNS, measures, baseline=False).table
    wide = table.pivot(index="run", columns="measure", values="score")
    pd.testing.assert_frame_equal(wide[measures], evaluate(QRELS, RUNS, measures), check_names=False, check_exact=True)
    assert list(table.columns) == ["run", "measure", "score", "score_low", "score_high"]
    assert list(zip(table.run, table.measure)) == list(itertools.product(RUNS, measures))
    about = found.about
    assert about["version"] == __version__
    assert about["query_ids"] == list(dict.fromkeys(QRELS.query_id))
    assert (about["queries"], about["seed"], about["baseline"], about["alpha"]) == (19, 7, "a", 0.05)
    assert compare(QRELS, RUNS, {"time": "TBG"}).about["measures"] == {"time": "TBG"}
    json.dumps(about)


TOTALS = {
    "NumRet(rel=1)": np.sum,
    "GeometricMean(measure='AP')": lambda logarithms, **how: np.exp(np.mean(logarithms, **how)),
}


@pytest.mark.slow
@pytest.mark.parametrize("queries", [5, 12, 20, 60])
def test_numbers_are_those_of_scipy_and_of_loops(queries, monkeypatch):
    """Cases: fewer than 13 queries, zeros and ties, more than 50 queries. Geometric means are tested on logarithms."""
    qrels, runs = frames(queries)
    measures = [*MEASURES, *TOTALS]
    scores = by_query(qrels, runs, measures)
    if queries == 20:  # resamples are drawn some at a time
        monkeypatch.setattr(significance, "_CELLS", 19 * 37)
    table = quickly(qrels, runs, measures, baseline="b", seed=3, resamples=999, confidence=0.9).table
    drawn = np.random.default_rng(3).integers(0, queries - 1, (999, queries - 1))
    for row in table.itertuples():
        total = TOTALS.get(row.measure, np.mean)
        one, base = (scores[run][row.measure].to_numpy() for run in (row.run, "b"))
        means, of_base = (np.array([total(values[some]) for some in drawn]) for values in (one, base))
        assert row.score == pytest.approx(total(one))
        assert (row.score_low, row.score_high) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])), abs=1e-9)
        if row.run == "b":
            continue
        assert row.difference == pytest.approx(total(one) - total(base), abs=1e-12)
        found = (row.difference_low, row.difference_high)
        assert found == pytest.approx(tuple(np.quantile(means - of_base, [0.05, 0.95])), abs=1e-9)
        d = np.round(one - base, 12)
        d_without_zeros = d[d != 0]
        wilcoxon = stats.wilcoxon(d_without_zeros).pvalue if len(d_without_zeros) > 1 else 1.0
        assert row.p_wilcoxon == pytest.approx(wilcoxon, rel=1e-9)
        permuted = stats.permutation_test(
            (d,), lambda d, axis: np.abs(np.round(d.sum(axis), 10)), permutation_type="samples", n_resamples=999,
            vectorized=True, alternative="greater", rng=np.random.default_rng(3),
        ).pvalue  # fmt: skip
        assert row.p_randomisation == pytest.approx(permuted, abs=1e-12)
        t_test = stats.ttest_rel(one, base)
        assert (row.p_t, row.effect) == pytest.approx((t_test.pvalue, t_test.statistic / sqrt(len(d))), rel=1e-9)


def loop_over_signs(values):
    """Return the share of sign assignments with an absolute sum at least as large as observed, in fractions."""
    values = [Fraction(float(v)) for v in values]
    sums = [sum(s * v for s, v in zip(signs, values)) for signs in itertools.product((1, -1), repeat=len(values))]
    return sum(abs(total) >= abs(sum(values)) for total in sums) / len(sums)


def mean_ranks(values):
    return [sum(w < v for w in values) + (1 + sum(w == v for w in values)) / 2 for v in values]


@pytest.mark.slow
def test_exact_tests_are_plain_loops_over_all_signs():
    """The differences include zeros, ties and values that cancel. Signs are random only where there are too many."""
    for seed in range(6):
        d = np.random.default_rng(seed).integers(-3, 4, (5, 9)) / 8
        p = significance.randomisation_test(d, 1000, seed=0)
        assert p == pytest.approx([loop_over_signs(one) for one in d], abs=1e-12)
        ranks = [np.sign(one[one != 0]) * mean_ranks(np.abs(one[one != 0]).tolist()) for one in d]
        assert significance.wilcoxon_test(d) == pytest.approx([loop_over_signs(one) for one in ranks], abs=1e-12)
    d = np.random.default_rng(0).normal(0.3, 1, (4, 10))
    exact = significance.randomisation_test(d, 2**10, seed=0)
    assert (exact == significance.randomisation_test(d, 2**10, seed=1)).all()
    random = significance.randomisation_test(d, 2**10 - 1, seed=0)
    assert (random != exact).any()
    assert random == pytest.approx(exact, abs=0.1)
    rng = np.random.default_rng(0)  # scipy decides once per array, so a single tie would make all p approximate
    clean, tied = rng.normal(0.2, 1, 20), np.repeat(rng.normal(0.2, 1, 10), 2)
    zeros = np.append(clean[:17], np.zeros(3))
    p = significance.wilcoxon_test(np.stack([clean, tied, zeros]))
    exact, approximate = ({"method": method} for method in ("exact", "asymptotic"))
    assert p[0] == stats.wilcoxon(clean, **exact).pvalue != stats.wilcoxon(clean, **approximate).pvalue
    assert p[1] == stats.wilcoxon(tied, **approximate).pvalue
    assert p[2] == stats.wilcoxon(clean[:17], **exact).pvalue


def test_p_of_random_signs_counts_the_observed_ones():
    """Phipson and Smyth (2010), section 4: p = (b + 1)/(m + 1), two-sided; b of m draws are at least as extreme.

    scipy draws the same signs, after the observed ones.
    """
    for seed in range(3):
        d, drawn = np.random.default_rng(seed).integers(-8, 9, (5, 20)) / 16, []
        stats.permutation_test(
            (np.ones(20),), lambda signs, axis: drawn.append(signs) or signs.sum(axis), permutation_type="samples",  # noqa: B023
            n_resamples=300, vectorized=True, rng=np.random.default_rng(seed),
        )  # fmt: skip
        signs, expected = np.concatenate(drawn[1:]).tolist(), []
        for one in d:
            sums = [sum(s * v for s, v in zip(of_one, one)) for of_one in signs]
            expected.append((sum(abs(total) >= abs(sum(one)) for total in sums) + 1) / 301)
        assert significance.randomisation_test(d, 300, seed).tolist() == pytest.approx(expected, abs=1e-15)
    for queries, resamples in ((2, 100), (6, 100), (7, 100), (30, 100), (30, 999)):
        signs, lowest = significance.lowest_p_of_randomisation(queries, resamples)
        assert signs == ("all signs" if 2**queries <= resamples else "random signs")
        p = significance.randomisation_test(np.ones((1, queries)), resamples, seed=0)
        assert p == lowest if signs == "all signs" or queries == 30 else p >= lowest


@pytest.mark.slow
def test_where_the_mean_difference_is_0_every_sign_is_as_large():
    for n, seed in itertools.product((4, 20, 200), range(20)):
        d = np.repeat(np.random.default_rng(7).random((3, n // 2)), 2, axis=1) * np.tile([1, -1], n // 2)
        d[2] = 0
        for differences in (d, significance.without_noise(d / 3, 1.0)):
            assert significance.randomisation_test(differences, 150, seed).tolist() == [1.0] * 3


def test_equal_sums_tie():
    """Equal sums whose last digit is 5 are rounded alike, and 1/3 + 1/3 and 2/3 tie although their floats differ."""
    for digit in (5, 15, 25):
        d = np.round(np.random.default_rng(digit).random((50, 6)), 3)
        d[:, 0] += digit * 1e-11  # the eleventh digit of the sum is 5
        expected = [loop_over_signs([round(v * 1e13) for v in one]) for one in d.tolist()]
        assert significance.randomisation_test(d, 64, seed=0) == pytest.approx(expected, abs=1e-15)
    parts = np.random.default_rng(1).integers(-4, 5, (6, 8))
    expected = [loop_over_signs(one) for one in parts]
    for part in (0.2, 1 / 3, 1 / 7):
        d = significance.without_noise(parts * part * 7.3, 7.3)
        assert significance.randomisation_test(d, 1000, seed=0) == pytest.approx(expected, abs=1e-12)


P_VALUES = st.sampled_from([0.0, 0.003, 0.01, 0.04, 0.5, 1.0, nan]) | st.floats(0, 1, allow_subnormal=False)


@pytest.mark.slow
@pytest.mark.parametrize("correction", significance.CORRECTIONS)
@given(st.lists(P_VALUES, min_size=1))
def test_corrections_are_those_of_statsmodels(correction, p):
    with np.errstate(divide="ignore"):
        expected = multipletests(p, method=correction)[1]
    found = significance.corrected(np.array(p), correction)
    if correction.startswith("fdr"):  # another order of products
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_corrections_are_over_runs_and_measures_together():
    """The same run twice differs in nothing: differences are 0 and p-values 1, without warnings or NaN."""
    found = significance.corrected(np.array([[0.01, 0.04], [0.03, 0.01]]), "holm")
    np.testing.assert_allclose(found, [[0.04, 0.06], [0.06, 0.04]])
    runs = {"a": RUNS["a"], "again": RUNS["a"].sample(frac=1, random_state=0), "b": RUNS["b"]}
    for name in (None, *significance.CORRECTIONS):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = quickly(QRELS, runs, [*MEASURES, "NumRel"], baseline="a", correction=name)
        rows = compared(found.table, "a")
        assert len(rows) == 2 * (len(MEASURES) + 1) == found.about["comparisons"]
        for test in TESTED:
            with np.errstate(divide="ignore"):
                expected = rows[f"p_{test}"] if name is None else multipletests(rows[f"p_{test}"], method=name)[1]
            assert rows[f"p_{test}_corrected"].tolist() == pytest.approx([*expected], abs=1e-12)
        rows = rows[rows.run == "again"]
        assert (rows[["difference", "difference_low", "difference_high", "effect"]] == 0).all(axis=None)
        assert (rows[[c for c in rows if c.startswith("p_")]] == 1).all(axis=None)


def test_equal_differences_and_noise_in_the_last_bit():
    """1/3 − 1/12 and 0.7 − 0.45 both equal 1/4, but their floats differ. A matrix product may sum equal rows apart."""
    raw = np.array([[1 / 3 - 1 / 12, 0.7 - 0.45, 0.1 - 0.35]])
    assert len(set(np.abs(raw[0]))) == 3
    assert np.abs(significance.without_noise(raw, 0.7)).tolist() == [[0.25, 0.25, 0.25]]
    d = significance.without_noise(np.full((1, 20), 0.1 + 0.2) - 0.3, 0.3)
    assert (significance.t_test(d), significance.wilcoxon_test(d), significance.effect_sizes(d)) == (1, 1, 0)
    scores = np.tile(np.random.default_rng(0).random(43) / 3, (7, 1))
    assert not np.any(significance.intervals(scores, lambda means: means - means[0], 0.95, 1001, seed=0))
    d = np.full((1, 6), -0.25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert significance.t_test(d) == 0
        assert significance.effect_sizes(d) == -inf
        assert significance.wilcoxon_test(d) == significance.randomisation_test(d, 100, 0) == 2 / 2**6


def test_queries_without_results_score_0_and_two_queries_are_enough():
    short = RUNS["b"][RUNS["b"].query_id.isin(["2", "3", "4"])]
    found = quickly(QRELS, {"a": RUNS["a"], "short": short}, ["AP"], baseline="a")
    scores = by_query(measures=["AP"])["b"].AP
    row = found.table.set_index("run").loc["short"]
    assert row.score == pytest.approx(scores[["2", "3", "4"]].sum() / len(scores))
    assert found.about["unanswered"] == {"a": 1, "short": len(scores) - 3}
    assert found.about["correction"] is None
    assert "Topics that a run does not answer score 0: a (1), short (16)." in found.notes()
    with pytest.warns(CWLAWarning, match=r"AP\(rel=9\): no document is relevant, since the highest grade .* is 3\."):
        quickly(QRELS, RUNS, ["AP", "AP(rel=9)"])
    two = quickly(QRELS[QRELS.query_id.isin(["2", "3"])], RUNS, ["AP"], baseline="a")
    assert two.table.notna().sum().sum() == 3 * 5 + 2 * (4 + 2 * len(TESTED))
    assert (compared(two.table, "a").p_randomisation >= 2 / 2**2).all()
    says = "only '2' is judged: intervals and tests need at least two topics"
    refused(lambda: quickly(QRELS[QRELS.query_id == "2"], RUNS, ["AP"]), BadJudgments, says)


ERRORS = [  # of class BadParameter unless another is named
    ({"baseline": "A"}, "baseline='A' is no run. Near: 'a'."),
    ({"baseline": "x"}, "baseline='x' is no run. Available: a, b, c."),
    ({"baseline": ["a", "q"]}, "baseline='q' is no run"),
    ({"baseline": []}, "there is no pair of runs to compare: give at least one baseline"),
    ({"baseline": RUNS["a"]}, "baseline= is a DataFrame, and must be the name of a run, or several names"),
    ({"baseline": {"a": RUNS["a"]}}, "baseline= is a dict, and must be the name of a run, or several names"),
    ({"test": "wilcoxson"}, "test='wilcoxson' is no test. Near: 'wilcoxon'."),
    ({"test": ["t"]}, "test=['t'] is no test"),
    ({"test": "tukey"}, "test='tukey' tests all pairs of runs together: give pairs=True, or choose another test."),
    ({"baseline": ["a"], "test": "randomised_hsd"}, "test='randomised_hsd' tests all pairs of runs together"),
    ({"pairs": True, "test": "hsd"}, f"test='hsd' is no test. Available: {', '.join(sorted(significance.TESTS))}"),
    ({"pairs": True, "baseline": "a"}, "give baseline= or pairs=True, not both"),
    ({"pairs": True, "least": -1}, "least=-1"),
    ({"pairs": True, "least": nan}, "least=nan must be a number of 0 or more"),
    ({"pairs": True, "least": "x"}, "least='x' must be a number of 0 or more"),
    ({"pairs": "yes"}, "pairs='yes' must be True or False"),
    ({"pairs": True, "runs": {"a": RUNS["a"]}}, "at least two runs"),
    ({"correction": "Holms"}, "'Holms' is no correction. Near: 'holm', 'holm-sidak', 'hommel'."),
    ({"confidence": 95}, "confidence=95 must be between 0 and 1"),
    ({"resamples": 10}, "resamples=10 must be a whole number from 100"),
    ({"seed": None}, "seed=None must be a whole number"),
    ({"qrels": RUNS, "runs": QRELS}, "the judgments are runs by name: judgments are given first", BadJudgments),
    ({"qrels": RUNS}, "the judgments are tables by name, as runs are: judgments are given first", BadJudgments),
    ({"measures": []}, "measures is empty"),
    ({"measures": ["AQ"]}, "no measure 'AQ'", CWLAError),
    ({"runs": {}}, "there is no run", BadRun),
    ({"runs": {"a": RUNS["a"]}, "baseline": "a"}, "'a' is the only run"),
    ({"runs": {"a": RUNS["a"], "x": {"301": {"d1": 1.0}}}}, "x: none of the 19 judged topics", BadRun),
]


@pytest.mark.filterwarnings("ignore:run and judgments have no query in common")
def test_what_is_wrong_is_said():
    for more, message, *error in ERRORS:
        ask = partial(compare, **{"qrels": QRELS, "runs": RUNS, "measures": ["AP"], **more})
        refused(ask, message, *(error or [BadParameter]))
    found = compare(QRELS, {name: RUNS[name] for name in "ab"}, ["AP"], pairs=True, resamples=100)
    refused(lambda: found.wide("RR"), BadParameter, "no measure 'RR' in the comparison")
    refused(lambda: found.wide(["AP"]), BadParameter, "measure=['AP'] must be one measure here, such as 'AP'")
    refused(lambda: found.to_latex(layout="runs"), BadParameter, "layout='runs' is for one baseline or none")


@pytest.mark.slow
def test_the_first_run_is_the_baseline_unless_there_is_none(found):
    """A baseline is not compared with itself."""
    is_compared = [c for c in found.table if not c.startswith(("run", "measure", "score"))]
    assert found.table.loc[found.table.run == "a", is_compared].isna().all(axis=None)
    assert compared(found.table, "a").notna().all(axis=None)
    by_default = quickly(QRELS, RUNS, ["AP"])
    pd.testing.assert_frame_equal(by_default.table, quickly(QRELS, RUNS, ["AP"], baseline="a").table)
    assert by_default.about["baseline"] == "a"
    without = quickly(QRELS, RUNS, ["AP"], baseline=False)
    assert "significantly" not in repr(without)
    text = printed(without, 80)
    assert not {"Δ", "d_z", "▲"} & {*text, *text.split()}
    assert "In brackets 95\N{NO-BREAK SPACE}% confidence intervals" in text
    refused(lambda: without.rows(), BadParameter, "there is no pair of runs to show")
    alone = quickly(QRELS, RUNS["a"], "AP")
    assert alone.table[["run", "measure"]].to_numpy().tolist() == [["run", "AP"]]
    assert alone.notes()[-2] == "Nothing is compared: there is only one run."
    assert alone.about["comparisons"] == 0


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


def text_of(html):
    """Return the text of HTML, which must be well-formed."""
    return "".join(ElementTree.fromstring(f"<div>{html.replace('<br>', '<br/>')}</div>").itertext())


@pytest.mark.slow
def test_marks_are_the_table_s_and_html_is_well_formed(clear):
    wide = clear.wide()
    for row in compared(clear.table, "base_line & co").itertuples():
        expected = ("▲" if row.difference > 0 else "▼") if row.p_t_corrected < 0.05 else ""
        assert (expected == {"<b>best</b>": "▲", "worst#1": "▼", "same": ""}[row.run]) or row.measure == "R <1>"
        text = wide.loc[row.run, row.measure]
        assert text.startswith(f"{row.score:.3f}{expected} ")
        ends = [float(number) for number in re.findall(r"-?\d+\.\d+", text.replace("−", "-"))]
        assert ends == pytest.approx([row.score, row.difference, row.difference_low, row.difference_high], abs=5.1e-4)
    html = clear._repr_html_()
    for name in [*clear.runs, *clear.measures, *clear.notes(), "Bold: the highest."]:
        assert name in text_of(html)
    best = clear.table.loc[clear.table[clear.table.measure == "AP_%"].score.idxmax()].score
    assert f"<b>{best:.3f}</b>▲" in html
    assert 'title="d_z +' in html


@pytest.mark.slow
def test_what_randomisation_cannot_reach_is_said():
    """Hochberg's and Hommel's corrections do not raise p-values that are all equal."""
    found = compare(*frames(queries=6), ["AP", "RR"], baseline="a", test="randomisation", resamples=100)
    assert not found.wide().map(lambda text: "▲" in text or "▼" in text).any(axis=None)
    assert "no p is below .062, .25 corrected for 4 comparisons: there are too few topics." in found.notes()[-1]
    other = compare(QRELS, RUNS, MEASURES, baseline="a", test="randomisation", resamples=100)
    assert other.notes()[-1].endswith(".099 corrected for 10 comparisons: give more resamples.")
    pairs = compare(PAIRED, FIVE, ["ESL", "AP"], pairs=True, test="randomisation", resamples=300)
    assert "no p is below .0033, .066 corrected for 20 comparisons" in " ".join(repr(pairs).split())
    enough = compare(QRELS, RUNS, MEASURES, baseline="a", test="randomisation", resamples=1000)
    assert "no p is below" not in " ".join(enough.notes())
    judged = {str(q): {"a": 1, "b": 0} for q in range(6)}
    better = {f"r{n}": {q: {"a": 2.0, "b": 1.0} for q in judged} for n in range(4)}
    runs = {"worse": {q: {"a": 1.0, "b": 2.0} for q in judged}, **better}
    for correction, says in (("holm", True), ("hommel", False), ("simes-hochberg", False)):
        found = compare(judged, runs, ["RR"], baseline="worse", test="randomisation", correction=correction)
        assert ("no p is below" in repr(found)) == says
        assert (found.table["p_randomisation_corrected"].min() < 0.05) != says


@pytest.mark.slow
def test_scores_of_any_size_and_what_stands_beside_and_below_them(clear):
    row = clear.table.iloc[0]
    assert clear.wide(interval="score").iloc[0, 0] == f"{row.score:.3f} [{row.score_low:.3f}, {row.score_high:.3f}]"
    assert clear.wide().iloc[0, 0] == clear.wide(interval=None).iloc[0, 0] == f"{row.score:.3f}"
    refused(lambda: clear.wide(interval="both"), BadParameter, "interval='both' is no interval")
    alone = compare(QRELS, RUNS, ["AP"], baseline=False)
    pd.testing.assert_frame_equal(alone.wide(), alone.wide(interval="score"))
    runs = {"a": RUNS["a"], "b": RUNS["b"].groupby("query_id").head(7)}
    wide = quickly(QRELS, runs, ["NumRet", "NumRet(rel=1)", "AP"], baseline="a").wide(interval="score")
    assert wide.loc["b", "NumRet"] == "126▼ [112, 133]"
    assert re.fullmatch(r"0\.\d{3}▼ \[0\.\d{3}, 0\.\d{3}\]", wide.loc["b", "AP"])
    long = {"long": "CWLA(C='rbp(0.99)',A='items',max_rel=3)"}  # users see 100 documents; 18 queries
    assert quickly(QRELS, RUNS, long, baseline=False).wide().loc["a", "long"].startswith("94.74 [")
    assert "−0.000" not in quickly(QRELS, {"a": RUNS["a"], "b": RUNS["a"]}, ["AP"], baseline="a").wide().to_string()
    text = " ".join(clear.notes())
    assert "Means over 16 topics." in text
    assert "p < .05 in a paired t-test over topics, Holm-corrected for all 9 comparisons of the table." in text
    assert "95\N{NO-BREAK SPACE}% confidence interval (percentile bootstrap over topics, 10,000 resamples)" in text
    plain = " ".join(compare(QRELS, RUNS, ["AP"], baseline="a", correction=None, confidence=0.99).notes())
    assert "p < .01 in a paired t-test over topics, not corrected for all 2 comparisons of the table." in plain
    kinds = compare(QRELS, RUNS, ["AP", "NumRel", "GeometricMean(measure='AP')"], baseline="a").notes()[0]
    assert kinds == ("Means over 19 topics; of NumRel the sum; of GeometricMean(measure='AP') the geometric mean"
                     " (tested on logarithms).")  # fmt: skip


def test_text_is_the_wide_table_and_fits_the_terminal(clear, monkeypatch):
    notes = " ".join(clear.notes()).split()
    for columns in (60, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = repr(clear)
        assert max(map(len, text.split("\n"))) <= columns
        assert {word for cell in clear.wide().to_numpy().flat for word in cell.split()} <= {*text.split()}
        assert text.split()[-len(notes) :] == notes
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


def test_the_name_of_a_run_may_be_any():
    r"""LaTeX parses \\ [x] and \\ * as one command."""
    found = quickly(QRELS, {1: RUNS["a"], 'say "x"': RUNS["b"]}, ["AP"], baseline=1)
    assert text_of(found._repr_html_()).count('say "x"') == 2  # in the table and in the notes
    assert found.to_latex().count("say") == 2
    assert found.wide().index.tolist() == [1, 'say "x"']
    for name in (0.5, 3, None, pd.Timestamp("2026-01-01")):
        table = quickly(QRELS, {name: RUNS["a"], "bm25": RUNS["b"]}, ["AP", "RR"], "bm25").table
        assert table["measure"].tolist() == ["AP", "RR", "AP", "RR"]
        assert table["p_t"].isna().tolist() == table["difference"].isna().tolist() == [False, False, True, True]
        assert table["difference"][0] == table["score"][0] - table["score"][2]
    found = quickly(QRELS, {"[x]": RUNS["a"], "*": RUNS["b"]}, ["AP"])
    assert [row.split(" & ")[0] for row in balanced(found.to_latex())][1::2] == ["{[}x]", "{*}"]
    runs = {"[red]a[/red]": FIVE["a"], "b\x1b[31m": FIVE["b"]}
    found = compare(PAIRED, runs, ["AP"], pairs=True, resamples=100)
    text = printed(found, 120)
    assert "[red]a[/red]" in text
    assert "\x1b" not in text + repr(found) + found._repr_html_() + found.to_latex()
    assert "b<b>" not in compare(PAIRED, {"b<b>": FIVE["a"], "c": FIVE["b"]}, ["AP"], pairs=True)._repr_html_()
    found = compare(PAIRED, {"score": FIVE["a"], 1: FIVE["b"], "1": FIVE["c"]}, ["AP"], pairs=True, resamples=100)
    assert found.wide().columns.tolist() == ["score", "score", "1", "1"]
    assert found.to_latex().count("\\begin{table}") == 1
    assert found.wins().shape == (3, 3)


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


@pytest.mark.slow
def test_a_table_fits_the_terminal_and_says_what_is_left_out(clear):
    steps = ["p Wilcoxon", "p random", "d_z", "intervals of scores", "intervals of Δ"]
    numbers = []
    for width in (40, *range(50, 140, 2), 400):
        lines = printed(clear, width).split("\n")
        assert max(map(len, lines)) <= width
        assert all(measure.split() in map(str.split, lines) for measure in clear.measures)
        text, _, names = " ".join(" ".join(lines).split()).partition("Left out at this width: ")
        assert all(f"{score:.3f}" in text for score in clear.table.score)
        left_out = names.removesuffix(".").split(", ") if names else []
        numbers.append(len(left_out))
        assert left_out == steps[: len(left_out)]
        assert ("In brackets" in text) == ("intervals of Δ" not in left_out)
        assert ("d_z is the mean" in text) == ("d_z" not in left_out)
        assert "Δ: " in text
        assert "p-values" in text
    assert numbers == sorted(numbers, reverse=True)
    assert set(numbers) == set(range(len(steps) + 1))
    row = clear.table.set_index(["run", "measure"]).loc["worst#1", "AP_%"]
    p = [row[f"p_{name}_corrected"] for name in TESTED]
    expected = (
        f"worst#1 {row.score:.3f}▼ [{row.score_low:.3f}, {row.score_high:.3f}] {row.difference:+.3f}"
        f" [{row.difference_low:+.3f}, {row.difference_high:+.3f}] {row.effect:+.2f} "
    ) + " ".join("<.001" if value < 0.001 else f"{value:.3f}"[1:] for value in p)
    assert expected.replace(" -", " −").replace("[-", "[−") in [" ".join(line.split()) for line in lines]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Folder with judgments and three runs as files; the working directory of the commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "runs").mkdir()
    QRELS.assign(i=0)[["query_id", "i", "doc_id", "relevance"]].to_csv("qrels.txt", sep=" ", header=False, index=False)
    for name, run in RUNS.items():
        write_trec(run, tmp_path / "runs" / f"{name}.txt")
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
    needed = "the lengths of documents are needed: give --lengths FILE, or a column doc_length in the run.\n"
    assert ask("-m", "TBG") == (2, "", f"a: TBG: {needed}")
    assert ask("--baseline", "d") == (2, "", "--baseline d is no run. Available: a, b, c.\n")
    _, _, line = ask("--correction", "holms")
    assert line.startswith("Invalid value for '--correction': 'holms' is not one of 'holm', 'bonferroni', 'sidak',")
    assert line.endswith("'fdr_bh', 'fdr_by', 'none'.\n")


@pytest.mark.slow
def test_measures_of_other_providers_are_compared_like_ours(monkeypatch):
    """The reference is ir_measures. Whole grades of a float column are passed on as integers, and others are named."""
    frames = [harmless(collection(seed, ties=False, shuffled=False)) for seed in (1, 2)]
    qrels, runs = frames[0].qrels, {"one": frames[0].run, "other": frames[1].run}
    names = ["SetF", "IPrec@0.1", "Compat", "nDCG(gains={0:1,1:4})", "AP"]
    table = compare(qrels, runs, names, baseline="one", resamples=200).table.set_index(["measure", "run"])
    for name in names:
        measure = ir_measures.parse_measure(name)
        for run, frame in runs.items():
            row = table.loc[name, run]
            assert row.score == pytest.approx(ir_measures.calc_aggregate([measure], qrels, frame)[measure], abs=1e-12)
            assert row.score_low <= row.score <= row.score_high
    named = compare(qrels, runs, {"F": "SetF", "P": "P@5"}, baseline="one", resamples=200).table
    assert named.set_index(["measure", "run"]).loc["F", "other"].p_t == table.loc["SetF", "other"].p_t
    runs = {name: {"q": {"a": 1.0, "b": at}, "r": {"a": 1.0}} for name, at in (("one", 2.0), ("other", 0.5))}
    whole = {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 1.0}}
    by_others = ir_measures.define_byquery(lambda qrels, run: operator.index(qrels.relevance.sum()), name="Whole")
    assert len(compare(whole, runs, [by_others, "AP"], resamples=100).table) == 4
    between = {"q": {"a": 2, "b": 0.4}, "r": {"a": 1}}
    with pytest.raises(BadParameter, match=r"Document 'b' of query 'q' has grade 0\.4, .* accept integer grades only"):
        compare(between, runs, [by_others], resamples=100)
    assert len(compare(between, runs, ["AP", "ERR"], resamples=100).table) == 4
    judged = {q: {"a": 1, "b": 0} for q in "123"}
    run = {q: {"b": 2.0, "a": 1.0, "c": 0.5} for q in "123"}
    for names in (["Accuracy"], ["SetF", "Accuracy"]):
        assert compare(judged, run, names).table["score"].tolist()[-1] == 0.5
        ask = partial(compare, judged, {**run, "2": {"b": 1.0}}, names)
        refused(ask, BadParameter, "Accuracy has no value for query '2': leave")
    monkeypatch.setattr(ir_measures.DefaultPipeline, "providers", [])
    judged, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"a": 1.0}}
    refused(lambda: compare(judged, run, [SIZE]), UnknownSpec, "Size: no installed provider computes it")


@pytest.mark.slow
def test_each_run_of_files_and_folders_is_a_row(tmp_path):
    """Two runs in a Parquet file with a column `run`, and one in a text file; also by other providers."""
    qrels = {q: {"x": 1, "y": 0} for q in "1234"}
    rows = [("a", q, d, s) for q in "1234" for d, s in (("x", 2.0), ("y", 1.0))]
    rows += [("b", q, d, s) for q in "1234" for d, s in (("y", 2.0), ("x", float(q)))]
    two = pd.DataFrame(rows, columns=["run", "query_id", "doc_id", "score"])
    two.to_parquet(tmp_path / "two.parquet")
    (tmp_path / "c.txt").write_text("".join(f"{q} Q0 y 1 2 c\n{q} Q0 x 2 1 c\n" for q in "12"))
    runs = dict(iter(two.drop(columns="run").groupby(two["run"]))) | {"c": {q: {"y": 2.0, "x": 1.0} for q in "12"}}
    paths = [str(tmp_path / "two.parquet"), str(tmp_path / "c.txt")]
    expected = compare(qrels, runs, ["AP", SIZE], baseline="c", resamples=200).table.set_index(["run", "measure"])
    for given_as in (paths, tmp_path, {"both": paths[0], "c": paths[1]}):
        found = compare(qrels, given_as, ["AP", SIZE], baseline="c", resamples=200).table.set_index(["run", "measure"])
        pd.testing.assert_frame_equal(found.loc[[*expected.index]], expected)
    power = discriminative_power(qrels, paths, ["AP", "RR"], resamples=100)
    assert set(power.about["run_names"]) == {"a", "b", "c"}
    refused(lambda: compare(qrels, paths, ["AP"], baseline="d"), BadParameter, "baseline='d' is no run")
    refused(lambda: discriminative_power(qrels, [paths[1]], ["AP"]), BadParameter, "at least 2 by name, not 1 run")


# ---- pairs of runs


PAIRED, FIVE = frames(queries=14, runs=5)
THREE = ["nDCG@10", "AP", "NumRet(rel=1)"]


@pytest.fixture(scope="module")
def every():
    return compare(PAIRED, FIVE, THREE, pairs=True, resamples=300)


def scores(found, measure):
    return found.by_query[measure].unstack("query_id").loc[found.runs].to_numpy(float)


@pytest.mark.slow
def test_each_pair_has_a_row_with_scipy_s_tests(every):
    """Corrections are over all pairs and measures."""
    assert len(every.table) == 10 * 3
    for row in every.table.itertuples():
        values = dict(zip("abcde", scores(every, row.measure), strict=True))
        first, second = values[row.run], values[row.baseline]
        assert row.p_t == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=1e-9)
        total = np.sum if row.measure.startswith("Num") else np.mean
        assert row.difference == pytest.approx(total(first) - total(second), abs=1e-9)
        assert row.difference_low <= row.difference <= row.difference_high
        gaps = np.round(first - second, 12)
        assert (row.wins, row.ties, row.losses) == ((gaps > 0).sum(), (gaps == 0).sum(), (gaps < 0).sum())
    for test in ("t", "wilcoxon", "randomisation"):
        expected = multipletests(every.table[f"p_{test}"], method="holm")[1]
        assert every.table[f"p_{test}_corrected"].tolist() == pytest.approx(expected, abs=1e-12)
    rows = every.rows("AP")
    for a, b in itertools.permutations("abcde", 2):
        assert rows.loc[(a, b), "difference"] == -rows.loc[(b, a), "difference"]
        assert rows.loc[(a, b), "difference_low"] == -rows.loc[(b, a), "difference_high"]
        assert rows.loc[(a, b), "wins"] == rows.loc[(b, a), "losses"]
        assert rows.loc[(a, b), "tukey_low"] == -rows.loc[(b, a), "tukey_high"]
    wins = every.wins("AP")
    assert wins.loc["a", "b"] == "/".join(reversed(wins.loc["b", "a"].split("/")))
    assert wins.loc["c", "c"] == "·"


@pytest.mark.slow
@pytest.mark.parametrize("measure", THREE)
def test_tukeys_hsd_is_that_of_the_two_way_model(every, measure):
    """The mean square of the errors and its degrees of freedom are those of statsmodels' linear model."""
    values = every.by_query[measure].rename("y").reset_index()
    model = smf.ols("y ~ C(run) + C(query_id)", values).fit()
    n = every.about["queries"]
    error = np.sqrt(model.mse_resid / n)
    rows = every.table[every.table["measure"] == measure]
    means = values.groupby("run")["y"].mean()
    gaps = np.array([means[row.run] - means[row.baseline] for row in rows.itertuples()])
    expected = stats.studentized_range.sf(np.abs(gaps) / error, 5, model.df_resid)
    assert rows["p_tukey"].to_numpy() == pytest.approx(expected, abs=1e-9)
    half = stats.studentized_range.ppf(0.95, 5, model.df_resid) * error * (n if measure.startswith("Num") else 1)
    assert (rows["tukey_high"] - rows["tukey_low"]).to_numpy() == pytest.approx(np.full(10, 2 * half), rel=1e-9)
    significant = (rows["tukey_low"] > 0) | (rows["tukey_high"] < 0)
    assert (significant == (rows["p_tukey"] < 0.05)).all()


@pytest.mark.slow
def test_tukeys_hsd_is_computed_when_it_is_shown(monkeypatch):
    calls = []
    monkeypatch.setattr(significance, "tukey_hsd", lambda *given: calls.append(1) or (np.full(10, 0.01), 0.1))
    found, tukey = (compare(PAIRED, FIVE, THREE, pairs=True, resamples=100, test=test) for test in ("t", "tukey"))
    assert printed(found, 80) + found._repr_html_() + found.to_latex() + found.to_latex(layout="list")
    assert not calls
    assert found.table.columns[9:13].tolist() == ["p_tukey", "tukey_low", "tukey_high", "p_randomised_hsd"]
    assert len(calls) == 3
    assert "▲" in repr(tukey)
    assert len(calls) == 6


def test_randomised_hsd_by_loops_and_tukeys_of_equal_differences():
    rng = np.random.default_rng(1)
    values = np.round(rng.random((3, 4)), 1) + np.array([[0.0], [0.1], [0.6]])
    first, second = np.triu_indices(3, 1)
    found = significance.randomised_hsd(values, first, second, 20_000, seed=0)
    orders = list(itertools.permutations(range(3)))
    ranges = [
        np.ptp(np.mean([values[list(order), query] for query, order in enumerate(chosen)], axis=0))
        for chosen in itertools.product(orders, repeat=4)
    ]
    means = values.mean(axis=1)
    exact = [np.mean(np.array(ranges) >= abs(means[a] - means[b]) - 1e-12) for a, b in zip(first, second, strict=True)]
    assert found == pytest.approx(exact, abs=0.015)
    # None of 99 permutations of 20 queries reaches the difference: p = (0 + 1)/(99 + 1).
    assert significance.randomised_hsd(np.repeat([[0.0], [1.0]], 20, axis=1), [0], [1], 99, seed=0).tolist() == [0.01]
    values = np.array([[0.1, 0.5, 0.9], [0.1, 0.5, 0.9], [0.3, 0.7, 1.1]])
    p, half = significance.tukey_hsd(values, np.array([0, 0]), np.array([1, 2]), 0.95)
    assert p.tolist() == [1.0, 0.0]
    assert half == 0


QUARTERS = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@given(st.lists(st.tuples(QUARTERS, QUARTERS), min_size=1), QUARTERS, st.booleans())
def test_wins_ties_and_losses(pairs, least, lower):
    values = np.array(pairs).T
    wins, ties, losses = significance.wins_ties_losses(values, np.array([0]), np.array([1]), least, lower)[:, 0]
    better = [(b - a if lower else a - b) for a, b in pairs]
    assert wins == sum(gap > least for gap in better)
    assert losses == sum(gap < -least for gap in better)
    assert wins + ties + losses == len(pairs)


def test_several_baselines_are_compared_once_each():
    found = compare(PAIRED, FIVE, ["AP"], baseline=["b", "a"], resamples=200)
    assert list(zip(found.table["run"], found.table["baseline"], strict=True)) == [
        ("a", "b"), ("c", "b"), ("d", "b"), ("e", "b"), ("c", "a"), ("d", "a"), ("e", "a"),
    ]  # fmt: skip
    assert found.wide().columns.tolist() == ["score", "b", "a"]
    assert found.wide().loc["b", "a"].startswith(("+", "−", "0"))  # the other direction of the row (a, b)
    listed = compare(PAIRED, FIVE, ["AP"], baseline=["a"], resamples=200)
    assert listed.table[["wins", "ties", "losses"]].sum(axis=1).unique().tolist() == [listed.about["queries"]]
    one = compare(PAIRED, FIVE, ["AP"], baseline="b", resamples=200).table.set_index("run")
    of_b = found.table[found.table["baseline"] == "b"].set_index("run")
    for name in ("difference", "p_t", "p_wilcoxon", "p_randomisation", "effect", "difference_low", "difference_high"):
        assert of_b[name].tolist() == pytest.approx(one.loc[of_b.index, name].tolist(), abs=1e-12)


@pytest.mark.slow
def test_marks_are_those_of_the_chosen_test():
    qrels = {f"{q}": {"x": 1} for q in range(12)}
    best, worst = ({q: {"x": -rank, "y": -1.5} for q in qrels} for rank in (1.0, 2.0))
    found = compare(qrels, {"best": best, "worst": worst, "same": best}, ["RR"], pairs=True, resamples=200)
    assert found.wide().loc["best"].tolist() == ["1.000", "·", "+0.500▲", "0.000"]
    assert found.wide().loc["worst"].tolist() == ["0.500", "−0.500▼", "·", "−0.500▼"]
    assert found.wins().loc["best"].tolist() == ["·", "12/0/0", "0/12/0"]
    latex = found.to_latex(label="tab:pairs")
    assert r"$-$0.500\rlap{$^{\downarrow}$}" in latex
    assert r"\label{tab:pairs}" in latex
    assert latex.count("\\\\") == 1 + 2 * 3
    text = " ".join(repr(found).split())
    assert "Holm-corrected for all 3 comparisons of the table" in text
    assert "<table" in found._repr_html_()
    tukey = compare(qrels, {"best": best, "worst": worst}, ["RR"], pairs=True, test="tukey", resamples=200)
    noted = " ".join(repr(tukey).split())
    assert "Tukey's HSD test, with topics as blocks, corrected for all pairs of runs by each measure" in noted
    runs = {"best": best, "worst": worst, "same": best}
    for how in (dict(pairs=True), dict(baseline=["best", "worst"])):  # the heat map counts each pair once
        found = compare(qrels, runs, ["RR", "ESL"], resamples=200, **how)
        assert "Less is better: ESL." in repr(found)
        for layout in ("matrix", "list"):
            assert "Less is better: ESL." in found.to_latex("ESL", layout=layout)
            assert "Less is better" not in found.to_latex("RR", layout=layout)
        ax = found.plot_pairs("ESL")
        assert ax.get_title(loc="left").split("\n")[0] == "ESL (less is better): 2 significant pairs of 3"
        assert ax.figure.get_supxlabel().replace("\n", " ").startswith("Numbers: significant differences, p < .05 in")


def test_latex_has_a_table_or_a_list_for_each_measure(every):
    latex = every.to_latex(label="tab:pairs")
    assert latex.count("\\begin{table}") == 3
    assert latex.count("\\label{tab:pairs-") == 3
    assert every.to_latex("AP") in every.to_latex()
    latex = every.to_latex("AP", label="tab:pairs", layout="list")
    assert latex.count("\\\\") == 1 + 10
    row = every.table[every.table["measure"] == "AP"].iloc[0]
    assert f"{row.wins}/{row.ties}/{row.losses}" in latex
    assert "95\\,\\% interval" in latex
    refused(lambda: every.to_latex(layout="rows"), BadParameter, "layout='rows' is no layout")


def test_differences_up_to_least_are_ties_and_less_may_be_better():
    qrels = {q: {"x": 1} for q in "123"}
    one = {"1": {"x": 1.0}, "2": {"y": 2.0, "x": 1.0}, "3": {"x": 1.0}}
    other = {"1": {"x": 1.0}, "2": {"x": 1.0}, "3": {"z": 3.0, "y": 2.0, "x": 1.0}}
    for least, expected in ((0, "1/1/1"), (0.5, "1/2/0"), (0.7, "0/3/0")):
        found = compare(qrels, {"one": one, "other": other}, ["RR"], pairs=True, least=least, resamples=100)
        assert found.wins().loc["one", "other"] == expected
    assert "differ by at most 0.7" in found.to_latex()
    runs = {name: FIVE[name] for name in "ab"}  # of geometric means, least is in the unit of the measure
    found = compare(PAIRED, runs, ["AP", "GMAP", "ESL"], pairs=True, least=0.05, test="tukey", resamples=100)
    assert found.wins(found.measures[1]).equals(found.wins("AP"))
    assert "nan" not in printed(found, 120)  # geometric means have no intervals of Tukey
    (row,) = found.rows("ESL").loc[[("a", "b")]].itertuples()
    gaps = np.round(np.subtract(*scores(found, "ESL")), 9)
    assert (row.wins, row.losses) == ((gaps < -0.05).sum(), (gaps > 0.05).sum())  # less is better
    assert row.difference == pytest.approx(gaps.mean())


@pytest.mark.slow
def test_bars_of_wins_are_of_one_measure_better_run_first():
    found = compare(PAIRED, FIVE, ["AP", "P@1", "ESL"], pairs=True, resamples=100)
    for measure in found.measures:
        axes = found.plot_wins(measure)
        (_, of_measure), *_ = found.table[found.table["measure"] == measure].iterrows()
        widths = [bar.get_width() for bar in axes.patches]
        assert sum(widths) == len(found.table) / 3 * (of_measure.wins + of_measure.ties + of_measure.losses)
        pairs = [label.get_text().split(" vs ") for label in axes.get_yticklabels()]
        means = evaluate(PAIRED, FIVE, [measure])[measure] * (-1 if measure == "ESL" else 1)  # less is better
        assert [means[first] >= means[second] for first, second in pairs] == [True] * (len(found.table) // 3)


@pytest.mark.slow
@pytest.mark.parametrize("how", [dict(baseline="low"), dict(baseline=["low"]), dict(pairs=True)], ids=str)
def test_without_a_mark_if_ranks_and_means_differ_in_opposite_directions(how):
    """Recall is 0.6 against 0.5 on 18 topics, and 0 against 1 on two: the rank sum is positive, the mean negative."""
    documents = "abcdefghij"
    found = {"one": [6] * 18 + [0] * 2, "low": [5] * 18 + [10] * 2}
    qrels = {str(query): dict.fromkeys(documents, 1) for query in range(20)}
    runs = {
        name: {query: dict.fromkeys(documents[:many] or "x", 1.0) for query, many in zip(qrels, of_run, strict=True)}
        for name, of_run in found.items()
    }
    shown = compare(qrels, runs, ["SetR"], test="wilcoxon", resamples=200, **how)
    assert shown.table["p_wilcoxon_corrected"].min() < 0.05
    text = " ".join(repr(shown).split())
    assert re.search(r"[+−]0\.010", text)
    assert not re.search(r"[+−]0\.010[▲▼]|0\.540[▲▼]", text)
    equal = {"one": runs["one"], "low": {**runs["low"], "19": dict.fromkeys(documents[:8], 1.0)}}
    for found in (shown, compare(qrels, equal, ["SetR"], test="wilcoxon", resamples=200, **how)):
        text = " ".join(repr(found).split()).replace("low and one", "one and low")
        assert "since means are equal or differ in the other direction than the ranks: one and low (SetR)." in text
    by_t_test = compare(qrels, runs, ["SetR"], resamples=200, **how)
    assert "Without a mark" not in repr(by_t_test)


@pytest.mark.parametrize("how", [{}, dict(baseline="one"), dict(baseline=["one"]), dict(pairs=True)], ids=str)
def test_judgments_by_intent(how):
    """A document with several intents is judged more than once."""
    rows = [("1", "1", "a", 1), ("1", "2", "a", 0), ("1", "2", "c", 1), ("2", "1", "x", 1), ("2", "2", "x", 1)]
    qrels = pd.DataFrame(rows, columns=["query_id", "iteration", "doc_id", "relevance"])
    runs = {"one": {"1": {"a": 2.0, "c": 1.0}, "2": {"x": 1.0}}, "two": {"1": {"c": 2.0, "a": 1.0}}}
    measures = ["alpha_nDCG@5", "ERR_IA@5", "IntentAware(measure='AP')"]
    found = compare(qrels, runs, measures, resamples=100, **how)
    pd.testing.assert_frame_equal(found.by_query, evaluate(qrels, runs, measures, by_query=True))
    assert found.about["unanswered"] == {"two": 1}
    assert "Topics that a run does not answer score 0: two (1)." in repr(found)
    refused(lambda: compare(qrels, runs, ["ERR_IA"], **how), BadParameter, "ERR_IA needs cutoff=, as in ERR_IA@10")


def test_one_more_record_is_one_more_test(monkeypatch):
    """Columns, heads, marks, sentences and errors follow from a record; the sign test as the example."""

    def sign_test(differences, *_):
        counts = [((row > 0).sum(), np.count_nonzero(row)) for row in differences]
        return np.array([stats.binomtest(higher, changed).pvalue for higher, changed in counts])

    record = significance.SignificanceTest("sign", "sign", "a sign test", sign_test)
    for records in (significance.TESTS, significance.PAIRED_TESTS):
        monkeypatch.setitem(records, "sign", record)
    found = compare(PAIRED, FIVE, ["AP"], baseline="a", test="sign", resamples=100)
    wins = found.rows().loc["b", "a"]
    expected = stats.binomtest(int(wins["wins"]), int(wins["wins"] + wins["losses"])).pvalue
    assert found.table.set_index("run").loc["b", "p_sign"] == pytest.approx(expected)
    assert found.table["p_sign_corrected"].count() == 4
    assert "p < .05 in a sign test over topics, Holm-corrected" in found.to_latex().replace("$p <$", "p <")
    assert re.search(r"t-test +Wilcoxon +random +sign", printed(found, 140))
    says = "test='sing' is no test. Near: 'sign'. Available: randomisation, sign, t, wilcoxon."
    refused(lambda: compare(PAIRED, FIVE, ["AP"], test="sing"), BadParameter, says)


@pytest.mark.slow
def test_the_command_compares_pairs(files, prints):
    paths = [files / "runs" / f"{name}.txt" for name in "abc"]
    common = ("compare", "qrels.txt", *paths, "-m", "AP", "--resamples", 100)
    text = prints(*common, "--pairs", "--test", "tukey")
    assert "wins/ties/losses" in text
    assert "Intervals hold for all pairs together, by Tukey's HSD test" in text
    assert "Intervals are not corrected" in " ".join(prints(*common, "--pairs").split())
    for first, second in (("a", "b"), paths[:2]):
        table = pd.read_csv(io.StringIO(prints(*common, "--baseline", first, "--baseline", second, "--format", "csv")))
        assert table[["run", "baseline"]].to_numpy().tolist() == [["b", "a"], ["c", "a"], ["c", "b"]]
    in_memory = compare("qrels.txt", paths, ["AP"], np.array([paths[0], "b"]), resamples=100)
    assert in_memory.about["baselines"] == ["a", "b"]
    for path in (paths[2], f"{files}/runs/./c.txt"):
        assert compare("qrels.txt", paths, ["AP"], path, resamples=100).about["baseline"] == "c"
    assert "\\begin{table}" in prints(*common, "--pairs", "--least", "0.1", "--format", "latex")
