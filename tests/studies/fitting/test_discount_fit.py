"""Tests of learned discounts, against loops from the equations and scikit-learn's least squares with bounds."""

import io
import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

from pyterrier_cwla.behaviour import InteractionLog, click_metrics, weighted_correlation
from pyterrier_cwla.errors import BadParameter, BadRatings, CWLAError
from pyterrier_cwla.model import discount
from pyterrier_cwla.studies.fitting.discount_fit import _logistic, fit_discount
from pyterrier_cwla.studies.users.rating_correlations import resample_counts, training_folds
from pyterrier_cwla.studies.users.ratings import Rated
from tests.studies.fitting.test_parameter_fit import rated_grades
from tests.support.messages import refused

CASCADE = "Cascade(phi='$phi',max_rel=2)"
PHI = (1, 0.8, 0.8, 0.3, 0.1)


def run_of(lists, depth=5):
    return {q: {f"d{i}": -float(i) for i in range(depth)} for q in lists}


def satisfied(grades, gamma=1.0):
    """Chapelle et al. (2009), Eq. 2 and section 7.2: γ^(i−1)·R_i·Π_{j<i}(1 − R_j) with R = (2^g − 1)/2^2."""
    shares, looking = [], 1.0
    for grade in grades:
        R = (2**grade - 1) / 4
        shares.append(looking * R)
        looking *= gamma * (1 - R)
    return shares


def made(seed=0, lists=60, noise=0.3, phi=PHI, users=0, weights=False):
    """Generate lists of 5 with grades 0 to 2; ratings are 2 + 3·Σ φ(i)·x_i plus noise."""
    rng = np.random.default_rng(seed)
    grades = rng.choice([0, 0, 1, 2], (lists, len(phi)))
    x = np.array([satisfied(row.tolist()) for row in grades])
    return rated_grades(grades, 2 + 3 * x @ np.array(phi) + rng.normal(0, noise, lists), rng, users, weights), x


def preferred():
    rated, x = made()
    names, ratings, rng = rated.table["query_id"].to_numpy(), rated.ratings, np.random.default_rng(0)
    first = rng.integers(len(names), size=150)
    second = (first + rng.integers(1, len(names), size=150)) % len(names)
    difference = (ratings[first] - ratings[second]).round()
    frame = pd.DataFrame({"first": names[first], "second": names[second], "preference": difference})
    compared = Rated.preferences(rated.shown.judgments, run_of(names), frame)
    row = dict(zip(names, x, strict=True))
    differences = [row[a] - row[b] for a, b in compared.table[["first", "second"]].to_numpy()]
    return compared, np.array(differences)


def quick(rated, template=CASCADE, depth=5, **more):
    return fit_discount(template, rated, depth, **{"cv": 3, "repeats": 2, "resamples": 100} | more)


def slow(x, y, n=None, falling=True):
    """Least squares with coefficients of at least 0 by scikit-learn, on sums over ranks if φ must fall."""
    columns = np.array([[sum(row[: j + 1]) if falling else row[j] for j in range(len(row))] for row in x])
    found = LinearRegression(positive=True, tol=1e-12).fit(columns, y, sample_weight=n).coef_
    phi = [sum(found[i:]) for i in range(len(found))] if falling else list(found)
    return np.array(phi) / max(phi)


def near(phi):
    return pytest.approx(list(phi), rel=6e-4, abs=1e-4)  # φ has four digits


