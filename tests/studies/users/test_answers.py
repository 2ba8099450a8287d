"""Tests of correct and wrong answers: scores of their passages, deviance and AUC beside libraries, folds, recovery."""

import numpy as np
import pandas as pd
import polars
import pytest
import statsmodels.api as sm
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pyterrier_cwla import evaluate
from pyterrier_cwla.data.lengths import Lengths
from pyterrier_cwla.errors import BadParameter, BadRatings
from pyterrier_cwla.studies import Rated, fit, fit_discount, user_agreement
from pyterrier_cwla.studies.users.rating_correlations import (
    coefficients,
    deviance_by_fold,
    influence,
    logistic_deviance,
    resample_counts,
    training_folds,
)
from tests.support.answers import KNOWN, WORDS, answered, made
from tests.support.messages import refused

RBP = "RBP(p=$p,rel=1)"
VALUES = [0.3, 0.6, 0.9]
QUICK = {"cv": 4, "repeats": 2, "seed": 1}


@pytest.fixture(scope="module")
def rated():
    return answered(0, "RBP(p=0.6,rel=1)", questions=60, per=2)[0]


def scores(rated, measure):
    return rated.scores([measure]).to_numpy()[:, 0]


def model(x, correct, weights=None):
    weights = np.ones(len(x)) if weights is None else weights
    return sm.GLM(correct, sm.add_constant(x), family=sm.families.Binomial(), freq_weights=weights).fit(tol=1e-12)


def mean_deviance(model, x, correct):
    p = model.predict(sm.add_constant(x, has_constant="add"))
    return -2 * np.mean(np.where(correct == 1, np.log(p), np.log(1 - p)))


def test_each_answer_has_the_scores_of_its_list():
    """Also if a question has several lists, one of them empty."""
    qrels, answers, _ = made(0, questions=3, per=3)
    answers.at[4, "passages"] = []
    rated = Rated.answers(qrels, answers.assign(correct=[0, 1, 1] * 3))
    measures = ["nDCG@5", "RR", "P@3"]
    found = rated.scores(measures)
    for number, (q, passages) in enumerate(zip(answers.question, answers.passages)):
        alone = evaluate({q: qrels[q]}, {q: {d: -float(i) for i, d in enumerate(passages)}}, measures)
        assert found.loc[number].tolist() == alone.iloc[0].tolist()
    assert rated.empty == 1
    assert (rated.unit, rated.units, rated.users.tolist()) == ("question", 3, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert rated.only(rated.table["question"] != "q1").scores(measures).equals(found.drop(index=[3, 4, 5]))
    qrels, answers, _ = made(1, questions=4)
    answers = answers.assign(correct=[1, 0, 1, 0])
    texts = answers.assign(passages=answers["passages"].map(" ".join))
    rows = answers.explode("passages").rename(columns={"passages": "docno"})
    several = pd.concat([rows.assign(answer=1), rows[::-1].assign(answer=2)])
    expected = Rated.answers(qrels, answers)
    for form in (texts, texts.rename(columns={"question": "qid"}), rows, polars.from_pandas(texts)):
        found = Rated.answers(qrels, form)
        assert found.scores(["RR", "AP"]).equals(expected.scores(["RR", "AP"]))
        assert found.ratings.tolist() == [1, 0, 1, 0]
    numbered = several.assign(answer=several["question"] + several["answer"].astype(str))
    assert len(Rated.answers(qrels, numbered)) == 8
    nothing = texts.assign(passages=[None, float("nan"), "", texts["passages"].iloc[3]])
    assert Rated.answers(qrels, nothing).scores(["P@2"])["P@2"].tolist()[:3] == [0, 0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.drop(columns="correct"), "the ratings have no column 'correct'"),
        (lambda a: a.drop(columns="passages"), "the answers have no column 'passages' or 'docno'"),
        (lambda a: a.assign(correct=[0, 1, 2, 0]), "question 'q2': correct is 2, and must be the number 1"),
        (lambda a: a.assign(passages=7), "question 'q0': passages are 7, and must be a list of ids"),
        (lambda a: a.assign(passages=[["d1"], ["d2"], ["d3", "d1", "d3"], ["d1"]]), "question 'q2': passage 'd3'"),
        (lambda a: a.assign(question=["q0", "q1", "q2", "other"]), "no judgments for 1 question ('other')"),
        (lambda a: a.rename(columns={"passages": "docno"}).assign(docno="d1", answer=list("aabc")), "answer 'a': its"),
        (lambda a: a.rename(columns={"question": "topic"}), "the ratings have no column 'question'"),
        (lambda a: a.assign(question=range(4)), "question"),
        (lambda a: a.assign(passages="d1,d2"), "ids written alike? In a text, ids are separated by blanks."),
        (
            lambda a: "answers.csv",
            "passages and correct, not str. Read a file with pd.read_csv(path, dtype={'question'",
        ),
        (lambda a: a[:2], "a correlation needs at least three"),
    ],
)
def test_answers_that_cannot_be_used(change, message):
    qrels, answers, _ = made(1, questions=4)
    refused(lambda: Rated.answers(qrels, change(answers.assign(correct=[1, 0, 1, 0]))), message, BadRatings)


