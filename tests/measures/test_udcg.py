"""UDCG and Logistic: values by the formula, forms of probabilities of abstention, and errors."""

import math
import pickle
import re
from functools import partial

import pandas as pd
import polars
import pytest

from pyterrier_cwla import UDCG, EvalMeasure, GeometricMean, Logistic, Mixture, evaluate, explain, score
from pyterrier_cwla.data import without_files
from pyterrier_cwla.errors import BadJudgments, BadParameter, MalformedFile
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.wrappers import files_of
from tests.doors.doors import DOORS, doors_of
from tests.doors.rows import ABSTENTION, DATA, Data
from tests.support import messages
from tests.support.messages import refused

FRAMES = DATA["together"]
told = partial(messages.told, file=__file__)


def by_query(qrels, run, measure):
    return evaluate(qrels, run, {"value": measure}, by_query=True).loc["run", "value"].to_dict()


def logistic(x):
    return 1 / (1 + math.exp(-x))


def utilities(frames, query, abstention, harm, rel, k):
    """Return the utility of each of the first k passages, in rank order; None if its probability is not known."""
    judged = frames.qrels[frames.qrels.query_id == query]
    grades = dict(zip(judged.doc_id, judged.relevance, strict=True))
    found = frames.run[frames.run.query_id == query].sort_values(["score", "doc_id"], ascending=False)
    for document in found.doc_id[:k]:
        a = abstention.get(query, {}).get(document)
        yield None if a is None else (1 - a) * (1 if grades.get(document, 0) >= rel else -harm)


def slow(frames, abstention=ABSTENTION, harm=1 / 3, rel=1, k=None):
    """Return UDCG of each judged query by the equation."""
    values = {}
    for query in frames.qrels.query_id.unique():
        u = list(utilities(frames, query, abstention, harm, rel, k))
        values[query] = logistic(sum(x for x in u if x is not None) / len(u)) if u else 0.0
    return values


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("given", [{}, {"harm": 0.5}, {"harm": 0}, {"rel": 2}])
@pytest.mark.parametrize("k", [None, 1, 5])
def test_values_by_the_formula(data, given, k):
    measure = UDCG(abstention=ABSTENTION, **given)
    found = by_query(DATA[data].qrels, DATA[data].run, measure if k is None else measure @ k)
    assert found == pytest.approx(slow(DATA[data], k=k, **given), abs=1e-15)
    assert given == {"harm": 0} or len({*found.values()}) > 1


def check_examples(examples):
    """Check the scores of questions in the form of the authors' file, to all digits."""
    for example in examples:
        passages = {passage["doc_id"]: passage for passage in example["passages"]}
        qrels = {"q": {d: int(passage["is_relevant"]) for d, passage in passages.items()}}
        run = {"q": {d: -float(rank) for rank, d in enumerate(passages)}}
        for reader, expected in example["udcg"].items():
            a = {"q": {d: passage["models_info"][reader]["no_res_prob"] for d, passage in passages.items()}}
            assert by_query(qrels, run, UDCG(abstention=a, harm=0.333)) == {"q": expected}


def test_forms_of_probabilities(tmp_path):
    """A dict, frames with either names of columns, and files have the same values; dicts and frames one name."""
    rows = [(q, d, p) for q, own in ABSTENTION.items() for d, p in own.items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "p_abstain"])
    of_pyterrier = frame.rename(columns={"query_id": "qid", "doc_id": "docno"})
    lines = "".join(f"{q} {d} {p}\n" for q, d, p in rows)
    (tmp_path / "text.txt").write_text(lines)
    frame.to_parquet(tmp_path / "table.parquet")
    of_pyterrier.to_csv(tmp_path / "table.csv", index=False)
    run = FRAMES.run.merge(frame, how="left")  # a run with this column; NaN where there is none
    assert run.p_abstain.isna().any()
    contents = [ABSTENTION, frame, frame[::-1], of_pyterrier, polars.from_pandas(frame)]
    measures = [UDCG(abstention=one) for one in contents]
    assert len({*map(repr, measures)}) == 1
    assert {*map(str, measures)} == {"UDCG"}
    measures += [UDCG(abstention=tmp_path / name) for name in ("text.txt", "table.parquet", "table.csv")]
    measures += [UDCG(abstention=run), *measures_of([repr(measures[0])])]
    measures += [pickle.loads(pickle.dumps(measures[0]))]
    for measure in measures:
        assert by_query(FRAMES.qrels, FRAMES.run, measure) == by_query(FRAMES.qrels, FRAMES.run, measures[0])
    (one,) = measures_of(["UDCG(abstention={'q': {'d': 0.5}})"])
    assert one == UDCG(abstention={"q": {"d": 0.5}})
    assert repr(UDCG(abstention={"q": {"d": 1}})) == repr(UDCG(abstention={"q": {"d": 1.0}}))
    assert re.fullmatch("<probabilities of abstention '.*': 1 passage>", repr(one.bound["abstention"]))
    assert list(files_of(measures[5:6])) == [str(tmp_path / "text.txt")]


