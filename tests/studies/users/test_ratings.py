"""Tests of user ratings: alignment with scores, several labels of one pair of lists, and error messages."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import evaluate, evaluate_sessions
from pyterrier_cwla.errors import BadParameter, BadRatings
from pyterrier_cwla.studies.users.agreement_study import user_agreement
from pyterrier_cwla.studies.users.rating_correlations import training_folds
from pyterrier_cwla.studies.users.ratings import Rated, reduced, what_was_rated, why_not_all
from tests.support.messages import refused

QRELS = {q: {"a": 2, "b": 0, "c": 1} for q in "1234"}
RUN = {q: {d: -float(i) for i, d in enumerate(docs)} for q, docs in zip("1234", ["abc", "bac", "cab", "cba"])}
RATINGS = {q: float(q) for q in "1234"}
MEASURES = {"early": "nDCG@2", "strict": "RR(rel=2)"}


def session_qrels(*names):
    return {name: {"a": 1} for name in names}


def frame(**columns):
    return pd.DataFrame(columns)


def test_ratings_pairs_and_sessions_have_the_scores_of_their_lists(tmp_path):
    """Lists may have several ratings, in any order; measures may have names of the user's choice."""
    ratings = frame(query_id=["3", "1", "1", "2"], rating=[1, 5, 4, 2])
    found = Rated.lists(QRELS, RUN, ratings).scores(MEASURES)
    expected = evaluate(QRELS, RUN, MEASURES.values(), by_query=True).droplevel("run").loc[ratings["query_id"]]
    assert found.to_numpy().tolist() == expected.to_numpy().tolist()
    assert list(found) == list(MEASURES)
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, of in QRELS.items() for d, g in of.items()))
    pd.testing.assert_frame_equal(Rated.lists(tmp_path / "qrels", RUN, ratings).scores(MEASURES), found)
    pairs = frame(first=["1", "3", "3"], second=["2", "2", "4"], preference=[0.3, -7, 0])
    rated = Rated.preferences(QRELS, RUN, pairs)
    scores = evaluate(QRELS, RUN, ["nDCG@2"], by_query=True).droplevel("run")["nDCG@2"]
    differences = [scores[a] - scores[b] for a, b in zip(pairs["first"], pairs["second"])]
    assert rated.scores(["nDCG@2"])["nDCG@2"].tolist() == pytest.approx(differences, abs=1e-15)
    assert rated.ratings.tolist() == [1, -1, 0]
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


def test_masks_and_measures_that_cannot_be_used():
    rated = Rated.lists(QRELS, RUN, {q: int(q) for q in "1234"})
    refused(lambda: rated.scores([]), "there is no measure", BadParameter)
    refused(lambda: rated.scores(["sDCG"]), "sDCG is a session measure", BadParameter)
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


def test_ratings_of_one_list_are_in_one_fold():
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
    rated = Rated.lists(QRELS, RUN, frame(query_id=list("1234") * 5, rating=range(20)))
    assert why_not_all(rated.about())[0].startswith("16 of 20 ratings repeat a list.")
    train = training_folds(rated, 4, 1, 0)
    by_list = train.reshape(5, 4, -1)
    assert (by_list == by_list[0]).all()
    assert (by_list[0].sum(axis=1) == 3).all()
    alone = Rated.lists(QRELS, RUN, pd.Series(RATINGS))
    assert alone.table.equals(Rated.lists(QRELS, RUN, RATINGS).table)
    assert (alone.weights, alone.users, alone.about()["labels"], why_not_all(alone.about())) == (None, None, None, [])


LISTS = [f"l{number}" for number in range(24)]
COMPARED = ["ERR@3", "RR(rel=2)", "nDCG@5"]


