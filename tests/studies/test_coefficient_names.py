"""Tests of the names of coefficients: each name gives the same number in all studies."""

import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pyterrier_cwla.cli.parameters import RECORDS
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.studies import fit, nrmse, sensitivity, splits, user_agreement
from pyterrier_cwla.studies.correlation import CORRELATIONS, LABELS, TESTED
from pyterrier_cwla.studies.fitting.parameter_fit import OBJECTIVES
from tests.studies.fitting.test_parameter_fit import made, preferred, regression_error
from tests.support.messages import refused

RBP, TEMPLATE = "RBP(p=0.4,rel=1)", "RBP(p=$p,rel=1)"
QUICK = {"resamples": 100}
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "tau_b": stats.kendalltau}


def with_n(rated):
    n = np.random.default_rng(3).integers(1, 9, len(rated))
    return type(rated)(rated.what, rated.table.assign(n=n, all_of_them="part"), rated.shown)


RATED, PREFERRED = with_n(made(users=0)), with_n(preferred())


def expected(name, rated=RATED):
    """Compute the coefficient by scipy; weighted ones from as many copies of each rating as its weight."""
    x = rated.scores([RBP])[RBP].to_numpy().round(10)
    copies = rated.weights.astype(int) if name.startswith("weighted_") else 1
    x, y = np.repeat(x, copies), np.repeat(rated.ratings, copies)
    plain = name.removeprefix("weighted_")
    if plain == "agreement":
        return np.mean([0.5 if a == 0 else float(a * b > 0) for a, b in zip(x, y) if b != 0])
    return regression_error(x, y) if plain == "nrmse" else SCIPY[plain](x, y)[0]


def by_fit(name, rated=RATED):
    found = fit(TEMPLATE, {"p": [0.4, 0.7]}, rated, name, cv=2, repeats=1, progress=False)
    return found.candidates.set_index("p")["value"][0.4]


def by_splits(name):
    found = splits(RATED, [RBP], by="all_of_them", coefficient=name, **QUICK)
    assert found.parts["correlation"].tolist() == found.matrix()["all"].tolist()
    return found.parts["correlation"][0]


def by_sensitivity(name):
    return sensitivity(TEMPLATE, {"p": [0.4, 0.7]}, RATED, progress=False, **QUICK).curves(name)[name][0]


def by_user_agreement(name, rated=RATED):
    found = user_agreement(rated, [RBP], name, correction=None, cv=3, repeats=1, **QUICK)
    assert found.coefficient == name
    return found.table.loc[RBP, name]


BOTH = [*CORRELATIONS, *(f"weighted_{name}" for name in CORRELATIONS)]


@pytest.mark.every_case
@pytest.mark.parametrize("name", [*BOTH, "agreement", "weighted_agreement"])
def test_a_coefficient_has_one_value_in_all_studies(name):
    ways = [by_fit] + [by_user_agreement] * (name in TESTED)
    if name not in BOTH:
        ways = [partial(way, rated=PREFERRED) for way in ways]
    else:
        ways += [by_splits, by_sensitivity]
    value = expected(name, RATED if name in BOTH else PREFERRED)
    assert [way(name) for way in ways] == pytest.approx([value] * len(ways), abs=1e-9)


def test_errors_of_prediction_count_each_rating_once_whatever_the_weights():
    for name in (*CORRELATIONS, "nrmse"):
        assert abs(expected(name) - expected(f"weighted_{name}")) > 1e-4
    assert expected("agreement", PREFERRED) != pytest.approx(expected("weighted_agreement", PREFERRED), abs=1e-4)
    found = user_agreement(RATED, [RBP], correction=None, cv=3, repeats=1, **QUICK).table
    errors = nrmse(RATED.scores([RBP]).to_numpy(), RATED.ratings, cv=3, repeats=1)
    assert found.loc[RBP, "nrmse"] == errors.mean()


def test_without_being_asked_for_nothing_is_weighted():
    once = type(RATED)(RATED.what, RATED.table.drop(columns="n"), RATED.shown)
    for ask in (
        lambda rated: fit(TEMPLATE, {"p": [0.4, 0.7]}, rated, cv=2, repeats=1, progress=False).candidates,
        lambda rated: splits(rated, [RBP], by="all_of_them", **QUICK).table,
        lambda rated: sensitivity(TEMPLATE, {"p": [0.4, 0.7]}, rated, progress=False, **QUICK).curves(),
        lambda rated: user_agreement(rated, [RBP], correction=None, cv=3, repeats=1, **QUICK).table[["tau_b", "nrmse"]],
    ):
        pd.testing.assert_frame_equal(ask(RATED), ask(once), check_exact=True)


def test_studies_say_that_one_user_rated_and_how_often_ratings_count():
    by_one = type(RATED)(RATED.what, RATED.table.assign(user="x"), RATED.shown)
    for rated, others in ((by_one, True), (RATED, False)):
        for name, weighted in (("pearson", ""), ("weighted_pearson", ", weighted by n")):
            fitted = fit(TEMPLATE, {"p": [0.4, 0.7]}, rated, name, cv=2, repeats=1, progress=False)
            for found in (fitted, splits(rated, [RBP], by="all_of_them", coefficient=name, **QUICK)):
                assert any("they show nothing about other users" in limit for limit in found.limits()) == others
                assert any("Each rating counts once" in limit for limit in found.limits()) == (not weighted)
                assert all(f"60 rated lists{weighted}; " in table.caption for table in found.tables().values())
    assert "has Pearson's r with the ratings, weighted by n " in fitted.findings()[0]
    assert fitted.pictures()["parameter_1"].draw(None).get_ylabel() == "Pearson's r weighted by n"
    along = sensitivity(TEMPLATE, {"p": [0.4, 0.7]}, by_one, progress=False, **QUICK)
    assert any("they show nothing about other users" in limit for limit in along.limits())
    assert "Each rating counts once; coefficients whose names begin with weighted_ count it n times." in along.limits()
    assert "60 rated lists; 95\N{NO-BREAK SPACE}% intervals" in along.tables()["sensitivity"].caption
    assert along.pictures()["sensitivity_weighted_tau_b"].title.startswith("Kendall's τ_b weighted by n along p")


@pytest.mark.parametrize("name", ["weighted", "person", "weighted_person"])
def test_a_name_that_there_is_not_is_one_error_everywhere(name):
    for ask, kind in ((by_fit, "objective"), (by_splits, "coefficient"), (by_user_agreement, "coefficient")):
        refused(partial(ask, name), f"='{name}' is no {kind}. Near: ", BadParameter)
    refused(lambda: by_sensitivity(name), f"these ratings have no '{name}'", BadParameter)


def test_the_help_of_the_command_line_lists_the_names():
    records = json.loads(RECORDS.read_text(encoding="utf-8"))
    objective = records["studies.fitting.parameter_fit.fit"]["objective"]["help"]
    coefficient = records["studies.users.agreement_study.user_agreement"]["coefficient"]["choices"]
    assert {name.removeprefix("weighted_") for name in OBJECTIVES} | {"weighted_"} <= {*re.findall(r"\w+", objective)}
    assert {*TESTED} == {*coefficient}
    assert {*OBJECTIVES} == {*LABELS} - {"auc", "weighted_auc"}