@pytest.mark.parametrize("weighted", [False, True])
def test_deviance_and_auc_are_those_of_libraries(rated, weighted):
    n = np.random.default_rng(3).integers(1, 5, len(rated))
    own = Rated(rated.what, rated.table.assign(n=n), rated.shown) if weighted else rated
    objective = {"objective": "weighted_deviance"} if weighted else {}
    found = fit(RBP, {"p": VALUES}, own, default={"p": 0.9}, progress=False, **objective, **QUICK)
    y, weights = rated.ratings, n if weighted else np.ones(len(rated))
    deviances = {}
    for p in VALUES:
        x = scores(rated, f"RBP(p={p},rel=1)")
        deviances[p] = model(x, y, weights).deviance / weights.sum()
        assert found.candidates.set_index("p")["value"][p] == pytest.approx(deviances[p], abs=1e-9)
    assert found.values["p"] == min(deviances, key=deviances.get)
    assert found.about["value"] < found.about["default_value"] < 2 * np.log(2)
    for p, auc in ((found.values["p"], found.about["auc"]), (0.9, found.about["default_auc"])):
        assert auc == pytest.approx(roc_auc_score(y, scores(rated, f"RBP(p={p},rel=1)")), abs=1e-12)


def test_folds_have_whole_questions_and_a_regression_without_them(rated):
    found = fit(RBP, {"p": VALUES}, rated, default={"p": 0.9}, progress=False, **QUICK)
    train, y = training_folds(rated, 4, 2, 1).T > 0, rated.ratings
    for chosen, row in zip(train, found.folds.itertuples(), strict=True):
        assert not {*rated.table["question"][chosen]} & {*rated.table["question"][~chosen]}
        for p, held_out in ((row.p, row.held_out), (0.9, row.default)):
            x = scores(rated, f"RBP(p={p},rel=1)")
            expected = mean_deviance(model(x[chosen], y[chosen]), x[~chosen], y[~chosen])
            assert held_out == pytest.approx(expected, abs=1e-8)
        x = scores(rated, f"RBP(p={row.p},rel=1)")
        assert row.chosen_by == pytest.approx(model(x[chosen], y[chosen]).deviance / chosen.sum(), abs=1e-9)
        assert row.auc == pytest.approx(roc_auc_score(y[~chosen], x[~chosen]), abs=1e-12)
    assert "60 questions" in found.how_folded
    assert "held-out questions" in found.headline()
    assert any("The AUC is" in sentence for sentence in found.findings())


def test_deviance_and_auc_of_resamples(rated):
    x, y, rng = scores(rated, "RBP(p=0.6,rel=1)"), rated.ratings, np.random.default_rng(0)
    counts = rng.integers(0, 3, (len(y), 7)).astype(float)
    for sample, found in zip(counts.T, logistic_deviance(x, y, counts)):
        assert found == pytest.approx(model(x, y, sample).deviance / sample.sum(), abs=1e-9)
    assert logistic_deviance(5 - 3 * x, y, counts) == pytest.approx(logistic_deviance(x, y, counts), abs=1e-12)
    share = y.mean()
    of_share = -2 * (share * np.log(share) + (1 - share) * np.log(1 - share))
    assert logistic_deviance(np.zeros(len(y)), y, np.ones((len(y), 1))) == pytest.approx(of_share, abs=1e-12)
    x, y = rated.scores(["RBP(p=0.6,rel=1)", "RR"]).to_numpy().T.round(10), rated.ratings
    counts = resample_counts(len(y), rated.users, 20, seed=2)
    found = coefficients(["auc"], x, y, counts)["auc"]
    expected = [[roc_auc_score(y, row, sample_weight=sample) for sample in counts.T] for row in x]
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    step, once = 1e-6, np.ones(len(y))
    for row in x:
        moved = [roc_auc_score(y, row, sample_weight=once + step * (np.arange(len(y)) == i)) for i in range(len(y))]
        assert influence(row, y, "auc") == pytest.approx((np.array(moved) - roc_auc_score(y, row)) / step, abs=1e-6)


