"""Plots of comparisons: what they show is what the table has, and all texts can be read."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import CWLA
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.evaluation import compare
from pyterrier_cwla.rendering.tables import MARKS
from tests.support.generated import collection
from tests.support.messages import refused
from tests.support.readable import assert_readable

pyplot = pytest.importorskip("matplotlib.pyplot")
SECONDS = CWLA(C="prec(10)", A="effort", gain="binary", effort="time", end="stop", label="seconds for ten")
LONG = "CWLA(C='inst(2)',A='max',gain='linear',max_rel=3)"


def generated(systems, queries=20, measures=("nDCG@10", "AP", SECONDS), **more):
    made = [collection(seed, queries=queries, lengths=True) for seed in range(systems)]
    runs = {f"system {number}": one.run for number, one in enumerate(made)}
    return compare(made[0].qrels, runs, list(measures), **{"resamples": 100, **more})


@pytest.fixture(scope="module")
def found():
    return generated(4, baseline="system 1")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def ranked(found, measure):
    """Return a comparison's runs by score, the best first."""
    better = found.about["better"][measure]
    rows = found.table[found.table.measure == measure].sort_values("score", ascending=better == "lower")
    return rows.run.tolist()


def test_differences_are_sorted_and_add_up_to_that_of_the_table(found):
    apart = found.differences("system 2", "system 1", "AP")
    row = found.table[(found.table.run == "system 2") & (found.table.measure == "AP")].iloc[0]
    assert apart["difference"].mean() == pytest.approx(row.difference, abs=1e-12)
    assert (np.diff(apart["difference"]) <= 0).all()
    np.testing.assert_allclose(apart["difference"], apart["system 2"] - apart["system 1"], atol=1e-12)
    swapped = found.differences("system 1", "system 2", "AP")
    assert swapped["difference"].sum() == pytest.approx(-apart["difference"].sum())
    qrels = {q: {"a": 1, "b": 0} for q in "12"}  # rounding errors are ties
    one, other = ({q: {"a": 2.0, "b": float(x)} for q in "12"} for x in (1, 3))
    found = compare(qrels, {"one": one, "other": other}, ["AP"])
    object.__setattr__(found, "by_query", found.by_query + np.array([[0.0], [0.0], [0.5 - 1e-16], [0.5]]))
    assert found.differences("one", "other")["difference"].tolist() == [0.0, 0.0]


def test_unknown_names_and_topics_that_do_not_fit(found):
    for given, message in (
        (("sistem 1", "system 2"), "no run 'sistem 1' in the comparison. Near: 'system 1'"),
        (("system 1", "other"), "no run 'other' in the comparison."),
        (("system 1", "system 2", "nDCG"), "no measure 'nDCG' in the comparison. Near: 'nDCG@10'"),
        (("system 1", "system 1"), "'system 1' is given twice"),
    ):
        for method in (found.differences, found.plot_topics):
            refused(partial(method, *given), BadParameter, message)
    for topics, message in (
        ({"q99": "text"}, "topics= has none of the queries of the comparison"),
        (pd.DataFrame({"qid": ["1"], "text": ["x"]}), "needs qid and query"),
        (["x"], "topics= takes texts by query id"),
    ):
        refused(partial(found.plot_topics, "system 2", "system 1", topics=topics), BadParameter, message)


@pytest.mark.slow
def test_the_best_is_bold_and_shown_of_many_runs(found):
    for measure in found.measures:
        bold = [run for (run, name), cell in found.cells().items() if name == measure and cell.bold]
        assert bold == ranked(found, measure)[:1]
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"a": 1.0}}
    same = compare(qrels, {"one": run, "other": run}, ["AP"])
    assert not any(cell.bold for cell in same.cells().values())
    assert found.about["better"] == {"nDCG@10": "higher", "AP": "higher", "seconds for ten": "lower"}
    assert "Bold: the highest; of seconds for ten the lowest, since less is better." in found.to_latex()
    assert "Bold: the lowest, since less is better." in generated(2, measures=[SECONDS]).to_latex()
    counts = generated(3, measures=["NumRet", "NumRet(rel=1)"])  # of NumRet, no number is the best
    assert {name for (_, name), cell in counts.cells().items() if cell.bold} == {"NumRet(rel=1)"}
    assert "Bold" not in generated(2, measures=["NumRet"]).to_latex()
    found = generated(35, queries=5, measures=["AP", SECONDS], baseline="system 24")
    page = found._repr_html_()
    shown = re.findall(r"<th><span>(system \d+)</span>", page)
    assert set(shown) >= {*ranked(found, "AP")[:29], "system 24"}
    assert shown == [run for run in found.runs if run in shown]
    assert page.count("<tr") - 1 == 30
    assert "Shown are 30 of 35 runs, the best by AP; .table has all." in page
    assert "Shown are" not in generated(3, measures=["AP"])._repr_html_()


