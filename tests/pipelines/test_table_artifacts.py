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
from pyterrier_cwla.data import Lengths
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
    plain = {"d1": 100, "d2": 350, "d3": 90, "d4": 10}
    words = LengthsArtifact.save(plain, tmp_path / "words")
    copies = DuplicatesArtifact.save(DUPLICATES, tmp_path / "copies")
    measure = TBG(lengths=words, duplicates=copies)
    qrels, run = {"1": {"d2": 1, "d3": 1}}, {"1": dict(zip(RANKING.docno, RANKING.score, strict=True))}
    value, other = (
        evaluate(qrels, run, [one]).iloc[0, 0] for one in (measure, TBG(lengths=plain, duplicates=DUPLICATES))
    )
    assert value == other > 0
    assert TBG(lengths=words.lengths, duplicates=copies.duplicates) == measure == pickle.loads(pickle.dumps(measure))
    found = (DocLength(words) >> DuplicateOf(copies))(RANKING)
    assert found.doc_length.tolist() == [100, 90, 350, 10]
    assert found.duplicate_of.tolist() == [None, "d1", None, None]
    assert str(DocLength(words)) == "DocLength(lengths=<4 lengths>)"
    assert DocLength(words) == DocLength(words.lengths) == DocLength(plain)
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


METADATA, TABLE, HALF = "pt_meta.json", "lengths.parquet", "pt_meta.json is missing or damaged"


@pytest.mark.every_case
@pytest.mark.parametrize("name, content, says", [
    (TABLE, None, "lengths.parquet is missing"), (TABLE, "no lengths\n", TABLE), (TABLE, -30, TABLE), (TABLE, DUPLICATES, TABLE),
    (METADATA, None, f"this is no folder with a table of lengths: its {HALF}"), (METADATA, '{"type": "docu', HALF),
    (METADATA, "[1]", HALF), (METADATA, "[" * 100_000, HALF),
    (METADATA, '{"type": "sparse_index", "format": "pisa"}', "has sparse_index.pisa, not document_lengths.cwla"),
], ids=lambda value: f"{value!r:.20}")  # fmt: skip
def test_a_damaged_or_foreign_folder_is_one_error(name, content, says, tmp_path):
    LengthsArtifact.save(LENGTHS, tmp_path / "table")
    file = tmp_path / "table" / name
    before = file.read_bytes()
    file.unlink()
    if content is DUPLICATES:
        DUPLICATES.save(file)
    elif content is not None:
        file.write_bytes(before[:content] if isinstance(content, int) else content.encode())
    refused(lambda: LengthsArtifact.load(tmp_path / "table"), MalformedFile, says, str(tmp_path / "table"))


def test_an_artifact_of_the_same_type_is_replaced_if_asked(tmp_path):
    folder = tmp_path / "table"
    for table in (LENGTHS, {"other": 1}):
        assert LengthsArtifact.save(table, folder, overwrite=True).lengths.content == Lengths.of(table).content
    again = LengthsArtifact.save(LengthsArtifact.load(folder), folder, overwrite=True)
    assert again.lengths.mean == LengthsArtifact.load(folder).lengths.mean == 1
    refused(lambda: DuplicatesArtifact.save({"d2": "d1"}, folder, overwrite=True), MalformedFile)
    refused(lambda: LengthsArtifact.save({"d1": -1}, folder, overwrite=True), BadParameter)
    says = "exists already. Give another path, or overwrite=True"
    refused(lambda: LengthsArtifact.save(LENGTHS, folder), NotWritten, says)
    assert LengthsArtifact.load(folder).lengths.mean == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("kept")
    refused(lambda: LengthsArtifact.save(LENGTHS, tmp_path / "mine", overwrite=True), MalformedFile)
    assert (tmp_path / "mine" / "file").read_text() == "kept"


def test_nothing_is_left_behind(tmp_path):
    refused(lambda: LengthsArtifact.save(LENGTHS, tmp_path / "no" / "table"), NotWritten, "No such file")
    (tmp_path / "bad.csv").write_text("no lengths\n")
    for bad, error in [({"d1": -1}, BadParameter), (tmp_path / "bad.csv", MalformedFile), (DUPLICATES, BadParameter)]:
        refused(lambda: LengthsArtifact.save(bad, tmp_path / "new"), error)  # noqa: B023
        assert not (tmp_path / "new").exists()
    refused(lambda: LengthsArtifact.load(tmp_path / "nowhere"), BadParameter, "there is no such folder")
    with pytest.raises(FileNotFoundError):
        pt.Artifact.load(str(tmp_path / "nowhere"))
