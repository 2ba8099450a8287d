"""Pictures of explanations show the ranks that matter, state what they leave out, and are readable at any width."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from pyterrier_cwla import CWLA, TBG, explain, explain_gains
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.rendering.numbers import percent
from tests.support.messages import refused
from tests.support.readable import assert_readable

LONG = "a system with a name of many words (k1=0.9, b=0.4, default)"
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _no_window():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def collection(documents=100, grades=(0, 1, 0, 2, 3, 0, 0)):
    """Return judgments of every second document, and two runs of which the second has rank 4 first."""
    names = [f"doc-{number:04d}" for number in range(documents)]
    judged = {name: grades[number % len(grades)] for number, name in enumerate(names) if number % 9 != 8}
    first = {name: float(-number) for number, name in enumerate(names)}
    return {"q": judged}, {"q": first}, {"q": first | {names[min(3, documents - 1)]: 1.0}}


def explained(measure, documents=100, **options):
    qrels, run, _ = collection(documents, **options)
    return explain(qrels, run, "q", measure)


def pair(measure="nDCG@20", documents=100, names=("bm25", "dense")):
    qrels, *runs = collection(documents)
    return explain(qrels, dict(zip(names, runs, strict=True)), "q", measure)


def bars_of(ax, width):
    """Return the bars of a width, each with its rank."""
    bars = [bar for bar in ax.patches if round(bar.get_width(), 3) == width]
    return [(round(bar.get_x() + width / 2), bar) for bar in bars]


def panels(ax):
    return ax.figure.axes


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def last_rank(ax):
    return round(ax.get_xlim()[1] - 0.6)


def test_the_ranks_that_matter_or_a_chosen_depth():
    for measure, documents, last in (
        ("nDCG@20", 100, 20),  # the cutoff
        ("CWLA(C='rbp(0.8)',A='erg',max_rel=3)", 100, 21),  # 0.8^20 = 0.0115
        ("CWLA(C='rbp(0.1)',A='erg',max_rel=3)", 100, 10),  # 3 ranks are seen
        ("nDCG", 100, 50),
        ("nDCG", 7, 7),
        ("RR", 1, 1),
    ):
        assert last_rank(explained(measure, documents).plot()) == last
    found = explained("nDCG")
    assert last_rank(found.plot(depth=80)) == 80
    assert last_rank(found.plot(depth=500)) == 100
    refused(lambda: found.plot(depth=0), BadParameter, "depth=0 must be a whole number from 1")


def test_both_panels_show_the_values_of_the_table_also_below_0():
    found = explained("ERR@10")
    upper, lower = panels(found.plot())
    table, share = found.table, found.contributions / found.score
    gains, bars = ({rank: bar.get_height() for rank, bar in bars_of(upper, width)} for width in (0.8, 0.4))
    assert gains == pytest.approx({row["rank"]: row.gain for _, row in table.iterrows() if row.gain > 0})
    adds = np.array([bars[rank] for rank in table["rank"]])
    assert adds / adds.sum() == pytest.approx(share / share.sum())
    assert all(adds <= table["gain"] + 1e-12)
    steps = [patch for patch in lower.patches if hasattr(patch, "get_data")]
    assert steps[0].get_data().values.tolist() == pytest.approx(table["V"].tolist())
    stops = [patch.get_height() for patch in lower.patches if not hasattr(patch, "get_data")]
    assert stops == pytest.approx(table["L"].tolist())
    found = explained("nDCG@20")
    upper = found.plot()
    share = 100 * found.contributions / found.score
    written = {round(text.xy[0]): text.get_text() for text in upper.texts}
    assert int(share.idxmax()) in written
    assert all(text == f"{share[rank]:.0f}" for rank, text in written.items())
    found = explain_gains([1, -0.75, 1, -0.75, 1], C="prec(5)", A="etg")
    upper, lower = panels(found.plot())
    for width in (0.8, 0.4):
        assert [bar.get_height() for _, bar in sorted(bars_of(upper, width))] == pytest.approx(
            found.table["gain"].tolist()
        )
    assert upper.get_ylim()[0] == -0.75
    assert lower.get_ylim()[0] == 0
    assert [text.get_text() for text in upper.texts] == ["67", "67", "67", "−50", "−50"]
    with_harm = explain(
        {"q": {"a": 1, "b": 0}}, {"q": {"b": 2.0, "a": 1.0}}, "q", "CWLA(C='rbp(0.5)',A='etg',gain='table({0:-1,1:1})')"
    )
    assert with_harm.score < 0
    assert [bar.get_height() for _, bar in sorted(bars_of(panels(with_harm.plot(docnos=True))[0], 0.8))] == [-1, 1]


def test_texts_say_what_is_shown_and_what_is_left_out():
    found = explained("nDCG")
    upper, lower = panels(found.plot())
    assert upper.get_title(loc="left") == f"nDCG of topic q: score {found.score:.3f}"
    share = found.contributions[:50].sum() / found.score
    assert lower.get_xlabel() == f"rank (documents)\nranks 1 to 50 of 100 add {percent(share, 0)} of the score"
    assert legend(upper) == ["grades 1, 2, 3", "not judged", "% of the score"]
    assert upper.get_ylabel().split() == ["gain", "of", "the", "document"]
    assert lower.get_ylabel() == "share of users who"
    assert legend(lower) == ["see the rank (V)", "stop there (L)"]
    found = explain_gains([0.7, 0.4], C="rbp(0.8)", A="max")
    share = percent(found.contributions.sum() / found.score, 0)
    assert panels(found.plot())[1].get_xlabel() == f"rank (documents)\nranks 1 to 2 add {share} of the score"
    found = explained("INST(max_rel=3,T=2)", 9)  # this user model has more ranks than the list
    (crosses,) = found.plot().lines
    assert crosses.get_xdata().tolist() == [9]
    upper = explained("CWLA(C='rbp(0.8)',A='erg',gain='raw')", grades=range(12)).plot()
    assert legend(upper)[0] == "gain"


def test_effort_is_above_the_users():
    """Unless every document has effort 1."""
    for measure, label in (
        (TBG(seconds_per_word=0), "time before the rank (minutes)"),
        (TBG(seconds_per_word=0) @ 5, "time before the rank (seconds)"),
        ("CWLA(C='rbp(0.8)',A='erg',max_rel=3,effort='ratio(4)')", "effort before the rank (relevant documents)"),
        (CWLA(C="rbp(0.8)", A="erg", max_rel=3, effort="cost(tokens)", unseen=5, costs=len), "effort before the rank (tokens)"),
    ):  # fmt: skip
        found = explained(measure)
        *_, above = panels(found.plot())
        assert above.get_xlabel() == label
        per = 60 if "minutes" in label else 1
        begins = np.append(found.table["T"], found.table["T"].iloc[-1] + found.table["effort"].iloc[-1]) / per
        for place, text in zip(above.get_xticks(), above.get_xticklabels(), strict=True):
            rank = np.interp(place + 0.5, np.arange(1, len(begins) + 1), begins)
            assert rank == pytest.approx(float(text.get_text()))
    assert len(panels(explained("nDCG@10").plot())) == 2


def test_documents_that_add_most_where_not_all_fit():
    found = explained("nDCG@5")
    assert not any("doc-" in text.get_text() for text in explained("nDCG@5").plot().texts)
    ax = found.plot(docnos=True)
    assert {text.get_text() for text in ax.texts} >= set(found.table["docno"][:5])
    refused(lambda: explain_gains([1, 0], C="rbp(0.5)", A="erg").plot(docnos=True), BadParameter, "has no document ids")
    found = explained("nDCG")
    table, adds = found.table.head(50), found.contributions.head(50)
    texts = {text.get_text() for text in found.plot(docnos=True).texts}
    named = [rank for rank, docno in zip(table["rank"], table["docno"], strict=True) if docno in texts]
    assert 20 < len(named) < 50
    for rank in set(table["rank"]) - set(named):  # a document beside it adds at least as much
        assert max(adds[other] for other in (rank - 1, rank + 1) if other in named) >= adds[rank]


def test_panels_take_the_place_of_given_axes():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    assert explained("nDCG@10").plot(left) is left
    explained("AP").plot(right)
    assert len(figure.axes) == 4
    places = [ax.get_position() for ax in (left, figure.axes[2])]
    assert places[0].x0 == places[1].x0
    assert places[0].y0 > places[1].y1
    free = plt.figure().add_axes((0.1, 0.2, 0.5, 0.6))
    upper, lower = panels(explained("AP").plot(free))
    assert lower.get_position().y0 == pytest.approx(0.2)
    assert upper.get_position().y1 == pytest.approx(0.8)
    ask = lambda height: pair("nDCG@20").plot(plt.subplots(figsize=(3.4, height), layout="constrained")[1])  # noqa: E731
    refused(lambda: ask(3.4), BadParameter, "3 panels", "3.4 inches", "figsize=(3.4, 4.1)")
    assert_readable(ask(4.1).figure)


CASES = {
    "nDCG": lambda: explained("nDCG"),
    "RR": lambda: explained("RR"),
    "one document": lambda: explained("AP", 1),
    "score 0": lambda: explained("AP", grades=[0]),
    "long name": lambda: explained(TBG(seconds_per_word=0, label=LONG)),
    "pair": pair,
    "pair, users differ": lambda: pair("INST(max_rel=3,T=2)", names=(LONG, LONG[::-1])),
    "pair, one document": lambda: pair("AP", 1),
}


@pytest.mark.parametrize("width", [None, 3.3])
@pytest.mark.parametrize("case", CASES)
def test_no_text_lies_on_another_or_is_cut(case, width):
    for docnos in (False, True):
        ax = None if width is None else plt.subplots(figsize=(width, 6), layout="constrained")[1]
        assert_readable(CASES[case]().plot(ax, docnos=docnos).figure)


def test_a_pair_has_a_panel_per_run_and_one_of_scores():
    found = pair("nDCG@20")
    first, second, scores = panels(found.plot())
    for ax, name in ((first, "bm25"), (second, "dense")):
        assert legend(ax)[-1] == f"{name}, score {found.scores[name]:.3f}"
    steps = [patch.get_data().values for patch in scores.patches if hasattr(patch, "get_data")]
    assert [one[-1] for one in steps] == pytest.approx(found.scores.tolist())
    assert first.get_ylim()[1] >= max(one.table["gain"].max() for one in found.explanations.values())
    title = "nDCG@20 of topic q: documents and gains differ from rank 1; rank 1 is shaded"
    assert first.get_title(loc="left").replace("\n", " ") == title
    assert [len(panels(pair(measure).plot())) for measure in ("INST(max_rel=3,T=2)", "nDCG")] == [4, 3]
    names = tuple(f"neural_cross-encoder-v{number}_k1000_rerank" for number in range(2))
    for name, ax in zip(names, panels(pair(names=names).plot())):
        assert name in legend(ax)[-1]
    ranking = {f"d{i}": 100.0 - i for i in range(60)}
    other = {**ranking, "d59": 41.05, "d58": 41.0}  # the last two change places
    qrels = {"q": {"d58": 1, **{f"d{i}": 0 for i in range(58)}, "d59": 0}}
    ax = explain(qrels, {"a": {"q": ranking}, "b": {"q": other}}, "q", "AP").plot()
    assert "differ from rank 59; ranks below 50 are not shown" in " ".join(ax.get_title("left").split())


def test_pictures_of_pairs_agree_with_tables_without_weighted_sums():
    for measure, head in (("nDCG", "adds"), ("CWLA(C='rbp(0.8)',A='max',max_rel=3)", "L·A / N")):
        found = pair(measure)
        first, second, *_ = panels(found.plot())
        scales = []
        for ax, one in zip((first, second), found.explanations.values()):
            assert " ".join(ax.get_ylabel().split()) == "gain of the document"
            (own,) = ax.child_axes
            assert own.get_ylabel() == "added to the score"
            ax.figure.canvas.draw()
            heights = np.array([bar.get_height() for bar in ax.containers[-1]])
            read = heights / ax.get_ylim()[1] * own.get_ylim()[1]
            assert read == pytest.approx(one.contributions.to_numpy()[: len(read)])
            scales.append(ax.get_ylim()[1] / own.get_ylim()[1])
        assert scales[0] == pytest.approx(scales[1])
        assert f" {head}" in str(found)