def texts(ax):
    return [text.get_text() for text in ax.texts]


def title(ax):
    return " ".join(ax.get_title("left").split())


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.slow
def test_panels_have_the_scores_marks_and_intervals_of_the_table(found):
    axes = found.plot().axes
    order = ranked(found, "nDCG@10")
    for ax, measure in zip(axes, found.measures, strict=True):
        assert measure in ax.get_title("left")
        cells = [found.cells()[run, measure] for run in order]
        assert texts(ax) == [f"{cell.text} {MARKS[cell.mark]}".strip() for cell in cells]
        assert [text.get_fontweight() == "bold" for text in ax.texts] == [cell.bold for cell in cells]
    assert [label.split("\n")[0] for label in labels(axes[0])] == order
    assert "system 1\n(baseline)" in labels(axes[0])
    assert "less is better" in axes[2].get_title("left")
    assert "compared with system 1" in axes[0].figure.get_suptitle()
    assert_readable(axes[0].figure)
    ax = found.plot(["AP"]).axes[0]
    rows = found.table[found.table.measure == "AP"].set_index("run").loc[ranked(found, "AP")]
    drawn = [segment[:, 0] for segment in ax.collections[0].get_segments() if len(segment)]
    expected = rows[["difference_low", "difference_high"]].dropna() + rows.loc["system 1", "score"]
    np.testing.assert_allclose(drawn, expected)
    without = generated(3, measures=["AP"], baseline=False)
    ax = without.plot().axes[0]
    rows = without.table.set_index("run").loc[ranked(without, "AP"), ["score_low", "score_high"]]
    np.testing.assert_allclose([one[:, 0] for one in ax.collections[0].get_segments()], rows)
    assert "compared" not in ax.figure.get_suptitle()


@pytest.mark.slow
def test_chosen_runs_are_shown_and_the_first_measure_sorts(found):
    """A measure keeps its colour where others are left out."""
    colours = [ax.lines[-1].get_color() for ax in found.plot().axes]
    assert len(set(colours)) == 3
    for measure, colour in zip(found.measures, colours, strict=True):
        ax = found.plot(measure).axes[0]
        assert [label.split("\n")[0] for label in labels(ax)] == ranked(found, measure)
        assert ax.lines[-1].get_color() == colour
    assert labels(found.plot(["AP"], ["system 3"]).axes[0]) == ["system 3"]
    refused(lambda: found.plot(runs=["x"]), BadParameter, "no run 'x' in the comparison")
    refused(lambda: found.plot("P"), BadParameter, "no measure 'P' in the comparison")
    refused(lambda: found.plot([]), BadParameter, "measures= is empty")


@pytest.mark.slow
def test_plots_are_saved_and_return_a_figure_of_panels_or_axes(found, tmp_path):
    for name in ("plot", "plot_pairs", "plot_wins", "plot_topics"):
        runs, path = ("system 2", "system 1") if name == "plot_topics" else (), tmp_path / f"{name}.png"
        assert isinstance(getattr(found, name)(*runs, path=path), pyplot.Figure if name == "plot" else pyplot.Axes)
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_many_runs_equal_runs_and_odd_names_can_be_read():
    made = collection(0, queries=6, lengths=True)
    names = [f"run_{number}.of-some-group_and.its-$ensemble$ {number}" for number in range(40)]
    runs = {name: made.run.assign(score=made.run.score + number) for number, name in enumerate(names)}
    found = compare(made.qrels, runs, ["AP", LONG, "RR", "P@5"], names[3], resamples=100)
    figures = [found.plot(width=width) for width in (3.3, 7.0)] + [generated(1).plot()]
    for queries in (3, 31, 32):
        made = collection(0, queries=queries)
        found = compare(made.qrels, {"a": made.run, "b": made.run}, ["AP"], "a", resamples=100)
        ax = found.plot_topics("a", "b")
        assert "equal 100 %" in title(ax)
        figures += [found.plot(), ax.figure]
    found = compare(made.qrels, {"$a_b": made.run, "c\x1b": made.run.assign(score=1.0)}, ["AP"], "$a_b", resamples=100)
    figures += [found.plot(), found.plot_topics("$a_b", "c\x1b", topics={"2": "$\\alpha \x00"}).figure]
    for figure in figures:
        assert_readable(figure)
        assert "\x1b" not in "".join(text.get_text() for text in figure.findobj(pyplot.Text))


