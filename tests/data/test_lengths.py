"""Document lengths: counted in texts, read from an index, saved, loaded, and used by measures."""

import json
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import ir_datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tqdm.auto

import pyterrier_cwla
from pyterrier_cwla import TBG, Lengths, find_duplicates, lengths_of_texts, register_lengths
from pyterrier_cwla.data import lengths_of_index
from pyterrier_cwla.errors import BadParameter, MalformedFile
from tests.support.messages import refused

TEXTS = {"d1": "Time-biased  gain\nof users.", "d2": "", "d3": " one\ttwo three "}
WORDS = {"d1": 4, "d2": 0, "d3": 3}


class Document(NamedTuple):
    doc_id: str
    text: str


class Page(NamedTuple):
    """Document of ir_datasets with several text fields."""

    doc_id: str
    title: str
    body: str

    def default_text(self) -> str:
        return f"{self.title} {self.body}"


def frame(ids="docno"):
    return pd.DataFrame({ids: TEXTS.keys(), "text": TEXTS.values()})


def as_dict(lengths, ids=("d1", "d2", "d3")):
    return dict(zip(ids, lengths.words(pa.array(ids, pa.large_string())).tolist(), strict=True))


def documents():
    return (Document(*item) for item in TEXTS.items())


DATASET = SimpleNamespace(docs_iter=documents, docs_count=lambda: len(TEXTS))
"""Minimal dataset with the interface of ir_datasets."""


@pytest.mark.parametrize("texts", [
    TEXTS, pd.Series(TEXTS), frame(), frame("doc_id"), pl.DataFrame(frame()), pa.Table.from_pandas(frame()),
    [{"docno": d, "text": t, "url": 3} for d, t in TEXTS.items()], [*documents()],
    documents(), DATASET,
], ids=lambda texts: type(texts).__name__)  # fmt: skip
def test_texts_in_every_form_have_the_same_words(texts):
    lengths = lengths_of_texts(texts)
    assert as_dict(lengths) == WORDS
    assert lengths.about == {"tokeniser": "whitespace", "documents": 3}
    assert lengths.name == Lengths.of(WORDS).name


@pytest.mark.parametrize("tokeniser, name, words", [
    ("whitespace", "whitespace", {"d1": 4, "d2": 0, "d3": 3}), ("words", "words", {"d1": 5, "d2": 0, "d3": 3}),
    (list, "list", {"d1": 27, "d2": 0, "d3": 15}),
    (lambda text: text.split("o"), "<lambda>", {"d1": 2, "d2": 1, "d3": 3}),
])  # fmt: skip
def test_a_word_is_what_the_tokeniser_says(tokeniser, name, words):
    lengths = lengths_of_texts(TEXTS, tokeniser)
    assert as_dict(lengths) == words
    assert lengths.about["tokeniser"].endswith(name)


def test_texts_of_several_fields_and_rankings(tmp_path):
    pages = [Page("d1", "a title", "and a body"), Page("d2", "b", "")]
    ids = ("d1", "d2")
    assert as_dict(lengths_of_texts(pages), ids) == {"d1": 5, "d2": 1}
    assert as_dict(lengths_of_texts(pages, fields=["body"]), ids) == {"d1": 3, "d2": 0}
    assert as_dict(lengths_of_texts(pd.DataFrame(pages), fields=["title", "body"]), ids) == {"d1": 5, "d2": 1}
    ranking = pd.concat([frame().assign(qid="1"), frame()[:2].assign(qid="2")])
    assert as_dict(lengths_of_texts(ranking)) == WORDS
    (tmp_path / "docs.tsv").write_text("d1\tTime-biased gain of users.\nd3\tone two three\n")
    dataset = ir_datasets.create_dataset(docs_tsv=str(tmp_path / "docs.tsv"))
    for texts in (dataset, dataset.docs_iter()):
        assert as_dict(lengths_of_texts(texts), ("d1", "d3")) == {"d1": 4, "d3": 3}


@pytest.mark.every_case
@pytest.mark.parametrize(("texts", "says"), [
    ({"d1": None}, "the text of 'd1' is a NoneType"),
    (frame().assign(text=["x", None, "y"]), "text of the texts is missing in row 1"),
    (frame().rename(columns={"text": "body"}), "these have 'docno', 'body'"),
    ([{"doc_id": "d1", "body": "x"}], "no 'text'; there is 'doc_id', 'body'"),
    ([{"text": "x"}], "no 'doc_id'; there is 'text'"),
    (["a text"], "not 'a text'"),
    ("a text", "not str"),
    ([{"docno": "a", "text": "x"}] * 2 + [{"docno": "a", "text": "y"}], "have 'a' twice"),
])  # fmt: skip
def test_texts_that_are_none(texts, says):
    refused(lambda: lengths_of_texts(texts), BadParameter, says)


