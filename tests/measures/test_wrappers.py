"""Mixtures of classes of users and measures with parameters by topic, against loops and their parts; the better direction."""

import json
import pickle
from dataclasses import fields

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import RBP, nDCG

from pyterrier_cwla import (
    CWLA,
    TBG,
    ByTopic,
    GeometricMean,
    GradedTBG,
    IntentAware,
    Mixture,
    Residual,
    aggregation,
    evaluate,
)
from pyterrier_cwla.behaviour import calibrate
from pyterrier_cwla.data.lengths import Lengths
from pyterrier_cwla.errors import BadJudgments, BadParameter, MalformedFile
from pyterrier_cwla.measures import MEASURES as NAMED
from pyterrier_cwla.measures.computing import Computation, Needs
from pyterrier_cwla.measures.declarations import better_of, needs_of
from pyterrier_cwla.measures.labels import labelled
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.wrappers import changed_inside, files_of, needs_of_all, unit_of
from tests.measures.test_equations import topics
from tests.measures.test_intents import by_query
from tests.support import reference
from tests.support.generated import collection
from tests.support.messages import refused

RBP_CELL = {"A": "erg", "max_rel": 3}
TIMED = {"A": ("etg", {}), "gain": ("clicksave", {}), "effort": ("time", {})}
#: Measures of one unit by class, and their five choices for the reference.
CASES = {
    "time": {
        "hasty": (TBG(half_life=60), {"C": ("decay", {"half_life": 60}), **TIMED}),
        "patient": (TBG(half_life=600), {"C": ("decay", {"half_life": 600}), **TIMED}),
        "usual": (TBG, {"C": ("decay", {}), **TIMED}),
    },
    "static and adaptive": {
        "static": (CWLA(C="rbp(0.8)", **RBP_CELL), {"C": ("rbp", {"phi": 0.8}), "A": ("erg", {}), "max_rel": 3}),
        "goal": (CWLA(C="inst(2)", **RBP_CELL), {"C": ("inst", {"T": 2}), "A": ("erg", {}), "max_rel": 3}),
    },
    "own ideals": {
        "low": (
            CWLA(C="dcg(5)", A="etg", gain="exponential", norm="ideal", max_rel=3),
            {"C": ("dcg", {"k": 5}), "A": ("etg", {}), "gain": ("exponential", {}), "norm": "ideal", "max_rel": 3},
        ),
        "deep": (
            CWLA(C="rbp(0.9)", A="etg", gain="linear", norm="ideal", max_rel=3),
            {"C": ("rbp", {"phi": 0.9}), "A": ("etg", {}), "norm": "ideal", "max_rel": 3},
        ),
    },
}


def shares_of(classes, seed=0) -> dict[str, float]:
    return dict(zip(classes, np.random.default_rng(seed).dirichlet(np.ones(len(classes))).tolist(), strict=True))


def mixture(name, seed=0, **more):
    classes = CASES[name]
    return Mixture(measures={key: measure for key, (measure, _) in classes.items()},
                   weights=shares_of(classes, seed), **more)  # fmt: skip