def collection(seed=0):
    rng = np.random.default_rng(seed)
    grades = rng.choice(3, (len(LISTS), 5), p=(0.5, 0.3, 0.2))
    qrels = {name: {f"d{i}": int(g) for i, g in enumerate(of)} for name, of in zip(LISTS, grades)}
    run = {name: {f"d{i}": -float(i) for i in range(5)} for name in LISTS}
    return qrels, run, dict(zip(LISTS, grades[:, :2].sum(axis=1) + rng.normal(size=len(LISTS))))


LABELLED, SHOWN, WORTH = collection()


def labels(seed=0, each=3, pairs=20, **columns):
    """Generate labels of random pairs, with random sides: the difference of worth plus noise, in steps of 0.1."""
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(LISTS, 2, replace=False) for _ in range(pairs)]
    rows = [pair if rng.random() < 0.5 else pair[::-1] for _ in range(each) for pair in chosen]
    first, second = map(list, zip(*rows))
    size = [np.round(WORTH[a] - WORTH[b] + rng.normal(0, 2), 1) for a, b in rows]
    table = pd.DataFrame({"first": first, "second": second, "preference": size})
    return table.assign(**{name: make(rng, len(table)) for name, make in columns.items()})


def of_lists(first, second, preference):
    first, second = ([LISTS[int(digit)] for digit in of] for of in (first, second))
    return pd.DataFrame({"first": first, "second": second, "preference": preference})


def turned(table):
    return table.assign(first=table["second"], second=table["first"], preference=-table["preference"])


def preferences(table, *one_per):
    return Rated.preferences(LABELLED, SHOWN, table, *one_per)


def agreement_of(rated, **how):
    return user_agreement(rated, COMPARED, baseline="nDCG@5", resamples=100, correction=None, **how)


def by_loops(table, users=False):
    """Return (first, second, mean, n, labels, opposed) of each pair: dictionaries and sums in plain Python."""
    found = {}
    for row in table.to_dict("records"):
        who = row["user"] if users else None
        n, a, b = row.get("n", 1), row["first"], row["second"]
        place = (b, a, who) if (b, a, who) in found else (a, b, who)
        sign = -1 if (b, a, who) in found else 1
        found.setdefault(place, []).append((n, sign * row["preference"]))
    expected = []
    for (a, b, _), of_pair in found.items():
        n = sum(weight for weight, _ in of_pair)
        mean = sum(weight * label for weight, label in of_pair) / n
        signs = {np.sign(label) for _, label in of_pair}
        expected.append((a, b, 0.0 if abs(mean) < 1e-9 else mean, n, len(of_pair), {1, -1} <= signs))
    return expected


TABLES = st.lists(
    st.tuples(st.permutations("abc").map(lambda names: names[:2]), st.integers(-5, 5), st.integers(1, 4), st.sampled_from("xy")),
    min_size=4, max_size=30,
).map(lambda rows: pd.DataFrame([(*pair, size / 10, n, user) for pair, size, n, user in rows],
                                columns=["first", "second", "preference", "n", "user"]))  # fmt: skip


@given(TABLES, st.booleans(), st.booleans())
def test_the_mean_of_each_pair_is_that_of_loops(table, weighted, users):
    table = table if weighted else table.drop(columns="n")
    expected = by_loops(table, users)
    found, differing = reduced(table.rename(columns={"preference": "rating"}), ["user"] if users else [])
    if len(expected) == len(table):
        assert differing is None
        return
    found = found if weighted else found.assign(n=found["labels"])
    names, numbers = ["first", "second"], ["rating", "n", "labels", "opposed"]
    assert found[names].to_numpy().tolist() == [[*of[:2]] for of in expected]
    assert found[numbers].to_numpy(float) == pytest.approx(np.array([of[2:] for of in expected], float))
    assert (found["rating"] == 0).tolist() == [of[2] == 0 for of in expected], "exactly 0, not by rounding"
    assert ("user" in found) == ("user" not in differing)


