"""Tests of published studies: three public datasets of ratings, generated and real, and the grid of Moffat et al. (2022)."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import aggregation, continuation, score
from pyterrier_cwla.behaviour.logs.adapters import study_table
from pyterrier_cwla.errors import BadParameter, BadRatings, MalformedFile, UnknownSpec
from pyterrier_cwla.studies.users import published_studies
from pyterrier_cwla.studies.users.published_studies import (
    AGGREGATIONS,
    chiir24_ratings,
    continuations,
    grid,
    jiang_ratings,
    tiangong_ratings,
)
from tests.support.messages import refused


def write(folder, **files):
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def sessions(tmp_path):
    """Write three sessions; the second has a query without results, and the third a URL with a quotation mark."""
    session = [
        "SessionID\tUser\tTopic\tPerformance\tDifficulty",
        "1\tS1\t07\t3\t2",
        "2\tS1\t08\t1\t5",
        "3\tS2\t07\t5\t1",
    ]
    qrels = ["SessionID\tURL\tRelevance", "1\ta\t2", "1\tb\t-1", "2\ta\t1", '3\t"q\t1']
    results = ["SessionID\tQno\trank\tURL\ttitle\tsnippet", "1\t1\t1\tb\tt\ts", "1\t1\t2\ta\tt\ts", "2\t1\tno results",
               "2\t2\t1\ta\tt\ts", '3\t1\t1\t"q\tt\ts']  # fmt: skip
    return write(tmp_path, session=session, qrels=qrels, results=results)


def test_sessions_are_read_with_their_ratings_and_properties(sessions):
    rated = jiang_ratings(sessions)
    assert (rated.what, rated.ratings.tolist()) == ("session", [3, 1, 5])
    columns = [rated.table[name].tolist() for name in ("user", "topic", "difficulty")]
    assert columns == [["S1", "S1", "S2"], ["07", "08", "07"], [2, 5, 1]]
    assert rated.scores(["RR"])["RR"].tolist() == [0.5, 0.5, 1.0]  # a query without results counts as 0
    path = sessions / "session"
    path.write_text(path.read_text() + "3\tS2\t07\t4\t1\n")
    refused(lambda: jiang_ratings(sessions), "session '3' is rated twice", BadRatings)
    path.unlink()
    refused(lambda: jiang_ratings(sessions), "No such file", MalformedFile)


@pytest.mark.parametrize(("name", "lines", "says"), [
    ("qrels", ["SessionID\tURL", "1\ta"], "no column 'Relevance'"),
    ("qrels", ["SessionID\tURL\tRelevance", "1\ta\tgood"], r"qrels:2: Relevance is 'good'"),
    ("results", ["SessionID\tQno\trank\tURL", "1\t1\t1\ta", "1\tx\t2\tb"], r"results:3: Qno is 'x'"),
    ("results", ["SessionID\tQno\trank\tURL", "1\t1\t1\ta\tb\tc\td"], "results"),
    ("session", [], "session: cannot be read"),
])  # fmt: skip
def test_a_malformed_file_is_named(sessions, name, lines, says):
    write(sessions, **{name: lines}) if lines else (sessions / name).write_text("")
    refused(lambda: jiang_ratings(sessions), says, MalformedFile)


USER = ["user", "topic_id", "qid"]
COLUMNS = {
    "query_feedback": [*USER, "query", "feedback", "interface_type", "ndcg_10"],
    "serp_annotation": [*USER, "doc_id", "rank", "actual_qrel_value"],
    "topic_annotation": ["user", "topic", "qid", "dict_shuffled_ranks"],
}


class Study:
    """A generated study: lists are shuffled, and results that the user has seen before are not recorded as impressions."""

    def __init__(self, folder, seed=0, users=14):
        rng = np.random.default_rng(seed)
        self.truth, self.known, feedback, noted, recorded = {}, {}, [], [], []
        documents = {(t, q): [f"{t}a-{d}" for d in rng.permutation(16)[:10]] for t in "78" for q in "123"}
        grade = {f"{t}a-{d}": int(rng.integers(2)) for t in "78" for d in range(16)}
        for user in range(users):
            for topic in "78":
                seen, asked = set(), [*rng.permutation(list("123")), *(["2"] if user == 3 else [])]
                for number, query in enumerate(asked):
                    shown = rng.permutation(documents[topic, query]).tolist()
                    reach = int(rng.integers(2, 11))
                    rating = int(rng.integers(1, 7))
                    new = [(rank, doc) for rank, doc in enumerate(shown[:reach], 1) if doc not in seen]
                    seen.update(shown[:reach])
                    noted += [(user, topic, query, doc, rank, grade[doc]) for rank, doc in new]
                    feedback.append((user, topic, query, "text", rating, "BASE", 0.5))
                    last = number == len(asked) - 1
                    self.truth[f"{user}/{topic}-{query}"] = (rating, [grade[doc] for doc in shown])  # last one counts
                    again = asked.count(query) > 1
                    known = 10 if last else next((r for r in range(11) if r + 1 not in dict(new)), 10)
                    self.known[user, topic, number] = None if again and not last else known
                ranks = json.dumps({doc.replace("-", " "): rank for rank, doc in enumerate(shown, 1)})
                recorded.append((user, topic, query, ranks))
        self.write(folder, "query_feedback", feedback)
        self.write(folder, "serp_annotation", noted)
        self.write(folder, "topic_annotation", recorded)
        self.folder, self.ratings = folder, len(feedback)

    @staticmethod
    def write(folder, name, rows):
        table = pd.DataFrame(rows, columns=COLUMNS[name][: len(rows[0])])
        table.insert(0, "id", range(len(table)))
        with gzip.open(folder / f"{name}.csv.gz", "wt") as file:
            table.sample(frac=1, random_state=1).to_csv(file, index=False)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 4, 10])
def test_lists_are_what_was_shown_and_all_others_are_counted(tmp_path, depth):
    study = Study(tmp_path)
    rated = chiir24_ratings(tmp_path, depth)
    for row, precision in zip(rated.table.itertuples(), rated.scores([f"P@{depth}"]).iloc[:, 0], strict=True):
        rating, grades = study.truth[row.query_id]
        assert (row.rating, precision) == (rating, pytest.approx(sum(grades[:depth]) / depth)), row
    known = sum(reach is not None and reach >= depth for reach in study.known.values())
    assert len(rated) == known
    left_out = rated.left_out
    assert left_out["query issued more than once, in different orders"] == sum(r is None for r in study.known.values())
    assert len(rated) + sum(left_out.values()) == study.ratings


def test_the_ideal_knows_all_that_is_relevant_for_the_topic(tmp_path):
    Study(tmp_path)
    rated = chiir24_ratings(tmp_path, 4)
    counts = rated.scores(["NumRel"])["NumRel"].groupby(rated.table["topic"]).nunique()
    assert counts.tolist() == [1, 1]


@pytest.mark.parametrize(("damage", "says"), [
    (lambda folder: (folder / "serp_annotation.csv.gz").unlink(), "no serp_annotation.csv"),
    (lambda folder: (folder / "topic_annotation.csv.gz").write_bytes(b"no gzip"),
     "topic_annotation.csv.gz: is not packed"),
    (lambda folder: Study.write(folder, "query_feedback", [(1, "7")]), "no column 'qid'"),
    (lambda folder: Study.write(folder, "topic_annotation", [(1, "7", "1", "{'x'")]), "as JSON"),
    (lambda folder: Study.write(folder, "serp_annotation", [(1, "7", "1", "d", "top", 1)]), "rank is 'top'"),
])  # fmt: skip
def test_tables_that_are_not_what_they_should_be_are_named(tmp_path, damage, says):
    Study(tmp_path, users=2)
    damage(tmp_path)
    refused(lambda: chiir24_ratings(tmp_path), says, MalformedFile)


@pytest.mark.slow
def test_recorded_lists_are_known_to_their_end(tmp_path):
    Study(tmp_path, users=3)
    assert chiir24_ratings(tmp_path, 11).table["number"].tolist() == [3] * 6
    Study.write(tmp_path, "topic_annotation", [(9, "7", "1", '{"d": 1}')])
    says = "no rated list is known down to rank 11: give a smaller depth"
    refused(lambda: chiir24_ratings(tmp_path, 11), says, BadRatings)
    refused(lambda: chiir24_ratings(tmp_path, 0), "depth=0", BadParameter)


PAGES = ["F\t[1, 0, 1]\t[3, 0, 2]\t4", "A\t[0, 0, 0]\t[0, 1, 0]\t1", "K\t[0, 2, 0]\t[0, 0, 0]\t0"]


@pytest.mark.parametrize("packed", [False, True])
def test_pages_are_read_with_their_ratings_and_properties(tmp_path, packed):
    path = tmp_path / "train_file.txt"
    content = ("\n".join([*PAGES, PAGES[0]]) + "\n").encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    rated = tiangong_ratings(path)
    assert (rated.what, rated.ratings.tolist(), rated.repeated) == ("list", [4, 1, 0, 4], 1)
    columns = [rated.table[name].tolist() for name in ("query_id", "reformulation", "clicks")]
    assert columns == [list("1231"), list("FAKF"), [2, 0, 1, 2]]
    scores = rated.scores(["CWLA(C='prec(2)',A='erg',max_rel=3)", "RR"])
    assert scores.to_numpy() == pytest.approx(np.array([[1 / 2, 1], [1 / 6, 1 / 2], [0, 0], [1 / 2, 1]]))


@pytest.mark.parametrize(("line", "says"), [
    ("K\t[0]\t[0, x]\t0", r"pages:4: usefulness is '[0, x]', and must be a list of whole numbers"),
    ("K\t[0]\t[0, -1]\t0", "pages:4: usefulness"),
    ("K\t[0]\t[]\t0", "pages:4: usefulness"),
    ("K\t0\t[0]\t0", "pages:4: clicks is '0'"),
    ("K\t[0]\t[0]\tgood", "pages:4: satisfaction is 'good'"),
    ("K\t[0]\t[0]", "pages:4: a line needs four tab-separated fields"),
    ("K\t[0]\t[4]\t1", "pages:4: usefulness is 4, and must be 0 to 3"),
    ("K\t[0]\t[0]\t5", "pages:4: satisfaction is 5, and must be 0 to 4"),
    ("K\t[0]\t[0]\t-1", "pages:4: satisfaction is -1"),
    ("K\t[0, 1]\t[0]\t1", "pages:4: clicks and usefulness must have one value for each result"),
    ("K\t[0]\t[0]\t1\t2", "pages: cannot be read as tab-separated fields"),
    ("", "pages:4: a line needs four tab-separated fields"),
])  # fmt: skip
def test_a_malformed_page_is_named(tmp_path, line, says):
    path = tmp_path / "pages"
    path.write_text("\n".join([*PAGES, line, PAGES[0]]) + "\n")
    refused(lambda: tiangong_ratings(path), says, MalformedFile)
    refused(lambda: tiangong_ratings(tmp_path / "none"), "none: No such file", MalformedFile)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("name", "pages", "satisfied"), [("train_file", 7479, 3374), ("test_file", 2777, 1232)])
def test_the_pages_of_tiangong_qref(data, name, pages, satisfied):
    rated = tiangong_ratings(data / "tiangong-qref" / f"{name}.txt.gz")
    assert len(rated) == pages
    assert (rated.ratings == 4).sum() == satisfied
    assert set(rated.table["reformulation"]) == set("ADFKOT")


@pytest.mark.slow
@pytest.mark.real_data
def test_the_lists_of_chiir_2024(data):
    """1,372 ratings; for 662, the list is known down to rank 10."""
    rated = chiir24_ratings(data / "chiir24-satisfaction")
    assert len(rated) == 662
    assert list(rated.left_out.values()) == [183, 199, 328]
    assert len(rated) + sum(rated.left_out.values()) == 1372
    assert rated.table[["user", "topic", "query"]].nunique().tolist() == [165, 4, 24]


@pytest.mark.slow
@pytest.mark.real_data
def test_recorded_lists_of_chiir_2024_have_the_impressions_at_their_ranks(data):
    """For all queries that a user issued once, and not in the original order."""
    folder, query = data / "chiir24-satisfaction", ["user", "topic_id", "qid"]
    noted = study_table(folder, "serp_annotation", ("id", *query, "doc_id", "rank", "original_rank")).sort_values("id")
    feedback = study_table(folder, "query_feedback", ("id", *query))
    again = [noted[noted.groupby(query)["rank"].diff() <= 0], feedback[feedback.duplicated(query)]]
    several = pd.MultiIndex.from_frame(pd.concat(again)[query])
    both = noted.merge(published_studies._recorded(folder), on=[*query, "doc_id"], suffixes=("", "_recorded"))
    both = both.merge(feedback[query].drop_duplicates())
    both = both[~pd.MultiIndex.from_frame(both[query]).isin(several)]
    assert len(both) > 4000
    assert (both["rank"] == both["rank_recorded"]).all()
    assert (both["original_rank"] == both["rank_recorded"]).mean() < 0.05


def of_kind(metrics, kind):
    return {(c.partition("(")[0], a.partition("(")[0]) for (c, a), found in metrics.kinds.items() if found == kind}


TABLE_3_X = {(c, "err") for c in ("prec", "rbp", "dcg")}
TABLE_3_XX = {("ap2", "etg"), ("ap2", "fin")}


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"k": 3, "phi": 0.5, "T": 1}], ids=["Table 4", "Table 5"])
def test_exactly_the_cells_of_the_papers_table_3_are_found(parameters):
    """Satisfaction is binary, as in the paper's tables."""
    metrics = grid(continuations(**parameters, rel=1), max_rel=4)
    assert (of_kind(metrics, "X"), of_kind(metrics, "XX")) == (TABLE_3_X, TABLE_3_XX)


