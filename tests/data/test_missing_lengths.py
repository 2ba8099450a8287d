"""Documents without length: lengths that the mean replaces are reported, and ranks that are not read need no length."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, evaluate, explain, scorer
from pyterrier_cwla.errors import MissingLength
from pyterrier_cwla.evaluation import stop_distribution
from tests.doors.doors import DOORS, doors_of
from tests.doors.rows import Data
from tests.support import caught_warnings
from tests.support.generated import collection, harmless
from tests.support.messages import refused

QRELS, RUN = (harmless(collection(4, queries=13, depth=40))._asdict()[name] for name in ("qrels", "run"))
JUDGED = RUN[RUN.query_id.isin(set(QRELS.query_id))]
QUERY = JUDGED.query_id.iloc[0]
DOCS = sorted(set(RUN.doc_id))
WORDS = {doc_id: 100 + 7 * number for number, doc_id in enumerate(DOCS)}

told = partial(caught_warnings.told, file=__file__)


def ranks(run=RUN):
    ordered = run.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False])
    return ordered.groupby("query_id").cumcount().reindex(run.index) + 1


def warned(name, measure, folder):
    if name == "stop_distribution":
        return told(lambda: stop_distribution(QRELS, RUN, measure))
    return DOORS[name].told(Data(RUN, QRELS), [measure, measure(half_life=9)], folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*doors_of(TBG, whole=True), "stop_distribution"])
def test_lengths_that_the_mean_of_a_table_replaces_are_counted(name, tmp_path):
    some = {doc_id: words for number, (doc_id, words) in enumerate(WORDS.items()) if number % 3}
    (message,) = warned(name, TBG(lengths=some, missing="mean"), tmp_path)
    lacking = int((~JUDGED.doc_id.isin(some)).sum())
    assert message.startswith(f"{lacking:,} of {len(JUDGED):,} documents of ")
    assert (
        f"({100 * lacking / len(JUDGED):.1f}\N{NO-BREAK SPACE}%) have no length in the table of lengths, such as 'd"
        in message
    )
    assert message.endswith(": they have the mean.")
    assert not warned(name, TBG(lengths=WORDS, missing="mean"), tmp_path)
    with pytest.raises(MissingLength, match=rf"none of {len(JUDGED)} documents of .* is in the table of lengths, such"):
        warned(name, TBG(lengths={"elsewhere": 5}, missing="mean"), tmp_path)
    one = JUDGED.doc_id.iloc[0]
    (message,) = warned(name, TBG(lengths={one: 5}, missing="mean"), tmp_path)
    assert "documents of" in message


def test_lengths_that_the_mean_of_the_column_replaces_are_counted():
    run = RUN.assign(doc_length=RUN.doc_id.map(WORDS).where(np.arange(len(RUN)) % 4 > 0))
    (message,) = told(lambda: explain(QRELS, run, QUERY, TBG(missing="mean")))
    assert f"{int(run.loc[JUDGED.index].doc_length.isna().sum())} of {len(JUDGED)} documents of the run" in message
    assert "in the column doc_length" in message
    from sklearn.dummy import DummyRegressor

    index = pd.MultiIndex.from_arrays([["a", "a", "b"], [10, np.nan, 5]], names=["qid", "doc_length"])
    X, y = np.zeros((3, 1)), pd.Series([1, 0, 1], index=index)
    model = DummyRegressor().fit(X, y)
    (message,) = told(lambda: scorer("TBG(missing='mean')")(model, X, y))
    assert message.startswith("1 of 3 documents of these rows (33.3\xa0%)")
    assert "such as 'row 1' of query 'a'" in message


@pytest.mark.slow
@pytest.mark.parametrize("by_table, door", [
    (table, door) for table in (True, False) for door in doors_of(TBG(end=3), whole=True, columns=not table)
])  # fmt: skip
def test_ranks_that_are_not_read_need_no_length(door, by_table, tmp_path):
    """Some doors have a second run, with the scores negated; its first ranks are read as well."""
    run, k = RUN.assign(doc_length=RUN.doc_id.map(WORDS).astype(float)), 3
    is_read = (ranks(run) <= k) | (ranks(run.assign(score=-run.score)) <= k)
    if by_table:
        run = run.drop(columns="doc_length")
        few = {doc_id: WORDS[doc_id] for doc_id in set(run.doc_id[is_read])}
        assert len(few) < len(WORDS)
        gaps, with_gaps = TBG(lengths=few), run
    else:
        gaps = TBG
        with_gaps = run.assign(doc_length=run.doc_length.where(is_read))
    (tmp_path / "full").mkdir()
    for some in ([gaps @ k, gaps @ (k - 2)], [gaps(end=k)]):
        every = [measure(lengths=WORDS) for measure in some] if by_table else some
        found = DOORS[door].values(Data(with_gaps, QRELS), some, tmp_path)
        expected = DOORS[door].values(Data(run, QRELS), every, tmp_path / "full")
        assert np.array_equal(found, expected)
    for measure in (gaps @ (k + 1), gaps, (gaps @ k)(judged_only=True)):
        with pytest.raises(MissingLength, match="have none"):
            DOORS[door].values(Data(with_gaps, QRELS), [measure], tmp_path)


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
    measure = TBG(norm="ideal", lengths={"elsewhere": 5}, missing="mean")
    refused(lambda: evaluate(QRELS, RUN, [measure]), MissingLength, "no judged document is in the table of lengths")
    from sklearn.linear_model import Ridge

    from pyterrier_cwla import out_of_fold
    from pyterrier_cwla.errors import NotPassed
    from pyterrier_cwla.learning import EvalMeasure

    with pytest.raises(MissingLength, match=r"TBG needs the length of every row: EvalMeasure\('TBG', doc_length=…\)"):
        EvalMeasure("TBG")([0, 1], [1.0, 2.0], None, [2])
    y = pd.Series([0, 1, 0, 1], index=pd.Index([*"aabb"], name="qid"))
    with pytest.raises(NotPassed, match=r"TBG needs .*: pass the index level 'doc_length'.* Or pass the index level"):
        out_of_fold(Ridge(), np.zeros((4, 1)), y, "TBG", cv=2)
