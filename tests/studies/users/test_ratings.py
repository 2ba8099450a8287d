"""Tests of user ratings and their lists: alignment with scores, no dropped ratings, and error messages."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import evaluate, evaluate_sessions
from pyterrier_cwla.errors import BadParameter, BadRatings
from pyterrier_cwla.studies.users.rating_correlations import training_folds
from pyterrier_cwla.studies.users.ratings import Rated, what_was_rated, why_not_all
from tests.support.messages import refused

QRELS = {q: {"a": 2, "b": 0, "c": 1} for q in "1234"}
RUN = {q: {d: -float(i) for i, d in enumerate(docs)} for q, docs in zip("1234", ["abc", "bac", "cab", "cba"])}
RATINGS = {q: float(q) for q in "1234"}
MEASURES = {"early": "nDCG@2", "strict": "RR(rel=2)"}


def session_qrels(*names):
    return {name: {"a": 1} for name in names}


def frame(**columns):
    return pd.DataFrame(columns)


def test_each_rating_has_the_scores_of_its_list():
    """Lists may have several ratings, in any order; measures may have names of the user's choice."""
    ratings = frame(query_id=["3", "1", "1", "2"], rating=[1, 5, 4, 2])
    found = Rated.lists(QRELS, RUN, ratings).scores(MEASURES)
    expected = evaluate(QRELS, RUN, MEASURES.values(), by_query=True).droplevel("run").loc[ratings["query_id"]]
    assert found.to_numpy().tolist() == expected.to_numpy().tolist()
    assert list(found) == list(MEASURES)


def test_ratings_may_be_a_dict_or_a_series():
    for ratings in (RATINGS, pd.Series({q: int(q) for q in "1234"})):
        rated = Rated.lists(QRELS, RUN, ratings)
        assert rated.ratings.tolist() == [1, 2, 3, 4]
        assert rated.weights is None
        assert rated.users is None


def test_a_pair_has_the_difference_and_a_preference_its_sign():
    pairs = frame(first=["1", "3", "3"], second=["2", "2", "4"], preference=[0.3, -7, 0])
    rated = Rated.preferences(QRELS, RUN, pairs)
    scores = evaluate(QRELS, RUN, ["nDCG@2"], by_query=True).droplevel("run")["nDCG@2"]
    differences = [scores[a] - scores[b] for a, b in zip(pairs["first"], pairs["second"])]
    assert rated.scores(["nDCG@2"])["nDCG@2"].tolist() == pytest.approx(differences, abs=1e-15)
    assert rated.ratings.tolist() == [1, -1, 0]


def test_sessions_have_the_mean_or_a_measure_of_sessions():
    sessions = {"s": ["1", "2"], "t": ["3"], "u": ["4"]}
    qrels = dict.fromkeys(sessions, QRELS["1"])
    rated = Rated.sessions(qrels, RUN, sessions, {"u": 1, "s": 3, "t": 2})
    expected = evaluate_sessions(qrels, RUN, sessions, ["nDCG@2", "sDCG"]).loc[["u", "s", "t"]]
    assert rated.scores(["nDCG@2", "sDCG"]).to_numpy().tolist() == expected.to_numpy().tolist()


def test_users_weights_and_properties_come_along():
    ratings = frame(
        query_id=list("1234"), rating=[1, 2, 3, 4], user=["x", "y", "x", "z"], n=[1, 2, 3, 0.5], kind=list("ppqq")
    )
    rated = Rated.lists(QRELS, RUN, ratings)
    assert rated.users.tolist() == [0, 1, 0, 2]
    assert rated.weights.tolist() == [1, 2, 3, 0.5]
    assert rated.table["kind"].tolist() == list("ppqq")
    part = rated.only([2, 3, 0])
    assert part.ratings.tolist() == [3, 4, 1]
    assert part.scores(["RR"]).index.tolist() == [2, 3, 0]
    assert rated.only(rated.ratings > 1).ratings.tolist() == [2, 3, 4]
    assert rated.only(rated.table["rating"] > 1).ratings.tolist() == [2, 3, 4]