def test_total_gain_of_the_satisfied_ignores_the_order():
    """By Eq. 12, rr + etg is 1 − V(∞)·(1 + Σ r_i), V(∞) = Π(1 − r_i): one cell more than in the paper's Table 3."""
    metrics = grid(["rr"], max_rel=4)
    assert (of_kind(metrics, "X"), of_kind(metrics, "XX")) == (set(), {("rr", "etg")})
    gains = [0.25, 0, 0.5, 0.75]
    assert score(gains, C="rr", A="etg") == pytest.approx(1 - 0.75 * 0.5 * 0.25 * (1 + 1.5), abs=1e-12)


@pytest.mark.parametrize(("C", "A", "more", "cells"), [
    # users who stop at a gain of 1 leave with the same gain at any rank
    (["ap1('ranking')", "rr"], ["max", "fin", "pe(0.5)"], {"max_rel": 1}, set()),
    (["prec(5)"], ["fin"], {"max_rel": 1}, {("prec", "fin")}),  # with one relevant document, its rank makes no difference
    (["prec(60)"], ["etg"], {"max_rel": 2}, {("prec", "etg")}),  # probed beyond the last rank
    # 1/E(i) depends on the documents seen
    (["rbp(0.5)"], ["err"], {"max_rel": 1, "effort": "time", "unseen": 10}, {("rbp", "err")}),
])  # fmt: skip
def test_cells_that_distinguish_rankings(C, A, more, cells):
    assert of_kind(grid(C, A, **more), "") == cells


