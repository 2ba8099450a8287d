"""Documents without length: lengths that the mean replaces are reported, and ranks that are not read need no length."""

from functools import partial

import ir_measures
import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, evaluate, explain, scorer, stream
from pyterrier_cwla.cli.app import _ways_out, main
from pyterrier_cwla.errors import MissingLength
from pyterrier_cwla.evaluation import stop_distribution
from tests.support import caught_warnings
from tests.support.generated import collection, harmless

QRELS, RUN = (harmless(collection(4, queries=13, depth=40))._asdict()[name] for name in ("qrels", "run"))
JUDGED = RUN[RUN.query_id.isin(set(QRELS.query_id))]
QUERY = JUDGED.query_id.iloc[0]
DOCS = sorted(set(RUN.doc_id))
WORDS = {doc_id: 100 + 7 * number for number, doc_id in enumerate(DOCS)}

told = partial(caught_warnings.told, file=__file__)


def ranks(run=RUN):
    ordered = run.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False])
    return ordered.groupby("query_id").cumcount().reindex(run.index) + 1


def written(folder, run):
    path = folder / "run.parquet"
    run.to_parquet(path, index=False, row_group_size=37)
    return path


WAYS = {
    "evaluate": lambda run, measure, folder: evaluate(QRELS, run, [measure]),
    "several": lambda run, measure, folder: evaluate(QRELS, {"a": run}, [measure, measure(half_life=9)]),
    "file": lambda run, measure, folder: evaluate(QRELS, written(folder, run), [measure]),
    "kept": lambda run, measure, folder: evaluate(QRELS, run, [measure], cache_dir=folder / "kept"),
    "stream": lambda run, measure, folder: pd.concat(stream(QRELS, written(folder, run), [measure])),
    "small buffer": lambda run, measure, folder: pd.concat(
        stream(QRELS, written(folder, run.sample(frac=1, random_state=1)), [measure], buffer_rows=20)
    ),
    "provider": lambda run, measure, folder: ir_measures.cwla.calc_aggregate([measure], QRELS, run),
    "stop_distribution": lambda run, measure, folder: stop_distribution(QRELS, run, measure),
}


@pytest.mark.parametrize("way", WAYS)
def test_lengths_that_the_mean_of_a_table_replaces_are_counted(way, tmp_path):
    some = {doc_id: words for number, (doc_id, words) in enumerate(WORDS.items()) if number % 3}
    (message,) = told(lambda: WAYS[way](RUN, TBG(lengths=some, missing="mean"), tmp_path))
    lacking = int((~JUDGED.doc_id.isin(some)).sum())
    assert message.startswith(f"{lacking:,} of {len(JUDGED):,} documents of ")
    assert f"({100 * lacking / len(JUDGED):.1f} %) have no length in the table of lengths, such as 'd" in message
    assert message.endswith("missing='mean' replaces them by the mean.")
    assert not told(lambda: WAYS[way](RUN, TBG(lengths=WORDS, missing="mean"), tmp_path))


@pytest.mark.parametrize("way", WAYS)
def test_a_table_of_another_collection_is_an_error(way, tmp_path):
    with pytest.raises(MissingLength, match=rf"none of {len(JUDGED)} documents of .* is in the table of lengths, such"):
        WAYS[way](RUN, TBG(lengths={"elsewhere": 5}, missing="mean"), tmp_path)
    one = JUDGED.doc_id.iloc[0]
    (message,) = told(lambda: WAYS[way](RUN, TBG(lengths={one: 5}, missing="mean"), tmp_path))
    assert "documents of" in message


def test_lengths_that_the_mean_of_the_column_replaces_are_counted():
    run = RUN.assign(doc_length=RUN.doc_id.map(WORDS).where(np.arange(len(RUN)) % 4 > 0))
    (message,) = told(lambda: explain(QRELS, run, QUERY, TBG(missing="mean")))
    assert f"{int(run.loc[JUDGED.index].doc_length.isna().sum())} of {len(JUDGED)} documents of the run" in message
    assert "in the column doc_length" in message


def test_rows_of_a_scorer_are_told_of_without_invented_ids():
    from sklearn.dummy import DummyRegressor

    index = pd.MultiIndex.from_arrays([["a", "a", "b"], [10, np.nan, 5]], names=["qid", "doc_length"])
    X, y = np.zeros((3, 1)), pd.Series([1, 0, 1], index=index)
    model = DummyRegressor().fit(X, y)
    (message,) = told(lambda: scorer("TBG(missing='mean')")(model, X, y))
    assert message.startswith("1 of 3 documents of these rows (33.3 %)")
    assert "such as 'row 1' of query 'a'" in message