@pytest.mark.parametrize("falling", [True, False])
def test_without_noise_the_discount_of_the_ratings_is_found(falling):
    """With φ(2) > φ(1), the bound φ(1) ≥ φ(2) makes them equal."""
    rated, x = made(noise=0, phi=(0.5, 1, 0.2, 0, 0.1))
    risen = quick(rated, falling=falling)
    assert risen.discounts["phi"].tolist() == near(slow(x, rated.ratings) if falling else (0.5, 1, 0.2, 0, 0.1))
    assert any("At ranks 2" in limit for limit in risen.limits()) == falling
    rated, x = made(noise=0)
    found = quick(rated, falling=falling)
    assert found.discounts["phi"].tolist() == near(PHI)
    assert found.about["value"] == pytest.approx(1)
    assert found.phi == "table(1,0.8,0.8,0.3,0.1)"
    assert repr(found.measure) == "Cascade(phi='table(1,0.8,0.8,0.3,0.1)',max_rel=2)"
    assert found.discounts["with_gain"].tolist() == [sum(row[i] > 0 for row in x) for i in range(5)]
    assert found.discounts["default"].tolist() == [1 / i for i in range(1, 6)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("falling", [True, False])
@pytest.mark.parametrize("weights", [True, False])
def test_ratings_are_fitted_as_by_another_library(seed, falling, weights):
    rated, x = made(seed, noise=1.5, weights=weights)
    objective = "weighted_pearson" if weights else "pearson"
    found = quick(rated, falling=falling, objective=objective)
    n = rated.weights if weights else np.ones(len(rated))
    assert found.discounts["phi"].tolist() == near(slow(x, rated.ratings, n, falling))
    score = rated.scores([found.measure]).iloc[:, 0]
    assert found.about["value"] == pytest.approx(weighted_correlation(score, rated.table["rating"], n), abs=1e-9)


def slow_of_preferences(x, y, falling):
    """Likelihood of P(first preferred) = 1/(1 + exp(−Σ φ(i)·x_i)), with the ridge penalty, in a loop over pairs."""
    size = math.sqrt(np.mean([sum(row[: j + 1]) ** 2 if falling else row[j] ** 2 for row in x for j in range(5)]))

    def phi_of(d):
        return [sum(d[i:]) for i in range(5)] if falling else list(d)

    def loss(d):
        total = 0.0
        for row, preference in zip(x.tolist(), y.tolist(), strict=True):
            total += math.log1p(math.exp(-preference * sum(p * gain for p, gain in zip(phi_of(d), row)) / size))
        return total / len(y) + 1e-4 * sum(step**2 for step in d)

    found = minimize(loss, [1.0] * 5, bounds=[(0, None)] * 5, method="SLSQP", options={"ftol": 1e-13, "maxiter": 500})
    phi = np.array(phi_of(found.x))
    return phi / phi.max()


@pytest.mark.slow
@pytest.mark.parametrize("falling", [True, False])
def test_preferences_are_fitted_by_their_likelihood_without_ties(falling):
    rated, x = preferred()
    found = quick(rated, falling=falling)
    y = rated.ratings
    assert (y == 0).any()
    expected = slow_of_preferences(x[y != 0], y[y != 0], falling)
    assert found.discounts["phi"].tolist() == pytest.approx(expected.tolist(), abs=2e-3)
    d = np.round(rated.scores([found.measure]).iloc[:, 0].to_numpy()[y != 0], 10)
    agreed = [1.0 if a * b > 0 else 0.5 if a == 0 else 0.0 for a, b in zip(d, y[y != 0])]
    assert found.about["objective"] == "agreement"
    assert found.about["value"] == pytest.approx(np.mean(agreed))


def test_the_likelihood_of_preferences_has_its_maximum():
    x = np.random.default_rng(0).normal(0.3, 1, (200, 4))
    x = x / np.sqrt((x**2).mean())
    d = _logistic(x, np.ones(200), np.ones(200), intercept=False)
    assert (d > 0).all()
    assert 2e-4 * d - (x / (1 + np.exp(x @ d))[:, None]).mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-8)


@pytest.mark.parametrize(("target", "phi"), [("MaxRR", (1, 1 / 2, 1 / 3)), ("UCTR", (1, 1, 1))])
def test_the_discount_of_click_metrics_of_cascade_users_is_found(target, phi):
    """Users of each list are all equally likely outcomes of R = ½: 1/rank of their click has φ(i) = 1/i, a click 1."""
    rows = []
    for topic, grades in enumerate(itertools.product([0, 1], repeat=3)):
        for user, likes in enumerate(itertools.product([False, True], repeat=3)):
            clicked = next((i for i in range(3) if grades[i] and likes[i]), None)
            rows += [
                (f"u{user}", f"{topic}/{user}", f"t{topic}", i + 1, f"d{i}", i == clicked, grades[i]) for i in range(3)
            ]
    rows = pd.DataFrame(rows, columns=["user", "session", "topic", "rank", "docno", "clicked", "grade"])
    clicks = click_metrics(InteractionLog.of(rows), depth=3)
    table = clicks.configurations.reset_index().rename(columns={"configuration": "query_id", target: "rating"})
    rated = Rated.lists(clicks.qrels, clicks.run, table[["query_id", "rating", "n"]])
    found = quick(rated, "Cascade(phi='$phi',gain='table({1:0.5})')", 3, objective="weighted_pearson")
    assert found.discounts["phi"].tolist() == near(phi)
    assert found.about["value"] == pytest.approx(1)