def test_the_grid_of_tables_4_and_5_and_its_options():
    metrics = grid(max_rel=3)
    assert len(metrics) == len(metrics.C) * len(metrics.A) == 56
    assert list(metrics) == [(c, a) for c in metrics.C for a in AGGREGATIONS]
    assert [metrics.canonical[c] for c in metrics.C] == ["erg", "erg", "erg", "erg", "err", "erg", "avg"]
    assert str(metrics["rbp(0.8)", "max"]) == "CWLA(C='rbp(0.8)',A='max',max_rel=3)"
    assert metrics.named["rbp(0.8) + max"] is metrics["rbp(0.8)", "max"]
    metrics = grid(["rbp(0.8)"], ["erg"], gain="exponential", max_rel=2, end="stop", cutoff=9)
    assert str(*metrics.values()) == "CWLA(C='rbp(0.8)',A='erg',gain='exponential',end='stop',max_rel=2)@9"
    given = {"rbp": "max", "insq(2)": "erg"}
    metrics = grid(["rbp(0.8)", "rbp(0.5)", "insq(2.0)", "insq(3)"], ["erg", "max"], canonical=given, max_rel=1)
    assert metrics.canonical == {"rbp(0.8)": "max", "rbp(0.5)": "max", "insq(2)": "erg"}
    assert grid(["rbp(0.8)"], ["max"], max_rel=1).canonical == {}


