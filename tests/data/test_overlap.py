"""Warnings for runs with few judged documents or without judged queries; they point at the line of the user's call."""

from functools import partial

import ir_measures
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, NumRet, nDCG

from pyterrier_cwla import CWLA, evaluate, explain, stream
from pyterrier_cwla.data.alignment import Judgments
from pyterrier_cwla.data.rows import Rows
from pyterrier_cwla.evaluation import stop_distribution
from tests.doors.doors import DOORS, doors_of
from tests.doors.rows import Data
from tests.support import caught_warnings
from tests.support.generated import collection, harmless

RBP = CWLA(C="rbp(0.8)", A="erg", max_rel=3)
QRELS, RUN = (harmless(collection(4, queries=13, depth=40))._asdict()[name] for name in ("qrels", "run"))
QUERY = next(query for query in QRELS.query_id if query in set(RUN.query_id))


def renamed(run=RUN):
    """Return the run with document ids that do not occur in the judgments."""
    return run.assign(doc_id="x" + run.doc_id)


def few(run, judged):
    """Return the run with `judged` judged documents among the 110 in the top ten; the others get new ids."""
    ranked = run.sort_values(["query_id", "score"], ascending=[True, False], kind="stable", ignore_index=True)
    known = ranked.merge(QRELS[["query_id", "doc_id"]]).groupby("query_id").head(1).head(judged)
    kept = ranked.index.isin(ranked.reset_index().merge(known, on=["query_id", "doc_id"])["index"])
    return ranked.assign(doc_id=ranked.doc_id.where(kept, "x" + ranked.doc_id), score=ranked.score.where(~kept, 1000.0))


told = partial(caught_warnings.told, file=__file__)


#: Functions of a run that are no doors.
OTHERS = {"unchecked": lambda run: evaluate(QRELS, run, ["Judged@10", RBP], check=False),
          "iter_calc": lambda run: list(ir_measures.iter_calc([RBP, NumRet], QRELS, run)),
          "explain": lambda run: explain(QRELS, run, QUERY, "AP"),
          "stop_distribution": lambda run: stop_distribution(QRELS, run, "RR")}  # fmt: skip
NAMES = [*doors_of(RBP, whole=True), *OTHERS]


def warned(name, run, folder):
    if name in OTHERS:
        return told(lambda: OTHERS[name](run))
    door = DOORS[name]
    return door.told(Data(run, QRELS), [measure for measure in (AP, nDCG, RBP) if door.takes(measure)], folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_run_with_few_judged_documents(name, tmp_path):
    (message,) = warned(name, renamed(), tmp_path)
    run = DOORS[name].named if name in DOORS else "the run"
    assert message.startswith(f"no document of {run} is judged for its query, so that nothing is found: for query ")
    assert "it has 'xd" in message
    assert "judged are 'd" in message
    assert message.endswith("Are the ids of documents written alike?")
    # The threshold is 1 %: one judged document of 110 is below it.
    (message,) = warned(name, few(RUN, 1), tmp_path)
    assert "of the 110 documents in the top ten of" in message
    assert " 1 are judged, less than 1 %: for query" in message
    # One of the two is relevant.
    assert not warned(name, few(RUN, 2), tmp_path)
    assert not warned(name, RUN, tmp_path)


def test_judged_documents_that_are_not_relevant_count():
    assert not told(lambda: evaluate(QRELS.assign(relevance=0), RUN, ["AP"]))
    assert not told(lambda: evaluate(QRELS.assign(relevance=-1), RUN, ["Judged@10"]))
    odd = RUN.assign(doc_id="\x1b[2J" + "x" * 1000 + RUN.doc_id)
    (message,) = told(lambda: evaluate(QRELS, odd, ["AP"]))
    assert len(message) < 500
    assert "\x1b" not in message


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("compared", "explain")])
def test_no_query_in_common(name, tmp_path):
    message, *again = warned(name, RUN.assign(query_id="x" + RUN.query_id), tmp_path)
    assert again == [message] * name.endswith("_twice")  # also where scores are those of a cache
    assert message.startswith("run and judgments have no query in common: ")


@pytest.mark.parametrize("cache_dir", [False, True])
def test_every_run_without_a_judged_query_is_named(cache_dir, tmp_path):
    other = RUN.assign(query_id="x" + RUN.query_id)
    kept = {"cache_dir": tmp_path / "kept"} if cache_dir else {}
    one, two = told(lambda: evaluate(QRELS, {"one": other, "two": other, "good": RUN}, ["AP"], **kept))
    assert one.startswith("run and judgments have no query in common: one has 'x")
    assert two.startswith("run and judgments have no query in common: two has 'x")


@pytest.mark.slow
def test_runs_have_names_and_parts_of_a_run_add_up(tmp_path, monkeypatch):
    (message,) = told(lambda: evaluate(QRELS, {"good": RUN, "bad": renamed()}, ["AP"]))
    assert message.startswith("no document of bad is judged")
    monkeypatch.setattr("pyterrier_cwla.files.run_files._Lines.is_small", False)
    monkeypatch.setattr("pyterrier_cwla.files.run_files.BLOCK", 1 << 10)
    half = RUN.assign(doc_id=RUN.doc_id.where(RUN.query_id > "4", "x" + RUN.doc_id))
    for run, expected in ((renamed(), 1), (half, 0)):
        lines = [f"{row.query_id} Q0 {row.doc_id} 1 {row.score} tag\n" for row in run.itertuples()]
        (tmp_path / "run.txt").write_text("".join(lines))
        for call in (lambda: pd.concat(stream(QRELS, tmp_path / "run.txt", ["AP"])),
                     lambda: evaluate(QRELS, tmp_path / "run.txt", ["AP"])):  # fmt: skip
            assert len(told(call)) == expected

    def frames(run):
        return pt.model.add_ranks(run.rename(columns={"query_id": "qid", "doc_id": "docno"}))

    topics = pd.DataFrame({"qid": QRELS.query_id.unique()}).assign(query="words")
    qrels = QRELS.rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"})
    runs = [frames(renamed()), frames(RUN)]
    (message,) = told(lambda: pt.Experiment(runs, topics, qrels, [RBP, CWLA(C="rr", A="err", max_rel=3), nDCG @ 10]))
    assert message.startswith("no document of the run is judged")


@pytest.mark.parametrize("scores", ["distinct", "equal", "in reverse"])
def test_parts_count_all_judged_documents_in_the_top_ten(scores):
    judgments = Judgments(QRELS)
    score = {"distinct": RUN.score, "equal": RUN.score * 0, "in reverse": -RUN.score}[scores]
    run = RUN.assign(score=score)
    (expected,) = judgments.counts(Rows.from_run(run, judgments.index), all_judged=True)
    parts = [Rows.from_run(part, judgments.index) for _, part in run.groupby("query_id")]
    assert sum(judgments.overlaps_of_parts(rows)[0].judged for rows in parts) == expected.judged > 0