def test_a_changed_file_is_read_again(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("q d 1\n")
    measure = UDCG(abstention=path)
    assert by_query({"q": {"d": 1}}, {"q": {"d": 1.0}}, measure) == {"q": 0.5}
    path.write_text("q d 0\n")
    assert by_query({"q": {"d": 1}}, {"q": {"d": 1.0}}, measure) == {"q": logistic(1)}


def test_errors(tmp_path):
    twice = pd.DataFrame({"qid": ["q", "q"], "docno": ["d", "d"], "p_abstain": [0.5, 0.5]})
    (tmp_path / "odd.tsv").write_text("q d 1.5\n")
    (tmp_path / "twice.tsv").write_text("q d .5\nq d .5\n")
    (tmp_path / "header.tsv").write_text("question passage abstains\nq d .5\n")
    (tmp_path / "a.json").write_text('{"q": {"d": 0.5}}')
    (tmp_path / "negative.tsv").write_text("q d -.5\n")
    outside = "abstention=: topic 'q7': 'd3' has the probability {}: probabilities are from 0 to 1."
    for error, abstention, message in [
        *((BadParameter, {"q7": {"d1": 0.5, "d3": p}}, outside.format(f"{p:g}")) for p in (-0.1, 1.5, math.inf)),
        (BadParameter, twice, "topic 'q': 'd' has two probabilities: keep one"),
        (BadParameter, twice.drop(columns="p_abstain"), "have no column 'p_abstain'"),
        (BadParameter, {"q": {"d": "high"}}, "topic 'q': 'd': p_abstain of the probabilities of abstention must be"),
        (BadParameter, {"q": 0.5}, "must be a dict of dicts"),
        (BadParameter, None, "UDCG needs abstention="),
        (BadParameter, "nowhere.tsv", "abstention='nowhere.tsv' is not a file"),
        (BadParameter, tmp_path / "odd.tsv", "topic 'q': 'd' has the probability 1.5"),
        (MalformedFile, tmp_path / "twice.tsv", "twice.tsv:2: document 'd' of query 'q' has a second probability"),
        (MalformedFile, tmp_path / "header.tsv", "known ones are query_id, doc_id, qid, docno, topic, p_abstain"),
        (
            MalformedFile,
            tmp_path / "a.json",
            "read for runs and judgments only. Read it with json.load and pass the dict",
        ),
        (MalformedFile, tmp_path / "negative.tsv", "negative.tsv:1: p_abstain is -0.5 for query 'q', document 'd'"),
        (BadJudgments, {"Q": {"d": 0.5}}, r"no judged topic \('q'\) has a probability of abstention; .* 'Q'"),
    ]:
        with pytest.raises(error, match=message):
            evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, [UDCG if abstention is None else UDCG(abstention=abstention)])
    with without_files():
        refused(lambda: UDCG(abstention=str(tmp_path / "odd.tsv")), BadParameter, "files are not read here")
    with pytest.raises(BadParameter, match="not defined by lists of grades"):
        score([1, 0], UDCG(abstention=ABSTENTION))
    with pytest.raises(BadParameter, match=r"UDCG\(harm=-1\)"):
        UDCG(abstention=ABSTENTION, harm=-1)


JUDGED = FRAMES.run[FRAMES.run.query_id.isin(FRAMES.qrels.query_id)]


@pytest.mark.slow
@pytest.mark.parametrize("door", doors_of(UDCG(abstention=ABSTENTION), whole=True))
def test_passages_without_a_probability_are_counted_once_a_run(door, tmp_path):
    pairs = list(zip(JUDGED.query_id, JUDGED.doc_id, strict=True))
    every = {q: dict.fromkeys(own, 0.5) for q, own in JUDGED.groupby("query_id")["doc_id"]}
    some = {q: {d: p for d, p in own.items() if int(d[-1], 36) % 3} for q, own in every.items()}
    lacking = sum(d not in some[q] for q, d in pairs)
    assert 0 < lacking < len(pairs)

    def warned(abstention):
        data, measures = Data(FRAMES.run, FRAMES.qrels), [UDCG(abstention=abstention), UDCG(abstention=abstention) @ 2]
        return DOORS[door].told(data, measures, tmp_path)

    (message,) = warned(some)
    assert message.startswith(f"{lacking:,} of {len(pairs):,} documents of ")
    assert "have no probability in the table of probabilities of abstention, such as" in message
    assert message.endswith(": they are left out of the sum of UDCG.")
    assert not warned(every)
    elsewhere = {q: {"elsewhere": 0.5} for q in every}
    message = refused(lambda: warned(elsewhere), BadJudgments, f"none of {len(pairs):,} documents of ")
    assert "; it has 'elsewhere' of query" in message