def test_what_is_no_tokeniser_index_or_table(tmp_path, monkeypatch):
    refused(lambda: lengths_of_texts(TEXTS, "whitespaces"), BadParameter, "Near: 'whitespace'")
    refused(lambda: lengths_of_index({}), BadParameter, "not from a dict")
    refused(lambda: Lengths.load(tmp_path / "none.parquet"), BadParameter, "there is no such file")
    odd = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"docno": ["a"], "words": [-1.0]}), odd)
    refused(lambda: Lengths.load(odd), MalformedFile, "doc_length is -1.0 for document 'a'")
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("1 0 a 1\n1 0 b 0\n")
    default = register_lengths(WORDS)
    for arguments in ([str(qrels)], ["of_a_wrong_file", qrels]):
        refused(partial(register_lengths, *arguments), MalformedFile, "expected 2 fields")
    refused(lambda: TBG(lengths="of_a_wrong_file"), BadParameter, "of_a_wrong_file")
    assert Lengths.default is default
    monkeypatch.setattr(Lengths, "_named", {})
    refused(lambda: TBG(lengths="none"), BadParameter, "nor the name of a table. register_lengths(name, table) names")


@pytest.mark.parametrize("progress", [True, False])
def test_long_work_shows_how_far_it_is(monkeypatch, progress):
    shown = []
    monkeypatch.setattr(tqdm.auto, "tqdm", lambda items, says, total, **_: shown.append((says, total)) or items)
    lengths_of_texts(DATASET, progress=progress)
    lengths_of_texts(documents(), progress=progress)
    lengths_of_index(index(WORDS), progress=progress)
    find_duplicates({"d1": "a b", "d2": "a b", "d3": "a c"}, 0.5, progress=progress)
    bars = [("counting words", 3), ("counting words", None), ("reading the index", None)]
    bars += [("reading", 3), ("comparing", 2)]
    assert shown == (bars if progress else [])


def index(words):
    """Return a minimal substitute for Terrier's Java index."""
    docnos = list(words)
    return SimpleNamespace(
        getCollectionStatistics=lambda: SimpleNamespace(getNumberOfDocuments=lambda: len(docnos)),
        getMetaIndex=lambda: SimpleNamespace(getItem=lambda key, docid: {"docno": docnos}[key][docid]),
        getDocumentIndex=lambda: SimpleNamespace(getDocumentLength=lambda docid: words[docnos[docid]]),
    )


def test_an_index_that_knows_lengths():
    """Java's index, and PyTerrier's wrapper of it."""
    for given in (index(WORDS), SimpleNamespace(index_obj=lambda: index(WORDS))):
        lengths = lengths_of_index(given)
        assert as_dict(lengths) == WORDS
        assert lengths.about == {"tokeniser": "Terrier index", "documents": 3}
        assert TBG(lengths=lengths) == TBG(lengths=WORDS)


def test_one_file_keeps_the_table_and_how_it_was_made(tmp_path):
    made, path = lengths_of_texts(TEXTS, "words"), tmp_path / "lengths.parquet"
    made.save(path)
    loaded = Lengths.load(path)
    assert (as_dict(loaded), loaded.name) == (as_dict(made), str(path))
    made_by = {"table": "lengths", "version": pyterrier_cwla.__version__}
    assert loaded.about == {"tokeniser": "words", "documents": 3, **made_by}
    assert json.loads(pq.read_schema(path).metadata[b"pyterrier_cwla"]) == loaded.about
    assert pq.read_table(path).to_pydict() == {"docno": ["d1", "d2", "d3"], "doc_length": [5.0, 0.0, 3.0]}
    assert register_lengths("loaded", loaded).about == loaded.about
    again = tmp_path / "again.parquet"
    loaded.save(again)
    assert Lengths.load(again).about == loaded.about
    (tmp_path / "lengths.tsv").write_text("d1\t4\nd2\t0\nd3\t3\n")
    loaded = Lengths.load(tmp_path / "lengths.tsv")
    assert (as_dict(loaded), loaded.about) == (WORDS, {})