def test_other_continuations_have_discounts_too():
    """Under rbp, x_i is p^(i−1)·r_i."""
    rated, _ = made(noise=1)
    grades = np.random.default_rng(0).choice([0, 0, 1, 2], (60, 5))  # those of `made`
    x = [[0.7**i * grade / 2 for i, grade in enumerate(row)] for row in grades.tolist()]
    template = "CWLA(C='rbp(0.7)',A='utility($phi)',gain='linear',max_rel=2)"
    found = quick(rated, template)
    assert found.discounts["phi"].tolist() == near(slow(x, rated.ratings))
    assert quick(rated, lambda phi: template.replace("$phi", phi)).phi == found.phi
    rated, x = made(lists=60, noise=0)
    lists = rated.table["query_id"].tolist()
    sessions = {f"s{number}": lists[2 * number : 2 * number + 2] for number in range(30)}
    ratings = {name: 1 + np.mean([x[lists.index(q)] @ PHI for q in queries]) for name, queries in sessions.items()}
    rows = pd.DataFrame([(name, q, q, i) for name, queries in sessions.items() for i, q in enumerate(queries)],
                        columns=["session", "query_id", "list", "order"])  # fmt: skip
    asked = Rated.sessions(rated.shown.judgments, run_of(lists), rows, ratings, judged_by="list")
    assert quick(asked).discounts["phi"].tolist() == near(PHI)


@pytest.mark.parametrize("users", [0, 12])
def test_folds_learn_without_what_they_are_held_against(users):
    rated, x = made(1, noise=1, users=users)
    found = quick(rated, default="log2")
    train = training_folds(rated, 3, 2, 0) > 0
    default = rated.scores(["Cascade(phi='log2',max_rel=2)"]).iloc[:, 0].to_numpy()
    y = rated.ratings
    for chosen, row in zip(train.T, found.folds.to_dict("records"), strict=True):
        phi = np.array([row[f"phi({i})"] for i in range(1, 6)])
        assert phi.tolist() == near(slow(x[chosen], y[chosen]))
        assert row["chosen_by"] == pytest.approx(np.corrcoef(x[chosen] @ phi, y[chosen])[0, 1])
        assert row["held_out"] == pytest.approx(np.corrcoef(x[~chosen] @ phi, y[~chosen])[0, 1])
        assert row["default"] == pytest.approx(np.corrcoef(default[~chosen], y[~chosen])[0, 1])
    assert found.about["default_value"] == pytest.approx(np.corrcoef(default, y)[0, 1])
    d = found.folds["held_out"] - found.folds["default"]
    assert found.gain["held_out"] == pytest.approx(d.mean())
    assert found.about["folds_by"] == ("user" if users else "rating")


@pytest.mark.slow
@pytest.mark.parametrize("users", [0, 12])
def test_intervals_are_percentiles_of_resamples(users):
    rated, x = made(2, noise=1, users=users)
    found = quick(rated, confidence=0.8, seed=3)
    counts = resample_counts(len(rated), rated.users, 100, 3)
    drawn = np.array([slow(x, rated.ratings, n) for n in counts.T])
    low, high = np.quantile(drawn, [0.1, 0.9], axis=0)
    assert found.discounts["phi_low"].tolist() == near(low)
    assert found.discounts["phi_high"].tolist() == near(high)


@pytest.mark.slow
def test_intervals_cover_the_discount_in_any_unit_of_ratings():
    inside, phi = [], np.array(PHI)
    for seed in range(60):
        rated, _ = made(seed, lists=150, noise=0.5)
        found = quick(rated, resamples=200, repeats=1).discounts
        inside.append((found["phi_low"] <= phi) & (phi <= found["phi_high"]))
    assert np.mean(inside, axis=0)[1:].min() > 0.85
    for scale, shift in ((0.01, 50), (100, -50)):
        other = Rated("list", rated.table.assign(rating=shift + scale * rated.ratings), rated.shown)
        assert quick(other, resamples=200, repeats=1).discounts["phi"].tolist() == near(found["phi"])


