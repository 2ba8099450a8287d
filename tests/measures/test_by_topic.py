"""Measures with parameters by topic: each topic has the score of its own measure, on all routes."""

import pickle

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import RBP, nDCG

from pyterrier_cwla import CWLA, TBG, ByTopic, GeometricMean, GradedTBG, IntentAware, Mixture, Residual, evaluate
from pyterrier_cwla.behaviour import calibrate
from pyterrier_cwla.errors import BadJudgments, BadParameter, MalformedFile
from pyterrier_cwla.measures.declarations import needs_of
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.wrappers import changed_inside, files_of
from tests.measures.test_intents import by_query
from tests.support.generated import collection
from tests.support.messages import refused


def half_lives(queries, seed=0) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {query: {"half_life": float(rng.choice([30, 60, 240, 600]))} for query in sorted(queries)}


@pytest.mark.parametrize(("measure", "name", "choices"), [
    (RBP(rel=1), "p", [0.5, 0.9]),
    (CWLA(C="inst(2)", A="erg", max_rel=3, judged_only=True), "C", ["rbp(0.5)", "inst(1)"]),
    (TBG(missing="mean"), "half_life", [30, 900]),
    (nDCG @ 5, "cutoff", [3, 10]),
])  # fmt: skip
def test_values_are_those_of_the_measures_alone(measure, name, choices):
    """To the last bit: other topics do not change a score. Some topics have the parameters of the measure."""
    frames = collection(4, lengths=True)
    table = {str(query): {name: choices[query % 2]} for query in range(1, 9)}
    runs = {"a": frames.run, "b": frames.run.head(200)}
    own = ByTopic(measure=measure, parameters=table, other="measure")
    found = evaluate(frames.qrels, runs, [own], by_query=True).iloc[:, 0]
    alone = {}
    for values in [{}, *({name: choice} for choice in choices)]:
        alone[repr(values)] = evaluate(frames.qrels, runs, [measure(**values)], by_query=True).iloc[:, 0]
    for (run, query), value in found.items():
        assert value == alone[repr(table.get(query, {}))][run, query]


def test_forms_of_tables_are_one_measure(tmp_path):
    table = {"q": {"half_life": 60}, "r": {"half_life": 600.5}}
    frame = pd.DataFrame({"half_life": [60.0, 600.5]}, index=["q", "r"])
    made = [ByTopic(measure=TBG, parameters=form) for form in (
        table, frame, frame.rename_axis("qid").reset_index(), frame.rename_axis("topic").reset_index())]  # fmt: skip
    assert made[0] == made[1] == made[2] == made[3]
    assert ByTopic(measure=TBG, parameters={**table, "r": {"half_life": 60}}) != made[0]
    assert ir_measures.parse_measure(repr(made[0])) == made[0]
    assert pickle.loads(pickle.dumps(made[0])) == made[0]
    assert str(made[0]) == "ByTopic(measure='TBG')"
    (text,) = measures_of(["ByTopic(measure=TBG,parameters={'q':{'half_life':60},'r':{'half_life':600.5}})"])
    assert text == made[0]
    for delimiter in "\t,":
        path = tmp_path / f"table{ord(delimiter)}"
        path.write_text(f"qid{delimiter}half_life\nq{delimiter}60\n\nr{delimiter}600.5\n")
        of_file = ByTopic(measure=TBG, parameters=str(path))
        assert of_file.table.loaded == made[0].table.loaded
        assert [*files_of([of_file])] == [str(path)]


def test_a_file_is_read_again(tmp_path):
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}, "r": {"b": 2.0, "a": 1.0}}
    path = tmp_path / "p.tsv"
    path.write_text("topic\tp\nq\t0.5\nr\t0.9\n")
    measure = ByTopic(measure=RBP(rel=1), parameters=path)
    assert by_query(qrels, run, measure) == pytest.approx({"q": 0.25, "r": 0.09}, abs=1e-9)
    path.write_text("topic\tp\nq\t0.2\nr\t0.9\n")
    assert by_query(qrels, run, measure) == pytest.approx({"q": 0.16, "r": 0.09}, abs=1e-9)
    cached = [evaluate(qrels, run, [measure], cache_dir=tmp_path / "cache").iloc[0, 0] for _ in range(2)]
    assert cached == pytest.approx([0.125, 0.125])