def test_agreement_with_answers(rated):
    measures = ["RBP(p=0.6,rel=1)", "P@8", "RR"]
    found = user_agreement(rated, measures, baseline="P@8", resamples=200, **QUICK)
    assert found.coefficient == "auc"
    assert "nrmse" not in found.table
    x, y = rated.scores(measures).to_numpy(), rated.ratings
    errors = deviance_by_fold(x, y, 4, 2, 1, rated.users)
    train = training_folds(rated, 4, 2, 1).T > 0
    for name, column, of_folds in zip(measures, x.T, errors.T):
        assert found.table.loc[name, "auc"] == pytest.approx(roc_auc_score(y, column), abs=1e-12)
        by_hand = [mean_deviance(model(column[t], y[t]), column[~t], y[~t]) for t in train]
        assert of_folds == pytest.approx(by_hand, abs=1e-8)
        assert found.table.loc[name, "deviance"] == pytest.approx(np.mean(by_hand), abs=1e-8)
    assert found.table.loc["RBP(p=0.6,rel=1)", "auc_p"] < 0.01
    assert found.table["auc_low"].between(0, 1).all()
    said = " ".join(
        [found.headline(), *found.findings(), *found.limits(), *(t.caption for t in found.tables().values())]
    )
    assert "120 answers to 60 questions" in said
    assert "whole questions" in said
    assert "users" not in said


@pytest.mark.nightly
@pytest.mark.slow
def test_a_score_that_says_nothing_is_rarely_significant():
    """At a level of 5 %, and with several answers to each question that depend on each other."""
    p = []
    for seed in range(60):
        rated, _ = answered(seed, "P@8", slope=0.0, questions=40, per=2)
        p.append(user_agreement(rated, ["P@8"], cv=2, repeats=1, resamples=100).table["auc_p"].iloc[0])
    assert 0 < np.mean(np.array(p) < 0.05) < 0.15


def test_what_has_no_deviance_is_an_error():
    qrels, answers, _ = made(0, questions=10)
    alike = Rated.answers(qrels, answers.assign(correct=1))
    refused(lambda: fit(RBP, {"p": VALUES}, alike), "all ratings are the same: there is nothing to fit to", BadRatings)
    refused(lambda: user_agreement(alike, ["RR"]), "all 10 ratings are 1: agreement is not defined", BadRatings)
    run = {q: {d: -float(i) for i, d in enumerate(passages)} for q, passages in zip(answers.question, answers.passages)}
    lists = Rated.lists(qrels, run, {q: number % 2 for number, q in enumerate(run)})
    refused(lambda: fit(RBP, {"p": VALUES}, lists, objective="deviance"), BadParameter)
    refused(lambda: fit_discount(DISCOUNT, lists, objective="deviance"), BadParameter)
    refused(lambda: user_agreement(lists, ["RR"], coefficient="auc"), BadParameter)


def test_scores_that_separate_the_answers_have_no_slope():
    """The report says so; held-out answers have no deviance."""
    qrels, answers, _ = made(0, questions=30)
    first = [qrels[q][passages[0]] for q, passages in zip(answers.question, answers.passages)]
    rated = Rated.answers(qrels, answers.assign(correct=first))
    found = fit(RBP, {"p": [0.2, 0.9]}, rated, default={"p": 0.9}, progress=False, cv=3, repeats=1)
    assert (found.values["p"], found.about["auc"]) == (0.2, 1.0)
    assert found.about["value"] < 1e-6
    assert found.folds["held_out"].isna().all()
    assert any("separate correct from wrong answers" in sentence for sentence in found.limits())
    assert any("without 3 folds" in sentence for sentence in found.limits())
    agreement = user_agreement(rated, ["P@1", "P@8"], cv=3, repeats=1, resamples=100)
    assert np.isnan(agreement.table.loc["P@1", "deviance"])
    assert agreement.table.loc["P@8", "deviance"] > 0
    assert any("No deviance of P@1" in sentence for sentence in agreement.limits())
    x, y = np.array([1.0, 2, 2, 3]), np.array([0, 0, 1, 1])  # separated but for one score
    assert np.isnan(logistic_deviance(x, y, np.ones((4, 1)), np.ones((4, 1))))
    assert not np.isnan(logistic_deviance(x, 1 - y[::-1][[0, 2, 1, 3]], np.ones((4, 1))))


