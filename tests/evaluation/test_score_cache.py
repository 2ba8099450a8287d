"""Cache of scores: interrupted evaluations continue, and cached values are used only for identical content."""

import functools
import os
import pickle
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pyterrier_cwla
from pyterrier_cwla import CWLA, CWLAError, aggregation, continuation, effort, evaluate, gain
from pyterrier_cwla.data.columns import of_columns, run_columns
from pyterrier_cwla.errors import MalformedFile
from pyterrier_cwla.evaluation.driver import stream
from pyterrier_cwla.evaluation.score_cache import names_in_cache
from pyterrier_cwla.measures.provider import CWLAEvaluator, computed_here
from pyterrier_cwla.model import discount
from pyterrier_cwla.model.gains import linear
from pyterrier_cwla.model.language import Named
from pyterrier_cwla.studies import Rated, fit, robustness
from pyterrier_cwla.studies.fitting import parameter_fit
from pyterrier_cwla.studies.incomplete_judgments.robustness_study import Work
from pyterrier_cwla.tasks.hashing import of_strings
from pyterrier_cwla.tasks.result_cache import ResultCache, _seal
from tests.support.generated import write_trec
from tests.support.messages import refused

MEASURES = ["AP", "nDCG@10", "CWLA(C='rbp(0.8)',A='max',max_rel=3)"]


