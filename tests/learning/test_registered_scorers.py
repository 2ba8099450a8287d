"""Tests of names registered in scikit-learn: accepted wherever ``scoring=`` is, also in workers, and removed again."""

import pickle
import subprocess
import sys
from copy import deepcopy
from types import MappingProxyType

import joblib
import numpy as np
import pytest
import sklearn
from sklearn import metrics
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.utils.fixes import parse_version

from pyterrier_cwla import CWLA, TBG, CannotScore, register_lengths
from pyterrier_cwla.errors import BadParameter, CWLAError, UnknownSpec
from pyterrier_cwla.learning import get_scorer, get_scorer_names, register_scorers, scorer, scorers, unregister_scorers
from tests.learning.test_scorers import Rows
from tests.support.messages import refused

THEIRS = {name: metrics.get_scorer(name) for name in metrics.get_scorer_names()}
CV = GroupKFold(3)


@pytest.fixture(autouse=True)
def _nothing_stays_registered():
    yield
    unregister_scorers()
    assert set(metrics.get_scorer_names()) == set(THEIRS)


def data(seed=0):
    rows = Rows(seed, queries=12, unjudged=0)
    return rows, {"X": rows.X, "y": rows.y, "groups": rows.qid, "cv": CV}


def test_registered_names_have_cutoffs_and_scikit_learn_s_stay():
    register_scorers()
    names = metrics.get_scorer_names()
    assert {"TBG", "AP", "nDCG@10", "ERR@20", "P@5", "RR", "QMeasure@1000", "r2"} <= set(names)
    assert "P" not in names  # needs a cutoff
    assert not {"Rprec@10", "IPrec@1"} & set(names)  # have none
    assert {name: repr(metrics.get_scorer(name)) for name in THEIRS} == {name: repr(THEIRS[name]) for name in THEIRS}
    for name in set(names) - set(THEIRS):
        assert metrics.get_scorer(name) == scorer(name) == get_scorer(name)
    assert sorted(get_scorer_names()) == names


def test_functions_imported_before_accept_the_names():
    given = data()[1]
    register_scorers()
    by_hand = cross_val_score(Ridge(), **given, scoring=scorer(TBG))
    assert cross_val_score(Ridge(), **given, scoring="TBG").tolist() == by_hand.tolist()
    both = cross_validate(Ridge(), **given, scoring=["TBG", "AP"])
    assert both["test_TBG"].tolist() == by_hand.tolist()
    assert both["test_AP"].tolist() == cross_val_score(Ridge(), **given, scoring=scorer("AP")).tolist()
    assert np.isfinite(cross_val_score(Ridge(), **data(3)[1], scoring="GMAP")).all()


@pytest.mark.parametrize("use", [
    lambda X, y, groups, cv: GridSearchCV(Ridge(), {"alpha": [1, 9]}, scoring="TBG", cv=cv).fit(X, y, groups=groups),
    lambda X, y, groups, cv: GridSearchCV(Ridge(), {"alpha": [1, 9]}, scoring=["TBG", "r2"], refit="TBG", cv=cv).fit(X, y, groups=groups),
    lambda X, y, groups, cv: RandomizedSearchCV(Ridge(), {"alpha": [1, 9]}, n_iter=2, scoring="TBG", cv=cv).fit(X, y, groups=groups),
    lambda X, y, groups, cv: HalvingGridSearchCV(Ridge(), {"alpha": [1, 9]}, scoring="TBG", cv=cv, min_resources=40).fit(X, y, groups=groups),
    lambda X, y, groups, cv: RidgeCV([1, 9], scoring="TBG", cv=list(cv.split(X, y, groups))).fit(X, y),
    lambda X, y, groups, cv: SequentialFeatureSelector(Ridge(), scoring="TBG", n_features_to_select=1, cv=list(cv.split(X, y, groups))).fit(X, y),
    lambda X, y, groups, cv: permutation_importance(Ridge().fit(X, y), X, y, scoring=["TBG", "nDCG@10"], n_repeats=1),
    lambda X, y, groups, cv: learning_curve(Ridge(), X, y, groups=groups, cv=cv, scoring="TBG", train_sizes=[0.5, 1.0]),
    lambda X, y, groups, cv: validation_curve(Ridge(), X, y, groups=groups, cv=cv, scoring="TBG", param_name="alpha", param_range=[1]),
    lambda X, y, groups, cv: permutation_test_score(Ridge(), X, y, groups=groups, cv=cv, scoring="TBG", n_permutations=1),
    lambda X, y, groups, cv: metrics.check_scoring(Ridge(), scoring="TBG"),
])  # fmt: skip
def test_all_of_scikit_learn_accepts_a_name_while_it_is_registered(use):
    given = data()[1]
    register_scorers()
    use(**given)
    unregister_scorers()
    with pytest.raises(ValueError, match=r"a str among|to get valid options"):
        use(**given)


