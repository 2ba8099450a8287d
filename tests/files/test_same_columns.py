"""Two columns with the same meaning: accepted if all rows are equal, otherwise one error that names both columns."""

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


def cases(frame):
    return [name for name in SECOND if name in frame.columns]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("side, name", [("q", name) for name in cases(QRELS)] + [("r", name) for name in cases(RUN)])
def test_frames(form, side, name):
    other, same, differing, values = SECOND[name]
    frame = QRELS if side == "q" else RUN

    def pair(values):
        given = FORMS[form](with_second(frame, name, values).to_dict("list"))
        return (given, RUN) if side == "q" else (QRELS, given)

    pd.testing.assert_frame_equal(evaluate(*pair(same), ["AP", "nDCG"]), EXPECTED)
    message = complaint(BadJudgments if side == "q" else BadRun, evaluate, *pair(differing), ["AP"])
    assert f"the columns {name!r} and {other!r} with one meaning, and they differ: {values} in row 1" in message
    assert ("query 'q'" in message) == (name != "query_id")
    assert ("document 'b'" in message) == (name != "doc_id")
    assert message == complaint(CWLAError, ir_measures.cwla.calc_aggregate, [AP], *pair(differing))


@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize("name", SECOND)
def test_a_name_that_stands_twice(name, arrow):
    other, same, differing, values = SECOND[name]

    def table(values):
        frame = with_second(QRELS, name, values)
        names = [name if one == other else one for one in frame.columns]
        return pa.Table.from_pandas(frame).rename_columns(names) if arrow else frame.set_axis(names, axis=1)

    pd.testing.assert_frame_equal(evaluate(table(same), RUN, ["AP", "nDCG"]), EXPECTED)
    message = complaint(BadJudgments, evaluate, table(differing), RUN, ["AP"])
    assert f"the judgments have two columns {name!r} with one meaning, and they differ: {values} in row 1" in message


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this version of polars has no such type")
def test_numbers_of_128_bits():
    judged = pl.DataFrame(QRELS).cast({"relevance": pl.Int128})
    pd.testing.assert_frame_equal(evaluate(judged, RUN, ["AP", "nDCG"]), EXPECTED)


def test_texts_that_are_no_unicode_are_compared():
    ids = ["a", "\ud800", 1]
    refused = complaint(BadRun, evaluate, QRELS, RUN.assign(doc_id=ids, docno=ids), ["AP"])
    assert "with one meaning" not in refused
    refused = complaint(BadRun, evaluate, QRELS, RUN.assign(doc_id=ids, docno=["a", "\ud801", 1]), ["AP"])
    assert "'doc_id' and 'docno' with one meaning, and they differ" in refused
    judged = QRELS.assign(label=QRELS.relevance.astype(float))
    pd.testing.assert_frame_equal(evaluate(judged, RUN, ["AP", "nDCG"]), EXPECTED)
    assert "differ: 1 and '1'" in complaint(BadJudgments, evaluate, QRELS.assign(label=["1", "0", "2"]), RUN, ["AP"])
    holes = RUN.assign(duplicate_of=[None, "a", None])
    holes.insert(3, "duplicate_of", holes["duplicate_of"], allow_duplicates=True)
    assert len(evaluate(QRELS, holes, ["AP"])) == 1


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize("twice", [False, True])
def test_parquet(tmp_path, name, twice):
    other, same, differing, values = SECOND[name]
    read, frame = (read_qrels, QRELS) if name == "relevance" else (read_run, RUN)

    def file(values):
        table = pa.Table.from_pandas(with_second(frame, name, values), preserve_index=False)
        if twice:
            table = table.rename_columns([name if one == other else one for one in table.column_names])
        pa.parquet.write_table(table, tmp_path / "file.parquet")
        return tmp_path / "file.parquet"

    assert read(file(same)).to_pandas().equals(read_of(frame, tmp_path, read))
    found = complaint(MalformedFile, read, file(differing))
    two = f"has two columns {name!r}" if twice else f"has the columns {name!r} and {other!r}"
    place = f"{tmp_path / 'file.parquet'}: row 2: the file"
    assert found.startswith(f"{place} {two} with one meaning, and they differ: {values}")
    if name != "relevance":
        scores = pd.concat(stream(QRELS, file(same), ["AP", "nDCG"]))
        assert scores[["AP", "nDCG"]].to_numpy().tolist() == EXPECTED.to_numpy().tolist()
        assert f"differ: {values}" in complaint(MalformedFile, lambda: list(stream(QRELS, file(differing), ["AP"])))


def read_of(frame, folder, read):
    frame.to_parquet(folder / "plain.parquet", index=False)
    return read(folder / "plain.parquet").to_pandas()


def test_text_with_headers(tmp_path):
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


def test_tables_of_documents_and_sessions():
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
