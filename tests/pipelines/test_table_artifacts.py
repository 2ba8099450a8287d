"""Tests of tables of documents as PyTerrier artifacts: saved, loaded, shared, and refused where they are damaged."""

import json
import pickle
import shutil
import tarfile

import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lz4.frame import LZ4FrameFile

from pyterrier_cwla import TBG, evaluate, find_duplicates, lengths_of_texts, register_lengths
from pyterrier_cwla.data import Duplicates, Lengths
from pyterrier_cwla.errors import BadParameter, CWLAError, MalformedFile, NotWritten
from pyterrier_cwla.pipelines import DocLength, DuplicateOf, DuplicatesArtifact, LengthsArtifact
from tests.support.messages import refused

TEXTS = {"d1": "a fox jumps", "d2": "dogs sleep", "d3": "A fox jumps!"}
LENGTHS, DUPLICATES = lengths_of_texts(TEXTS, progress=False), find_duplicates(TEXTS, progress=False)
RANKING = pd.DataFrame({"qid": "1", "docno": ["d1", "d3", "d2", "d4"], "score": [4.0, 3.0, 2.0, 1.0]})
KINDS = {"lengths": (LengthsArtifact, LENGTHS), "duplicates": (DuplicatesArtifact, DUPLICATES)}
every = pytest.mark.parametrize("artifact, table", KINDS.values(), ids=KINDS)


@every
def test_a_saved_table_is_found_by_pyterrier(artifact, table, tmp_path):
    saved = artifact.save(table, tmp_path / "table")
    for loaded in (saved, pt.Artifact.load(str(tmp_path / "table")), artifact.load(tmp_path / "table")):
        assert type(loaded) is artifact
        held = getattr(loaded, table._parameter)
        assert held.content == table.content
        assert held.about.items() >= table.about.items()
    assert repr(saved) == f"{artifact.__name__}({str(tmp_path / 'table')!r})"
    metadata = json.loads((tmp_path / "table" / "pt_meta.json").read_text())
    assert metadata == {"type": f"document_{table._parameter}", "format": "cwla", "package_hint": "pyterrier-cwla",
                        "rows": len(table), **table.about}  # fmt: skip
    assert pt.inspect.artifact_type_format(artifact) == (metadata["type"], "cwla")
    assert {path.name for path in (tmp_path / "table").iterdir()} == {"pt_meta.json", f"{table._parameter}.parquet"}
    # ``to_hf`` and ``to_zenodo`` upload such a package, which ``from_hf`` and ``from_zenodo`` unpack.
    package = saved.build_package(verbose=False)
    with LZ4FrameFile(package) as file, tarfile.open(fileobj=file, mode="r|") as archive:
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since Python 3.11.4
        archive.extractall(tmp_path / "elsewhere", **safe)
    shutil.rmtree(tmp_path / "table")
    assert getattr(pt.Artifact.load(str(tmp_path / "elsewhere")), table._parameter).content == table.content
    found = {entry.name: entry.load() for entry in pt.utils.entry_points("pyterrier.artifact")}
    assert found[f"{artifact.ARTIFACT_TYPE}.{artifact.ARTIFACT_FORMAT}"] is artifact


def test_measures_and_transformers_take_artifacts(tmp_path):
    words = LengthsArtifact.save({"d1": 100, "d2": 350, "d3": 90, "d4": 10}, tmp_path / "words")
    copies = DuplicatesArtifact.save(DUPLICATES, tmp_path / "copies")
    measure = TBG(lengths=words, duplicates=copies)
    qrels, run = {"1": {"d2": 1, "d3": 1}}, {"1": dict(zip(RANKING.docno, RANKING.score, strict=True))}
    plain = TBG(lengths={"d1": 100, "d2": 350, "d3": 90, "d4": 10}, duplicates=DUPLICATES)
    value = evaluate(qrels, {"a": run}, [measure]).iloc[0, 0]
    assert value == evaluate(qrels, {"a": run}, [plain]).iloc[0, 0] > 0
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert TBG(lengths=words.lengths, duplicates=copies.duplicates) == measure
    found = (DocLength(words) >> DuplicateOf(copies))(RANKING)
    assert found.doc_length.tolist() == [100, 90, 350, 10]
    assert found.duplicate_of.tolist() == [None, "d1", None, None]
    assert str(DocLength(words)) == "DocLength(lengths=<4 lengths>)"
    assert DocLength(words) == DocLength(words.lengths) == DocLength({"d1": 100, "d2": 350, "d3": 90, "d4": 10})
    assert register_lengths("of_the_artifact", words).mean == 137.5
    refused(lambda: TBG(duplicates=words), BadParameter, "not LengthsArtifact")