def test_a_preference_is_the_sign_of_the_mean():
    rated = preferences(of_lists("0102325", "1013234", [1, 1.5, 0.1, 0.1, -0.2, -0.3, -2]))
    assert rated.table[["first", "second"]].to_numpy().tolist() == [["l0", "l1"], ["l2", "l3"], ["l5", "l4"]]
    assert rated.ratings.tolist() == [-1, 0, -1]
    assert rated.table["mean"].tolist() == pytest.approx([-0.4 / 3, 0, -2])
    assert rated.table["labels"].tolist() == [3, 3, 1]
    assert rated.table["opposed"].tolist() == [True, True, False]
    assert repr(rated) == "<ratings of 3 pairs: -1: 2, 0: 1>"
    assert rated.label_counts == {"labels": 7, "preferences": 3, "opposed": 2, "undecided": 1, "left_out": []}


@pytest.mark.parametrize("one_per", ["pair", "user", "label"])
def test_pairs_with_one_label_are_as_given(one_per):
    """A user who compares other pairs than the others keeps the column user, and so intervals over users."""
    table = labels(each=1, pairs=9).assign(user=list("xyzxyzxyz"), mean=1.0, labels="few")
    rated = preferences(table, one_per)
    expected = table.rename(columns={"preference": "rating"}).assign(rating=np.sign(table["preference"]))
    pd.testing.assert_frame_equal(rated.table, expected)
    assert (rated.label_columns, rated.label_counts, rated.units) == (None, None, 3)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_copies_of_labels_change_no_interval_and_no_test(weighted):
    table = labels(n=lambda rng, size: rng.integers(1, 9, size)) if weighted else labels()
    one = agreement_of(preferences(table))
    for copies in ([table] * 20, [table, turned(table)], [turned(table)]):
        other = agreement_of(preferences(pd.concat(copies)))
        pd.testing.assert_frame_equal(other.table, one.table, rtol=1e-12)
    assert ("weighted_pearson" in one.table) == weighted
    separate = (agreement_of(preferences(pd.concat([table] * k), "label")).table for k in (1, 20))
    narrow = [(of["tau_b_high"] - of["tau_b_low"]).max() for of in separate]
    assert narrow[1] < narrow[0] / 3, "without reduction, copies count as independent"


@pytest.mark.slow
def test_users_who_labelled_the_same_pairs():
    table = labels(each=4).assign(user=np.repeat(list("wxyz"), 20))
    per_pair, per_user, per_label = (preferences(table, of) for of in ("pair", "user", "label"))
    assert (len(per_pair), per_pair.unit, per_pair.units) == (20, "rating", 20)
    assert "user" not in per_pair.table
    assert per_pair.label_columns == ("user",)
    assert (len(per_user), per_user.unit, per_user.units) == (80, "user", 4)
    assert per_user.label_columns is None
    pd.testing.assert_frame_equal(per_user.table, per_label.table)
    both = preferences(pd.concat([table, turned(table).assign(preference=3)]), "user")
    assert len(both) == 80
    assert both.units == 4
    assert both.table["labels"].tolist() == [2] * 80
    assert both.table["user"].tolist() == table["user"].tolist()
    apart = labels(each=1).assign(user=np.repeat(list("vwxyz"), 4))
    assert preferences(apart).unit == "user"
    one_more = pd.concat([apart, apart.iloc[:1].assign(user="z")])
    says = "1 pair has labels of several users", " one_per='user' ", " one_per='pair'"
    refused(lambda: preferences(one_more), *says, BadRatings)
    tables = [agreement_of(rated).table for rated in (preferences(apart), preferences(one_more, "user"))]
    width = [(of["tau_b_high"] - of["tau_b_low"]).to_numpy() for of in tables]
    assert width[1] == pytest.approx(width[0], rel=0.25)
    each_once = labels(each=2).assign(user=range(40))
    assert preferences(each_once).unit == "rating"  # nobody labelled two pairs


