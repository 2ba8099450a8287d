"""Caching of results of users' functions: only functions with a version are cached; others are computed each time."""

import functools
import warnings
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import CWLA, CWLAError, aggregation, continuation, effort, evaluate, gain
from pyterrier_cwla.evaluation.driver import stream
from pyterrier_cwla.measures.provider import CWLAEvaluator
from pyterrier_cwla.model import discount
from pyterrier_cwla.model.language import Named
from pyterrier_cwla.studies import Rated, fit, robustness

DOCS = [f"d{number}" for number in range(12)]
QRELS = {q: {d: (number * 7 + int(q)) % 5 for number, d in enumerate(DOCS)} for q in "123"}
RUNS = {
    name: {q: {d: (number * step + int(q)) % 12 + number / 100 for number, d in enumerate(DOCS)} for q in QRELS}
    for name, step in (("one", 5), ("two", 7))
}
NOTE = "are not cached"


def scored(measure, cache_dir, **more):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=f".*{NOTE}")
        return evaluate(QRELS, RUNS, [measure], by_query=True, cache_dir=cache_dir, **more)


@pytest.mark.parametrize("many", [False, True])
def test_a_function_that_is_a_parameter_has_no_version_either(many, tmp_path):
    Discount, found = Annotated[Any, Named("discount")], []
    if many:

        @aggregation(version=1)
        def through(view, *phi: Discount):
            return sum(view.discounted(one) for one in phi)
    else:

        @aggregation
        def through(view, phi: Discount):
            return view.discounted(phi)

    for value in (1.0, 0.25):

        @discount
        def changing(i, value=value):
            return value / i

        measure = CWLA(C="rbp(0.5)", A=through("changing"), gain="linear", max_rel=4)
        with pytest.warns(UserWarning, match=f"'changing'.*{NOTE}"):
            found.append(evaluate(QRELS, RUNS, [measure], by_query=True, cache_dir=tmp_path))
        pd.testing.assert_frame_equal(found[-1], scored(measure, None), check_exact=True)
    assert not np.allclose(*found)


def in_each_role(version=None, factor=1.0):
    """Return measures with a function of the user as gain, effort, C, A and discount."""
    known = {} if version is None else {"version": version}

    @gain(**known)
    def own_gain(grade, max_rel):
        return factor * grade / max_rel

    @effort(**known)
    def own_effort(documents):
        return factor + np.asarray(documents.grade) / 4

    @continuation(**known)
    def own_continuation(view):
        return 0.5 * factor + 0 * view.i

    @aggregation(**known)
    def own_aggregation(view):
        return factor * view.G

    @discount(**known)
    def own_discount(i):
        return factor / i

    return {
        "gain": CWLA(C="rbp(0.5)", A="erg", gain=own_gain(), max_rel=4),
        "effort": CWLA(C="rbp(0.5)", A="erg", effort=own_effort(), max_rel=4),
        "C": CWLA(C=own_continuation(), A="erg", max_rel=4),
        "C in a product": CWLA(C="product(rbp(0.9),own_continuation)", A="erg", max_rel=4),
        "A": CWLA(C="rbp(0.5)", A=own_aggregation(), max_rel=4),
        "discount": CWLA(C="rbp(0.5)", A="utility(own_discount)", max_rel=4),
    }


ROLES = [*in_each_role()]


@pytest.fixture
def computed(monkeypatch):
    """Log with the number of measures of each scored run."""
    log, real = [], CWLAEvaluator.values

    def logged(self, given):
        log.append(len(self.measures))
        return real(self, given)

    monkeypatch.setattr(CWLAEvaluator, "values", logged)
    return log


def again(computed):
    number = len(computed)
    computed.clear()
    return number


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_results_are_cached_under_a_version(role, tmp_path, computed):
    one = in_each_role("1")[role]
    expected = scored(one, None)
    again(computed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for times in (2, 0):
            kept = evaluate(QRELS, RUNS, [one], by_query=True, cache_dir=tmp_path)
            pd.testing.assert_frame_equal(kept, expected, check_exact=True)
            assert again(computed) == times
        two = in_each_role("2", 0.9)[role]
        kept = evaluate(QRELS, RUNS, [two], by_query=True, cache_dir=tmp_path)
    assert again(computed) == 2
    pd.testing.assert_frame_equal(kept, scored(two, None), check_exact=True)
    assert not np.allclose(kept, expected)


@pytest.mark.parametrize("role", ROLES)
def test_measures_without_a_version_are_computed_each_time(role, tmp_path, computed):
    measure = in_each_role()[role]
    name = f"own_{ {'C': 'continuation', 'C in a product': 'continuation', 'A': 'aggregation'}.get(role, role) }"
    kind = name.removeprefix("own_")
    for _ in range(2):
        with pytest.warns(UserWarning, match=NOTE) as told:
            evaluate(QRELS, RUNS, [measure, "AP"], cache_dir=tmp_path)
        assert len(told) == 1
        assert f"{kind} {name!r}" in str(told[0].message)
        assert f'@{kind}(version="1")' in str(told[0].message)
        assert told[0].filename == __file__
        assert again(computed) == 2


def test_one_note_names_all_functions_that_lack_a_version(tmp_path):
    with pytest.warns(UserWarning, match=NOTE) as told:
        evaluate(QRELS, RUNS, in_each_role().values(), cache_dir=tmp_path)
    assert len(told) == 1
    assert all(f"'own_{kind}'" in str(told[0].message) for kind in ("gain", "effort", "continuation", "aggregation"))


def test_what_is_cached_beside_them_stays_cached(tmp_path, computed):
    for _ in range(2):
        with pytest.warns(UserWarning, match=NOTE):
            evaluate(QRELS, RUNS, ["AP", in_each_role()["gain"]], cache_dir=tmp_path)
    assert computed == [2, 2, 1, 1]


def test_streams_say_so_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(q, d, s) for q, docs in RUNS["one"].items() for d, s in docs.items()]
    pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]).to_parquet("one.parquet")
    measure = in_each_role()["gain"]
    with pytest.warns(UserWarning, match=NOTE) as told:
        found = pd.concat(stream(QRELS, "one.parquet", [measure], cache_dir="kept"))
    assert len(told) == 1
    expected = evaluate(QRELS, {"one": RUNS["one"]}, [measure], by_query=True)
    assert found[str(measure)].tolist() == expected[str(measure)].tolist()