def test_missing_probabilities_of_small_runs():
    """Runs that are aligned together have own numbers; NaN is a missing probability."""
    qrels = {"q": {"d1": 1, "d2": 0}, "r": {"d1": 1}}
    runs = {"one": {"q": {"d1": 2.0, "d2": 1.0}, "r": {"d1": 1.0}}, "two": {"q": {"d1": 2.0}, "other": {"d9": 1.0}}}
    measure = UDCG(abstention={"q": {"d1": 0.5, "d2": math.nan}})
    (message,) = told(lambda: evaluate(qrels, runs, [measure]))
    assert message.startswith("2 of 3 documents of one (66.7\xa0%) have no probability")
    assert "'d2' of query 'q'" in message
    refused(lambda: UDCG(abstention={"q": {"d1": math.nan}}), BadParameter, "abstention= has no probability: there are")


WEIGHTED = "CWLA(C='rbp(0.8)',A='etg',max_rel=3)"


@pytest.mark.parametrize("inner", ["AP", "TBG(missing='mean')", WEIGHTED, "IntentAware(measure='RR')"])
def test_logistic_of_the_scores(inner):
    qrels = FRAMES.qrels.assign(iteration=[f"{number % 2}" for number in range(len(FRAMES.qrels))])
    (plain,) = measures_of([inner])
    for measure in (Logistic(measure=plain), *measures_of([repr(Logistic(measure=inner))])):
        found, scores = by_query(qrels, FRAMES.run, measure), by_query(qrels, FRAMES.run, plain)
        answered = {*FRAMES.run.query_id}
        assert {*found} - answered
        assert found == pytest.approx({q: logistic(scores[q]) if q in answered else 0.0 for q in found}, abs=1e-15)


@pytest.mark.parametrize("data", ["plain", "tied", "decimal", "unanswered"])
def test_a_reader_who_never_abstains_has_the_mean_of_signed_gains(data):
    """If all passages are judged: unjudged ones, and grades below 0, have no gain, but harm a reader who answers from them."""
    frames = DATA[data]
    run = frames.run.merge(frames.qrels[["query_id", "doc_id"]])
    never = {q: dict.fromkeys(own, 0.0) for q, own in run.groupby("query_id")["doc_id"]}
    grades = {grade: 1 if grade >= 1 else -0.5 for grade in {*frames.qrels.relevance.tolist(), 0.0}}
    mean = f"CWLA(C='prec(1000)',A='per_item',gain='table({grades})',end='stop')@4"
    for measure, other in (
        (UDCG(abstention=never, harm=0.5) @ 4, f'Logistic(measure="{mean}")'),
        (UDCG(abstention=never, harm=0), "Logistic(measure='SetP')"),
    ):
        found = by_query(frames.qrels, run, measure)
        assert found == pytest.approx(by_query(frames.qrels, run, other), abs=1e-15)
        assert len({*found.values()}) > 2


@pytest.mark.parametrize("inner", ["ESL", "NumRet", "GeometricMean(measure='AP')"])
def test_logistic_takes_measures_of_which_more_is_better(inner):
    says = "Logistic(measure=) takes a measure computed here of which more is better"
    refused(lambda: Logistic(measure=inner), BadParameter, says)
    found = by_query({"q": {"d": 1000}}, {"q": {"d": 1.0}}, "Logistic(measure=CWLA(C='prec(1)',A='etg',gain='raw'))")
    assert found == {"q": 1.0}


def test_what_takes_them():
    logistic_of_udcg = Logistic(measure=UDCG(abstention=ABSTENTION))
    assert GeometricMean(measure=logistic_of_udcg).better == logistic_of_udcg.better == "higher"
    for refusing in (
        lambda: Mixture(measures={"all": logistic_of_udcg}),
        lambda: explain(FRAMES.qrels, FRAMES.run, "0q1", logistic_of_udcg),
        lambda: explain(FRAMES.qrels, FRAMES.run, "0q1", UDCG(abstention=ABSTENTION)),
        lambda: EvalMeasure(UDCG(abstention=ABSTENTION), docno=["a", "b"])([1, 0], [2.0, 1.0], None, [2]),
    ):
        refused(refusing, BadParameter)
