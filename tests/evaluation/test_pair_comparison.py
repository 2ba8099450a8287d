"""Comparison of pairs of runs: scipy, statsmodels and loops as references; tables, LaTeX, marks and errors."""

import io
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import compare, evaluate
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.evaluation import significance
from pyterrier_cwla.evaluation.significance import randomised_hsd, tukey_hsd, wins_ties_losses
from tests.evaluation.test_run_comparison import printed
from tests.support.generated import collection
from tests.support.messages import refused

stats = pytest.importorskip("scipy.stats")
smf = pytest.importorskip("statsmodels.formula.api")

MADE = [collection(seed, queries=14) for seed in range(5)]
QRELS, RUNS = MADE[0].qrels, {name: one.run for name, one in zip("abcde", MADE, strict=True)}
MEASURES = ["nDCG@10", "AP", "NumRet(rel=1)"]


@pytest.fixture(scope="module")
def every():
    return compare(QRELS, RUNS, MEASURES, pairs=True, resamples=300)


def scores(found, measure):
    return found.by_query[measure].unstack("query_id").loc[found.runs].to_numpy(float)


@pytest.mark.slow
def test_each_pair_has_a_row_with_the_tests_of_scipy(every):
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


@pytest.mark.slow
def test_p_values_are_corrected_over_all_pairs_and_measures(every):
    from statsmodels.stats.multitest import multipletests

    for test in ("t", "wilcoxon", "randomisation"):
        expected = multipletests(every.table[f"p_{test}"], method="holm")[1]
        assert every.table[f"p_{test}_corrected"].tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
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
    found, tukey = (compare(QRELS, RUNS, MEASURES, pairs=True, resamples=100, test=test) for test in ("t", "tukey"))
    assert printed(found, 80) + found._repr_html_() + found.to_latex() + found.to_latex(layout="list")
    assert not calls
    assert found.table.columns[9:13].tolist() == ["p_tukey", "tukey_low", "tukey_high", "p_randomised_hsd"]
    assert (found.rows("AP")["p_tukey"] == 0.01).all()
    assert len(calls) == 3
    assert "▲" in repr(tukey)
    assert len(calls) == 6


def test_randomised_hsd_by_loops():
    rng = np.random.default_rng(1)
    values = np.round(rng.random((3, 4)), 1) + np.array([[0.0], [0.1], [0.6]])
    first, second = np.triu_indices(3, 1)
    found = randomised_hsd(values, first, second, 20_000, seed=0)
    orders = list(itertools.permutations(range(3)))
    ranges = [
        np.ptp(np.mean([values[list(order), query] for query, order in enumerate(chosen)], axis=0))
        for chosen in itertools.product(orders, repeat=4)
    ]
    means = values.mean(axis=1)
    exact = [np.mean(np.array(ranges) >= abs(means[a] - means[b]) - 1e-12) for a, b in zip(first, second, strict=True)]
    assert found == pytest.approx(exact, abs=0.015)


def test_lowest_p_of_randomised_hsd_counts_the_observed_runs():
    """None of 99 permutations of 20 queries reaches the difference: p = (0 + 1)/(99 + 1)."""
    assert randomised_hsd(np.repeat([[0.0], [1.0]], 20, axis=1), [0], [1], 99, seed=0).tolist() == [0.01]


def test_runs_that_are_equal_or_differ_always_by_the_same():
    values = np.array([[0.1, 0.5, 0.9], [0.1, 0.5, 0.9], [0.3, 0.7, 1.1]])
    p, half = tukey_hsd(values, np.array([0, 0]), np.array([1, 2]), 0.95)
    assert p.tolist() == [1.0, 0.0]
    assert half == 0


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1),
    st.sampled_from([0.0, 0.25, 0.5]),
    st.booleans(),
)
def test_wins_ties_and_losses(pairs, least, lower):
    values = np.array(pairs).T
    wins, ties, losses = wins_ties_losses(values, np.array([0]), np.array([1]), least, lower)[:, 0]
    better = [(b - a if lower else a - b) for a, b in pairs]
    assert wins == sum(gap > least for gap in better)
    assert losses == sum(gap < -least for gap in better)
    assert wins + ties + losses == len(pairs)