@pytest.mark.slow
def test_parameters_count_and_so_do_their_defaults(tmp_path):
    """The text of a measure does not contain defaults."""
    found = []
    for value in (0.5, 0.8):

        @continuation(version="1")
        def with_default(view, phi=value):
            return phi + 0 * view.i

        measure = CWLA(C=with_default(), A="erg", max_rel=4)
        assert "with_default'" in str(measure)
        pd.testing.assert_frame_equal(scored(measure, tmp_path), scored(measure, None))
        found.append(scored(measure, tmp_path))
    assert not np.allclose(*found)


def test_wrappers_of_built_in_functions_are_not_built_in():
    """``functools.wraps`` also copies the name of the module."""
    from pyterrier_cwla.model.gains import linear

    with pytest.raises(CWLAError, match="gain 'linear' is built in; give yours another name"):

        @gain
        @functools.wraps(linear.function)
        def wrapped(grade, max_rel):
            return grade / max_rel


class Anything:
    """Range that contains every value."""

    def __contains__(self, value):
        return True


class Worth:
    value = 1.0


def test_parameters_that_are_objects_have_no_version(tmp_path):
    found = []
    for worth in (1.0, 0.5):

        @gain(version="1")
        def of_an_object(grade, how: Annotated[Any, Anything()]):
            return grade / 4 * how.value

        how = Worth()
        how.value = worth
        measure = CWLA(C="rbp(0.5)", A="erg", gain=of_an_object(how), max_rel=4)
        with pytest.warns(UserWarning, match="parameter how of gain 'of_an_object'"):
            found.append(evaluate(QRELS, RUNS, [measure], cache_dir=tmp_path).to_numpy())
    np.testing.assert_allclose(found[1], found[0] / 2)


@pytest.mark.parametrize("version", ["", "  ", True, 1.0, b"1", ("1",)])
def test_versions_are_texts_or_whole_numbers(version):
    with pytest.raises(CWLAError, match=r"gain 'odd': version=.* must be a non-empty string or an integer"):

        @gain(version=version)
        def odd(grade):
            return grade


def test_versions_travel_with_pickled_functions(tmp_path):
    import pickle

    for version in (None, 3):
        known = {"__name__": "__main__", "gain": gain, "version": version}
        exec("@gain(version=version)\ndef travelling(grade): return grade / 4", known)
        assert pickle.loads(pickle.dumps(known["travelling"])).version == version


def in_a_study(version, factor):
    @continuation(**version)
    def in_studies(view, phi=0.5):
        return phi * factor + 0 * view.i

    return "CWLA(C='in_studies($p)',A='erg',max_rel=4)"


def fitted_and_robust(template, **more):
    """Return the candidates of a fit, and a study of robustness."""
    rated = Rated.lists(QRELS, RUNS["one"], {"1": 1, "2": 3, "3": 2})
    rough = {"fractions": (0.5,), "seeds": 2, "pairs": 1, "resamples": 50, "complete": None, "progress": False}
    found = fit(template, {"p": [0.1, 0.5, 0.9]}, rated, cv=2, repeats=1, progress=False, **more).candidates
    return found, robustness(QRELS, RUNS, [template.replace("$p", "0.8")], **rough, **more)


def same_studies(one, other):
    pd.testing.assert_frame_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1].order.scores, other[1].order.scores)
    np.testing.assert_array_equal(one[1].tests.p, other[1].tests.p)


@pytest.mark.slow
@pytest.mark.parametrize("version", [{}, {"version": 1}])
def test_studies_compute_anew_what_has_no_version(version, tmp_path):
    for number, factor in enumerate((1.0, 0.5)):
        template = in_a_study(version and {"version": number}, factor)
        plain = fitted_and_robust(template)
        for _ in range(2):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                same_studies(fitted_and_robust(template, cache_dir=tmp_path), plain)
            assert [NOTE in str(one.message) for one in told] == ([] if version else [True, True])
            assert all(one.filename == __file__ for one in told)


@pytest.mark.slow
def test_a_study_caches_under_a_version(tmp_path, monkeypatch):
    from pyterrier_cwla.studies.fitting import parameter_fit
    from pyterrier_cwla.studies.incomplete_judgments.robustness_study import Work

    template = in_a_study({"version": "a"}, 1.0)
    first = fitted_and_robust(template, cache_dir=tmp_path)
    monkeypatch.setattr(parameter_fit, "_scores", lambda *_: 1 / 0)
    monkeypatch.setattr(Work, "__call__", None)
    same_studies(fitted_and_robust(template, cache_dir=tmp_path), first)