def test_a_list_without_results_scores_0_and_is_counted():
    rated = Rated.lists(QRELS, {q: RUN[q] for q in "123"}, {q: 1 + int(q) % 2 for q in "1234"})
    assert rated.empty == 1
    assert rated.scores(["RR"])["RR"].tolist() == [1, 0.5, 1, 0]
    pairs = frame(first=["1", "2", "4"], second=["4", "3", "2"], preference=[1, 0, 1])
    assert Rated.preferences(QRELS, {q: RUN[q] for q in "123"}, pairs).empty == 2
    sessions = {"s": ["1", "2"], "t": ["3"], "u": ["4", "5"]}
    assert Rated.sessions(session_qrels(*"stu"), {"1": {"a": 1.0}}, sessions, dict(s=1, t=2, u=3)).empty == 2


@pytest.mark.parametrize("ratings, message", [
    ([1, 2, 3], "ratings must be a DataFrame with the columns query_id, rating, not list."),
    (frame(query_id=list("123"), stars=[1, 2, 3]),
     "the ratings have no column 'rating'; there is 'query_id', 'stars'."),
    (frame(query_id=[], rating=[]), "there are no ratings."),
    (frame(query_id=[1, 2, 3], rating=[1, 2, 3]), "query_id of the ratings must be strings"),
    (frame(query_id=list("129"), rating=[1, 2, 3]), "no judgments for 1 rated list ('9')"),
    (frame(query_id=list("123"), rating=[1, None, 3]), "1 row of the ratings has no usable 'rating'"),
    (frame(query_id=list("123"), rating=["good", "bad", 3]), "2 rows of the ratings have no usable 'rating'"),
    (frame(query_id=list("123"), rating=[1, np.inf, 3]), "no usable 'rating'"),
    (frame(query_id=list("123"), rating=[1, 2, 3], n=[1, 0, 1]), "no usable 'n'"),
    (frame(query_id=list("123"), rating=[1, 2, 3], user=["x", None, "y"]), "1 rating of 3 have no 'user'"),
    (frame(query_id=list("12"), rating=[1, 2]), "2 ratings: a correlation needs at least three."),
])  # fmt: skip
def test_ratings_that_cannot_be_used(ratings, message):
    refused(lambda: Rated.lists(QRELS, RUN, ratings), message, BadRatings)


PAIRS = frame(first=list("1231"), second=list("2312"), preference=[1, 0, -1, 1])
REPEATED = frame(query_id=list("1213"), rating=[1, 2, 3, 4])
OF_SESSIONS = dict.fromkeys("stu", QRELS["1"]), RUN, {"s": ["1"], "t": ["2"], "u": ["3"]}
RATED_TWICE = frame(session=list("stus"), rating=[1, 2, 3, 4])


def test_ratings_by_several_users_or_without_users_may_repeat():
    turned = PAIRS.assign(user="x", first=list("1232"), second=list("2311"))
    rated = [Rated.lists(QRELS, RUN, ratings) for ratings in (REPEATED, REPEATED.assign(user=list("xxyx")))]
    rated += [Rated.preferences(QRELS, RUN, pairs, "label") for pairs in (PAIRS, turned)]
    rated += [Rated.sessions(*OF_SESSIONS, RATED_TWICE.assign(user=list("xxxy")))]
    assert [len(one) for one in rated] == [4] * 5


@pytest.mark.every_case
@pytest.mark.filterwarnings("ignore:run and judgments have no query in common")
@pytest.mark.parametrize(("what", "given", "says"), [
    ("lists", (QRELS, RUN, REPEATED.assign(user="x")),
     "list '1' is rated twice by user 'x' (1 such row): keep one rating."),
    ("preferences", (QRELS, RUN, PAIRS.assign(user="x")), "pair '1' and '2' is rated twice by user 'x'"),
    ("sessions", (*OF_SESSIONS, RATED_TWICE), "session 's' is rated twice … add a column 'user' with the users who"),
    ("preferences", (QRELS, RUN, frame(first=list("1212"), second=list("2323"), preference=[1, 0, -1, 1]), "pair"),
     "2 pairs with 4 labels: a correlation needs at least three pairs."),
    ("sessions", (session_qrels(*"st"), RUN, {"s": ["1"], "t": ["2"]}, dict(s=1, t=2, z=3)),
     "1 rated session ('z') is not among the sessions, which are 's', 't'"),
    ("preferences", (QRELS, RUN, frame(first=list("123"), second=list("134"), preference=[1, 0, 1])),
     "compares a list with itself"),
    ("lists", (QRELS, {"other": RUN["1"]}, dict.fromkeys("123", 1)), "no results for any of the 3 rated lists"),
])  # fmt: skip
def test_lists_pairs_and_sessions_that_cannot_be_used(what, given, says):
    refused(lambda: getattr(Rated, what)(*given), *says.split(" … "), BadRatings)