@pytest.fixture
def collection(tmp_path, monkeypatch):
    """Folder with judgments and three runs in text and Parquet files."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    Path("runs").mkdir()
    rows = [(f"q{q}", f"d{d}") for q in range(6) for d in range(20)]
    for name in "abc":
        frame = pd.DataFrame(rows, columns=["query_id", "doc_id"]).assign(score=rng.random(len(rows)))
        write_trec(frame, Path(f"runs/{name}.txt"))
    Path("runs/c.txt").unlink()
    frame.to_parquet("runs/c.parquet")
    lines = [f"{q} 0 {d} {rng.integers(4)}" for q, d in rows[::3]]
    Path("qrels.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def scored(*, runs="runs", measures=MEASURES, cache_dir="kept", **more):
    return evaluate("qrels.txt", runs, measures, by_query=True, cache_dir=cache_dir, **more)


@pytest.fixture
def computes(collection, monkeypatch):
    """Return a function that compares cached scores with those without a cache, and returns how many were computed.

    It returns the number of measures of each run.
    """
    log, real = [], CWLAEvaluator.values

    def values(self, aligned):
        log.extend([len(self.measures)] * sum(one.runs for one in aligned.runs if len(one.columns)))
        return real(self, aligned)

    def computes(**given):
        expected = scored(**given | {"cache_dir": None})
        log.clear()
        pd.testing.assert_frame_equal(scored(**given), expected, check_exact=True)
        return list(log)

    monkeypatch.setattr(CWLAEvaluator, "values", values)
    return computes


@pytest.mark.slow
def test_a_second_call_computes_nothing_and_says_the_same(computes):
    assert computes() == [3, 3, 3]
    assert computes() == []
    means = evaluate("qrels.txt", "runs", MEASURES, cache_dir="kept")
    pd.testing.assert_frame_equal(means, evaluate("qrels.txt", "runs", MEASURES))
    streamed = pd.concat(stream("qrels.txt", "runs", MEASURES, cache_dir="kept")).set_index(["run", "query_id"])
    pd.testing.assert_frame_equal(streamed, scored(cache_dir=None), check_exact=True, check_index_type=False)
    frames = {name: pd.DataFrame({"query_id": ["q0", "q0", "q1"], "doc_id": ["d0", "d3", "d6"], "score": [2.0, 1.0, s]})
              for name, s in (("one", 1.0), ("two", 2.0))}  # fmt: skip
    assert computes(runs=frames) == [3, 3]
    assert computes(runs=frames) == []
    frames["two"] = frames["two"].assign(score=[2.0, 1.0, 3.0])
    assert computes(runs=frames) == [3]
    assert computes(runs=frames, check=False) == [3, 3]
    frames["two"].loc[0, "score"] = np.nan
    refused(lambda: scored(runs=frames), "two: ")
    with pytest.warns(UserWarning, match=": run has '9'"):
        scored(runs={"run": {"9": {"d1": 1.0}}})
    frame = pd.read_parquet("runs/c.parquet")
    for sign in (1, -1):  # the file is known by its content
        runs = [frame.assign(run="x", score=sign * frame["score"]), frame.assign(run="y", score=-frame["score"])]
        pd.concat(runs).to_parquet("many.parquet")
        assert computes(runs="many.parquet")
        assert computes(runs="many.parquet") == []


@pytest.mark.slow
def test_only_what_is_new_or_changed_is_computed(computes, monkeypatch, prints):
    scored()
    for number, piece in enumerate(Path("kept").rglob("*.npz")):  # damaged
        whole = piece.read_bytes()
        piece.write_bytes(whole[:-9] if number else whole[:9] + b"x" + whole[10:])
    assert [computes(), computes()] == [[3, 3, 3], []]
    assert computes(measures=["RR", *MEASURES]) == [1, 1, 1]
    Path("runs/a.txt").write_text(Path("runs/a.txt").read_text().replace("d3 ", "d99 "))
    assert computes() == [3]
    Path("qrels.txt").write_text(Path("qrels.txt").read_text().replace("d3 1", "d3 0") + "q0 0 dd 1\n")
    assert computes() == [3, 3, 3]
    os.rename("runs/a.txt", "runs/z.run")
    assert computes() == []
    monkeypatch.setattr("pyterrier_cwla.tasks.result_cache.__version__", "0.0.1")
    assert computes() == [3, 3, 3]
    for words, computed in ((100, 3), (100, 0), (200, 3)):  # the text of a measure has only the name of its table
        Path("words.tsv").write_text("".join(f"d{d}\t{words + d}\n" for d in range(100)))
        os.utime("words.tsv", (words, words))
        assert computes(measures=["TBG(lengths='words.tsv')"]) == [1] * computed
    Path("other.txt").write_text("9 Q0 d1 1 1 x\n")
    for _ in range(2):  # a run with no query in common is not cached
        with pytest.warns(UserWarning, match="no query in common"):
            scored(runs="other.txt")
    arguments = ("evaluate", "qrels.txt", "runs", "-m", "AP", "-m", "nDCG@10", "--format", "csv")
    expected = prints(*arguments)
    assert prints(*arguments, "--cache-dir", "command") == expected
    monkeypatch.setattr(CWLAEvaluator, "values", None)
    assert prints(*arguments, "--cache-dir", "command") == expected


@pytest.mark.slow
def test_every_flipped_bit_and_every_exchanged_piece_are_noticed(tmp_path):
    kept, layout = ResultCache(tmp_path, {}), {"values": ("f", (3,))}
    kept.put("piece", {"values": np.arange(3.0)})
    (path,) = tmp_path.rglob("*.npz")
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        assert kept.get("piece", layout) is None
    path.write_bytes(whole)
    assert kept.get("piece", layout)["values"].tolist() == [0, 1, 2]
    kept._path("other").write_bytes(whole)
    assert kept.get("other", layout) is None


LAYOUT = {"values": ("f", (6,)), "answered": ("b", (6,))}
RIGHT = {"values": np.zeros(6), "answered": np.ones(6, bool)}


@pytest.mark.slow
def test_pieces_of_another_layout_or_without_arrays_are_refused(tmp_path):
    """The checksum is valid, so only the content can show the fault."""
    kept = ResultCache(tmp_path, {})
    kept.put("piece", RIGHT)
    assert kept.get("piece", LAYOUT)["values"].shape == (6,)
    says = "' must have values (floats, shape 6), answered (booleans, shape 6), and has values (float64, shape "
    for wrong in (
        RIGHT | {"values": np.zeros(3)}, RIGHT | {"values": np.zeros((6, 1))}, RIGHT | {"answered": np.ones(6)},
        {"values": np.zeros(6)}, RIGHT | {"more": np.zeros(1)},
    ):  # fmt: skip
        kept.put("piece", wrong)
        way_out = "Delete the file, or give another"
        refused(lambda: kept.get("piece", LAYOUT), MalformedFile, "npz: this entry", says, way_out)
    for content in (b"", b"no archive", b"PK\x03\x04 and no more", b"\x93NUMPY"):
        kept._path("piece").write_bytes(content + _seal("piece", content))
        refused(lambda: kept.get("piece", LAYOUT), MalformedFile, "has no arrays that can be read")


@pytest.mark.parametrize("what", ["values", "answered"])
def test_an_evaluation_refuses_pieces_of_another_shape(collection, monkeypatch, what):
    real = ResultCache.put

    def longer(piece):
        return {name: np.append(array, array[:1]) if name == what else array for name, array in piece.items()}

    monkeypatch.setattr(ResultCache, "put", lambda kept, name, piece: real(kept, name, longer(piece)))
    scored()
    says = f"npz: this entry of cache_dir='kept' must have {what} (", ", shape 6)", ", shape 7)"
    refused(scored, MalformedFile, "kept/", *says)


def test_folders_that_cannot_be_written_and_what_a_killed_process_left(collection, tmp_path):
    Path("file").write_text("")
    refused(lambda: scored(cache_dir="file"), "cache_dir='file' cannot be written (", "): give another folder")
    if os.geteuid():
        Path("locked").mkdir(mode=0o500)
        refused(lambda: scored(cache_dir="locked"), "cache_dir='locked' cannot be written")
    kept = ResultCache(tmp_path, {})
    kept.put("piece", {"values": np.arange(3.0)})
    day = 24 * 60 * 60
    for name, age in ((".part-1-ab-old.npz", 2 * day), (".part-2-cd-new.npz", day // 2), ("mine.txt", 2 * day)):
        (kept.folder / name).write_text("")
        os.utime(kept.folder / name, (time.time() - age,) * 2)
    there = {path.name for path in kept.folder.iterdir()}
    ResultCache(tmp_path, {})
    assert there - {path.name for path in kept.folder.iterdir()} == {".part-1-ab-old.npz"}


def test_equal_columns_have_equal_hashes_and_equal_measures_one_name():
    ids = ["a", "bc", "", "d", "bc"]
    forms = [
        pa.array(ids, pa.large_string()),
        pa.chunked_array([pa.array(ids[:2], pa.large_string()), pa.array(ids[2:], pa.large_string())]),
        pa.array(["x", *ids], pa.large_string()).slice(1),
        pa.array(ids).dictionary_encode(),
    ]
    others = [["ab", "c", "", "d", "bc"], ["a", "bc", None, "d", "bc"], ids[:-1], ids[::-1], []]
    assert len({of_strings(form) for form in forms}) == 1
    assert len({of_strings(pa.array(other, pa.large_string())) for other in [ids, *others]}) == 1 + len(others)
    run = pd.DataFrame({"query_id": "q", "doc_id": ids[:2], "score": [2.0, 1.0]})
    runs = [run, run.assign(score=[2.0, 1.5]), run.assign(doc_length=1.0), run.assign(query_id="p"), run[::-1]]
    assert len({of_columns(run_columns(one)) for one in runs}) == len(runs)
    measures = computed_here([*MEASURES, "TBG", "IntentAware(measure='ERR@20')", "Residual(measure='TBG')", "Bpref"])
    weights = {"1": {"a": 0.5, "b": 0.5}}
    measures += [pyterrier_cwla.IntentAware(measure="AP", weights=weights), pyterrier_cwla.sDCG]
    names = names_in_cache(measures)
    assert names == names_in_cache(pickle.loads(pickle.dumps(measures)))
    assert len(set(names.values())) == len(measures)


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl", "scores.parquet"])
def test_scores_by_query_are_written_run_by_run(collection, prints, name):
    prints("evaluate", "qrels.txt", "runs", "-m", "AP", "-m", "nDCG@10", "--by-query", "-o", name)
    reader = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": functools.partial(pd.read_json, lines=True)}
    expected = evaluate("qrels.txt", "runs", ["AP", "nDCG@10"], by_query=True).reset_index()
    pd.testing.assert_frame_equal(reader[name.split(".")[1]](name), expected, check_dtype=False)


# ---- functions of users: only those with a version are cached


NOTE = "are not cached"


@pytest.mark.parametrize("many", [False, True])
def test_a_function_that_is_a_parameter_has_no_version_either(many, computes):
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
            assert computes(measures=[measure])
        found.append(scored(measures=[measure]))
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


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_results_are_cached_under_a_version(role, computes):
    one, two = in_each_role("1")[role], in_each_role("2", 0.9)[role]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for measure, computed in ((one, [1, 1, 1]), (one, []), (two, [1, 1, 1])):
            assert computes(measures=[measure]) == computed
    assert not np.allclose(*(scored(measures=[measure]) for measure in (one, two)))


@pytest.mark.parametrize("role", ROLES)
def test_measures_without_a_version_are_computed_each_time(role, computes):
    """Other cached scores stay in the cache."""
    measure = in_each_role()[role]
    kind = {"C": "continuation", "C in a product": "continuation", "A": "aggregation"}.get(role, role)
    for computed in ([2, 2, 2], [1, 1, 1]):
        with pytest.warns(UserWarning, match=NOTE) as told:
            assert computes(measures=[measure, "AP"]) == computed
        assert len(told) == 1
        assert f"{kind} 'own_{kind}'" in str(told[0].message)
        assert f'@{kind}(version="1")' in str(told[0].message)
        assert told[0].filename == __file__


def test_one_note_names_all_functions_that_lack_a_version(collection):
    """Also of streams."""
    measures = in_each_role()
    for call in (evaluate, lambda *given, **how: list(stream(*given, **how))):
        with pytest.warns(UserWarning, match=NOTE) as told:
            call("qrels.txt", "runs", measures.values(), cache_dir="kept")
        assert len(told) == 1
        for kind in ("gain", "effort", "continuation", "aggregation"):
            assert f"'own_{kind}'" in str(told[0].message)
    found = pd.concat(stream("qrels.txt", "runs", [measures["gain"]], cache_dir="kept"))
    expected = scored(measures=[measures["gain"]], cache_dir=None)
    pd.testing.assert_frame_equal(found.set_index(["run", "query_id"]), expected, check_index_type=False)


@pytest.mark.slow
def test_parameters_count_and_so_do_their_defaults(computes):
    """The text of a measure does not contain defaults."""
    found = []
    for value in (0.5, 0.8):

        @continuation(version="1")
        def with_default(view, phi=value):
            return phi + 0 * view.i

        measure = CWLA(C=with_default(), A="erg", max_rel=4)
        assert "with_default'" in str(measure)
        computes(measures=[measure])
        found.append(scored(measures=[measure]))
    assert not np.allclose(*found)


class Worth:
    """Parameter whose value has no text, and the range of such parameters."""

    def __init__(self, value=0.0):
        self.value = value

    def __contains__(self, value):
        return True


def test_parameters_that_are_objects_have_no_version(collection):
    found = []
    for worth in (1.0, 0.5):

        @gain(version="1")
        def of_an_object(grade, how: Annotated[Any, Worth()]):
            return grade / 4 * how.value

        measure = CWLA(C="rbp(0.5)", A="erg", gain=of_an_object(Worth(worth)), max_rel=4)
        with pytest.warns(UserWarning, match="parameter how of gain 'of_an_object'"):
            found.append(scored(measures=[measure]))
    np.testing.assert_allclose(found[1], found[0] / 2)


def test_versions_are_texts_or_whole_numbers_and_are_pickled():
    for version in ("", "  ", True, 1.0, b"1", ("1",)):
        with pytest.raises(CWLAError, match=r"gain 'odd': version=.* must be a non-empty string or an integer"):

            @gain(version=version)
            def odd(grade):
                return grade

    for version in (None, 3):
        known = {"__name__": "__main__", "gain": gain, "version": version}
        exec("@gain(version=version)\ndef travelling(grade): return grade / 4", known)
        assert pickle.loads(pickle.dumps(known["travelling"])).version == version
    # ``functools.wraps`` also copies the name of the module.
    with pytest.raises(CWLAError, match="gain 'linear' is built in; give yours another name"):

        @gain
        @functools.wraps(linear.function)
        def wrapped(grade, max_rel):
            return grade / max_rel


def in_a_study(version, factor):
    @continuation(**version)
    def in_studies(view, phi=0.5):
        return phi * factor + 0 * view.i

    return "CWLA(C='in_studies($p)',A='erg',max_rel=4)"


def fitted_and_robust(template, **more):
    """Return the candidates of a fit, and a study of robustness."""
    rated = Rated.lists("qrels.txt", "runs/a.txt", {"q1": 1, "q2": 3, "q3": 2})
    rough = {"fractions": (0.5,), "seeds": 2, "pairs": 1, "resamples": 50, "complete": None, "progress": False}
    found = fit(template, {"p": [0.1, 0.5, 0.9]}, rated, cv=2, repeats=1, progress=False, **more).candidates
    return found, robustness("qrels.txt", "runs", [template.replace("$p", "0.8")], **rough, **more)


def same_studies(one, other):
    pd.testing.assert_frame_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1].order.scores, other[1].order.scores)
    np.testing.assert_array_equal(one[1].tests.p, other[1].tests.p)


@pytest.mark.slow
@pytest.mark.parametrize("version", [{}, {"version": 1}])
def test_studies_compute_anew_what_has_no_version(version, collection, monkeypatch):
    for number, factor in enumerate((1.0, 0.5)):
        template = in_a_study(version and {"version": number}, factor)
        plain = fitted_and_robust(template)
        for _ in range(2):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                same_studies(fitted_and_robust(template, cache_dir="kept"), plain)
            assert [NOTE in str(one.message) for one in told] == ([] if version else [True, True])
            assert all(one.filename == __file__ for one in told)
    if version:  # and cache what has one
        monkeypatch.setattr(parameter_fit, "_scores", lambda *_: 1 / 0)
        monkeypatch.setattr(Work, "__call__", None)
        same_studies(fitted_and_robust(template, cache_dir="kept"), plain)