DISCOUNT = "CWLA(C='prec(8)',A='utility($phi)',gain='binary',end='stop')"


def test_the_discount_of_answers_is_that_of_logistic_regression():
    rated, _ = answered(2, "RBP(p=0.7,rel=1)", questions=900)
    found = fit_discount(DISCOUNT, rated, depth=3, falling=False, default=None, cv=2, repeats=1, resamples=100)
    x = rated.scores([DISCOUNT.replace("$phi", f"table({one})") for one in ("1,0,0", "0,1,0", "0,0,1")]).to_numpy()
    x = (x - x.mean(axis=0)) / np.sqrt(((x - x.mean(axis=0)) ** 2).mean())
    ridge = LogisticRegression(C=1 / (2e-4 * len(x)), tol=1e-10, max_iter=10_000).fit(x, rated.ratings).coef_[0]
    assert (ridge > 0).all()
    assert found.discounts["phi"].to_numpy() == pytest.approx(ridge / ridge.max(), abs=1e-3)
    fitted = found.measure
    assert found.about["value"] == pytest.approx(model(scores(rated, fitted), rated.ratings).deviance / 900, abs=1e-9)
    assert found.about["auc"] == pytest.approx(roc_auc_score(rated.ratings, scores(rated, fitted)), abs=1e-12)


def recovered(name, seed, questions):
    _, of, span = KNOWN[name]
    Lengths.register("words_of_answers", WORDS)
    rated, abstention = answered(seed, lambda a: of(a, KNOWN[name][0]), questions=questions)
    return fit(lambda x: of(abstention, x), {"x": span}, rated, cv=2, repeats=1, progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_known_parameters_are_recovered(name):
    """The interval of the likelihood ratio has the true value, and is shorter than a quarter of the range."""
    true, _, (low, high) = KNOWN[name]
    row = recovered(name, 0, 300).parameters().iloc[0]
    assert row.nearly_low <= true <= row.nearly_high
    assert row.nearly_high - row.nearly_low < 0.25 * (high - low)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_intervals_have_the_true_value(name):
    """With a coverage of 95 %, fewer than 16 of 20 have it with a probability of 0.3 %; docs/studies.rst has a table."""
    rows = [recovered(name, seed, 100).parameters().iloc[0] for seed in range(20)]
    assert sum(row.nearly_low <= KNOWN[name][0] <= row.nearly_high for row in rows) >= 16


def test_nearly_best_values_are_those_of_a_likelihood_interval(rated):
    found = fit(RBP, {"p": [round(0.02 * step, 2) for step in range(1, 50)]}, rated, progress=False, cv=2, repeats=1)
    y = rated.ratings
    worst = found.about["value"] * len(y) + chi2.ppf(0.95, 1)
    inside = [p for p in found.candidates["p"] if model(scores(rated, f"RBP(p={p},rel=1)"), y).deviance <= worst]
    row = found.parameters().iloc[0]
    assert (row.nearly_low, row.nearly_high) == pytest.approx((min(inside), max(inside)), abs=0.021)


def test_commands_read_answers(prints, tmp_path):
    """Ids of passages that are numbers stay texts."""
    qrels, answers, _ = made(5, questions=30)
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 0{d[1:]} {g}\n" for q in qrels for d, g in qrels[q].items()))
    rows = [f"{q},0{d[1:]},{i % 2}\n" for i, (q, p) in enumerate(answers.to_numpy()[:, :2]) for d in p]
    (tmp_path / "answers.csv").write_text("question,docno,correct\n" + "".join(rows))
    given = (tmp_path / "qrels.txt", tmp_path / "answers.csv", "--cv", "3", "-o", tmp_path / "study")
    out = prints("study", "fit", *given, "-t", RBP, "-r", "p=0.3,0.6,0.9")
    assert "30 questions" in out
    assert "AUC" in out
    out = prints("study", "users", *given[:-1], tmp_path / "users", "-m", "P@3", "-m", "RR", "--resamples", "100")
    assert "30 answers to 30 questions" in out
    columns = (tmp_path / "users" / "tables" / "agreement.csv").read_text().splitlines()[0]
    assert columns.startswith("measure,auc,auc_low,auc_high,deviance,auc_p,pearson,")
    assert "kind" not in columns
    assert "AUC [interval]  the deviance" in out
    assert (tmp_path / "users" / "tables" / "prediction.csv").read_text().startswith("measure,compared_with,deviance")
