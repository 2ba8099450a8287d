"""Two columns with the same meaning: accepted if all rows are equal, otherwise one error that names both columns."""

from itertools import product

import ir_measures
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pyterrier as pt
import pytest
from ir_measures import AP

from pyterrier_cwla import CWLA, Lengths, evaluate, evaluate_sessions, stream
from pyterrier_cwla.data.duplicates import Duplicates
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, BadSessions, CWLAError, MalformedFile
from pyterrier_cwla.files.formats import read_duplicates, read_lengths, read_qrels, read_run
from tests.support.messages import complaint

QRELS = {"query_id": ["q", "q", "q"], "doc_id": ["a", "b", "c"], "relevance": [1, 0, 2]}
RUN = {"query_id": ["q", "q", "q"], "doc_id": ["a", "b", "c"], "score": [1.0, 3.0, 2.0]}
SECOND = {"relevance": ("label", [1, 0, 2], [1, 1, 2], "0 and 1"),
          "query_id": ("qid", ["q", "q", "q"], ["q", "r", "q"], "'q' and 'r'"),
          "doc_id": ("docno", ["a", "b", "c"], ["a", "x", "c"], "'b' and 'x'")}  # fmt: skip
FORMS = {"pandas": pd.DataFrame, "objects": lambda columns: pd.DataFrame(columns).astype(object),
         "categories": lambda columns: pd.DataFrame(columns).astype({"query_id": "category", "doc_id": "category"}),
         "polars": pl.DataFrame, "arrow": pa.table,
         "tuples": lambda columns: list(pd.DataFrame(columns).itertuples(index=False))}  # fmt: skip
EXPECTED = evaluate(QRELS := pd.DataFrame(QRELS), RUN := pd.DataFrame(RUN), ["AP", "nDCG"])


def with_second(frame, name, values):
    """Return the frame with a second column of the same meaning under its other name."""
    return frame.assign(**{SECOND[name][0]: values})


@pytest.mark.slow
@pytest.mark.parametrize("side, name", [("q", "relevance"), *product("qr", ["query_id", "doc_id"])])
@pytest.mark.every_case
def test_frames(side, name):
    other, same, differing, values = SECOND[name]
    frame, error = (QRELS, BadJudgments) if side == "q" else (RUN, BadRun)

    def pair(form, values):
        given = form(with_second(frame, name, values).to_dict("list"))
        return (given, RUN) if side == "q" else (QRELS, given)

    for form in FORMS.values():
        pd.testing.assert_frame_equal(evaluate(*pair(form, same), ["AP", "nDCG"]), EXPECTED)
        message = complaint(error, evaluate, *pair(form, differing), ["AP"])
        assert f"the columns {name!r} and {other!r} with one meaning, and they differ: {values} in row 1" in message
        assert ("query 'q'" in message) == (name != "query_id")
        assert ("document 'b'" in message) == (name != "doc_id")
        assert message == complaint(CWLAError, ir_measures.cwla.calc_aggregate, [AP], *pair(form, differing))

    def twice(columns):
        return pd.DataFrame(columns).set_axis([name if one == other else one for one in columns], axis=1)

    for form in (twice, lambda columns: pa.Table.from_arrays([*pa.table(columns).columns], [*twice(columns)])):
        pd.testing.assert_frame_equal(evaluate(*pair(form, same), ["AP", "nDCG"]), EXPECTED)
        message = complaint(error, evaluate, *pair(form, differing), ["AP"])
        assert f"two columns {name!r} with one meaning, and they differ: {values} in row 1" in message


def test_texts_without_unicode_and_wide_numbers_are_compared():
    ids = ["a", "\ud800", 1]
    refused = complaint(BadRun, evaluate, QRELS, RUN.assign(doc_id=ids, docno=ids), ["AP"])
    assert "with one meaning" not in refused
    refused = complaint(BadRun, evaluate, QRELS, RUN.assign(doc_id=ids, docno=["a", "\ud801", 1]), ["AP"])
    assert "'doc_id' and 'docno' with one meaning, and they differ" in refused
    judged = QRELS.assign(label=QRELS.relevance.astype(float))
    pd.testing.assert_frame_equal(evaluate(judged, RUN, ["AP", "nDCG"]), EXPECTED)
    assert "differ: 1 and '1'" in complaint(BadJudgments, evaluate, QRELS.assign(label=["1", "0", "2"]), RUN, ["AP"])
    if hasattr(pl, "Int128"):  # this version of polars has numbers of 128 bits
        judged = pl.DataFrame(QRELS).cast({"relevance": pl.Int128})
        pd.testing.assert_frame_equal(evaluate(judged, RUN, ["AP", "nDCG"]), EXPECTED)
    holes = RUN.assign(duplicate_of=[None, "a", None])
    holes.insert(3, "duplicate_of", holes["duplicate_of"], allow_duplicates=True)
    assert len(evaluate(QRELS, holes, ["AP"])) == 1


