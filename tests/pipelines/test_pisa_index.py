"""Tests of document lengths from a real index, PISA's, and of pipelines that retrieve with it."""

import os
import re
import shutil

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_cwla import LengthsArtifact, lengths_of_index
from pyterrier_cwla.errors import BadParameter, MalformedFile
from pyterrier_cwla.files.formats import read_pisa_index
from tests.support.messages import refused

pyterrier_pisa = pytest.importorskip("pyterrier_pisa", reason="PISA has wheels for Linux on x86-64 only")
pytestmark = pytest.mark.filterwarnings("ignore:text_field not specified")


def indexed(folder, texts, **given):
    if "batch_size" in given and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("with one usable CPU, PISA's indexer never ends if there are several batches")
    index = pyterrier_pisa.PisaIndex(str(folder), text_field="text", **given)
    return index.index({"docno": docno, "text": text} for docno, text in texts.items())


def as_dict(lengths):
    rows = lengths._rows().to_pydict()
    return dict(zip(rows["docno"], rows["doc_length"], strict=True))


def counted(index, texts):
    """Lengths by PISA's own tokeniser, one text at a time."""
    return {docno: float(len(index.tokenize(" ".join(text.split("\n"))))) for docno, text in texts.items()}


def generated():
    rng = np.random.default_rng(5)
    words = ["fox", "dogs", "the", "jumps,", "it's", "été", "12.5", "U.S.A.", "…"]
    texts = {f"d{at}": " ".join(rng.choice(words, rng.integers(0, 30))) for at in range(300)}
    return texts | {"é1": "one\ntwo", "none": ""}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return indexed(tmp_path_factory.mktemp("pisa") / "index", generated(), batch_size=50, threads=2)


@pytest.mark.parametrize("stemmer", ["none", "porter2"])
def test_lengths_are_those_of_the_index(tmp_path, stemmer):
    """In several batches by two threads; stopwords are counted, stemming changes no length."""
    index = indexed(tmp_path / "index", generated(), stemmer=stemmer, batch_size=50, threads=2)
    lengths = lengths_of_index(index)
    assert as_dict(lengths) == counted(index, generated())
    assert lengths.about == {"tokeniser": "PISA index", "documents": 302}
    assert lengths_of_index(pt.Artifact.load(str(tmp_path / "index"))).content == lengths.content


@pytest.mark.slow
@pytest.mark.real_data
def test_lengths_of_vaswani(data, tmp_path):
    """The abstracts have no punctuation, so PISA counts the words of the table that lies beside them."""
    raw = (data / "vaswani" / "doc-text.trec").read_text()
    texts = dict(re.findall(r"<DOCNO>(.*?)</DOCNO>(.*?)</DOC>", raw, re.DOTALL))
    index = indexed(tmp_path / "index", texts)
    lengths = lengths_of_index(index)
    assert as_dict(lengths) == counted(index, texts)
    table = pd.read_csv(data / "vaswani" / "doclens.tsv", sep="\t", header=None, dtype={0: str}, index_col=0)[1]
    assert as_dict(lengths) == table.astype(float).to_dict()
    shared = LengthsArtifact.save(lengths, tmp_path / "lengths")
    assert pt.Artifact.load(str(shared.path)).lengths.mean == lengths.mean == pytest.approx(41.925, abs=5e-4)


@pytest.mark.every_case
@pytest.mark.parametrize("name, change, message", [
    ("inv.sizes", None, "not built, or is damaged"), ("fwd.documents", None, "not built, or is damaged"),
    ("inv.sizes", lambda content: content[:-8], "300 lengths of documents, and fwd.documents has 302 ids"),
    ("inv.sizes", lambda content: b"", "0 lengths of documents"),
    ("fwd.documents", lambda content: content + b"d\n", "302 lengths of documents, and fwd.documents has 303 ids"),
    ("fwd.documents", lambda content: b"\xff" + content, "utf-8"),
])  # fmt: skip
def test_a_damaged_index_is_one_error(index, name, change, message, tmp_path):
    shutil.copytree(index.path, tmp_path / "index")
    file = tmp_path / "index" / name
    if change is None:
        file.unlink()
    else:
        file.write_bytes(change(file.read_bytes()))
    damaged = pyterrier_pisa.PisaIndex(str(tmp_path / "index"))
    refused(lambda: lengths_of_index(damaged), MalformedFile, message, *[name] * (change is None))


def test_ids_and_weights_that_are_no_lengths_in_words(tmp_path):
    (tmp_path / "fwd.documents").write_bytes(b"a\r\nb\rc\n")
    (tmp_path / "inv.sizes").write_bytes(np.array([2, 7, 9], "<u4").tobytes())
    (tmp_path / "fwd").write_bytes(b"")
    table = read_pisa_index(tmp_path)
    assert table.to_pydict() == {"doc_id": ["a\r", "b\rc"], "doc_length": [7, 9]}
    index = pyterrier_pisa.PisaIndex(str(tmp_path / "index"), stemmer="none")
    rows = [{"docno": "d1", "toks": {"fox": 1.5, "jump": 0.2}}, {"docno": "d2", "toks": {"a": 1.0}}]
    index.toks_indexer().index(rows)
    refused(lambda: lengths_of_index(index), BadParameter, "made from token weights, whose sums are not words")
    nothing = pyterrier_pisa.PisaIndex(str(tmp_path / "nothing"))
    refused(lambda: lengths_of_index(nothing), MalformedFile, "this PISA index is not built")