def test_properties_of_pairs_are_kept_and_those_of_labels_are_not():
    table = labels(each=2, pairs=5).assign(topic=list("abcde") * 2, seconds=range(10), note=[None, *"bcde"] * 2)
    rated = preferences(table)
    assert rated.table["topic"].tolist() == list("abcde")
    assert rated.table["note"].fillna("").tolist() == ["", *"bcde"]
    assert rated.label_columns == ("seconds",)
    assert "seconds" not in rated.table
    assert "The column 'seconds' is left out" in why_not_all(rated.about())[-1]
    more = preferences(table.assign(site=range(10)))
    assert "The columns 'seconds', 'site' are left out" in why_not_all(more.about())[-1]
    table = labels(each=4).assign(user=np.repeat(list("wxyz"), 20))
    ids = pd.CategoricalDtype([*LISTS[::-1], "unused"])
    categories = table.astype({"first": ids, "second": ids, "user": "category"})
    for one_per in ("pair", "user"):
        one, other = (preferences(of, one_per).table for of in (table, categories))
        assert other.astype(dict(one.dtypes)).equals(one)


@pytest.mark.parametrize(("table", "one_per", "error", "message"), [
    (labels(), "pairs", BadParameter, "one_per='pairs' must be 'pair', 'user' or 'label'"),
    (labels(), "user", BadRatings, "one_per='user' needs a column 'user'"),
    (labels(each=30, pairs=2), "pair", BadRatings, "2 pairs with 60 labels: a correlation needs at least three"),
    (labels().assign(mean=0, opposed=0), "pair", BadRatings, "have 'mean', 'opposed': rename them, or give"),
    (labels().assign(labels=0), "pair", BadRatings, "already have 'labels': rename it, or give one_per='label'"),
])  # fmt: skip
def test_labels_that_cannot_be_reduced(table, one_per, error, message):
    refused(lambda: preferences(table, one_per), message, error)


@pytest.mark.slow
def test_the_report_says_how_labels_were_reduced():
    table = labels(each=4).assign(user=np.repeat(list("wxyz"), 20))
    found = agreement_of(preferences(table, "pair"))
    assert found.title == "Agreement of 3 measures with 20 preferences from 80 labels"
    counts, text = found.about["labels"], " ".join(found.limits())
    assert counts["labels"] == 80
    reduction = "80 labels of pairs are reduced to 20 preferences, each the sign of the mean label."
    assert f"{reduction} {counts['opposed']}" in text
    assert "intervals and tests resample pairs, and do not account for several pairs of one user" in text
    assert "add a column 'user'" not in text
    over_users = agreement_of(preferences(table, "user"))
    assert over_users.title == "Agreement of 3 measures with 80 preferences of 4 users"
    assert "reduced" not in str(over_users)
    every = agreement_of(preferences(table.drop(columns="user"), "label"))
    assert "Several labels of one pair count as independent (60 repeated pairs)" in " ".join(every.limits())
    assert "independent (" not in str(agreement_of(preferences(table, "label")))
    one = of_lists("0024", "1135", [1, -1, 1, 2])
    text = why_not_all(preferences(one).about())[0]
    assert text.endswith("1 pair has labels for both lists, of which 1 has a mean of 0 (no preference).")
    text = why_not_all(preferences(one.assign(preference=[1, -2, 1, 2])).about())[0]
    assert text.endswith("1 pair has labels for both lists, of which 0 have a mean of 0 (no preference).")
    agreed = why_not_all(preferences(one.assign(preference=1)).about())[0]
    assert agreed == "4 labels of pairs are reduced to 3 preferences, each the sign of the mean label."
    rated = preferences(labels(each=4))
    assert what_was_rated(rated.about()) == "20 rated pairs from 80 labels"
    part = rated.only(rated.table["opposed"].to_numpy())
    counts = part.label_counts
    assert counts["labels"] == 4 * len(part)
    assert counts["opposed"] == counts["preferences"] == len(part) < len(rated)
