"""Tests of the agreement of measures with users: coefficients, intervals, tests, predictions, the grid, and findings."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy.stats import kendalltau, pearsonr, spearmanr, ttest_rel
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

from pyterrier_cwla.errors import BadParameter, BadRatings
from pyterrier_cwla.rendering.numbers import percent
from pyterrier_cwla.studies import Rated, chiir24_ratings, grid, plot_agreement, plot_bands, plot_cells, user_agreement
from pyterrier_cwla.studies.users.rating_correlations import (
    agreement_columns,
    corrected_t_test,
    difference_test,
    influence,
    nrmse,
    prediction_columns,
    williams_test,
)
from tests.papers.test_jiang_allan_2016 import folds, read
from tests.studies.fitting.test_parameter_fit import rated_grades
from tests.support.intervals import ends
from tests.support.messages import refused

MEASURES = ["ERR@5", "P(rel=2)@3", "nDCG@5"]


def agreement_of(*what, resamples=100, correction=None, **how):
    return user_agreement(*what, resamples=resamples, correction=correction, **how)


def with_baseline(rated, **how):
    return agreement_of(rated, MEASURES, baseline="nDCG@5", **how)


def rated_lists(n=60, users=0, impressions=False, exact=False):
    """Generate lists of eight documents with grades 0 to 2; ratings are the sum of the first three grades, plus noise."""
    rng = np.random.default_rng(0)
    grades = rng.choice(3, (n, 8), p=(0.6, 0.25, 0.15))
    worth = grades[:, :3].sum(axis=1) + rng.normal(size=n)
    return rated_grades(grades, worth if exact else np.clip(np.round(worth), 0, 4).astype(int), rng, users, impressions)


def rated_pairs(first=slice(0, None, 2), second=slice(1, None, 2)):
    rated = rated_lists(exact=True)
    names, worth = rated.table["query_id"].to_numpy(), rated.ratings
    size = np.round((worth[first] - worth[second]) / 2)
    pairs = pd.DataFrame({"first": names[first], "second": names[second], "rating": np.sign(size)})
    return Rated("pair", pairs, rated.shown)


@pytest.fixture(scope="module")
def found():
    return with_baseline(rated_lists(), correction="holm")


@pytest.mark.slow
def test_errors_are_those_of_scikit_learn_also_of_a_constant():
    rng = np.random.default_rng(1)
    y = rng.integers(1, 6, 43)
    x = np.stack([y + rng.normal(size=43), np.full(43, 0.3)], axis=1)
    for column, values in enumerate(x.T):
        score = "neg_root_mean_squared_error"
        expected = cross_val_score(LinearRegression(), values[:, None], y, cv=folds(2), scoring=score)
        for more, span in (({}, np.ptp(y)), ({"span": 7}, 7)):
            assert nrmse(x, y, seed=2, **more)[:, column] == pytest.approx(-expected / span, abs=1e-9)


def test_what_cannot_be_predicted():
    x, users = np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2]
    refused(lambda: nrmse(x, range(6)), "6 ratings cannot be split into 10 folds: give cv=3", BadParameter)
    refused(lambda: nrmse(x, range(6), cv=2, repeats=0), "repeats=0 must be a whole number from 1", BadParameter)
    refused(lambda: nrmse(x, [3] * 6, cv=2), "all ratings are the same", BadRatings)
    refused(lambda: nrmse(x, range(6), span=0, cv=2), "span=0 must be above 0", BadParameter)
    few = "3 users cannot be split into 4 folds: give cv=2"
    refused(lambda: nrmse(x, range(6), cv=4, users=users), few, BadParameter)


def test_folds_of_whole_users_predict_the_ratings_of_others():
    """Ratings of a held-out user are predicted by the regression on the ratings of the others, computed in loops."""
    rng = np.random.default_rng(3)
    users = np.repeat(np.arange(5), 4)
    x, y = rng.normal(size=20), rng.normal(size=20) + users
    errors = nrmse(x[:, None], y, cv=5, repeats=2, users=users)[:, 0]
    expected = []
    for user in range(5):
        others = users != user
        slope, height = np.polyfit(x[others], y[others], 1)
        expected.append(np.sqrt(np.mean((slope * x[~others] + height - y[~others]) ** 2)) / np.ptp(y))
    assert sorted(errors[:5]) == pytest.approx(sorted(expected))
    assert sorted(errors[5:]) == pytest.approx(sorted(expected))


def test_the_corrected_test_is_the_formula():
    """Nadeau and Bengio (2003): the variance is scaled by 1/J + n_test/n_train."""
    d = np.random.default_rng(0).normal(0.1, 1, (3, 100))
    t = [row.mean() / ((1 / 100 + 1 / 9) * row.var(ddof=1)) ** 0.5 for row in d]
    assert corrected_t_test(d, 1 / 9) == pytest.approx([2 * student.sf(abs(of), 99) for of in t])
    assert corrected_t_test(np.zeros((1, 10)), 1 / 9).tolist() == [1]


@pytest.mark.slow
def test_the_corrected_test_keeps_its_level_and_others_do_not():
    """Shares of false rejections, for two equally good measures, with one rating or ten by each user.

    Without the correction for folds, or with folds that part the ratings of users who prefer one of the measures, the
    test rejects too often.
    """
    rejected, samples = np.zeros(4), 100
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=60)
        errors = nrmse(y[:, None] + rng.normal(size=(60, 2)), y, cv=5, repeats=4, seed=seed)
        p = [corrected_t_test(errors[:, 0] - errors[:, 1], 1 / 4), ttest_rel(*errors.T).pvalue]
        users, x = np.repeat(np.arange(20), 10), rng.normal(size=(2, 200))
        y = x.sum(axis=0) + rng.normal(size=20)[users] * (x[0] - x[1])
        for together in (users, None):
            errors = nrmse(x.T, y, cv=8, repeats=2, seed=seed, users=together)
            p.append(corrected_t_test(errors[:, 0] - errors[:, 1], 1 / 7))
        rejected += np.array(p) < 0.05
    corrected, plain, of_users, parted = rejected / samples
    assert corrected < 0.12, "of ratings"
    assert 0.015 < of_users < 0.12
    assert plain > 0.25
    assert parted > 0.15


def test_every_coefficient_is_scipy_s_also_of_preferences(found):
    for name, function in (("pearson", pearsonr), ("spearman", spearmanr), ("tau_b", kendalltau)):
        for measure in MEASURES:
            expected = function(found.scores[measure].round(10), found.rated.ratings)
            assert found.table.loc[measure, [name, f"{name}_p"]].tolist() == pytest.approx([*expected], abs=1e-12)
    rated = rated_pairs()
    found = with_baseline(rated)
    for measure in MEASURES:
        x, y = found.scores[measure].round(10), rated.ratings
        assert found.table.loc[measure, "tau_b"] == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)
    assert "nrmse" not in found.table
    ties = percent((rated.ratings == 0).mean(), 0)
    assert f"{ties} of the pairs have no preference: the share of agreement is that of the others." in found.limits()


@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "tau_b", "weighted_pearson"])
def test_where_users_are_known_p_values_are_over_users(coefficient):
    found = agreement_of(rated_lists(users=12, impressions=True), MEASURES, coefficient)
    assert ("Pearson's r weighted by n" in found.findings()[0]) == (coefficient == "weighted_pearson")
    x, rated = found.scores["ERR@5"].to_numpy().round(10), found.rated
    weights, name = (rated.weights, "pearson") if coefficient == "weighted_pearson" else (None, coefficient)
    value = found.table.loc["ERR@5", coefficient]
    expected = difference_test(value, influence(x, rated.ratings, name, weights), rated.users)
    assert found.table.loc["ERR@5", f"{coefficient}_p"] == pytest.approx(float(expected), rel=1e-9)


def test_folds_are_of_whole_users_where_these_are_known():
    rated = rated_lists(users=7)
    found = agreement_of(rated, MEASURES, repeats=2)
    x = found.scores.round(10)
    expected = nrmse(x, rated.ratings, cv=7, repeats=2, users=rated.users).mean(axis=0)
    assert found.table["nrmse"].tolist() == pytest.approx(expected.tolist())
    assert found.about["nrmse"].startswith("2 random partitions into 7 folds of whole users")
    apart = agreement_of(rated_lists(), MEASURES, repeats=2)
    expected = nrmse(x, rated.ratings, repeats=2).mean(axis=0)
    assert apart.table["nrmse"].tolist() == pytest.approx(expected.tolist()), "Jiang and Allan's"
    assert apart.about["nrmse"].startswith("2 random partitions into 10 folds, over")


@pytest.mark.slow
def test_intervals_are_those_of_resampled_users():
    """Resamples are drawn in loops: each drawn user with all of their ratings, once per draw."""
    rated = rated_lists(users=12)
    found = with_baseline(rated, seed=3)
    drawn = np.random.default_rng(3).multinomial(12, np.full(12, 1 / 12), 100)
    x, y = found.scores.round(10), rated.ratings
    taus = []
    for counts in drawn:
        rows = [i for i, user in enumerate(rated.users) for _ in range(counts[user])]
        taus.append([kendalltau(x[measure].iloc[rows], y[rows]).statistic for measure in MEASURES])
    taus = np.array(taus)
    for number, (_, row) in enumerate(found.table.iloc[:2].iterrows()):
        slow = ends(row["tau_b"], taus[:, number], 12)
        assert [row["tau_b_low"], row["tau_b_high"]] == pytest.approx(slow, abs=1e-9)
        slow = ends(row["tau_b_difference"], taus[:, number] - taus[:, 2], 12, -2, 2)
        assert [row["tau_b_difference_low"], row["tau_b_difference_high"]] == pytest.approx(slow, abs=1e-9)


def test_pearson_s_difference_is_williams_test_for_independent_ratings(found):
    x, z, y = found.scores["ERR@5"], found.scores["nDCG@5"], found.rated.ratings
    r = [pearsonr(*pair).statistic for pair in ((x, y), (z, y), (x, z))]
    assert found.table.loc["ERR@5", "pearson_difference_p"] == pytest.approx(williams_test(*r, len(y))[1], rel=1e-9)
    over_users = with_baseline(rated_lists(users=60))
    assert over_users.table.loc["ERR@5", "pearson_difference_p"] != found.table.loc["ERR@5", "pearson_difference_p"]


def test_corrections_are_for_all_runs_but_the_baseline(found):
    assert found.table.loc["nDCG@5", [c for c in found.table if "difference" in c]].isna().all()
    assert found.table["compared_with"].fillna("").tolist() == ["nDCG@5", "nDCG@5", ""]
    assert found.marks()["nDCG@5"] == "a"
    alone = agreement_of(rated_lists(), MEASURES)
    assert not [c for c in alone.table if "difference" in c]
    assert set(alone.marks()) == {""}
    assert "differences" not in alone.tables()
    p = found.table["tau_b_difference_p"].iloc[:2].to_numpy()
    low, high = np.argsort(p)
    holm = found.table["tau_b_difference_p_corrected"].iloc[:2].to_numpy()
    assert holm[low] == pytest.approx(min(1, 2 * p[low]))
    assert holm[high] == pytest.approx(min(1, max(2 * p[low], p[high])))
    plain = with_baseline(rated_lists())
    assert plain.table["tau_b_difference_p_corrected"].iloc[:2].tolist() == pytest.approx(p.tolist())


def test_constant_measures_are_said_to_have_no_agreement():
    measures = {"same": "CWLA(C='rbp(0.8)',A='err',max_rel=2)", "ERR": "ERR"}
    found = agreement_of(rated_lists(), measures, baseline="ERR")
    assert found.table.drop(columns=["kind", "compared_with", "resamples"]).loc["same"].isna().all()
    assert found.table["kind"].tolist() == ["X", ""]
    assert any("same" in sentence and "X" in sentence for sentence in found.limits())


def test_what_users_look_at_agrees_best():
    """Ratings are the sum of the first three grades, so P@3 agrees better than a measure of rank 8."""
    measures = {"first 3": "CWLA(C='prec(3)',A='erg',max_rel=2)", "rank 8": "CWLA(C='prec(8)',A='fin',max_rel=2)"}
    found = agreement_of(rated_lists(n=200), measures, baseline="rank 8", correction="holm")
    assert found.ranked.index[0] == "first 3"
    assert found.marks()["first 3"] == "b"
    assert found.table.loc["first 3", "nrmse"] < found.about["nrmse_of_the_mean"]
    text = " ".join(found.findings())
    assert "1 of 1 measure agree significantly better with users than rank 8, 1 of them after the correction" in text


@pytest.mark.parametrize(
    "options, message",
    [
        ({"coefficient": "tau"}, "Near: 'tau_b'"),
        ({"coefficient": "weighted_pearson"}, "needs a column 'n'"),
        ({"coefficient": "weighted_tau_b"}, "test of it here. Give one of pearson, spearman, tau_b, weighted_pearson."),
        ({"coefficient": "nrmse"}, "there is no test of it here"),
        ({"coefficient": "agreement"}, "only preferences have a share of agreement. Give one of pearson,"),
        ({"baseline": "nDGC@5"}, "Near: 'nDCG@5'"),
        ({"confidence": 95}, "confidence=95 must be between 0 and 1"),
        ({"resamples": 10}, "resamples=10 must be a whole number from 100"),
        ({"order_free": "°"}, "must be 'number' or 'XX'"),
    ],
)
def test_options_that_there_are_not(options, message):
    refused(lambda: agreement_of(rated_lists(), MEASURES, **options), message, BadParameter)
    same = Rated("list", rated_lists().table.assign(rating=3), rated_lists().shown)
    refused(lambda: agreement_of(same, MEASURES), "all 60 ratings are 3", BadRatings)


def test_preferences_all_for_one_list_have_an_agreement():
    """The share of agreement is defined also if the winner is always named first."""
    pairs = rated_pairs()
    turned = pairs.table[pairs.ratings < 0].rename(columns={"first": "second", "second": "first"})
    table = pd.concat([pairs.table[pairs.ratings > 0], turned]).assign(rating=1.0)
    rated = Rated("pair", table, pairs.shown)
    found = agreement_of(rated, MEASURES, "agreement", baseline="nDCG@5")
    expected = agreement_of(pairs, MEASURES).table["agreement"]
    assert found.table["agreement"].to_numpy() == pytest.approx(expected.to_numpy())
    assert found.table[["pearson", "spearman", "tau_b", "pearson_p", "tau_b_difference_p"]].isna().all(axis=None)
    assert found.table["agreement_difference_p"].notna().tolist() == [True, True, False]
    assert "All preferences are for the same side: there are no correlations." in found.limits()
    assert " is constant in " not in str(found)
    assert found.pictures()
    refused(lambda: agreement_of(rated, MEASURES), "preferences are 1: correlations are not defined", BadRatings)


@pytest.fixture(scope="module")
def metrics():
    return grid(["prec(3)", "rbp(0.8)", "ap2('ranking')"], ["erg", "err", "avg", "fin"], max_rel=2)


@pytest.mark.slow
def test_cells_are_compared_with_the_canonical_metric_of_their_row(metrics):
    found = agreement_of(rated_lists(), metrics)
    assert found.table.loc["rbp(0.8) + avg", "compared_with"] == "rbp(0.8) + erg"
    assert found.table.loc["ap2(ranking) + erg", "compared_with"] == "ap2(ranking) + avg"
    numbers = found.cells()
    expected = kendalltau(found.scores["rbp(0.8) + avg"].round(10), found.rated.ratings).statistic
    assert numbers.loc["rbp(0.8)", "avg"] == pytest.approx(expected, abs=1e-12)
    marked = found.marked_cells()
    assert marked["err"].tolist()[:2] == ["X", "X"]
    assert marked.loc["rbp(0.8)", "erg"].endswith(" a")
    assert marked.loc["ap2(ranking)", "avg"].endswith(" a")
    assert "°" in marked.loc["ap2(ranking)", "fin"]
    assert np.isfinite(numbers.loc["ap2(ranking)", "fin"])
    equal = found.table.loc["rbp(0.8) + fin"]  # to rbp + erg
    assert equal[["tau_b_difference", "tau_b_difference_p"]].tolist() == pytest.approx([0, 1])
    found = agreement_of(rated_pairs(), metrics)
    assert found.marked_cells().loc["ap2(ranking)", "fin"] == "XX"
    assert np.isnan(found.table.loc["ap2(ranking) + fin", "tau_b"])
    as_number = agreement_of(rated_pairs(), metrics, order_free="number")
    assert np.isfinite(as_number.table.loc["ap2(ranking) + fin", "tau_b"])


@pytest.mark.slow
def test_better_and_worse_are_marked():
    """The marks are b and c for significant differences, and in brackets if only the uncorrected test is significant."""
    metrics = grid(["prec(3)", "rbp(0.8)", "rr"], max_rel=2)
    found = agreement_of(rated_lists(n=200), metrics, correction="holm")
    table, marks = found.table, found.marks()
    for name, row in table.iterrows():
        sure, maybe = row["tau_b_difference_p_corrected"] <= 0.05, row["tau_b_difference_p"] <= 0.05
        letter = "b" if row["tau_b_difference"] > 0 else "c"
        canonical = name in set(table["compared_with"].dropna())
        assert marks[name] == ("a" if canonical else letter if sure else f"({letter})" if maybe else "")
    assert {"a", "c"} <= set(marks)
    refused(lambda: agreement_of(rated_lists(), metrics, baseline="x"), "baseline= is for plain measures", BadParameter)
    refused(lambda: agreement_of(rated_lists(), MEASURES).cells(), "the measures are not a grid", BadParameter)


def test_bands_are_shares_of_ratings_and_keep_equal_scores_together(found):
    for measure in MEASURES:
        bands = found.bands(measure, 5)
        levels = [f"{level:g}" for level in np.unique(found.rated.ratings)]
        assert list(bands)[4:] == levels
        score = found.scores[measure].to_numpy().round(10)
        assert (bands["low"].to_numpy()[1:] > bands["high"].to_numpy()[:-1]).all()
        for _, band in bands.iterrows():
            inside = (score >= band["low"]) & (score <= band["high"])
            assert inside.sum() == band["n"]
            assert band["mean"] == pytest.approx(score[inside].mean())
            shares = [(found.rated.ratings[inside] == float(level)).mean() for level in levels]
            assert band[levels].tolist() == pytest.approx(shares)
        assert bands["n"].sum() == len(score)
    many = agreement_of(rated_lists(exact=True), ["ERR"])
    assert many.bands("ERR").iloc[:, 4:].shape[1] == 5
    refused(lambda: found.bands("ERR@55"), "Near: 'ERR@5'", BadParameter)
    refused(lambda: found.bands("ERR@5", 1), "bins=1 must be", BadParameter)
    same = agreement_of(rated_lists(), {"same": "CWLA(C='rbp(0.8)',A='err',max_rel=2)", "ERR": "ERR"})
    refused(lambda: same.bands("same"), "nothing to draw", BadParameter)


@pytest.mark.slow
def test_pictures_show_the_numbers_that_are_said(metrics):
    for rated, width in ((rated_lists(users=9), 7.0), (rated_pairs(), 3.3)):
        found = agreement_of(rated, metrics)
        pictures = found.pictures()
        assert list(pictures)[:2] == ["cells", "agreement"]
        assert len(pictures) >= 3
        for picture in pictures.values():
            ax = Figure(figsize=(width, picture.size[1])).subplots()
            assert picture.draw(ax) is ax
            assert len(ax.figure.axes) == 1
        drawn = plot_cells(found, Figure().subplots())
        written = {text.get_text().partition("$")[0] for text in drawn.texts}
        assert written == {text.partition(" ")[0] for text in found.marked_cells().to_numpy().ravel()}
        assert drawn.xaxis.get_tick_params()["labeltop"]
        bars = plot_bands(found, "rbp(0.8) + erg", Figure().subplots()).patches
        shares = found.bands("rbp(0.8) + erg").iloc[:, 4:].to_numpy().T.ravel()
        assert [bar.get_height() for bar in bars] == pytest.approx(shares.tolist())
        dots = [line for line in plot_agreement(found, Figure().subplots()).get_lines() if line.get_marker() == "o"]
        assert np.nanmax([dot.get_xdata() for dot in dots]) == pytest.approx(found.ranked["tau_b"].iloc[0])


def test_differences_have_no_noise():
    rated = rated_lists(n=80)
    scores = rated.scores(["ERR"])["ERR"].to_numpy().round(10)
    x = np.stack([scores, scores + 1e-10 * (np.arange(80) == 3)])
    reference = np.array([-1, 0])
    found = agreement_columns(rated, x, reference, "pearson", 0.95, None, 100, 0)
    assert found["pearson"][0] != found["pearson"][1]
    assert [found[f"pearson_difference{end}"][1] for end in ("", "_low", "_high", "_p")] == [0, 0, 0, 1]
    errors = nrmse(x.T, rated.ratings)
    assert np.ptp(errors, axis=1).max() > 0
    found = prediction_columns("nrmse", errors, np.zeros(2, bool), reference, 10, None)
    assert [found[f"nrmse_difference{end}"][1] for end in ("", "_p_t", "_p")] == [0, 1, 1]


@pytest.mark.slow
def test_ratings_are_labelled_in_order_where_a_bar_lacks_some():
    qrels = {f"q{number}": {"d": 1} for number in range(12)}
    run = {f"q{number}": {"x": 2.0, "d": 1.0} if number < 4 else {"d": 1.0} for number in range(12)}
    ratings = {f"q{number}": rating for number, rating in enumerate([1, 2, 3, 4] + 8 * [5])}
    study = agreement_of(Rated.lists(qrels, run, ratings), {"RR": "RR"})
    figure = Figure(figsize=(5, 3), layout="constrained")
    labels = plot_bands(study, "RR", figure.subplots()).texts
    figure.draw_without_rendering()
    places = sorted((Text.get_window_extent(text).y0, text.get_text()) for text in labels)  # without the leaders
    assert [text for _, text in places] == ["1", "2", "3", "4", "5"]


@pytest.mark.slow
def test_the_report_says_who_was_asked():
    found = agreement_of(rated_lists(users=9), MEASURES)
    assert found.title == "Agreement of 3 measures with 60 ratings of 9 users"
    text = str(found)
    assert "9 users are too few" in text
    assert "too few" not in str(agreement_of(rated_lists(users=20), MEASURES))
    assert "not for several users who rated the same lists" in text
    assert "and keeps users together" in str(with_baseline(rated_lists(users=9)))
    plain = with_baseline(rated_lists())
    assert "not for dependent ratings of one user" in str(plain)
    assert plain.headline().endswith("; it agrees significantly better than nDCG@5.")
    independent = agreement_of(rated_lists(impressions=True), MEASURES)
    assert "add a column 'user' to the ratings" in str(independent)
    assert "Coefficients whose names begin with weighted_ count each rating n times" in str(independent)
    assert all("60 ratings" in table.caption for table in independent.tables().values())
    assert "All ratings are by one user" in str(agreement_of(rated_lists(users=1), MEASURES))
    assert "in several pairs" not in str(agreement_of(rated_pairs(), MEASURES))
    chain = rated_pairs(slice(0, -1), slice(1, None))
    assert "Some lists are in several pairs" in str(agreement_of(chain, MEASURES))


@pytest.mark.slow
@pytest.mark.real_data
def test_folds_of_jiang_and_allan_are_much_too_sure(data):
    """In Table 3, adaptive GRBP (p = 0.6) beats static effort with p < 0.001; by the corrected test, it does not."""
    log = read(data / "jiang-sessions")
    rated = Rated.sessions(log.qrels, log.run, log.sessions, log.ratings)
    measures = {e: f"AdaptiveGRBP(p=0.6,effort='{e}')@9" for e in ("unit", "ratio(4)")}
    found = agreement_of(rated, measures, "pearson", baseline="unit", span=4)
    adaptive = found.table.loc["ratio(4)"]
    assert [round(adaptive["pearson"], 3), round(adaptive["nrmse"], 2)] == [0.463, 0.23]
    assert adaptive["nrmse_difference_p_t"] < 0.001
    assert adaptive["nrmse_difference_p"] > 0.05


@pytest.mark.slow
@pytest.mark.real_data
def test_users_of_chiir_24_like_what_is_at_the_top(data):
    rated = chiir24_ratings(data / "chiir24-satisfaction")
    found = agreement_of(rated, grid(["prec(5)", "rbp(0.8)"], ["erg", "err", "max", "fin"], max_rel=1))
    assert found.marked_cells()["err"].tolist() == ["X", "X"]
    assert (found.ranked["tau_b_low"] > 0).sum() >= 4
    assert any("710 ratings left out" in sentence for sentence in found.limits())