@pytest.mark.slow
@pytest.mark.nightly
def test_preferences_have_a_finite_discount_whatever_the_sides():
    """The ridge penalty keeps the likelihood of preferences that scores reproduce from rising without end."""
    pairs, _ = preferred()
    turned = pairs.table.rename(columns={"first": "second", "second": "first"}).assign(rating=-pairs.ratings)
    mixed = Rated("pair", pd.concat([pairs.table[::2], turned[1::2]]), pairs.shown)
    assert quick(mixed).discounts["phi"].tolist() == near(quick(pairs).discounts["phi"])
    rated, x = made(noise=0)
    names, order = rated.table["query_id"].to_numpy(), np.argsort(x @ PHI)
    table = pd.DataFrame({"first": names[order[1:]], "second": names[order[:-1]], "preference": 1})
    found = quick(Rated.preferences(rated.shown.judgments, run_of(names), table))
    assert found.discounts["phi"].between(0, 1).all()
    assert found.about["value"] > found.about["default_value"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"depth": 6}, r"the ratings do not determine φ\(6\): gains at this rank are the same in all of 60 rated lists,"
                       r" or follow from those at the ranks before. Give depth=5, or more ratings\."),
        ({"template": "Cascade(phi='$phi',max_rel=2)@2"}, r"do not determine φ\(3\).*Give depth=2"),
        ({"template": "CWLA(C='dcg(5)',A='utility($phi)',max_rel=2,norm='ideal')"},
         r"is not a sum of gains times φ.*norm='ideal'"),
        ({"template": "Cascade(phi='log2')"}, r"has no \$phi"),
        ({"template": "Cascade(phi='$phi',gain='raw')"}, "is defined for gains of at most 1"),
        ({"template": "Cascade(gamma=$g,phi='$phi',max_rel=2)"}, r"has \$g, but no range"),
        ({"objective": "tau_b"}, r"objective='tau_b': least squares maximise Pearson's r .* fit\(\) has the other"),
        ({"objective": "agreement"}, "ratings of lists have no such objective. Give one of pearson, weighted_pearson"),
        ({"objective": "weighted_pearson"}, "needs a column 'n'"),
        ({"default": "reziprocal"}, "no discount 'reziprocal'.*Near: 'reciprocal'"),
        ({"depth": 0}, "depth=0 must be a whole number from 1"), ({"cv": 1}, "cv=1"), ({"repeats": 0}, "repeats=0"),
        ({"resamples": 9}, "resamples=9"), ({"confidence": 95}, "confidence=95"), ({"cv": 61}, "cannot be split into 61"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_is_an_error(more, says):
    with pytest.raises(CWLAError, match=says):
        quick(made()[0], **more)


def test_ratings_that_determine_nothing_are_an_error():
    rated, _ = made()
    same, opposite = (Rated("list", rated.table.assign(rating=of), rated.shown) for of in (3.0, -rated.ratings))
    refused(lambda: quick(same, depth=1), "all ratings are the same", BadRatings)
    refused(lambda: quick(opposite, depth=1), "no discount of positive values that fall", BadRatings)
    refused(lambda: quick(rated.only([0, 1, 2, 3, 4]), cv=2), "φ(5)", "Give depth=4", BadRatings)
    pairs, _ = preferred()
    none = Rated("pair", pairs.table.assign(rating=0.0), pairs.shown)
    refused(lambda: quick(none), "no pair has a preference", BadRatings)
    refused(lambda: quick(pairs, objective="pearson"), "ratings of pairs have no such objective", BadParameter)
    # Every list has one relevant document: a constant can be added to all φ, unless depth leaves a rank out
    names = [f"q{number}" for number in range(12)]
    qrels = {q: {f"d{i}": int(i == number % 4) for i in range(4)} for number, q in enumerate(names)}
    rated = Rated.lists(qrels, run_of(names, 4), {q: [5, 4, 3, 3][number % 4] for number, q in enumerate(names)})
    template = "Cascade(phi='$phi',gain='binary')"
    refused(lambda: quick(rated, template, 4), "φ(4)", "Give depth=3", BadRatings)
    assert quick(rated, template, 3).phi == "table(1,0.5,0)"


@discount
def halved(i):
    return 0.5 ** (i - 1)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["ratings", "users and weights", "preferences", "no default", "own default"])
def test_reports_and_sentences(tmp_path, what):
    rated = preferred()[0] if what == "preferences" else made(users=9 * ("users" in what), weights="users" in what)[0]
    default = {"no default": None, "own default": "halved"}.get(what, "reciprocal")
    found = quick(rated, default=default, objective="weighted_pearson" if "users" in what else None)
    assert found.report(tmp_path / "report").exists()
    tables = found.tables()
    assert set(tables) == {"summary", "discounts", "folds"}
    assert tables["summary"].frame["measure"].tolist() == ["learned", "default"][: 2 - (default is None)]
    assert (found.gain is None) is (default is None)
    text = str(found)
    assert found.phi in text
    assert "nan" not in text
    assert "φ(1) = 1 [" in text
    assert "φ is known up to a factor" in text
    if default is not None:
        assert default in found.headline()
    if what == "own default":
        assert found.discounts["default"].tolist() == [1, 0.5, 0.25, 0.125, 0.0625]
    if what == "preferences":
        assert "the share of agreement of another φ may be higher" in text
    drawn = found.pictures()["discounts"].draw(Figure().subplots())
    drawn.figure.savefig(io.BytesIO())
    assert pickle.loads(pickle.dumps(found)).phi == found.phi
