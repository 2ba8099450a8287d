"""Tests of correlations along a parameter, against libraries and loops, and Figure 1 of Jiang and Allan (2016)."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.studies import plot_change, plot_sensitivity, sensitivity
from pyterrier_cwla.studies.correlation import around
from pyterrier_cwla.studies.users import agreement_variation as parameter_sweep
from pyterrier_cwla.studies.users.rating_correlations import resample_counts
from tests.studies.fitting.test_parameter_fit import made, preferred
from tests.support.intervals import ends
from tests.support.messages import refused

RATIO = "AdaptiveRBP(p=0.6,effort='ratio($e)')"


def quick(*args, **more):
    return sensitivity(*args, **{"resamples": 100, "progress": False, **more})


@pytest.mark.slow
@pytest.mark.parametrize("users", [0, 12])
def test_every_point_and_band_is_that_of_loops(users):
    rated, grid = made(users=users), [1, 2.5, 4]
    found = quick({"RBP": RATIO, "P": "AdaptiveP(effort='ratio($e)')@4"}, {"e": grid}, rated, seed=3)
    drawn = resample_counts(len(rated), rated.users, 100, 3).astype(int)
    scores = rated.scores([f"AdaptiveRBP(p=0.6,effort='ratio({e})')" for e in grid]).to_numpy()
    y = rated.ratings
    for kind, slow in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("tau_b", stats.kendalltau)):
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
    first = quick(RATIO, {"e": [1, 4]}, rated, cache_dir=tmp_path)
    monkeypatch.setattr(parameter_sweep, "coefficients", None)
    pd.testing.assert_frame_equal(quick(RATIO, {"e": [1, 4]}, rated, cache_dir=tmp_path).table, first.table)
    other = rated.only(rated.table.index[::-1].to_numpy())
    for values, ratings in (([1, 2], rated), ([1, 4], other)):
        with pytest.raises(TypeError, match="'NoneType' object is not callable"):
            quick(RATIO, {"e": values}, ratings, cache_dir=tmp_path)


@pytest.mark.slow
def test_constants_have_no_correlation_and_findings_say_so():
    """With g = 0 all scores are 0; the template ``nothing`` always scores 0."""
    text = "CWLA(C='rbp(0.5)',A='erg',gain='table({1:$g,2:$g})')"
    templates = {"some": text, "nothing": lambda g: "CWLA(C='rbp(0.5)',A='erg',gain='table({1:0,2:0})')"}
    found = quick(templates, {"g": [0, 0.5]}, made())
    assert "some: with g = 0" in found.findings()[0]
    assert "highest" in found.findings()[0]
    assert found.findings()[1] == "nothing: all rated items have the same score for every g: there is no correlation."
    nothing = quick({"nothing": templates["nothing"]}, {"g": [0, 0.5]}, made())
    assert "nan" not in str(nothing)
    for picture in (*found.pictures().values(), *nothing.pictures().values()):
        picture.draw(Figure().subplots())


@pytest.mark.parametrize(("values", "more", "says"), [
    ({"e": [1, 2], "f": [1, 2]}, {}, "one parameter, not 2 parameters"),
    ({"e": [1]}, {}, "two values or more"),
    ({"f": [1, 2]}, {}, "has $e, but no range"),
    ({"e": [1, 2]}, {"resamples": 5}, "resamples=5"),
    ({"e": [1, 2]}, {"confidence": 95}, "confidence=95"),
    ({"e": [1, -2]}, {}, "with e=-2"),
])  # fmt: skip
def test_what_does_not_go_together_is_an_error(values, more, says):
    refused(lambda: quick(RATIO, values, made(), **more), says, BadParameter)
    refused(lambda: quick(RATIO, {"e": [1, 2]}, preferred()), "objective='agreement'", BadParameter)


def test_intervals_without_any_value_are_not_numbers():
    found = around(np.array([0.5, 0.2]), np.array([[np.nan, 0.1, np.nan], [0.1, np.nan, 0.3]]), 0.95, 3)
    assert np.isnan(found[:, 0]).all()
    assert found[:, 1] == pytest.approx([max(-1, 0.2 - 4.302653 * 0.02**0.5), min(1, 0.2 + 4.302653 * 0.02**0.5)])


@pytest.mark.slow
def test_pictures_show_their_data_whatever_the_values_are():
    found = quick({"RBP": RATIO, "P": "AdaptiveP(effort='ratio($e)')@4"}, {"e": [1, 2, 200]}, made())
    for name, plot, column in (
        ("sensitivity_pearson", plot_sensitivity, "pearson"),
        ("change_pearson", plot_change, "pearson_change"),
    ):
        axes = found.pictures()[name].draw(None)
        assert plot(found).get_xlabel() == axes.get_xlabel() == "e"
        lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 3]
        for line, (_, rows) in zip(lines, found.pictures()[name].data.groupby("measure", sort=False), strict=True):
            assert line.get_ydata().tolist() == rows[column].tolist()
        assert axes.get_xscale() == "log"
        assert len(axes.collections) == 2  # two confidence bands
    texts = quick("CWLA(C='$C',A='etg',max_rel=2)@3", {"C": ["rr", "rbp(0.5)"]}, made())
    assert [label.get_text() for label in plot_sensitivity(texts).get_xticklabels()] == ["rr", "rbp(0.5)"]
