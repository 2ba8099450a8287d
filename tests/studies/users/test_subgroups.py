"""Tests of correlations in subgroups of the ratings, against scipy for each subgroup."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

from pyterrier_cwla.errors import BadParameter, BadRatings
from pyterrier_cwla.studies.users.agreement_variation import _within, plot_splits, splits
from pyterrier_cwla.studies.users.rating_correlations import resample_counts
from pyterrier_cwla.studies.users.ratings import Rated
from tests.studies.fitting.test_parameter_fit import made, preferred
from tests.support.intervals import ends
from tests.support.messages import refused

RBP = {"RBP of users": "RBP(p=0.5,rel=1)", "P": "P@2"}


def with_columns(rated, **columns):
    return Rated(rated.what, rated.table.assign(**columns), rated.shown)


@pytest.fixture
def rated():
    rng = np.random.default_rng(1)
    kinds = rng.choice(["navigational", "other"], 60).astype(object)
    kinds[[3, 7]] = None
    return with_columns(made(), kind=kinds, frequency=np.round(rng.exponential(20, 60)), length=rng.integers(1, 5, 60))


def quick(*args, **more):
    return splits(*args, **{"resamples": 100, **more})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coefficient", "slow"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("tau_b", stats.kendalltau)]
)
def test_every_part_has_the_correlation_of_its_ratings(rated, coefficient, slow):
    found = quick(rated, RBP, by="kind", coefficient=coefficient, seed=4)
    scores, y = rated.scores(RBP), rated.ratings
    drawn = resample_counts(60, rated.users, 100, 4).astype(int)
    for part in ("navigational", "other", "all"):
        mine = np.ones(60, bool) if part == "all" else (rated.table["kind"] == part).to_numpy()
        for name in RBP:
            x = scores[name].to_numpy()
            row = found.table[(found.table["part"] == part) & (found.table["measure"] == name)].iloc[0]
            assert row["correlation"] == pytest.approx(slow(x[mine], y[mine])[0], abs=1e-9)
            assert row["ratings"] == mine.sum()
            loops = [slow(np.repeat(x[mine], n[mine]), np.repeat(y[mine], n[mine]))[0] for n in drawn.T]
            units = mine.sum() if rated.users is None else len(set(rated.users[mine]))
            assert [row["low"], row["high"]] == pytest.approx(ends(row["correlation"], loops, units), abs=1e-9)
    assert found.about["unknown"] == 2
    assert any("2 ratings" in limit for limit in found.limits())


def test_within_is_the_correlation_above_the_means_of_parts(rated):
    found = quick(rated, RBP, by="length")
    x = rated.scores(RBP)["RBP of users"]
    left = (values - values.groupby(rated.table["length"]).transform("mean") for values in (x, rated.table["rating"]))
    expected = stats.pearsonr(*left)[0]
    assert found.matrix().loc["RBP of users", "within"] == pytest.approx(expected, abs=1e-12)


def test_all_parts_may_be_below_the_whole():
    """Within each part there is no correlation; between the parts there is."""
    names = [f"q{i}" for i in range(8)]
    qrels = {q: {"a": 1} for q in names}
    place = [1, 2, 1, 2, 4, 5, 4, 5]
    run = {q: {f"x{i}": 9.0 - i for i in range(1, p)} | {"a": 9.0 - p} for q, p in zip(names, place)}
    ratings = pd.DataFrame({"query_id": names, "rating": [5, 5, 4, 4, 2, 2, 1, 1], "kind": list("aaaabbbb")})
    found = quick(Rated.lists(qrels, run, ratings), ["RR"], by="kind")
    assert found.parts["correlation"].tolist() == pytest.approx([0, 0], abs=1e-12)
    assert found.matrix().loc["RR", "within"] == pytest.approx(0, abs=1e-12)
    assert found.matrix().loc["RR", "all"] > 0.7
    assert any("amalgamation" in sentence for sentence in found.findings())


def test_bins_have_equal_numbers_and_part_no_ties(rated):
    found = quick(rated, RBP, by="frequency", bins=5)
    sizes = found.parts.drop_duplicates("part")["ratings"]
    assert sizes.sum() == 60
    assert sizes.between(8, 16).all()
    last = rated.table["frequency"] >= float(found.parts["part"].iloc[-1].split(" to ")[0])
    x = rated.scores(RBP)["P"][last]
    row = found.parts.iloc[-1]
    assert row["ratings"] == last.sum()
    assert row["correlation"] == pytest.approx(stats.pearsonr(x, rated.table["rating"][last])[0], abs=1e-9)
    assert len(quick(rated, RBP, by="length", bins=10).parts) == 2 * 4  # four different lengths, so four parts


def test_parts_may_be_called_as_the_whole_is(rated):
    kinds = np.array(["all", "within", "other"])[np.arange(60) % 3]
    named = quick(with_columns(rated, kind=kinds), RBP, by="kind")
    plain = quick(with_columns(rated, kind=np.array(["a", "b", "c"])[[0, 2, 1]][np.arange(60) % 3]), RBP, by="kind")
    for column in ("kind", "ratings", "measure"):
        assert named.table[column].tolist() == plain.table[column].tolist()
    of_whole = plain.table["kind"] != "part"
    pd.testing.assert_frame_equal(named.table[of_whole], plain.table[of_whole])
    assert sorted(named.parts["part"].unique()) == ["all", "other", "within"]
    assert named.matrix().columns.tolist() == ["all", "within", "all", "other", "within"]
    assert named.matrix().shape == plain.matrix().shape
    whole = named.table[(named.table["measure"] == "RBP of users") & of_whole].set_index("kind")["correlation"]
    assert f"RBP of users: {whole['all']:.3f} over all, {whole['within']:.3f} within parts" in named.findings()[0]
    named.pictures()["splits"].draw(Figure().subplots())


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_what_is_the_same_within_every_part_has_no_correlation_there(rated, scale):
    """Constant values have no correlation despite rounding: the mean of three equal values of 1/3 is not exact."""
    length = rated.table["length"].to_numpy()
    flat = np.array([0.1, 0.7, 1 / 3, 0.9, 0.2])[length]
    varying = flat + np.random.default_rng(0).normal(0, 1, 60)
    counts = np.random.default_rng(1).multinomial(60, np.full(60, 1 / 60), 50).T.astype(float)
    found = _within(scale * np.column_stack([flat, varying]), rated.ratings, counts, length)
    assert np.isnan(found[0]).all()
    for n, r in zip(counts.T.astype(int), found[1], strict=True):
        rows = pd.DataFrame({"x": varying, "y": rated.ratings, "part": length}).loc[np.repeat(np.arange(60), n)]
        above = rows[["x", "y"]] - rows.groupby("part")[["x", "y"]].transform("mean")
        assert r == pytest.approx(stats.pearsonr(above["x"], above["y"])[0], abs=1e-4 if scale < 1 else 1e-9)


@pytest.mark.slow
def test_constants_have_no_correlation_and_findings_say_so(rated):
    nothing = {"nothing": "CWLA(C='rbp(0.5)',A='erg',gain='table({1:0,2:0})')"}
    for coefficient in ("pearson", "spearman"):
        found = quick(rated, nothing, by="kind", coefficient=coefficient)
        assert found.findings()[0].startswith("nothing: none over all")
        assert "nan" not in str(found)
        found.pictures()["splits"].draw(Figure().subplots())
    quick(rated, nothing, by="length", bins=3).pictures()["splits"].draw(Figure().subplots())


def test_small_parts_are_left_out_and_counted(rated):
    kinds = ["rare", "rare", *["usual"] * 58]
    found = quick(with_columns(rated, kind=kinds), RBP, by="kind")
    assert found.parts["part"].unique().tolist() == ["usual"]
    assert (found.about["small_parts"], found.about["in_small_parts"]) == (1, 2)
    assert found.table.query("kind == 'within'")["ratings"].tolist() == [58, 58]
    refused(lambda: quick(rated, RBP, by="query_id"), "no part by 'query_id'", BadRatings)


@pytest.mark.parametrize(("more", "says"), [
    ({"by": "kidn"}, "no column 'kidn' to split by. Near: 'kind'"),
    ({"by": "rating"}, "no column 'rating'"),
    ({"by": "kind", "bins": 3}, "is not a column of numbers"),
    ({"by": "length", "bins": 1}, "bins=1"),
    ({"by": "kind", "coefficient": "weighted_pearson"}, "needs a column 'n'"),
    ({"by": "kind", "coefficient": "nrmse"}, "parts of the ratings have correlations only. Give one of pearson"),
    ({"by": "kind", "resamples": 1}, "resamples=1"),
    ({"by": "kind", "confidence": 1}, "confidence=1"),
])  # fmt: skip
def test_what_does_not_go_together_is_an_error(rated, more, says):
    refused(lambda: quick(rated, RBP, **more), says, BadParameter)
    refused(lambda: quick(preferred(), RBP, by="first"), "preferences have no correlation", BadParameter)


@pytest.mark.slow
def test_pictures_show_their_data(rated):
    for found, at in ((quick(rated, RBP, by="kind"), "x"), (quick(rated, RBP, by="frequency", bins=4), "y")):
        axes = found.pictures()["splits"].draw(Figure().subplots())
        assert plot_splits(found).get_title(loc="left") == axes.get_title(loc="left")
        assert axes.get_title(loc="left").endswith("60 rated lists of 12 users")
        size = found.parts["part"].nunique()
        drawn = [line for line in axes.get_lines() if line.get_marker() not in ("", "None")]
        for line, name in zip([line for line in drawn if len(line.get_xdata()) == size], RBP, strict=True):
            expected = found.parts.loc[found.parts["measure"] == name, "correlation"].tolist()
            assert list(line.get_xdata() if at == "x" else line.get_ydata()) == expected
        bars = np.concatenate([line for part in axes.collections for line in part.get_segments()])
        assert {*found.parts[["low", "high"]].stack()} <= {*bars[:, "xy".index(at)]}
    assert len(found.tables()["splits"].frame) == 2 * 6