@pytest.mark.slow
def test_recursive_elimination_with_routing():
    """RFECV makes y an array, so that only metadata routing passes the queries."""
    rows, given = data()
    register_scorers()
    with sklearn.config_context(enable_metadata_routing=True):
        found = RFECV(Ridge(), scoring="TBG", cv=CV).fit(rows.X, rows.label, groups=rows.qid, **rows.known)
    assert found.cv_results_["mean_test_score"][-1] == cross_val_score(Ridge(), **given, scoring="TBG").mean()
    refused(lambda: RFECV(Ridge(), scoring="TBG", cv=CV).fit(rows.X, rows.y, groups=rows.qid), CannotScore, "RFECV")


@pytest.mark.slow
@pytest.mark.nightly
def test_modules_imported_afterwards_accept_and_lose_the_names():
    code = """
import pyterrier_cwla as cwla
from pyterrier_cwla.learning import register_scorers, unregister_scorers
register_scorers()
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import cross_val_score
import pandas as pd
y = pd.Series([0, 1] * 4, pd.Index(list("aabbccdd"), name="qid"))
print(cross_val_score(DummyRegressor(), [[0]] * 8, y, cv=2, scoring="P@1").tolist())
unregister_scorers()
try:
    cross_val_score(DummyRegressor(), [[0]] * 8, y, cv=2, scoring="P@1")
except ValueError as error:
    print("str among" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split("\n")[:2] == ["[0.0, 0.0]", "True"]


@pytest.mark.slow
def test_own_names_and_own_measures():
    given = data(1)[1]
    most = CWLA(C="rbp(0.8)", A="max", max_rel=3)
    register_scorers({"quick": "TBG(half_life=60)", "best": most, "−effort": scorer("ExpectedEffort", 1, False)})
    register_scorers(["nDCG@7", "TBG(half_life=9)", most])
    register_scorers("R@30")
    register_scorers(["map", "ndcg_cut_10"])  # names of trec_eval
    register_scorers()  # keeps what is registered
    assert metrics.get_scorer("quick") == scorer("TBG(half_life=60)")
    assert metrics.get_scorer("best") == metrics.get_scorer(str(most)) == scorer(most)
    assert metrics.get_scorer("−effort") == scorer("ExpectedEffort", 1, False)
    assert {"nDCG@7", "TBG(half_life=9)", "R@30", "map", "ndcg_cut_10"} <= set(metrics.get_scorer_names())
    found = cross_val_score(Ridge(), **given, scoring="quick")
    assert found.tolist() == cross_val_score(Ridge(), **given, scoring=scorer("TBG(half_life=60)")).tolist()
    register_scorers({"TBG": "TBG(half_life=60)"})
    register_scorers()
    assert metrics.get_scorer("TBG") == scorer("TBG(half_life=60)")


@pytest.mark.parametrize(("measures", "error", "message"), [
    ({"r2": "TBG"}, BadParameter, r"scikit-learn has a scorer of its own named 'r2': choose another name"),
    ({"mine": "TGB"}, UnknownSpec, "no measure 'TGB'"),
    ("nDCG@", CWLAError, "nDCG@"),
    ({3: "TBG"}, BadParameter, "the name of a scorer must be a text, not 3"),
    (scorer("TBG"), BadParameter, r"needs a name: pass a mapping, such as \{'mine': scorer\('TBG'\)\}"),
    (7, BadParameter, "measures must be a measure or a list"),
    (["TBG", 7], BadParameter, "a measure is a text"),
])  # fmt: skip
def test_names_that_cannot_be_registered_change_nothing(measures, error, message):
    with pytest.raises(error, match=message):
        register_scorers(measures)
    assert set(metrics.get_scorer_names()) == set(THEIRS)


def test_a_name_that_scikit_learn_gets_one_day_stays_its_own(monkeypatch):
    theirs = metrics.get_scorer("r2")
    monkeypatch.setitem(metrics._scorer._SCORERS, "AP", theirs)
    register_scorers()
    assert metrics._scorer._SCORERS["AP"] is theirs
    assert "AP@10" in metrics.get_scorer_names()
    refused(lambda: register_scorers("AP"), BadParameter, "'AP'")
    unregister_scorers()
    assert metrics._scorer._SCORERS["AP"] is theirs


@pytest.mark.parametrize(
    "old",
    [(metrics._scorer, "_SCORERS", MappingProxyType(dict(metrics._scorer._SCORERS))), (scorers, "_checks", lambda: ())],
    ids=["another registry", "other checks"],
)
def test_old_versions_are_one_error_and_change_nothing(old, monkeypatch):
    before = dict(metrics._scorer._SCORERS)
    with monkeypatch.context() as patch:
        patch.setattr(*old)
        says = rf"scikit-learn {sklearn.__version__} does not allow.*scoring=scorer\('TBG'\)"
        with pytest.raises(CWLAError, match=says):
            register_scorers()
        assert get_scorer("TBG") == scorer("TBG")
        assert pickle.loads(pickle.dumps(scorer("TBG"))) == scorer("TBG")
        unregister_scorers()
    assert metrics._scorer._SCORERS == before


def test_copies_of_a_registered_scorer_do_not_register_again():
    register_scorers({"mine": "nDCG@7"})
    text = pickle.dumps(metrics.get_scorer("mine"))
    register_scorers({"mine": "nDCG@8"})
    assert pickle.loads(text) == scorer("nDCG@7")
    assert deepcopy(metrics.get_scorer("mine")) == scorer("nDCG@8")
    assert metrics.get_scorer("mine") == scorer("nDCG@8")  # names registered in this process stay


@pytest.mark.nightly
def test_a_process_that_receives_a_scorer_registers_the_names(tmp_path):
    def names(text):
        (tmp_path / "scorer").write_bytes(text)
        code = (
            "import pickle, sys; from sklearn.metrics import get_scorer_names, get_scorer\n"
            "for _ in range(2): pickle.load(open(sys.argv[1], 'rb'))\n"
            "print([get_scorer(name) for name in ('TBG', 'mine') if name in get_scorer_names()])"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "scorer")]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.strip()

    assert names(pickle.dumps(scorer("AP"))) == "[]"
    register_scorers({"mine": "nDCG@7"})
    assert names(pickle.dumps(scorer("AP"))) == "[scorer('TBG'), scorer('nDCG@7')]"
    unregister_scorers()
    assert names(pickle.dumps(scorer("AP"))) == "[]"


@pytest.mark.slow
def test_names_in_two_processes_and_in_searches_within_them():
    rows, given = data(2)
    register_scorers({"mine": "nDCG@7"})
    one, two = (cross_validate(Ridge(), **given, scoring=["mine", "TBG"], n_jobs=n_jobs) for n_jobs in (None, 2))
    assert one["test_mine"].tolist() == two["test_mine"].tolist()
    inner = GridSearchCV(Ridge(), {"alpha": [1, 90]}, scoring="mine", cv=CV)
    with sklearn.config_context(enable_metadata_routing=True):
        given = {"X": rows.X, "y": rows.label, "params": {**rows.known, "groups": rows.qid}, "cv": CV}
        alone = cross_val_score(inner, **given, scoring="mine")
        assert cross_val_score(inner, **given, scoring="mine", n_jobs=2).tolist() == alone.tolist()
        register_scorers({"mine": "nDCG@3"})  # the same workers learn the new meaning
        changed = cross_val_score(inner, **given, scoring="mine")
        assert changed.tolist() != alone.tolist()
        assert cross_val_score(inner, **given, scoring="mine", n_jobs=2).tolist() == changed.tolist()
        if parse_version(joblib.__version__) >= parse_version("1.5"):
            with joblib.parallel_config("loky", initializer=register_scorers, initargs=({"mine": "nDCG@3"},)):
                assert cross_val_score(inner, **given, n_jobs=2).tolist() == changed.tolist()


@pytest.mark.nightly
def test_a_search_within_a_process_has_the_default_table_of_lengths():
    rows, _ = data(4)
    register_scorers()  # before the table
    register_lengths(dict(zip(rows.docno, rows.doc_length.tolist(), strict=True)))
    inner = GridSearchCV(Ridge(), {"alpha": [1, 90]}, scoring="TBG", cv=CV)
    with sklearn.config_context(enable_metadata_routing=True):
        params = {"qid": rows.qid, "docno": rows.docno, "groups": rows.qid}
        given = {"X": rows.X, "y": rows.label, "params": params, "cv": CV, "scoring": "TBG"}
        one, two = (cross_val_score(inner, **given, n_jobs=n_jobs).tolist() for n_jobs in (None, 2))
        by_row = {**given, "params": {**params, "doc_length": rows.doc_length}}
        assert one == two == cross_val_score(inner, **by_row).tolist()
