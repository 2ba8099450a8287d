"""Tests of the extension points of the package; they fail if one step of an extension is missing."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
import pytest

import pyterrier_cwla
from pyterrier_cwla import evaluate, studies
from pyterrier_cwla.cli import app as command_line
from pyterrier_cwla.cli.output_formats import _SUFFIXES, Format
from pyterrier_cwla.data.abstention import Abstention
from pyterrier_cwla.data.alignment import Aligned, Judgments
from pyterrier_cwla.errors import BadParameter, MalformedFile
from pyterrier_cwla.files import formats
from pyterrier_cwla.files.run_files import RunFiles, RunPart
from pyterrier_cwla.measures.counting import COUNTS
from pyterrier_cwla.measures.reference import entries
from pyterrier_cwla.measures.wrappers import A_MEASURE, Wrapper
from pyterrier_cwla.model.language import Parameter, lacking
from tests import test_public_names
from tests.measures import test_equations
from tests.model import test_against_reference as against_reference
from tests.support import reference
from tests.support.commands import all_commands
from tests.support.generated import collection
from tests.support.messages import refused
from tests.support.strategies import BUILT_IN

pytestmark = pytest.mark.every_case

ROOT = Path(pyterrier_cwla.__file__).parents[1]
KINDS = ("measure", "ir_measures", "session")
TESTS = "\n".join(path.read_text() for path in (ROOT / "tests" / "measures").glob("test_*.py"))


def test_every_function_is_compared_with_its_reference():
    cases = {"continuation": against_reference.CONTINUATIONS, "aggregation": against_reference.AGGREGATIONS}
    for kind, tried in cases.items():
        assert set(BUILT_IN[kind]) <= {name for name, _ in tried.values()}
    same = {"burges": "exponential", "given": "unit"}  # given: efforts passed as arrays, without a formula
    for kind, loops in (("gain", reference.GAINS), ("effort", reference.EFFORTS)):
        assert {same.get(name, name) for name in BUILT_IN[kind]} <= set(loops)


@pytest.mark.parametrize("entry", [entry for entry in entries() if entry.kind in KINDS], ids=lambda entry: entry.name)
def test_a_measure_is_complete(entry):
    """A measure is one function, or a row of choices, and its declaration; all else that it needs is named here."""
    name, tried = entry.name, {re.split(r"[(@]", text)[0] for text in test_equations.VALUES}
    missing = {
        "its full name and formula to measures/descriptions.toml": entry.equation is None,
        "its formula to VALUES in tests/measures/test_equations.py": name not in tried | test_equations.ELSEWHERE,
        "tests to tests/measures": not re.search(rf"\b{name}\b", TESTS),
        "its name to MEASURES in tests/test_public_names.py": entry.kind != "ir_measures"
        and name not in test_public_names.MEASURES.split(),
    }
    assert not [f"add {what}" for what, is_missing in missing.items() if is_missing]


def test_all_inner_measures_of_a_wrapper_count():
    """A second inner measure is a part, and values in caches depend on it."""

    class _Lowest(Wrapper):
        """Lower value of two measures."""

        PARAMETERS = (*Wrapper.PARAMETERS, Parameter("other", A_MEASURE))

    lowest = _Lowest(measure="AP", other="nDCG@10")
    assert list(map(str, lowest.parts.values())) == ["AP", "nDCG@10"]
    assert lowest.content == [*lowest.parts.values()]
    assert str(lowest.with_parts(lambda part: part(judged_only=True)).parts["other"]) == "nDCG(judged_only=True)@10"
    with pytest.raises(BadParameter, match=r"needs other=, such as \S*Lowest\(other='TBG'\)"):
        _Lowest(measure="AP").parts  # noqa: B018


FIRST_BYTES = {"table": b"r", "csv": b"r", "jsonl": b"{", "parquet": b"P", "latex": b"%"}


@pytest.mark.parametrize("form", Format)
def test_every_output_format_is_written(prints, tmp_path, form):
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    (tmp_path / "run.txt").write_text("1 Q0 a 1 2.5 x\n")
    output = tmp_path / f"scores{_SUFFIXES[form]}"
    prints("evaluate", tmp_path / "qrels.txt", tmp_path / "run.txt", "-m", "AP", "-o", output)
    assert [*tmp_path.glob("scores*")] == [output]
    assert form in FIRST_BYTES, "give the first byte of this format"
    assert output.read_bytes()[:1] == FIRST_BYTES[form]


def test_every_module_and_command_is_loaded_listed_and_tried():
    modules = {path.stem for path in Path(command_line.__file__).parent.glob("*_commands.py")}
    assert modules == {f"{name}_commands" for name in command_line._MODULES}
    # One command is run without the import of the others.
    app = command_line.loaded_app()
    defined = {(one.callback.__name__, one.callback.__module__) for one in app.registered_commands}
    defined |= {(one.name, f"pyterrier_cwla.cli.{one.name}_commands") for one in app.registered_groups}
    listed = command_line._MODULES.items()
    assert defined == {(name, f"pyterrier_cwla.cli.{module}_commands") for module, names in listed for name in names}
    assert set(_SUFFIXES) == set(Format)
    assert len(set(_SUFFIXES.values())) == len(_SUFFIXES)
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    names = [command.name or command.callback.__name__ for command in all_commands()]
    assert not [name for name in names if f'"{name}"' not in tests and f" {name} " not in tests]


WRITERS = {
    "gzip": lambda path: path.write_bytes(pa.compress(b"1 Q0 a 1 2.5 x\n", "gzip", asbytes=True)),
    "zstd": lambda path: path.write_bytes(pa.compress(b"1 Q0 a 1 2.5 x\n", "zstd", asbytes=True)),
    "parquet": lambda path: pq.write_table(pa.table({"query_id": ["1"], "doc_id": ["a"], "score": [2.5]}), path),
    "json": lambda path: path.write_text(json.dumps({"1": {"a": 2.5}})),
}


@pytest.mark.parametrize("form", formats.FORMATS, ids=lambda form: form.name)
def test_file_formats_are_read_by_suffix_and_by_content(tmp_path, form):
    assert form.name in WRITERS, "give a function that writes this format"
    for name in (f"run{form.suffix}", "run"):
        WRITERS[form.name](tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(form.mark)
        rows = formats.read_run(tmp_path / name).select(["query_id", "doc_id", "score"]).to_pylist()
        assert rows == [{"query_id": "1", "doc_id": "a", "score": 2.5}]


@pytest.mark.slow
def test_a_format_is_one_entry(prints, tmp_path, monkeypatch):
    """Its files are runs of a folder, are named without the suffix, and are evaluated at once and in parts."""
    entry = formats.FileFormat("JSON lines", ".jsonl", b"{", read=lambda path, kind: pyarrow.json.read_json(path))
    formats.FORMATS.append(entry)
    try:
        lines = [
            {"qid": q, "docno": d, "rank": 1, "score": score} for q in "12" for d, score in (("a", 2.5), ("b", 1.5))
        ]
        (tmp_path / "runs").mkdir()
        path = tmp_path / "runs" / "bm25.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        qrels = tmp_path / "qrels.txt"
        qrels.write_text("1 0 a 1\n2 0 b 1\n")
        expected = pd.DataFrame({"AP": [0.75]}, index=pd.Index(["bm25"], name="run"))
        for runs in (path, tmp_path / "runs", {"bm25": path}):
            pd.testing.assert_frame_equal(evaluate(qrels, runs, ["AP"]), expected)
        monkeypatch.setattr(RunPart, "is_small", False)
        for fits in (True, False):
            monkeypatch.setattr(RunFiles, "fits", fits)
            pd.testing.assert_frame_equal(evaluate(qrels, path, ["AP"]), expected)
        assert "0.7500" in prints("evaluate", qrels, path, "-m", "AP")
        path.write_text(f"{json.dumps(lines[0])}\n" * 2)
        refused(lambda: formats.read_run(path), MalformedFile, "bm25.jsonl: row 2: document 'a' stands twice")
    finally:
        formats.FORMATS.remove(entry)


def test_every_study_is_public_tried_and_in_the_guide():
    """docs/studies.rst contains the names of all functions that return studies."""

    def text(folder, pattern):
        return "\n".join(path.read_text() for path in folder.rglob(pattern))

    base_of = dict(re.findall(r"^class (\w+)\((\w+)\)", text(Path(studies.__file__).parent, "*.py"), re.M))

    def is_study(name):
        return name == "Study" or (name in base_of and is_study(base_of[name]))

    classes = {name for name in base_of if is_study(name) and name not in base_of.values()}
    returned = {name: getattr(getattr(studies, name), "__annotations__", {}).get("return") for name in dir(studies)}
    functions = [name for name, kind in returned.items() if kind in classes]
    assert classes
    assert classes <= {*dir(studies)} & {*returned.values()}
    guide, tests = (ROOT / "docs" / "studies.rst").read_text(), text(ROOT / "tests" / "studies", "test_*.py")
    assert not [name for name in functions if name not in guide or f"{name}(" not in tests]


@pytest.mark.parametrize("count", COUNTS.values(), ids=list(COUNTS))
def test_measures_without_a_user_model_state_what_they_need(count):
    """The value is the same if documents judged non-relevant are present that the measure says it does not read."""
    made = collection(11, queries=9)
    judgments = Judgments(made.qrels)
    aligned = Aligned(judgments, [judgments.rows(made.run)])
    known = {"recall": 0.3, "abstention": Abstention.bind({"1": {"d1": 0.4, "d2": 0.7}, "2": {"d3": 0.1}})}
    given = {name: known[name] for name in lacking(count.parameters, ())}
    values = [count.function(aligned.rankings(all_judged), **given) for all_judged in (count.needs.all_judged, True)]
    np.testing.assert_array_equal(*values, err_msg=f"add needs=Needs(all_judged=True) to {count.name}")