def test_masks_are_as_long_as_the_ratings_and_leave_three():
    rated = Rated.lists(QRELS, RUN, {q: int(q) for q in "1234"})
    refused(lambda: rated.only([True, False]), "the mask has 2 values for 4 ratings", BadParameter)
    for few in ([True, True, False, False], [0, 3], []):
        refused(partial(rated.only, few), "rating", ": a correlation needs at least three", BadRatings)
    for rows in ([0, 1, 99], [0, 1, -1], [0, 1, 1.5]):
        refused(partial(rated.only, rows), "there is no row ", f"{rows[2]}", BadParameter)


ROWS = [(q, d, s) for q, found in RUN.items() for d, s in found.items()]
FRAME = pd.DataFrame(ROWS, columns=["qid", "docno", "score"])


TWO = QRELS | {"2": {"a": 1}}
THREE = frame(query_id=list("123"), rating=[1, 2, 3])
RENAMED = {q: {d.replace("a", "z"): s for d, s in found.items()} for q, found in RUN.items()}


def swapped(of):
    return of | {"1": of["2"], "2": of["1"]}


def of_sessions(*lists):
    return session_qrels(*"stu"), RUN, dict(zip("stu", lists)), dict(s=1, t=2, u=3)


@pytest.mark.parametrize(("what", "one", "other"), [
    ("lists", (swapped(TWO), swapped(RUN), dict.fromkeys("123", 1.0)), (TWO, RUN, dict.fromkeys("123", 1.0))),
    ("sessions", of_sessions(["1", "2"], ["3"], ["4"]), of_sessions(["1"], ["2", "3"], ["4"])),
    ("lists", (QRELS, FRAME.assign(doc_length=10)), (QRELS, FRAME.assign(doc_length=range(12)))),
    ("lists", (QRELS, FRAME.assign(duplicate_of=None)), (QRELS, FRAME.assign(duplicate_of=["a", *[None] * 11]))),
    ("lists", (session_qrels(*"1234"), RUN), ({q: {"z": 1} for q in "1234"}, RENAMED)),
    ("lists", (QRELS, RUN, THREE), (QRELS, RUN, THREE.assign(n=2.0))),
], ids=["names of queries", "sessions", "lengths", "duplicates", "ids of documents", "counts"])  # fmt: skip
def test_the_fingerprint_tells_all_apart_that_measures_read(what, one, other):
    prints = [getattr(Rated, what)(*of, *[RATINGS][len(of) - 2 :]).fingerprint() for of in (one, one, other)]
    assert prints[0] == prints[1] != prints[2]


def test_a_study_says_what_was_rated():
    ratings = frame(query_id=list("1234"), rating=[1, 2, 3, 4], user=list("xxyy"), n=[1, 1, 2, 3])
    rated = Rated.lists(QRELS, RUN, ratings)
    assert what_was_rated(rated.about(weighted=True)) == "4 rated lists of 2 users, weighted by n"
    assert what_was_rated(rated.about()) == "4 rated lists of 2 users"
    assert why_not_all(rated.about(weighted=True)) == []
    [weights_unused] = why_not_all(rated.about())
    assert weights_unused.startswith("Each rating counts once")
    assert why_not_all(rated.only([0, 1, 0]).about(weighted=True)) == [
        "All ratings are by one user: they show nothing about other users."
    ]


def test_ratings_of_one_list_are_in_one_fold():
    rated = Rated.lists(QRELS, RUN, frame(query_id=list("1234") * 5, rating=range(20)))
    assert why_not_all(rated.about())[0].startswith("16 of 20 ratings repeat a list.")
    train = training_folds(rated, 4, 1, 0)
    by_list = train.reshape(5, 4, -1)
    assert (by_list == by_list[0]).all()
    assert (by_list[0].sum(axis=1) == 3).all()
    alone = Rated.lists(QRELS, RUN, RATINGS)
    assert why_not_all(alone.about()) == []


def test_measures_that_cannot_be_used():
    rated = Rated.lists(QRELS, RUN, {q: int(q) for q in "1234"})
    refused(lambda: rated.scores([]), "there is no measure", BadParameter)
    refused(lambda: rated.scores(["sDCG"]), "sDCG is a session measure", BadParameter)