def test_users_own_functions_are_probed_like_the_others():
    @continuation
    def probed_far(view, k: float = 60):
        return (view.i < k).astype(float)

    @aggregation
    def probed_constant(view):
        return np.ones_like(view.i)

    metrics = grid([probed_far, "rbp(0.5)"], ["etg", probed_constant], max_rel=2)
    kinds = {cell: kind for cell, kind in metrics.kinds.items() if kind}
    constant = dict.fromkeys([("probed_far", "probed_constant"), ("rbp(0.5)", "probed_constant")], "X")
    assert kinds == {("probed_far", "etg"): "XX", **constant}, "k = 60: all 24 probed documents are seen"


@pytest.mark.parametrize("arguments, options, error, message", [
    (["rbp(0.8)"], {}, BadParameter, "C of a grid must be a list: write C=['rbp(0.8)', …]."),
    ([["rbp(.8)", "rbp(0.8)"]], {}, BadParameter, "C has 'rbp(0.8)' twice."),
    ([["rbp(0.8)"], []], {}, BadParameter, "the grid has no A."),
    ([["rpb(0.8)"]], {}, UnknownSpec, "Near: 'rbp'"),
    ([["rbp(0.8)"]], {"canonical": {"rr": "err"}}, BadParameter, "the grid has no C='rr'"),
    ([["rbp(0.8)"], ["erg"]], {"canonical": {"rbp": "max"}}, BadParameter, "the grid has no A='max'; there is 'erg'."),
    ([["rbp(0.8)"]], {"max_rel": None}, BadParameter, "needs max_rel="),
])  # fmt: skip
def test_what_is_no_grid(arguments, options, error, message):
    refused(lambda: grid(*arguments, **{"max_rel": 1, **options}), message, error)