def test_several_baselines_are_compared_once_each():
    found = compare(QRELS, RUNS, ["AP"], baseline=["b", "a"], resamples=200)
    assert list(zip(found.table["run"], found.table["baseline"], strict=True)) == [
        ("a", "b"), ("c", "b"), ("d", "b"), ("e", "b"), ("c", "a"), ("d", "a"), ("e", "a"),
    ]  # fmt: skip
    assert found.wide().columns.tolist() == ["score", "b", "a"]
    assert found.wide().loc["b", "a"].startswith(("+", "−", "0"))  # the other direction of the row (a, b)
    listed = compare(QRELS, RUNS, ["AP"], baseline=["a"], resamples=200)
    assert listed.table[["wins", "ties", "losses"]].sum(axis=1).unique().tolist() == [listed.about["queries"]]
    one = compare(QRELS, RUNS, ["AP"], baseline="b", resamples=200).table.set_index("run")
    of_b = found.table[found.table["baseline"] == "b"].set_index("run")
    for name in ("difference", "p_t", "p_wilcoxon", "p_randomisation", "effect", "difference_low", "difference_high"):
        assert of_b[name].tolist() == pytest.approx(one.loc[of_b.index, name].tolist(), abs=1e-12)


@pytest.mark.slow
def test_matrices_mirror_each_other(every):
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


def test_each_measure_has_a_table_in_latex(every):
    latex = every.to_latex(label="tab:pairs")
    assert latex.count("\\begin{table}") == 3
    assert latex.count("\\label{tab:pairs-") == 3
    assert every.to_latex("AP") in every.to_latex()


@pytest.mark.slow
def test_names_are_no_markup_and_no_control_characters():
    runs = {"[red]a[/red]": RUNS["a"], "b\x1b[31m": RUNS["b"]}
    found = compare(QRELS, runs, ["AP"], pairs=True, resamples=100)
    text = printed(found, 120)
    assert "[red]a[/red]" in text
    assert "\x1b" not in text + repr(found) + found._repr_html_() + found.to_latex()
    assert "b<b>" not in compare(QRELS, {"b<b>": RUNS["a"], "c": RUNS["b"]}, ["AP"], pairs=True)._repr_html_()


def test_differences_up_to_least_are_ties():
    qrels = {q: {"x": 1} for q in "123"}
    one = {"1": {"x": 1.0}, "2": {"y": 2.0, "x": 1.0}, "3": {"x": 1.0}}
    other = {"1": {"x": 1.0}, "2": {"x": 1.0}, "3": {"z": 3.0, "y": 2.0, "x": 1.0}}
    for least, expected in ((0, "1/1/1"), (0.5, "1/2/0"), (0.7, "0/3/0")):
        found = compare(qrels, {"one": one, "other": other}, ["RR"], pairs=True, least=least, resamples=100)
        assert found.wins().loc["one", "other"] == expected
    assert "differ by at most 0.7" in found.to_latex()


