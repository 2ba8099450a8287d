"""Mixtures of classes of users: Σ_u p_u·M_u, against loops, on all routes."""

import json
import pickle
from dataclasses import fields

import ir_measures
import numpy as np
import pytest
from ir_measures import RBP

from pyterrier_cwla import CWLA, TBG, IntentAware, Lengths, Mixture, Residual, aggregation, evaluate
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.measures.computing import Computation, Needs
from pyterrier_cwla.measures.declarations import better_of, needs_of
from pyterrier_cwla.measures.labels import labelled
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.wrappers import needs_of_all, unit_of
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
    assert better_of(Mixture(measures={"a": seconds, "b": seconds(C="rr")})) is None


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
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    refused(lambda: evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [text]), ERRORS[text])


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