def slow(frames, classes, shares) -> dict[str, float]:
    """Return Σ p·M from loops over queries, classes and ranks."""

    def score(topic, parts):
        return reference.score(topic.grades, judged=topic.judged, words=topic.words, **parts) if topic.n else 0.0

    return {
        query: sum(shares[name] * score(topic, parts) for name, (_, parts) in classes.items())
        for query, topic in topics(frames)
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_expected_score_over_classes(name, seed):
    frames = collection(seed, ties=False, lengths=True)
    found = by_query(frames.qrels, frames.run, mixture(name, seed))
    expected = slow(frames, CASES[name], shares_of(CASES[name], seed))
    assert found == pytest.approx(expected, abs=1e-9)
    assert max(found.values()) > 0


@pytest.mark.slow
def test_mixtures_of_mixtures_and_of_intents():
    frames = collection(5, lengths=True)
    inner = mixture("time")
    half = Mixture(measures={"mixed": inner, "usual": TBG}, weights={"mixed": 0.5, "usual": 0.5})
    table = evaluate(frames.qrels, frames.run, {"half": half, "inner": inner, "usual": TBG})
    assert table["half"].iloc[0] == pytest.approx(table[["inner", "usual"]].iloc[0].mean(), abs=1e-12)
    intents = frames.qrels.assign(iteration=np.where(frames.qrels.index % 2, "1", "2"))
    cells = {"outer": IntentAware(measure=inner),
             "within": inner.with_parts(lambda part: IntentAware(measure=part))}  # fmt: skip
    found = evaluate(intents, frames.run, cells, by_query=True)
    np.testing.assert_allclose(found["outer"], found["within"], rtol=1e-12)
    assert found["outer"].max() > 0


def test_residual_is_the_sum_of_the_residuals():
    frames = collection(4)
    classes = {name: measure for name, (measure, _) in CASES["static and adaptive"].items()}
    shares = {"static": 0.25, "goal": 0.75}
    measure = Mixture(measures=classes, weights=shares)
    names = {"all": Residual(measure=measure), **{name: Residual(measure=one) for name, one in classes.items()}}
    table = evaluate(frames.qrels, frames.run, names, by_query=True)
    np.testing.assert_allclose(table["all"], 0.25 * table["static"] + 0.75 * table["goal"], rtol=1e-12)
    assert not Residual(measure=measure).is_a_bound
    assert Residual(measure=Mixture(measures={"a": RBP(rel=1), "b": RBP(p=0.5, rel=1)})).is_a_bound
    total = Mixture(measures={"a": RBP(rel=1), "b": "AP"})
    refused(lambda: Residual(measure=total), BadParameter, "no residual of AP: its score depends on the total gain")


MEASURES = [
    Mixture(measures={"hasty": "TBG(half_life=60)", "patient": TBG}),
    Mixture(measures={"hasty": "TBG(half_life=60)", "patient": TBG}, weights={"patient": 0.9, "hasty": 0.1}),
    Mixture(measures={"it's": "nDCG@10", 'a "b"': "nDCG@5"}),
    Mixture(measures={"a": Mixture(measures={"b": RBP(rel=1), "c": "P@5"}), "d": RBP(p=0.5, rel=1)}),
    Mixture(measures={"a": TBG(lengths={"d1": 100, "d2": 200}), "b": TBG(half_life=60)}),
]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_text_can_be_parsed(measure):
    assert ir_measures.parse_measure(repr(measure)) == measure
    assert measures_of([repr(measure)]) == [measure]
    assert pickle.loads(pickle.dumps(measure)) == measure == measure()
    assert hash(pickle.loads(pickle.dumps(measure))) == hash(measure)


def test_names_in_tables():
    assert str(MEASURES[0]) == "Mixture(measures={'hasty':'TBG(half_life=60)','patient':'TBG'})"
    assert str(MEASURES[1]).endswith("weights={'hasty':0.1,'patient':0.9})")  # in the order of the classes
    assert "lengths" in repr(MEASURES[4])
    assert "lengths" not in str(MEASURES[4])
    text = "Mixture(measures={'a':RBP(p=0.5,rel=1),'b':RBP(rel=1)},weights={'a':0.5,'b':0.5})"
    mine = Mixture(measures={"a": RBP(p=0.5, rel=1), "b": RBP(rel=1)}, weights={"a": 0.5, "b": 0.5}, label="mine")
    assert measures_of([f"mine={text}"]) == [mine]
    assert str(mine) == "mine"
    assert mine(weights="uniform").label is None
    assert labelled(mine, None) == measures_of([text])[0]
    assert mine.with_parts(lambda part: part).label == "mine"


@pytest.mark.slow
def test_options_of_the_command_line_reach_the_parts_that_read_lengths(tmp_path, cli):
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 1\n")
    (tmp_path / "run").write_text("q Q0 a 0 2 t\nq Q0 b 0 1 t\n")
    (tmp_path / "words").write_text("a\t900\nb\t100\n")
    timed = "CWLA(C='rbp(0.8)',A='erg',effort='time',max_rel=1,norm='ideal',unseen=12)"
    text = f'Mixture(measures={{"a":"{timed}","b":"nDCG"}})'
    code, out, told = cli("evaluate", tmp_path / "qrels", tmp_path / "run", "-m", f"both={text}",
                          "--lengths", tmp_path / "words", "--format", "jsonl")  # fmt: skip
    assert code == 0, told
    assert 0 < json.loads(out)["both"] <= 1


def test_needs_are_those_of_all_parts():
    lengths = {"d1": 100}
    cases = {("TBG", "TBG(half_life=60)"): "run", ("P@5", "RBP(rel=1)"): "none"}
    for texts, origin in cases.items():
        assert needs_of(Mixture(measures=dict(zip("ab", texts, strict=True)))).lengths == origin
    both = needs_of(Mixture(measures={"a": TBG(lengths=lengths), "b": TBG(missing="mean")}))
    assert (both.lengths, both.mean_of, len(both.tables), both.user_model) == ("run", Lengths, 1, False)
    assert needs_of(Mixture(measures={"a": IntentAware(measure="TBG"), "b": TBG})).intents
    seconds = CWLA(C="rbp(0.8)", A="effort", effort="time", max_rel=1, unseen=12)
    assert better_of(Mixture(measures={"a": seconds, "b": seconds(C="rbp(0.5)")})) == "lower"
    assert better_of(MEASURES[0]) == "higher"
    assert better_of(seconds(C="ap2")) is better_of(Mixture(measures={"a": seconds, "b": seconds(C="rr")})) is None


def test_every_need_of_a_part_is_one_of_the_whole():
    """Also of needs that are added later; only the user model is none of the whole."""
    table = Lengths.of({"a": 1})
    for field in fields(Needs):
        default = getattr(Needs(), field.name)
        value = {"none": "run", (): (table,), False: True, None: Lengths}[default]
        parts = [Computation(needs, None) for needs in (Needs(), Needs(**{field.name: value}), Needs())]
        assert getattr(needs_of_all(parts), field.name) == (False if field.name == "user_model" else value)
    same = CWLA(C="prec(3)", A="erg", gain="binary", duplicates={"b": "a"}, duplicate_gain="none")
    assert needs_of_all([Computation(needs_of(same), None)]).duplicates == "table"


QRELS, RUN = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}
CLASSES = "takes measures by class of users"
ERRORS = {
    "Mixture": "Mixture needs measures=, such as",
    "Mixture(measures=TBG)": CLASSES,
    "Mixture(measures={})": CLASSES,
    "Mixture(measures={1:TBG})": "a class of users has a name, such as 'hasty', not 1",
    "Mixture(measures={'a':3})": "class 'a' has a measure, such as 'TBG', not 3",
    "Mixture(measures={'a':TBG,'b':RR})": "scores of 'a', TBG, are in 'documents saved', and those of 'b', RR, in "
    "'1/documents'. Give measures of one unit",
    "Mixture(measures={'a':RBP(p=0.8,rel=1),'b':'CWLA(C=rbp(0.8),A=erg,effort=grade_time,max_rel=1)'})": "gain per seconds",
    "Mixture(measures={'a':nDCG,'b':P@5})": "'share of the best score', and those of 'b', P@5, in 'gain per documents'",
    "Mixture(measures={'a':TBG,'b':GMAP})": "is not a mean over users. Write GeometricMean(measure=Mixture(…))",
    "Mixture(measures={'a':Residual(measure=TBG)})": "is not a mean over users. Write Residual(measure=Mixture(…))",
    "Mixture(measures={'a':IntentAware(measure=NumRel)})": "is not a mean over users",
    "Mixture(measures={'a':NumRel})": "NumRel, of class 'a', is not a mean over users. A class of users has a measure",
    "Mixture(measures={'a':TBG},weights={'b':1})": "class 'a' is in measures= and not in weights=; it must be in both",
    "Mixture(measures={'a':TBG},weights={'a':1,'b':0})": "class 'b' is in weights= and not in measures=",
    "Mixture(measures={'a':TBG},weights={'a':0.5})": "the shares of the classes sum to 0.5, and must to 1",
    "Mixture(measures={'a':TBG},weights={'a':2})": "2, of class 'a', is not a share from 0 to 1",
    "Mixture(measures={'a':TBG},weights={'a':None})": "None, of class 'a', is not a share from 0 to 1",
    "Mixture(measures={'a':TBG},weights=half)": "takes 'uniform', or the share of each class",
    "Mixture(measures={'a':TGB})": "no measure 'TGB'",
    "Mixture(measures={'a':TBG},weigths=uniform)": "no parameter 'weigths'. Near: 'weights'",
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


@pytest.mark.every_case
@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    refused(lambda: evaluate(QRELS, RUN, [text]), ERRORS[text])


UNITS = {
    "TBG": "documents saved",
    "GradedTBG(credit='smeared')": "documents saved",
    "AP": "gain per documents",
    "INST(max_rel=2)": "gain per documents",
    "RR": "1/documents",
    "AdaptiveRR(effort='grade_time')": "1/seconds",
    "nDCG": "share of the best score",
    "TBG(norm='unlimited')": "share of the best score",
    "R@5": "gain per gain of all relevant documents",
    "CWLA(C='rr',A='etg',norm='mean',max_rel=1)": "gain per mean gain",
    "CWLA(C='rr',A='etg',gain='raw')": "gain 'raw'",
    "CWLA(C='rr',A='items',max_rel=1)": "documents",
    "CWLA(C='rr',A='effort',effort='reading',max_rel=1)": "words",
    "CWLA(C='rr',A='effort',effort='by_grade({0:1,1:2})',max_rel=1)": "effort 'by_grade'",
    "CWLA(C='rr',A='erg',effort='ratio(4)',max_rel=1)": "gain per relevant documents",
    "Cascade(max_rel=2)": "gain times a discount of ranks",
    "IntentAware(measure=RR)": "1/documents",
    "Mixture(measures={'a':RR})": "1/documents",
}


@pytest.mark.parametrize("text", UNITS)
def test_units(text):
    assert unit_of(*measures_of([text])) == UNITS[text]


def test_an_aggregation_of_a_user_has_its_own_unit():
    @aggregation
    def twice(view):
        return 2 * view.G

    assert unit_of(CWLA(C="rr", A=twice, max_rel=1)) == "aggregation 'twice'"


# ---- parameters by topic


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


# ---- whether higher or lower scores are better

SECONDS = CWLA(C="prec(10)", A="effort", gain="binary", effort="time", end="stop")


@pytest.mark.parametrize(("measure", "better"), [
    (TBG, "higher"),
    ("nDCG@10", "higher"),
    ("QMeasure", "higher"),
    ("ESL", "lower"),
    ("ESL(wanted=2,documents=100)", "lower"),
    (GeometricMean(measure="ESL"), "lower"),
    (SECONDS, "lower"),
    (CWLA(C="rr", A="items", gain="binary"), None),  # 0, the lowest score, is of users who find nothing
    (CWLA(C="rbp(0.8)", A="items", gain="binary"), "lower"),
    (CWLA(C="inst(2)", A="items", gain="binary"), "lower"),
    (CWLA(C="decay(224)", A="effort", gain="binary", effort="time"), "lower"),
    (IntentAware(measure=SECONDS), "lower"),
    (GeometricMean(measure=SECONDS), "lower"),
    (GeometricMean(measure="AP"), "higher"),
    (Residual(measure="RBP(rel=1)"), None),
    ("NumRet", None),
    ("NumRet(rel=1)", "higher"),
    ("NumRel", None),
    ("NumQ", None),
    ("Judged@10", None),
    ("SetF", "higher"),
])  # fmt: skip
def test_the_direction_of(measure, better):
    (measure,) = measures_of([measure])
    assert better_of(measure) == better
    assert better_of(measure.with_label("mine") if hasattr(measure, "with_label") else measure) == better


def test_an_aggregation_of_a_user_may_be_a_cost():
    @aggregation(less_is_better=True)
    def regret(view):
        return view.total - view.G

    @aggregation
    def praise(view):
        return view.G

    assert better_of(CWLA(C="prec(5)", A=regret, gain="binary")) == "lower"
    assert better_of(CWLA(C="prec(5)", A=praise, gain="binary")) == "higher"


def test_every_measure_without_required_parameters_has_a_direction():
    known = {name for name, one in {**NAMED, **ir_measures.measures.registry}.items() if _complete(one)}
    lower = {name for name in known if better_of({**ir_measures.measures.registry, **NAMED}[name]) == "lower"}
    assert len(known) > 30
    assert lower == {"ESL"}, "add the measures of which lower scores are better, as better= of their declarations says"


def _complete(measure):
    try:
        measure.validate_params()
    except (AssertionError, BadParameter):
        return False
    return True