@pytest.mark.slow
def test_the_bars_of_wins_are_of_one_measure_and_the_better_run_stands_first():
    found = compare(QRELS, RUNS, ["AP", "P@1"], pairs=True, resamples=100)
    for measure in ("AP", "P@1"):
        axes = found.plot_wins(measure)
        (_, of_measure), *_ = found.table[found.table["measure"] == measure].iterrows()
        widths = [bar.get_width() for bar in axes.patches]
        assert sum(widths) == len(found.table) / 2 * (of_measure.wins + of_measure.ties + of_measure.losses)
        pairs = [label.get_text().split(" vs ") for label in axes.get_yticklabels()]
        means = evaluate(QRELS, RUNS, [measure])[measure]
        assert [means[first] >= means[second] for first, second in pairs] == [True] * (len(found.table) // 2)


def test_least_is_in_the_unit_of_geometric_means():
    runs = {name: RUNS[name] for name in "ab"}
    found = compare(QRELS, runs, ["AP", "GeometricMean(measure='AP')"], pairs=True, least=0.05, resamples=100)
    assert found.wins(found.measures[1]).equals(found.wins("AP"))


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
    measures = ["alpha_nDCG@5", "ERR_IA@5"]
    found = compare(qrels, runs, measures, resamples=100, **how)
    pd.testing.assert_frame_equal(found.by_query, evaluate(qrels, runs, measures, by_query=True))
    assert found.about["unanswered"] == {"two": 1}
    assert "Topics that a run does not answer score 0: two (1)." in repr(found)
    refused(lambda: compare(qrels, runs, ["ERR_IA"], **how), BadParameter, "ERR_IA needs cutoff=, as in ERR_IA@10")


@pytest.mark.slow
def test_the_title_of_the_heat_map_counts_each_pair_once():
    qrels = {f"{q}": {"x": 1} for q in range(12)}
    best, worst = ({q: {"x": -rank, "y": -1.5} for q in qrels} for rank in (1.0, 2.0))
    runs = {"best": best, "worst": worst, "same": best}
    for how in (dict(pairs=True), dict(baseline=["best", "worst"])):
        ax = compare(qrels, runs, ["RR", "ESL"], resamples=200, **how).plot_pairs("ESL")
        assert ax.get_title(loc="left").split("\n")[0] == "ESL (less is better): 2 significant pairs of 3"
        assert ax.figure.get_supxlabel().replace("\n", " ").startswith("Numbers: significant differences, p < .05 in")


def test_the_list_of_pairs_in_latex(every):
    latex = every.to_latex("AP", label="tab:pairs", layout="list")
    assert latex.count("\\\\") == 1 + 10
    row = every.table[every.table["measure"] == "AP"].iloc[0]
    assert f"{row.wins}/{row.ties}/{row.losses}" in latex
    assert "95\\,\\% interval" in latex
    refused(lambda: every.to_latex(layout="rows"), BadParameter, "layout='rows' is no layout")


def test_names_of_runs_may_be_those_of_columns_or_alike():
    found = compare(QRELS, {"score": RUNS["a"], 1: RUNS["b"], "1": RUNS["c"]}, ["AP"], pairs=True, resamples=100)
    assert found.wide().columns.tolist() == ["score", "score", "1", "1"]
    assert found.to_latex().count("\\begin{table}") == 1
    assert found.wins().shape == (3, 3)


def test_one_more_record_is_one_more_test(monkeypatch):
    """Columns, heads, marks, sentences and errors follow from a record; the sign test as the example."""

    def sign_test(differences, *_):
        counts = [((row > 0).sum(), np.count_nonzero(row)) for row in differences]
        return np.array([stats.binomtest(higher, changed).pvalue for higher, changed in counts])

    record = significance.SignificanceTest("sign", "sign", "a sign test", sign_test)
    for records in (significance.TESTS, significance.PAIRED_TESTS):
        monkeypatch.setitem(records, "sign", record)
    found = compare(QRELS, RUNS, ["AP"], baseline="a", test="sign", resamples=100)
    wins = found.rows().loc["b", "a"]
    expected = stats.binomtest(int(wins["wins"]), int(wins["wins"] + wins["losses"])).pvalue
    assert found.table.set_index("run").loc["b", "p_sign"] == pytest.approx(expected)
    assert found.table["p_sign_corrected"].count() == 4
    assert "p < .05 in a sign test over topics, Holm-corrected" in found.to_latex().replace("$p <$", "p <")
    assert re.search(r"t-test +Wilcoxon +random +sign", printed(found, 140))
    says = "test='sing' is no test. Near: 'sign'. Available: randomisation, sign, t, wilcoxon."
    refused(lambda: compare(QRELS, RUNS, ["AP"], test="sing"), BadParameter, says)


@pytest.mark.slow
def test_geometric_means_have_no_intervals_of_tukey():
    runs = {name: RUNS[name] for name in "abc"}
    assert "nan" not in printed(compare(QRELS, runs, ["GMAP"], pairs=True, test="tukey", resamples=100), 120)


@pytest.mark.slow
def test_notes_say_what_cannot_be_significant_and_where_less_is_better():
    found = compare(QRELS, RUNS, ["ESL", "AP"], pairs=True, test="randomisation", resamples=300)
    said = "In a paired randomisation test, no p is below .0033, .066 corrected for 20 comparisons"
    assert said in " ".join(repr(found).split())
    assert "Less is better: ESL." in repr(found)
    for layout in ("matrix", "list"):
        assert "Less is better: ESL." in found.to_latex("ESL", layout=layout)
        assert "Less is better" not in found.to_latex("AP", layout=layout)


@pytest.mark.slow
def test_less_is_better_changes_wins_and_not_differences():
    found = compare(QRELS, {name: RUNS[name] for name in "ab"}, ["ESL"], pairs=True, resamples=100)
    (row,) = found.table.itertuples()
    gaps = np.round(np.subtract(*scores(found, "ESL")[::-1]), 9)
    assert (row.run, row.wins, row.losses) == ("b", (gaps < 0).sum(), (gaps > 0).sum())
    assert row.difference == pytest.approx(gaps.mean())


@pytest.mark.parametrize("more,says", [
    (dict(pairs=True, baseline="a"), "give baseline= or pairs=True, not both"),
    (dict(pairs=True, least=-1), "least=-1"),
    (dict(pairs=True, least=float("nan")), "least=nan must be a number of 0 or more"),
    (dict(pairs=True, least="x"), "least='x' must be a number of 0 or more"),
    (dict(test="tukey"), "test='tukey' tests all pairs of runs together: give pairs=True, or choose another test."),
    (dict(baseline=["a"], test="randomised_hsd"), "test='randomised_hsd' tests all pairs of runs together"),
    (dict(baseline=["a", "q"]), "baseline='q' is no run"),
    (dict(baseline=RUNS["a"]), "baseline= is a DataFrame, and must be the name of a run, or several names"),
    (dict(baseline={"a": RUNS["a"]}), "baseline= is a dict, and must be the name of a run, or several names"),
    (dict(baseline=[]), "there is no pair of runs to compare: give at least one baseline"),
    (dict(pairs=True, test="hsd"), f"test='hsd' is no test. Available: {', '.join(sorted(significance.TESTS))}"),
    (dict(pairs="yes"), "pairs='yes' must be True or False"),
    (dict(runs={"a": RUNS["a"]}, pairs=True), "at least two runs"),
])  # fmt: skip
def test_errors(more, says):
    refused(lambda: compare(QRELS, **{"runs": RUNS, **more}, measures=["AP"]), BadParameter, says)


def test_errors_of_tables():
    found = compare(QRELS, {name: RUNS[name] for name in "ab"}, ["AP"], pairs=True, resamples=100)
    refused(lambda: found.wide("RR"), BadParameter, "no measure 'RR' in the comparison")
    refused(lambda: found.wide(["AP"]), BadParameter, "measure=['AP'] must be one measure here, such as 'AP'")
    refused(lambda: found.to_latex(layout="runs"), BadParameter, "layout='runs' is for one baseline or none")
    refused(lambda: compare(QRELS, RUNS, ["AP"], test=["t"]), BadParameter, "test=['t'] is no test")


@pytest.mark.slow
def test_the_command_compares_pairs(prints, tmp_path):
    for name in "abc":
        run = RUNS[name]
        lines = (f"{row.query_id} Q0 {row.doc_id} 1 {row.score} {name}\n" for row in run.itertuples())
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"{row.query_id} 0 {row.doc_id} {row.relevance}\n" for row in QRELS.itertuples()))
    files = [tmp_path / f"{name}.txt" for name in "abc"]
    common = ("compare", qrels, *files, "-m", "AP", "--resamples", 100)
    text = prints(*common, "--pairs", "--test", "tukey")
    assert "wins/ties/losses" in text
    assert "Intervals hold for all pairs together, by Tukey's HSD test" in text
    assert "Intervals are not corrected" in " ".join(prints(*common, "--pairs").split())
    assert "Tukey's HSD test" in text
    table = pd.read_csv(io.StringIO(prints(*common, "--baseline", "a", "--baseline", "b", "--format", "csv")))
    assert table[["run", "baseline"]].to_numpy().tolist() == [["b", "a"], ["c", "a"], ["c", "b"]]
    by_path = prints(*common, "--baseline", files[0], "--baseline", files[1], "--format", "csv")
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(by_path)), table)
    in_memory = compare(qrels, files, ["AP"], np.array([files[0], "b"]), resamples=100)
    assert in_memory.about["baselines"] == ["a", "b"]
    for path in (files[2], f"{tmp_path}/./c.txt"):
        assert compare(qrels, files, ["AP"], path, resamples=100).about["baseline"] == "c"
    assert "\\begin{table}" in prints(*common, "--pairs", "--least", "0.1", "--format", "latex")