@pytest.mark.parametrize("name", SECOND)
def test_parquet(tmp_path, name):
    other, same, differing, values = SECOND[name]
    read, frame = (read_qrels, QRELS) if name == "relevance" else (read_run, RUN)
    path = tmp_path / "file.parquet"

    def file(frame, twice=False):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if twice:
            table = table.rename_columns([name if one == other else one for one in table.column_names])
        pa.parquet.write_table(table, path)
        return path

    expected = read(file(frame))
    for twice, two in ((False, f"has the columns {name!r} and {other!r}"), (True, f"has two columns {name!r}")):
        assert read(file(with_second(frame, name, same), twice)).equals(expected)
        if name != "relevance":
            scores = pd.concat(stream(QRELS, path, ["AP", "nDCG"]))
            assert scores[["AP", "nDCG"]].to_numpy().tolist() == EXPECTED.to_numpy().tolist()
        found = complaint(MalformedFile, read, file(with_second(frame, name, differing), twice))
        assert found.startswith(f"{path}: row 2: the file {two} with one meaning, and they differ: {values}")
        if name != "relevance":
            assert f"differ: {values}" in complaint(MalformedFile, lambda: list(stream(QRELS, path, ["AP"])))


def test_tables_of_documents_and_sessions(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("docno\twords\tdoc_length\nd1\t3\t3\nd2\t5\t5.0\n")
    assert read_lengths(path).to_pydict() == {"doc_id": ["d1", "d2"], "doc_length": [3.0, 5.0]}
    path.write_text("docno\twords\tdoc_length\nd1\t3\t3\nd2\t5\t6\n")
    message = complaint(MalformedFile, read_lengths, path)
    assert message.startswith(f"{path}:3: the file has the columns 'words' and 'doc_length' with one meaning")
    assert message.endswith("they differ: 5.0 and 6.0 for document 'd2'. Keep one of the two.")
    path.write_text("docno,docno,duplicate_of\nd2,d2,d1\nd3,d4,d1\n")
    assert "they differ: 'd3' and 'd4'" in complaint(MalformedFile, read_duplicates, path)
    path.write_text("docno,doc_id\nd1,d2\n")
    assert "there is no column of values" in complaint(MalformedFile, read_duplicates, path)
    frame = pd.DataFrame({"docno": ["d1", "d2"], "words": [3, 5], "doc_length": [3.0, 5.0]})
    assert Lengths.of(frame).mean == Lengths.of(pl.from_pandas(frame)).mean == 4
    message = complaint(BadParameter, Lengths.of, frame.assign(words=[3, 6]))
    two = "the table of lengths has the columns 'doc_length' and 'words' with one meaning, and they differ"
    assert message == f"{two}: 5.0 and 6 for document 'd2' in row 1. Keep one of the two."
    copies = pd.DataFrame({"docno": ["d2"], "doc_id": ["d3"], "duplicate_of": ["d1"]})
    assert "'doc_id' and 'docno'" in complaint(BadParameter, Duplicates.of, copies)
    table = pd.DataFrame({"session": ["q"], "query_id": ["q"], "qid": ["q"], "order": [1]})
    assert evaluate_sessions(QRELS, RUN, table, ["sDCG"]).shape == (1, 1)
    message = complaint(BadSessions, evaluate_sessions, QRELS, RUN, table.assign(qid="r"), ["sDCG"])
    assert "the columns 'query_id' and 'qid' with one meaning, and they differ: 'q' and 'r' in row 0" in message


def test_an_experiment_with_a_label_and_a_relevance():
    measure = CWLA(C="rbp(0.5)", A="erg", max_rel=2)
    topics = pd.DataFrame({"qid": ["q"], "query": ["words"]})
    run, judged = (frame.rename(columns={"query_id": "qid", "doc_id": "docno"}) for frame in (RUN, QRELS))
    run = pt.Transformer.from_df(pt.model.add_ranks(run))
    both = judged.assign(label=judged.relevance)
    expected = evaluate(QRELS, RUN, [measure]).to_numpy()
    assert pt.Experiment([run], topics, both, [measure], names=["run"])[[str(measure)]].to_numpy() == expected
    message = complaint(BadJudgments, pt.Experiment, [run], topics, both.assign(label=[1, 0, 1]), [measure])
    assert "two columns 'relevance' with one meaning, and they differ: 2 and 1 in row 2 (query 'q', docum" in message