def test_the_command_notes_replaced_lengths(tmp_path, capsys):
    qrels, run, table = (tmp_path / name for name in ("qrels.txt", "one.run", "lengths.tsv"))
    qrels.write_text("1 0 a 1\n1 0 b 0\n")
    run.write_text("1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n")
    table.write_text("docno\tdoc_length\na\t100\n")
    with pytest.raises(SystemExit, match="0"):
        main(["evaluate", *map(str, (qrels, run)), "-m", "TBG", "--lengths", str(table), "--missing", "mean"])
    assert "1 of 2 documents of one (50.0 %) have no length in" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("way", [way for way in WAYS if way != "stop_distribution"])
@pytest.mark.parametrize("by_table", [True, False], ids=["table", "column"])
def test_ranks_that_are_not_read_need_no_length(way, by_table, tmp_path):
    run, k = RUN.assign(doc_length=RUN.doc_id.map(WORDS).astype(float)), 5
    if by_table:
        run = run.drop(columns="doc_length")
        read = set(run.doc_id[ranks(run) <= k])
        few, every = {doc_id: WORDS[doc_id] for doc_id in DOCS if doc_id in read}, WORDS
        assert len(few) < len(every)
        gaps, full = (TBG(lengths=table) for table in (few, every))
        with_gaps = run
    else:
        gaps = full = TBG
        with_gaps = run.assign(doc_length=run.doc_length.where(ranks(run) <= k))
    for measure in (lambda base: base @ k, lambda base: base @ (k - 2), lambda base: base(end=k)):
        found, expected = (
            WAYS[way](rows, measure(base), tmp_path / name)
            for rows, base, name in ((with_gaps, gaps, "a"), (run, full, "b"))
            if (tmp_path / name).mkdir(exist_ok=True) is None
        )
        if way == "provider":
            assert list(found.values()) == list(expected.values())
        else:
            assert np.array_equal(found.select_dtypes("number"), expected.select_dtypes("number"))
    for measure in (gaps @ (k + 1), gaps, (gaps @ k)(judged_only=True)):
        with pytest.raises(MissingLength, match="have none"):
            WAYS[way](with_gaps, measure, tmp_path)


def test_errors_name_run_and_measure_once_and_are_not_chained(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    RUN.to_parquet(folder / "one.parquet", index=False)
    for runs in ({"one": RUN}, {"one": folder / "one.parquet"}):
        with pytest.raises(MissingLength, match=r"^one: TBG\(half_life=9\): the lengths of documents are") as found:
            evaluate(QRELS, runs, ["TBG(half_life=9)"])
        assert found.value.__cause__ is None
        assert found.value.__suppress_context__
    with pytest.raises(MissingLength, match=r"^TBG: time as effort needs .* have none") as found:
        evaluate(QRELS, RUN, [TBG(lengths={"elsewhere": 5})])
    assert found.value.__cause__ is None
    assert found.value.__suppress_context__


def test_ideal_rankings_refuse_a_table_of_another_collection():
    measure = TBG(norm="ideal", lengths={"elsewhere": 5}, missing="mean")
    with pytest.raises(MissingLength, match="no judged document is in the table of lengths"):
        evaluate(QRELS, RUN, [measure])


def test_learning_says_how_to_pass_lengths():
    from sklearn.linear_model import Ridge

    from pyterrier_cwla import out_of_fold
    from pyterrier_cwla.errors import NotPassed
    from pyterrier_cwla.learning import EvalMeasure

    with pytest.raises(MissingLength, match=r"TBG needs the length of every row: EvalMeasure\('TBG', doc_length=…\)"):
        EvalMeasure("TBG")([0, 1], [1.0, 2.0], None, [2])
    y = pd.Series([0, 1, 0, 1], index=pd.Index([*"aabb"], name="qid"))
    with pytest.raises(NotPassed, match=r"TBG needs .*: pass the index level 'doc_length'.* Or pass the index level"):
        out_of_fold(Ridge(), np.zeros((4, 1)), y, "TBG", cv=2)


@pytest.mark.parametrize(
    ("given", "options"),
    [((), "--lengths FILE, --missing mean"), (("--missing", "mean"), "--lengths FILE"), (("--lengths=t.tsv",), "")],
)
def test_the_command_proposes_options_that_are_not_given(given, options):
    found = _ways_out(["evaluate", "-m", "TBG", *given])
    assert found == {"": " On the command line: --missing mean."}.get(options, f" On the command line: {options}.")
    assert not _ways_out(["--lengths", "a", "--missing=mean"])