def rows_of_log(seed=0):
    """Return a log of two topics: users of topic r stay longer."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"user {user}", f"{topic} {user}", topic, rank, f"d{rank}", True, rank % 2 == 1, float(rank % 2), 5.0,
         seconds * rng.exponential(), 100)
        for topic, seconds in (("q", 20.0), ("r", 120.0))
        for user in range(30)
        for rank in range(1, 7 + int(rng.integers(0, 5)))
    ]  # fmt: skip
    names = "user session topic rank docno clicked saved grade summary_seconds document_seconds words"
    return pd.DataFrame(rows, columns=names.split())


@pytest.mark.slow
def test_calibrations_by_topic():
    found = calibrate(rows_of_log(), by="topic", resamples=1, shapes=["exponential"])
    qrels = {"q": {"d1": 1, "d2": 1, "d3": 1}, "r": {"d1": 1, "d2": 1, "d3": 1}}
    run = {query: {f"d{i}": -float(i) for i in range(1, 9)} for query in qrels}
    lengths = {f"d{i}": 100 for i in range(1, 9)}
    values = by_query(qrels, run, ByTopic(measure=TBG(lengths=lengths), parameters=found))
    for topic, calibration in found.items():
        alone = by_query(qrels, run, TBG(lengths=lengths, calibration=calibration))
        assert values[topic] == alone[topic]
    graded = ByTopic(measure=GradedTBG, parameters=found)
    assert by_query(qrels, run, graded)["q"] == by_query(qrels, run, graded.parts["q"])["q"] > 0
    assert pickle.loads(pickle.dumps(graded)) == graded


@pytest.mark.slow
def test_laws_of_leaving_by_topic_and_by_class():
    found = calibrate(rows_of_log(), by="topic", resamples=2, shapes=["Weibull"])
    qrels, run = {"q": {"d1": 1}, "r": {"d1": 1}}, {query: {"d2": 2.0, "d1": 1.0} for query in "qr"}
    measures = {topic: one.measure(law="Weibull", lengths={"d1": 100, "d2": 900}) for topic, one in found.items()}
    alone = evaluate(qrels, run, measures, by_query=True).droplevel("run")
    own = ByTopic(measure=measures["q"], parameters={topic: one.params for topic, one in measures.items()})
    assert by_query(qrels, run, own) == {topic: alone.loc[topic, topic] for topic in measures}
    mean = by_query(qrels, run, Mixture(measures=measures, weights={"q": 0.25, "r": 0.75}))
    assert mean["q"] == pytest.approx(0.25 * alone.loc["q", "q"] + 0.75 * alone.loc["q", "r"], abs=1e-12)
    assert alone.loc["q", "q"] != alone.loc["q", "r"]


@pytest.mark.slow
def test_with_other_wrappers():
    frames = collection(6, lengths=True)
    table = half_lives(frames.qrels.query_id.unique())
    measure = ByTopic(measure=TBG, parameters=table)
    both = Mixture(measures={"own": measure, "usual": TBG}, weights={"own": 0.25, "usual": 0.75})
    found = evaluate(frames.qrels, frames.run, {"both": both, "own": measure, "usual": TBG}, by_query=True)
    np.testing.assert_allclose(found["both"], 0.25 * found["own"] + 0.75 * found["usual"], rtol=1e-12)
    logs = evaluate(frames.qrels, frames.run, [GeometricMean(measure=measure)]).iloc[0, 0]
    assert logs == pytest.approx(np.exp(np.log(np.maximum(found["own"], 1e-5)).mean()), rel=1e-12)
    intents = frames.qrels.assign(iteration="0")
    aware = evaluate(intents, frames.run, [IntentAware(measure=measure)], by_query=True).iloc[:, 0]
    np.testing.assert_allclose(aware, found["own"], rtol=1e-12)
    cells = ByTopic(measure=RBP(rel=1), parameters={query: {"p": 0.5 + int(query) / 50} for query in table})
    residuals = by_query(frames.qrels, frames.run, Residual(measure=cells))
    for query, part in cells.parts.items():
        assert residuals[query] == by_query(frames.qrels, frames.run, Residual(measure=part))[query]
    assert Residual(measure=cells).is_a_bound
    assert changed_inside(measure(label="mine"), lambda inner: inner(unseen=3)).label == "mine"
    assert changed_inside(measure, lambda inner: inner(unseen=3)).parts["3"].params["unseen"] == 3
    assert needs_of(measure).lengths == "run"
    of_tables = {"1": {"lengths": {"a": 1}}, "2": {"half_life": 3}}
    assert needs_of(ByTopic(measure=TBG, parameters=of_tables, other="measure")).tables


QRELS, RUN = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}
ERRORS = {
    "ByTopic(measure=RBP)": "ByTopic needs parameters=, such as",
    "ByTopic(parameters={'q':{'p':0.5}})": "ByTopic needs measure=",
    "ByTopic(measure=AP,parameters={'q':{'p':0.5}})": "topic 'q': AP has no parameter 'p'",
    "ByTopic(measure=RBP,parameters={'q':{'p':2}})": "topic 'q': RBP",
    "ByTopic(measure=RBP,parameters={'q':2})": "topic 'q' has 2; give its parameters by name",
    "ByTopic(measure=RBP,parameters={1:{'p':0.5}})": "topics must be strings, as ids are: '1'",
    "ByTopic(measure=RBP,parameters={})": "takes parameters by topic: {topic: ",
    "ByTopic(measure=RBP,parameters=3)": "takes parameters by topic: {topic: ",
    "ByTopic(measure=RBP,parameters=nowhere)": "parameters='nowhere' is not a file",
    "ByTopic(measure=RBP,parameters={'q':{'p':0.5},'r':{'rel':2}})": "topic 'q' has no rel. Add its parameters, or",
    "ByTopic(measure=GMAP,parameters={'q':{'p':0.5}})": "takes a measure that follows a user model",
    "ByTopic(measure=TBG,parameters={'q':{'norm':'ideal'},'r':{'norm':'none'}})": "Give only parameters that keep the unit",
    "ByTopic(measure=RBP,parameters={'q':{'p':0.5}},other=mean)": "other must be 'error' or 'measure'",
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    refused(lambda: evaluate(QRELS, RUN, [text]), BadParameter, ERRORS[text])


def test_topics_without_parameters():
    text = "ByTopic(measure=RBP(rel=1),parameters={'q':{'p':0.5}})"
    says = "1 of 2 judged topics have no parameters ('r'); the table has 'q'. Add them, or write"
    refused(lambda: evaluate(QRELS, RUN, [text]), BadJudgments, says)
    measure = ByTopic(measure=RBP(rel=1), parameters={"q": {"p": 0.5}, "s": {"p": 0.1}}, other="measure")
    assert by_query(QRELS, RUN, measure) == pytest.approx({"q": 0.5, "r": 0.2}, abs=1e-9)
    of_s = measure(parameters={"s": {"p": 0.1}})
    says = "2 of 2 judged topics have no parameters ('q', 'r'); the table has 's'."
    refused(lambda: evaluate(QRELS, RUN, [of_s]), BadJudgments, says)


@pytest.mark.parametrize(
    ("content", "says"),
    {
        "": "the first line must have the names of the columns",
        "topic\n": "the first line must have the names of the columns",
        "name,p\nq,1\n": "It has 'name', 'p'",
        "topic,p\nq,0.5,3\n": ":2: expected 2 fields (topic, p), found 3",
        "topic,p\nq,0.5\nq,0.6\n": ":3: topic 'q' occurs twice",
        "topic,p\n,0.5\n": ":2: a row without a topic",
        "topic,p\n": "no rows after the line",
        "topic,p\n\xff,1\n": "not UTF-8",
    }.items(),
)  # fmt: skip
def test_broken_files(tmp_path, content, says):
    (tmp_path / "p.csv").write_text(content, "latin-1")
    refused(lambda: ByTopic(measure=RBP(rel=1), parameters=tmp_path / "p.csv"), MalformedFile, says)