@given(st.dictionaries(st.text(min_size=1, max_size=5).filter(str.strip), st.floats(0, 1e9), min_size=1))
def test_any_table_comes_back_as_it_was(tmp_path_factory, words):
    try:
        table = Lengths.of(words)
    except CWLAError:  # ids with characters that no table takes
        return
    loaded = LengthsArtifact.save(table, tmp_path_factory.mktemp("any") / "table").lengths
    assert loaded.content == table.content


def damage(folder, kind):
    file, metadata = folder / "lengths.parquet", folder / "pt_meta.json"
    if kind == "no table":
        file.unlink()
    elif kind == "cut table":
        file.write_bytes(file.read_bytes()[:-30])
    elif kind == "text":
        file.write_text("no lengths\n")
    elif kind == "another table":
        file.unlink()
        Duplicates.of({"d2": "d1"}).save(file)
    elif kind == "no metadata":
        metadata.unlink()
    elif kind == "cut metadata":
        metadata.write_text('{"type": "docu')
    elif kind == "a list":
        metadata.write_text("[1]")
    elif kind == "nested":
        metadata.write_text("[" * 100_000)
    elif kind == "an index":
        metadata.write_text('{"type": "sparse_index", "format": "pisa"}')


@pytest.mark.parametrize("kind, message", {
    "no table": "lengths.parquet is missing", "cut table": "lengths.parquet", "text": "lengths.parquet",
    "another table": "lengths.parquet",
    "no metadata": "this is no folder with a table of lengths: its pt_meta.json is missing or damaged",
    "cut metadata": "pt_meta.json is missing or damaged", "a list": "pt_meta.json is missing or damaged",
    "nested": "pt_meta.json is missing or damaged", "an index": r"has sparse_index\.pisa, not document_lengths\.cwla",
}.items())  # fmt: skip
def test_a_damaged_or_foreign_folder_is_one_error(kind, message, tmp_path):
    LengthsArtifact.save(LENGTHS, tmp_path / "table")
    damage(tmp_path / "table", kind)
    with pytest.raises(MalformedFile, match=message) as found:
        LengthsArtifact.load(tmp_path / "table")
    assert str(tmp_path / "table") in str(found.value)


def test_an_artifact_of_the_same_type_is_replaced_if_asked(tmp_path):
    folder = tmp_path / "table"
    LengthsArtifact.save(LENGTHS, folder)
    assert LengthsArtifact.save({"other": 1}, folder, overwrite=True).lengths.mean == 1
    again = LengthsArtifact.save(LengthsArtifact.load(folder), folder, overwrite=True)
    assert again.lengths.mean == LengthsArtifact.load(folder).lengths.mean == 1
    assert LengthsArtifact.save(LENGTHS, tmp_path / "new", overwrite=True).lengths.content == LENGTHS.content
    refused(lambda: DuplicatesArtifact.save({"d2": "d1"}, folder, overwrite=True), MalformedFile)
    refused(lambda: LengthsArtifact.save({"d1": -1}, folder, overwrite=True), BadParameter)
    assert LengthsArtifact.load(folder).lengths.mean == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("kept")
    refused(lambda: LengthsArtifact.save(LENGTHS, tmp_path / "mine", overwrite=True), MalformedFile)
    assert (tmp_path / "mine" / "file").read_text() == "kept"


def test_nothing_is_overwritten_and_nothing_is_left_behind(tmp_path):
    LengthsArtifact.save(LENGTHS, tmp_path / "table")
    with pytest.raises(NotWritten, match=r"exists already\. Give another path, or overwrite=True"):
        LengthsArtifact.save({"other": 1}, tmp_path / "table")
    assert LengthsArtifact.load(tmp_path / "table").lengths.content == LENGTHS.content
    refused(lambda: LengthsArtifact.save(LENGTHS, tmp_path / "no" / "table"), NotWritten, "No such file")
    (tmp_path / "bad.csv").write_text("no lengths\n")
    for bad, error in [({"d1": -1}, BadParameter), (tmp_path / "bad.csv", MalformedFile), (DUPLICATES, BadParameter)]:
        with pytest.raises(error):
            LengthsArtifact.save(bad, tmp_path / "new")
        assert not (tmp_path / "new").exists()
    refused(lambda: LengthsArtifact.load(tmp_path / "nowhere"), BadParameter, "there is no such folder")
    with pytest.raises(FileNotFoundError):
        pt.Artifact.load(str(tmp_path / "nowhere"))