@pytest.mark.slow
def test_infinite_scores_are_written_and_undefined_differences_counted(found):
    runs = found._runs.copy()
    row = (runs.measure == "seconds for ten") & (runs.run == "system 2")
    runs.loc[row, [name for name in runs if name.startswith("score")]] = np.inf
    ax = replace(found, _runs=runs).plot("seconds for ten").axes[0]
    assert [text for text in texts(ax) if "∞" in text]
    assert_readable(ax.figure)
    values = found.by_query.copy()
    values.iloc[:3] = np.inf
    values.loc[[("system 1", qid) for qid in found.about["query_ids"][:2]]] = np.inf
    changed = replace(found, by_query=values)
    ax = changed.plot_topics("system 1", "system 0", "AP")
    assert len(ax.patches) == len(found.about["query_ids"]) - 3
    assert "undefined" in ax.get_title("left")
    values.loc["system 1"] = np.inf
    ask = partial(changed.plot_topics, "system 1", "system 0", "AP")
    refused(ask, BadParameter, "has a finite difference for no topic")


@pytest.mark.slow
def test_bars_are_the_differences_and_the_title_counts_them(found):
    apart = found.differences("system 2", "system 1", "AP")
    ax = found.plot_topics("system 2", "system 1", "AP")
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(apart["difference"].tolist())
    assert texts(ax) == apart.index.tolist()
    difference = apart["difference"]
    for what, sign in (("system 2 better", 1), ("equal", 0), ("system 1 better", -1)):
        number = (np.sign(difference) == sign).sum()
        assert f"{what} {100 * number / len(apart):.0f} % ({number})" in title(ax)
    assert "← system 1 better | system 2 better →" in ax.get_xlabel()
    assert f"mean {difference.mean():+.3g}" in ax.get_xlabel()
    assert_readable(ax.figure)
    # The lower one wins where less is better; numbers of documents have no best.
    apart = found.differences("system 2", "system 1", "seconds for ten")["difference"]
    ax = found.plot_topics("system 2", "system 1", "seconds for ten")
    assert f"system 2 better {100 * (apart < 0).mean():.0f} % ({(apart < 0).sum()})" in title(ax)
    assert "← system 2 better | system 1 better →" in ax.get_xlabel()
    ax = generated(2, measures=["NumRet"]).plot_topics("system 0", "system 1")
    assert "better" not in ax.get_xlabel() + ax.get_title("left")
    assert "system 0 higher" in title(ax)
    ax = generated(2, measures=["GeometricMean(measure='AP')"]).plot_topics("system 0", "system 1")
    assert "difference in logarithms of GeometricMean" in ax.get_xlabel()


TEXTS = {str(q): f"a long question of the kind that people ask, number {q}" for q in range(1, 21)}


@pytest.mark.slow
def test_topics_have_names_and_of_many_the_outermost(found):
    for topics in (
        TEXTS,
        pd.Series(TEXTS),
        pd.DataFrame({"qid": TEXTS.keys(), "query": TEXTS.values()}),
        pd.DataFrame({"query_id": [*map(int, TEXTS)], "query": TEXTS.values()}),
    ):
        ax = found.plot_topics("system 2", "system 1", topics=topics)
        for text, qid in zip(texts(ax), found.differences("system 2", "system 1").index, strict=True):
            assert text.startswith(f"{qid}  a long question of")
            assert text.endswith("…")
        assert_readable(ax.figure)
    found = generated(2, queries=120, measures=["AP"])
    apart = found.differences("system 0", "system 1")
    ax = found.plot_topics("system 0", "system 1")
    assert len(ax.patches) == len(apart) > 100
    assert texts(ax) == [*apart.index[:12], *apart.index[-12:], f"{len(apart) - 24} topics between"]
    assert_readable(ax.figure)


@pytest.mark.slow
def test_half_a_column_is_enough(found):
    """With fewer names in less height; small figures without a layout are laid out."""
    for height in (5, 2.5, 1.9):
        _, ax = pyplot.subplots(figsize=(3.3, height), layout="constrained")
        assert found.plot_topics("system 2", "system 1", topics=TEXTS, ax=ax) is ax
        assert_readable(ax.figure)
    made = collection(0, queries=8)
    names = ["the_system_with_a_long_name_A", "the_system_with_a_long_name_B"]
    long = compare(made.qrels, dict(zip(names, (made.run, made.run.assign(score=1.0)))), ["AP"], resamples=100)
    figure, ax = pyplot.subplots(figsize=(3.3, 4))
    long.plot_topics(*names, ax=ax)
    assert_readable(figure)
    assert "the_syste…ng_name_B better" in " ".join(ax.get_xlabel().split())
