"""Tests of agreement with users along a parameter and in parts of the ratings, against scipy and loops."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

from pyterrier_cwla.errors import BadParameter, BadRatings
from pyterrier_cwla.studies import Rated, plot_change, plot_sensitivity, sensitivity
from pyterrier_cwla.studies.correlation import around
from pyterrier_cwla.studies.users import agreement_variation
from pyterrier_cwla.studies.users.agreement_variation import _within, plot_splits, splits
from pyterrier_cwla.studies.users.rating_correlations import resample_counts
from tests.studies.fitting.test_parameter_fit import made, preferred
from tests.support.intervals import ends
from tests.support.messages import refused

RATIO = "AdaptiveRBP(p=0.6,effort='ratio($e)')"
RBP = {"RBP of users": "RBP(p=0.5,rel=1)", "P": "P@2"}
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "tau_b": stats.kendalltau}


def with_columns(rated, **columns):
    return Rated(rated.what, rated.table.assign(**columns), rated.shown)


@pytest.fixture
def rated():
    rng = np.random.default_rng(1)
    kinds = rng.choice(["navigational", "other"], 60).astype(object)
    kinds[[3, 7]] = None
    return with_columns(made(), kind=kinds, frequency=np.round(rng.exponential(20, 60)), length=rng.integers(1, 5, 60))


def parted(*args, **more):
    return splits(*args, **{"resamples": 100, **more})


@pytest.mark.slow
@pytest.mark.parametrize("coefficient", [*SCIPY, "weighted_pearson"])
def test_every_part_has_the_correlation_of_its_ratings(rated, coefficient):
    """Ratings with weights count as often."""
    rated, slow = with_columns(rated, n=rated.table["length"]), SCIPY[coefficient.removeprefix("weighted_")]
    found = parted(rated, RBP, by="kind", coefficient=coefficient, seed=4)
    scores, y = rated.scores(RBP), rated.ratings
    once = rated.weights.astype(int) if "weighted" in coefficient else np.ones(60, int)
    drawn = once[:, None] * resample_counts(60, rated.users, 100, 4).astype(int)
    for part in ("navigational", "other", "all"):
        mine = np.ones(60, bool) if part == "all" else (rated.table["kind"] == part).to_numpy()
        for name in RBP:
            x = scores[name].to_numpy()
            row = found.table[(found.table["part"] == part) & (found.table["measure"] == name)].iloc[0]
            assert row["ratings"] == mine.sum()
            counts = [n[mine] for n in (once, *drawn.T)]
            value, *loops = (slow(np.repeat(x[mine], n), np.repeat(y[mine], n))[0] for n in counts)
            assert row["correlation"] == pytest.approx(value, abs=1e-9)
            units = mine.sum() if rated.users is None else len(set(rated.users[mine]))
            assert [row["low"], row["high"]] == pytest.approx(ends(row["correlation"], loops, units), abs=1e-9)
    assert found.about["unknown"] == 2
    assert any("2 ratings" in limit for limit in found.limits())


def test_within_is_the_correlation_above_the_means_of_parts(rated):
    found = parted(rated, RBP, by="length")
    x = rated.scores(RBP)["RBP of users"]
    left = (values - values.groupby(rated.table["length"]).transform("mean") for values in (x, rated.table["rating"]))
    expected = stats.pearsonr(*left)[0]
    assert found.matrix().loc["RBP of users", "within"] == pytest.approx(expected, abs=1e-12)
    # Within each part there is no correlation; between the parts there is
    names = [f"q{i}" for i in range(8)]
    qrels = {q: {"a": 1} for q in names}
    place = [1, 2, 1, 2, 4, 5, 4, 5]
    run = {q: {f"x{i}": 9.0 - i for i in range(1, p)} | {"a": 9.0 - p} for q, p in zip(names, place)}
    ratings = pd.DataFrame({"query_id": names, "rating": [5, 5, 4, 4, 2, 2, 1, 1], "kind": list("aaaabbbb")})
    found = parted(Rated.lists(qrels, run, ratings), ["RR"], by="kind")
    assert found.parts["correlation"].tolist() == pytest.approx([0, 0], abs=1e-12)
    assert found.matrix().loc["RR", "within"] == pytest.approx(0, abs=1e-12)
    assert found.matrix().loc["RR", "all"] > 0.7
    assert any("amalgamation" in sentence for sentence in found.findings())


def test_bins_have_equal_numbers_and_small_parts_are_left_out(rated):
    found = parted(rated, RBP, by="frequency", bins=5)
    sizes = found.parts.drop_duplicates("part")["ratings"]
    assert sizes.sum() == 60
    assert sizes.between(8, 16).all()
    last = rated.table["frequency"] >= float(found.parts["part"].iloc[-1].split(" to ")[0])
    x = rated.scores(RBP)["P"][last]
    row = found.parts.iloc[-1]
    assert row["ratings"] == last.sum()
    assert row["correlation"] == pytest.approx(stats.pearsonr(x, rated.table["rating"][last])[0], abs=1e-9)
    assert len(parted(rated, RBP, by="length", bins=10).parts) == 2 * 4  # four different lengths, so four parts
    kinds = ["rare", "rare", *["three"] * 3, *["usual"] * 55]
    found = parted(with_columns(rated, kind=kinds), RBP, by="kind")
    assert found.parts["part"].unique().tolist() == ["three", "usual"]
    assert (found.about["small_parts"], found.about["in_small_parts"]) == (1, 2)
    assert found.table.query("kind == 'within'")["ratings"].tolist() == [58, 58]
    refused(lambda: parted(rated, RBP, by="query_id"), "no part by 'query_id'", BadRatings)


def test_parts_may_be_called_as_the_whole_is(rated):
    kinds = np.array(["all", "within", "other"])[np.arange(60) % 3]
    named = parted(with_columns(rated, kind=kinds), RBP, by="kind")
    plain = parted(with_columns(rated, kind=np.array(["a", "b", "c"])[[0, 2, 1]][np.arange(60) % 3]), RBP, by="kind")
    for column in ("kind", "ratings", "measure"):
        assert named.table[column].tolist() == plain.table[column].tolist()
    of_whole = plain.table["kind"] != "part"
    pd.testing.assert_frame_equal(named.table[of_whole], plain.table[of_whole])
    assert named.matrix().columns.tolist() == ["all", "within", "all", "other", "within"]
    whole = named.table[(named.table["measure"] == "RBP of users") & of_whole].set_index("kind")["correlation"]
    assert f"RBP of users: {whole['all']:.3f} over all, {whole['within']:.3f} within parts" in named.findings()[0]


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
        found = parted(rated, nothing, by="kind", coefficient=coefficient)
        assert found.findings()[0].startswith("nothing: none over all")
        assert "nan" not in str(found)
        found.pictures()["splits"].draw(Figure().subplots())
    parted(rated, nothing, by="length", bins=3).pictures()["splits"].draw(Figure().subplots())
    text = "CWLA(C='rbp(0.5)',A='erg',gain='table({1:$g,2:$g})')"
    templates = {"some": text, "nothing": lambda g: "CWLA(C='rbp(0.5)',A='erg',gain='table({1:0,2:0})')"}
    found = along(templates, {"g": [0, 0.5]}, made())
    assert "some: with g = 0" in found.findings()[0]
    assert "highest" in found.findings()[0]
    assert found.findings()[1] == "nothing: all rated items have the same score for every g: there is no correlation."
    nothing = along({"nothing": templates["nothing"]}, {"g": [0, 0.5]}, made())
    assert "nan" not in str(nothing)
    for picture in (*found.pictures().values(), *nothing.pictures().values()):
        picture.draw(Figure().subplots())
    found = around(np.array([0.5, 0.2]), np.array([[np.nan, 0.1, np.nan], [0.1, np.nan, 0.3]]), 0.95, 3)
    assert np.isnan(found[:, 0]).all()
    assert found[:, 1] == pytest.approx([max(-1, 0.2 - 4.302653 * 0.02**0.5), min(1, 0.2 + 4.302653 * 0.02**0.5)])


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
def test_parts_that_there_are_not(rated, more, says):
    refused(lambda: parted(rated, RBP, **more), says, BadParameter)
    refused(lambda: parted(preferred(), RBP, by="first"), "preferences have no correlation", BadParameter)


@pytest.mark.slow
def test_pictures_of_parts_show_their_data(rated):
    for found, at in ((parted(rated, RBP, by="kind"), "x"), (parted(rated, RBP, by="frequency", bins=4), "y")):
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


def along(*args, **more):
    return sensitivity(*args, **{"resamples": 100, "progress": False, **more})


@pytest.mark.slow
@pytest.mark.parametrize("users", [0, 12])
def test_every_point_and_band_is_that_of_loops(users):
    rated, grid = made(users=users), [1, 2.5, 4]
    found = along({"RBP": RATIO, "P": "AdaptiveP(effort='ratio($e)')@4"}, {"e": grid}, rated, seed=3)
    drawn = resample_counts(len(rated), rated.users, 100, 3).astype(int)
    scores = rated.scores([f"AdaptiveRBP(p=0.6,effort='ratio({e})')" for e in grid]).to_numpy()
    y = rated.ratings
    for kind, slow in SCIPY.items():
        all_counts = [np.ones_like(y, int), *drawn.T]
        loops = np.array([[slow(np.repeat(of, n), np.repeat(y, n))[0] for of in scores.T] for n in all_counts])
        rows = found.table[found.table["measure"] == "RBP"]
        assert rows[kind].tolist() == pytest.approx(loops[0], abs=1e-9)
        units = len(y) if rated.users is None else len(set(rated.users))
        change = loops - loops[:, :1]
        assert rows[f"{kind}_change"].tolist() == pytest.approx(change[0], abs=1e-9)
        for name, found_in, most in ((kind, loops, 1), (f"{kind}_change", change, 2)):
            slow = [ends(*column, units, -most, most) for column in zip(found_in[0], found_in[1:].T)]
            assert rows[[f"{name}_low", f"{name}_high"]].to_numpy() == pytest.approx(np.array(slow), abs=1e-9)


def test_curves_are_kept_and_taken_from_there_for_equal_scores(tmp_path, monkeypatch):
    rated = made()
    first = along(RATIO, {"e": [1, 4]}, rated, cache_dir=tmp_path)
    monkeypatch.setattr(agreement_variation, "coefficients", None)
    pd.testing.assert_frame_equal(along(RATIO, {"e": [1, 4]}, rated, cache_dir=tmp_path).table, first.table)
    other = rated.only(rated.table.index[::-1].to_numpy())
    for values, ratings in (([1, 2], rated), ([1, 4], other)):
        with pytest.raises(TypeError, match="'NoneType' object is not callable"):
            along(RATIO, {"e": values}, ratings, cache_dir=tmp_path)


@pytest.mark.parametrize(("values", "more", "says"), [
    ({"e": [1, 2], "f": [1, 2]}, {}, "one parameter, not 2 parameters"),
    ({"e": [1]}, {}, "two values or more"),
    ({"f": [1, 2]}, {}, "has $e, but no range"),
    ({"e": [1, 2]}, {"resamples": 5}, "resamples=5"),
    ({"e": [1, 2]}, {"confidence": 95}, "confidence=95"),
    ({"e": [1, -2]}, {}, "with e=-2"),
])  # fmt: skip
def test_curves_that_there_are_not(values, more, says):
    refused(lambda: along(RATIO, values, made(), **more), says, BadParameter)
    refused(lambda: along(RATIO, {"e": [1, 2]}, preferred()), "objective='agreement'", BadParameter)


@pytest.mark.slow
def test_pictures_show_their_data_whatever_the_values_are():
    found = along({"RBP": RATIO, "P": "AdaptiveP(effort='ratio($e)')@4"}, {"e": [1, 2, 200]}, made())
    for name, plot in (("sensitivity", plot_sensitivity), ("change", plot_change)):
        picture, column = found.pictures()[f"{name}_pearson"], {"change": "pearson_change"}.get(name, "pearson")
        axes = picture.draw(None)
        assert plot(found).get_xlabel() == axes.get_xlabel() == "e"
        lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 3]
        for line, (_, rows) in zip(lines, picture.data.groupby("measure", sort=False), strict=True):
            assert line.get_ydata().tolist() == rows[column].tolist()
        assert axes.get_xscale() == "log"
        assert len(axes.collections) == 2  # two confidence bands
    texts = along("CWLA(C='$C',A='etg',max_rel=2)@3", {"C": ["rr", "rbp(0.5)"]}, made())
    assert [label.get_text() for label in plot_sensitivity(texts).get_xticklabels()] == ["rr", "rbp(0.5)"]
