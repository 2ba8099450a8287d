"""Cache of scores: interrupted evaluations continue, and cached values are used only for identical content."""

import os
import pickle
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pyterrier_cwla
from pyterrier_cwla import evaluate
from pyterrier_cwla.data.columns import of_columns, run_columns
from pyterrier_cwla.errors import MalformedFile
from pyterrier_cwla.evaluation.driver import stream
from pyterrier_cwla.evaluation.score_cache import names_in_cache
from pyterrier_cwla.measures.provider import CWLAEvaluator, computed_here
from pyterrier_cwla.tasks.hashing import of_strings
from pyterrier_cwla.tasks.result_cache import ResultCache, _seal
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
        scores = rng.random(len(rows))
        frame = pd.DataFrame(rows, columns=["query_id", "doc_id"]).assign(score=scores)
        if name == "c":
            frame.to_parquet("runs/c.parquet")
        else:
            lines = [f"{q} Q0 {d} 0 {s} {name}" for (q, d), s in zip(rows, scores.tolist(), strict=True)]
            Path(f"runs/{name}.txt").write_text("\n".join(lines) + "\n")
    lines = [f"{q} 0 {d} {rng.integers(4)}" for q, d in rows[::3]]
    Path("qrels.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def computed(monkeypatch):
    """Log of the measures that each run was scored by."""
    log, real = [], CWLAEvaluator.values

    def values(self, aligned):
        found = real(self, aligned)
        log.extend(
            ",".join(sorted({str(m).split("(")[0].split("@")[0] for m in self.measures}))
            for one in aligned.runs
            for _ in range(one.runs if len(one.columns) else 0)
        )
        return found

    monkeypatch.setattr(CWLAEvaluator, "values", values)
    return log


def again(log):
    found = list(log)
    log.clear()
    return found


def scored(*, runs="runs", measures=MEASURES, cache_dir="kept", **more):
    return evaluate("qrels.txt", runs, measures, by_query=True, cache_dir=cache_dir, **more)


@pytest.mark.slow
def test_a_second_call_computes_nothing_and_says_the_same(collection, computed):
    expected = scored(cache_dir=None)
    assert again(computed) == ["AP,CWLA,nDCG"] * 3
    pd.testing.assert_frame_equal(scored(), expected, check_exact=True)
    assert again(computed) == ["AP,CWLA,nDCG"] * 3
    pd.testing.assert_frame_equal(scored(), expected, check_exact=True)
    pd.testing.assert_frame_equal(evaluate("qrels.txt", "runs", MEASURES, cache_dir="kept"), evaluate("qrels.txt", "runs", MEASURES))  # fmt: skip
    streamed = pd.concat(stream("qrels.txt", "runs", MEASURES, cache_dir="kept")).set_index(["run", "query_id"])
    pd.testing.assert_frame_equal(streamed, expected, check_exact=True, check_index_type=False)


@pytest.mark.slow
def test_only_what_is_new_or_changed_is_computed(collection, computed):
    scored()
    again(computed)
    pd.testing.assert_frame_equal(
        scored(measures=["RR", *MEASURES]), scored(measures=["RR", *MEASURES], cache_dir=None)
    )
    assert again(computed)[:3] == ["RR"] * 3
    Path("runs/a.txt").write_text(Path("runs/a.txt").read_text().replace("d3 ", "d99 "))
    expected = scored(cache_dir=None)
    again(computed)
    pd.testing.assert_frame_equal(scored(), expected)
    assert again(computed) == ["AP,CWLA,nDCG"]
    Path("qrels.txt").write_text(Path("qrels.txt").read_text().replace("d3 1", "d3 0") + "q0 0 dd 1\n")
    expected = scored(cache_dir=None)
    again(computed)
    pd.testing.assert_frame_equal(scored(), expected)
    assert again(computed) == ["AP,CWLA,nDCG"] * 3


def test_a_run_is_told_by_its_content(collection, computed):
    scored()
    again(computed)
    os.rename("runs/a.txt", "runs/z.run")
    assert scored().index.unique("run").tolist() == ["b", "c", "z"]
    assert again(computed) == []


def test_other_versions_are_others(collection, computed, monkeypatch):
    scored()
    again(computed)
    monkeypatch.setattr("pyterrier_cwla.tasks.result_cache.__version__", "0.0.1")
    scored()
    assert len(again(computed)) == 3


def test_frames_are_kept_too(collection, computed):
    frames = {name: pd.DataFrame({"query_id": ["q0", "q0", "q1"], "doc_id": ["d0", "d3", "d6"], "score": [2.0, 1.0, s]})
              for name, s in (("one", 1.0), ("two", 2.0))}  # fmt: skip
    expected = scored(runs=frames, cache_dir=None)
    again(computed)
    for times in (2, 0):
        pd.testing.assert_frame_equal(scored(runs=frames), expected, check_exact=True)
        assert len(again(computed)) == times
    frames["two"] = frames["two"].assign(score=[2.0, 1.0, 3.0])
    scored(runs=frames)
    assert len(again(computed)) == 1
    scored(runs=frames, check=False)
    assert len(again(computed)) == 2


def test_runs_that_one_file_holds(collection, computed):
    frame = pd.read_parquet("runs/c.parquet")
    for sign in (1, -1):  # the file is known by its content
        runs = [frame.assign(run="x", score=sign * frame["score"]), frame.assign(run="y", score=-frame["score"])]
        pd.concat(runs).to_parquet("many.parquet")
        expected = scored(runs="many.parquet", cache_dir=None)
        again(computed)
        for computed_again in (True, False):
            pd.testing.assert_frame_equal(scored(runs="many.parquet"), expected, check_exact=True)
            assert bool(again(computed)) == computed_again


def test_a_run_with_no_query_in_common_is_not_kept(collection):
    Path("other.txt").write_text("9 Q0 d1 1 1 x\n")
    for _ in range(2):
        with pytest.warns(UserWarning, match="no query in common"):
            scored(runs="other.txt")


@pytest.mark.slow
def test_contents_of_tables_count(collection):
    """The text of a measure contains only the name of its table."""
    for words in (100, 200):
        table = "\n".join(f"d{d}\t{words + d}" for d in range(20))
        Path("words.tsv").write_text(table + "\n")
        os.utime("words.tsv", (words, words))
        measures = ["TBG(lengths='words.tsv')"]
        pd.testing.assert_frame_equal(scored(measures=measures), scored(measures=measures, cache_dir=None))


def test_broken_pieces_are_done_again(collection, computed):
    expected = scored()
    kept = sorted(Path("kept").rglob("*.npz"))
    rng = np.random.default_rng(0)
    for number, piece in enumerate(kept):
        content = bytearray(piece.read_bytes())
        if number % 3 == 0:
            piece.write_bytes(content[: rng.integers(len(content))])
        elif number % 3 == 1:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
            piece.write_bytes(content)
        else:
            kept[number - 1].replace(piece)
    for times in (3, 0):
        again(computed)
        pd.testing.assert_frame_equal(scored(), expected, check_exact=True)
        assert len(computed) == times


@pytest.mark.slow
def test_every_flipped_bit_of_a_piece_is_noticed(tmp_path):
    kept, layout = ResultCache(tmp_path, {}), {"values": ("f", (3,))}
    kept.put("piece", {"values": np.arange(3.0)})
    (path,) = tmp_path.rglob("*.npz")
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        assert kept.get("piece", layout) is None
    path.write_bytes(whole)
    assert kept.get("piece", layout)["values"].tolist() == [0, 1, 2]


LAYOUT = {"values": ("f", (6,)), "answered": ("b", (6,))}
RIGHT = {"values": np.zeros(6), "answered": np.ones(6, bool)}
WRONG = {
    "shape": RIGHT | {"values": np.zeros(3)},
    "dimensions": RIGHT | {"values": np.zeros((6, 1))},
    "type": RIGHT | {"answered": np.ones(6)},
    "missing": {"values": np.zeros(6)},
    "added": RIGHT | {"more": np.zeros(1)},
}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_pieces_of_another_layout_are_refused(tmp_path, wrong):
    kept = ResultCache(tmp_path, {})
    kept.put("piece", RIGHT)
    assert kept.get("piece", LAYOUT)["values"].shape == (6,)
    kept.put("piece", WRONG[wrong])
    says = "' must have values (floats, shape 6), answered (booleans, shape 6), and has values (float64, shape "
    refused(
        lambda: kept.get("piece", LAYOUT), MalformedFile, "npz: this entry", says, "Delete the file, or give another"
    )


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 and no more", b"\x93NUMPY"])
def test_pieces_that_are_no_arrays_are_refused(tmp_path, content):
    """The checksum is valid, so only the content can show the fault."""
    kept = ResultCache(tmp_path, {})
    kept.put("piece", {})
    kept._path("piece").write_bytes(content + _seal("piece", content))
    refused(lambda: kept.get("piece", LAYOUT), MalformedFile, "has no arrays that can be read")


@pytest.mark.parametrize("what", ["values", "answered"])
def test_an_evaluation_refuses_pieces_of_another_shape(collection, monkeypatch, what):
    expected, real = scored(cache_dir=None), ResultCache.put

    def longer(piece):
        return {name: np.append(array, array[:1]) if name == what else array for name, array in piece.items()}

    with monkeypatch.context() as patched:
        patched.setattr(ResultCache, "put", lambda kept, name, piece: real(kept, name, longer(piece)))
        scored()
    says = f"npz: this entry of cache_dir='kept' must have {what} (", ", shape 6)", ", shape 7)"
    refused(scored, MalformedFile, "kept/", *says)
    for path in Path("kept").rglob("*.npz"):
        path.unlink()
    pd.testing.assert_frame_equal(scored(), expected, check_exact=True)


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    kept = ResultCache(tmp_path, {})
    kept.put("piece", {"values": np.arange(3.0)})
    day = 24 * 60 * 60
    for name, age in ((".part-1-ab-old.npz", 2 * day), (".part-2-cd-new.npz", day // 2), ("mine.txt", 2 * day)):
        (kept.folder / name).write_text("")
        os.utime(kept.folder / name, (time.time() - age,) * 2)
    there = {path.name for path in kept.folder.iterdir()}
    ResultCache(tmp_path, {})
    assert there - {path.name for path in kept.folder.iterdir()} == {".part-1-ab-old.npz"}


def test_a_folder_that_cannot_be_one(collection, monkeypatch):
    Path("file").write_text("")
    refused(lambda: scored(cache_dir="file"), "cache_dir='file' cannot be written (", "): give another folder")
    if os.geteuid():
        Path("locked").mkdir(mode=0o500)
        refused(lambda: scored(cache_dir="locked"), "cache_dir='locked' cannot be written")


def test_columns_have_equal_hashes_where_they_are_equal():
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


def test_measures_that_are_equal_have_one_name():
    measures = computed_here([*MEASURES, "TBG", "IntentAware(measure='ERR@20')", "Residual(measure='TBG')", "Bpref"])
    weights = {"1": {"a": 0.5, "b": 0.5}}
    measures += [pyterrier_cwla.IntentAware(measure="AP", weights=weights), pyterrier_cwla.sDCG]
    names = names_in_cache(measures)
    assert names == names_in_cache(pickle.loads(pickle.dumps(measures)))
    assert len(set(names.values())) == len(measures)


@pytest.mark.slow
def test_the_command_line_keeps_too(collection, prints, computed):
    arguments = ("evaluate", "qrels.txt", "runs", "-m", "AP", "-m", "nDCG@10", "--format", "csv")
    expected = prints(*arguments)
    for times in (3, 0):
        again(computed)
        assert prints(*arguments, "--cache-dir", "kept") == expected
        assert len(computed) == times


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl", "scores.parquet"])
def test_scores_by_query_are_written_run_by_run(collection, prints, name):
    prints("evaluate", "qrels.txt", "runs", "-m", "AP", "-m", "nDCG@10", "--by-query", "-o", name)
    reader = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": partial(pd.read_json, lines=True)}
    expected = evaluate("qrels.txt", "runs", ["AP", "nDCG@10"], by_query=True).reset_index()
    pd.testing.assert_frame_equal(reader[name.split(".")[1]](name), expected, check_dtype=False)
