"""Answers of explorations agree with explain, score and evaluate to the printed digits; controls of measures work."""

import json

import numpy as np
import pandas as pd
import pytest
from ir_measures import parse_measure

import pyterrier_cwla
from pyterrier_cwla import evaluate, explain, score
from pyterrier_cwla.errors import BadParameter, CWLAError
from pyterrier_cwla.explorer import Exploration
from pyterrier_cwla.explorer.controls import CHOICES, ROWS, changed, controls_of
from pyterrier_cwla.explorer.states import stories_of
from pyterrier_cwla.measures.equations import descriptions
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.model.language import TABLES, BelowOne
from tests.support.messages import refused

QRELS = {"q1": {"a": 2, "b": 0, "c": 1, "z": 1}, "q2": {"a": 1, "d": 0}}
RUNS = {"old": {"q1": {"a": 9.0, "b": 8.0, "x": 7.0, "c": 6.0}, "q2": {"d": 2.0, "a": 1.0}},
        "new": {"q1": {"b": 9.0, "c": 8.0, "a": 7.0}, "q2": {"a": 2.0, "d": 1.0}}}  # fmt: skip
WORDS = {doc_id: 100.0 * (1 + at) for at, doc_id in enumerate("abcdxz")}
MEASURES = ["CWLA(C='rbp(0.8)',A='erg',max_rel=2)", "CWLA(C='inst(2)',A='max',gain='exponential',max_rel=2)",
            "TBG(half_life=60,unseen=5)", "AP", "nDCG@3", "RBP(p=0.5,rel=1)",
            "CWLA(C='rbp(0.8)',A='max',max_rel=2)", "CWLA(C='rbp(0.8)',A='pe(0.5)',max_rel=2)",
            "CWLA(C='rbp(0.8)',A='erg',gain='table({0:-0.5,1:0.4,2:1})')", "CWLA(C='inst(2)',A='pe(0.5)',gain='table({0:-0.5,1:0.4,2:1})')"]  # fmt: skip


def explored(**more):
    return Exploration(QRELS, RUNS, lengths=WORDS, **more)


def digits(value):
    return None if np.isnan(value) else f"{value:.4f}"


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("topic", ["q1", "q2"])
def test_a_state_shows_what_explain_returns(measure, topic):
    """Contributions of ranks and of what follows them add up to the score."""
    state = explored().answer({"measure": measure, "topic": topic})
    wanted = measure.replace("TBG(", "TBG(lengths=words,")
    pyterrier_cwla.register_lengths("words", WORDS)
    both = explain(QRELS, RUNS, topic, wanted).explanations
    assert [ranking["name"] for ranking in state["rankings"]] == ["old", "new"]
    for ranking, explanation in zip(state["rankings"], both.values(), strict=True):
        table = explanation.table[explanation.table["docno"] != ""]
        columns = {name: column and column[: len(table)] for name, column in ranking["columns"].items()}
        assert set(ranking["columns"]["V"][len(table) :]) <= {"0.0000"}  # below a cutoff, only the explorer has ranks
        assert ranking["score"] == digits(explanation.score)
        total = sum(map(float, [*ranking["columns"]["adds"], ranking["beyond"]]))
        assert total == pytest.approx(explanation.score, abs=1e-4 * (len(ranking["columns"]["adds"]) + 2))
        assert columns["id"] == table["docno"].tolist()
        for name in ("gain", "C", "V", "W", "L", "A", "discount"):
            assert columns[name] == [digits(value) for value in table[name]], name
        assert columns["adds"] == [digits(value) for value in explanation.contributions[: len(table)]]
        assert columns["G"] == [digits(value) for value in np.cumsum(table["gain"])]
        assert columns["grade"] == [None if np.isnan(grade) else f"{grade:g}" for grade in table["grade"]]
    first, second = (one.score for one in both.values())
    assert state["difference"]["value"] == f"{second - first:+.4f}"


@pytest.mark.slow
def test_answers_are_json():
    start = explored().start()
    assert json.loads(json.dumps(start, allow_nan=False)) == start
    assert start["runs"] == ["old", "new"]
    assert [row["topic"] for row in start["topics"]["rows"]] == ["q1", "q2"]
    answer = explored().answer({"want": "topics", "measure": "AP"})
    table = evaluate(QRELS, RUNS, ["AP"], by_query=True)["AP"].unstack("run")
    assert answer["rows"][0]["topic"] == (table["new"] - table["old"]).abs().idxmax()
    for row in answer["rows"]:
        assert row["scores"] == [digits(table.loc[row["topic"], name]) for name in RUNS]


def test_grades_and_controls_that_change_give_other_scores():
    state = explored().answer({"measure": "AP", "grades": {"x": 2, "b": None}})
    qrels = {"q1": {"a": 2, "c": 1, "z": 1, "x": 2}}
    runs = {name: {"q1": run["q1"]} for name, run in RUNS.items()}
    expected = evaluate(qrels, runs, ["AP"])["AP"]
    assert [one["score"] for one in state["rankings"]] == [digits(value) for value in expected]
    assert state["edited"]
    assert [one["columns"]["grade"] for one in state["rankings"]][1] == [None, "1", "2"]
    exploration = explored()
    state = exploration.answer({"measure": MEASURES[0], "set": {"C.phi": "0.5"}})
    assert state["measure"]["text"] == "CWLA(C='rbp(0.5)',A='erg',max_rel=2)"
    assert state["rankings"][0]["score"] == digits(score([2, 0, None, 1], C="rbp(0.5)", A="erg", max_rel=2))
    assert exploration.answer({"measure": MEASURES[0], "set": {"C": "inst"}})["measure"]["name"] == "CWLA"
    named = exploration.answer({"measure": "TBG", "set": {"C": "rbp"}})["measure"]["text"]
    assert named == "CWLA(C='rbp(0.8)',A='etg',gain='clicksave',effort='time',max_rel=2)"
    state = exploration.answer({"measure": "CWLA(C='budget(2)',A='erg',max_rel=2)", "set": {"C.partial": "True"}})
    assert state["measure"]["text"] == "CWLA(C='budget(2,True)',A='erg',max_rel=2)"
    (control,) = (one for one in state["controls"] if one["path"] == "C.partial")
    assert (control["kind"], control["value"], len(control["options"])) == ("choice", "True", 2)
    for effort in ("time", "reading"):
        state = exploration.answer({"set": {"effort": effort}})
        assert state["timed"]
        assert "unseen=10" in state["measure"]["text"]
    state = explored().answer({"measure": "RBP(p=0.5,rel=1)"})
    scores = evaluate(QRELS, RUNS, ["RBP(p=0.5,rel=1)", "Residual(measure=RBP(p=0.5,rel=1))"], by_query=True)
    expected = scores.sum(axis=1).xs("q1", level="query_id")
    assert [one["upper"] for one in state["rankings"]] == [digits(expected[name]) for name in RUNS]


def test_orders_of_documents():
    state = explored().answer({"measure": MEASURES[0], "orders": {"old": ["x", "b", "a", "c"]}})
    assert state["rankings"][0]["score"] == digits(score([None, 0, 2, 1], C="rbp(0.8)", A="erg", max_rel=2))
    assert state["rankings"][0]["columns"]["id"] == ["x", "b", "a", "c"]
    exploration = Exploration.of_grades({"A": [2, 0, 1], "B": [0, 1, 2, 2]})
    ids = [ranking["columns"]["id"] for ranking in exploration.answer({})["rankings"]]
    assert ids == [["d1", "d2", "d3"], ["d2", "d3", "d1", "d4"]]
    measure = "CWLA(C='rbp(0.8)',A='erg',max_rel=2,judged_only=True)"
    state = explored().answer({"measure": measure, "orders": {"old": ["c", "b", "a"]}})  # x is not judged
    assert state["rankings"][0]["columns"]["id"] == ["c", "b", "a"]
    whole = explored().answer({"orders": {"old": ["c", "b", "a"]}})
    assert whole["rankings"][0]["columns"]["id"] == ["c", "b", "x", "a"]
    exploration = Exploration(QRELS, RUNS, texts={"a": "a text", "unused": ""}, queries={"q1": "a query"})
    state = exploration.answer({})
    assert state["about"] == "a query"
    assert state["rankings"][0]["columns"]["text"] == ["a text", "", "", ""]


@pytest.mark.slow
def test_flips_are_where_the_scores_are_equal():
    """RBP with 1 at rank 1, and with 1 at ranks 2, 3 and 4: 1 = φ + φ² + φ³ at φ = 0.5437."""
    exploration = Exploration.of_grades({"A": [1, 0, 0, 0], "B": [0, 1, 1, 1]})
    sweep = exploration.answer({"want": "sweep", "sweep": "C.phi"})
    root = next(r.real for r in np.roots([1, 1, 1, -1]) if abs(r.imag) < 1e-12)
    assert [flip["value"] for flip in sweep["flips"]] == [f"{root:.4g}"]
    assert sweep["sentence"] == "A scores higher for φ below 0.5437; B for φ above 0.5437."
    assert len(sweep["values"]) >= 200
    at = sweep["values"].index("0.5")
    assert sweep["scores"][0][at] == "0.5000"
    assert sweep["difference"][at] == "-0.0625"
    sweep = explored().answer({"measure": "nDCG@3", "want": "sweep", "sweep": "cutoff"})
    for k in (1, 2, 3, 4):
        expected = evaluate(QRELS, RUNS, [f"nDCG@{k}"], by_query=True)[f"nDCG@{k}"].xs("q1", level="query_id")
        at = sweep["values"].index(str(k))
        assert [of[at] for of in sweep["scores"]] == [digits(expected[name]) for name in RUNS]


@pytest.mark.slow
def test_ends_of_equal_scores_are_found_between_values():
    """B has one more relevant document, at rank 25, which 2⁻²⁴ of the users see if half leave at each rank."""
    exploration = Exploration.of_grades({"A": [1, *[0] * 24], "B": [1, *[0] * 23, 1]})
    measure = "CWLA(C='decay(1)',A='etg',max_rel=1)"
    sweep = exploration.answer({"measure": measure, "want": "sweep", "sweep": "C.half_life"})
    assert sweep["values"][0] == "1"
    assert sweep["sentence"].startswith("B scores higher for half life from 1 to ")
    measure = "CWLA(C='bpm(2,10)',A='erg',max_rel=2)"
    exploration = Exploration.of_grades({"A": [2, 0, 1, 0], "B": [0, 1, 2, 1]}, measure=measure)
    sweep = exploration.answer({"want": "sweep", "sweep": "C.T"})
    assert [flip["value"] for flip in sweep["flips"]] == ["1 to 1.5"]

    @pyterrier_cwla.continuation
    def my_broken_reader(view, share: BelowOne = 0.8):
        if 0.3 < share < 0.7:
            raise ValueError("no value here")
        return np.full(view.r.shape, share)

    exploration = Exploration.of_grades({"A": [1, 0, 0, 0], "B": [0, 1, 1, 1]})
    measure = "CWLA(C='my_broken_reader',A='erg',max_rel=1)"
    sweep = exploration.answer({"want": "sweep", "measure": measure, "sweep": "C.share"})
    assert sweep["flips"][0]["value"] == "0.3 to 0.7"
    assert sweep["sentence"] == "A scores higher for share below 0.3; B for share above 0.7."


@pytest.mark.slow
def test_flips_of_whole_numbers_say_who_wins_there():
    """The mean gain of the first k documents may be equal for some k."""
    measure, below = "CWLA(C='prec(2)',A='erg',max_rel=2)", "A scores higher for k below 2; B for k"
    for A, B, where, flip in (
        ([1, 0], [0, 2], "from 2 on.", "k = 2 the order changes: A wins below, B from there on."),
        ([1, 0, 0], [0, 1, 1], "above 2.", "k = 2 the order changes: A wins below, B above."),
        ([1, 0, 0, 0, 0], [0, 1, 0, 0, 1], "above 4.", "k = 2 to 4 the order changes: A wins below, B above."),
        ([1, 0, 0, 1, 1], [0, 1, 1, 0, 0], "above 2 and below 4; A for k above 4.", "k = 2 the order changes: A wins below, B above."),
    ):  # fmt: skip
        sweep = Exploration.of_grades({"A": A, "B": B}).answer({"measure": measure, "want": "sweep", "sweep": "C.k"})
        assert sweep["sentence"] == f"{below} {where}"
        assert sweep["flips"][0]["sentence"] == f"At {flip}"


def test_a_users_own_continuation_is_the_one_defined_last():
    def defined(stay):
        def my_new_reader(view, share: float = 0.5):
            return np.full(view.r.shape, stay * share)

        return pyterrier_cwla.continuation(my_new_reader)

    defined(1.0)
    exploration = explored(measure="CWLA(C='my_new_reader(0.6)',A='erg',max_rel=2)")
    before = exploration.answer({})["rankings"][0]["score"]
    defined(0.5)
    after = exploration.answer({"measure": "CWLA(C='my_new_reader(0.6)',A='erg',max_rel=2)"})["rankings"][0]["score"]
    moved = exploration.answer({"set": {"C.share": "0.5"}})["rankings"][0]["score"]
    for found, C in ((before, "rbp(0.6)"), (after, "rbp(0.3)"), (moved, "rbp(0.25)")):
        assert found == digits(score([2, 0, None, 1], C=C, A="erg", max_rel=2))


def test_files_of_measures_that_others_type_are_not_read(tmp_path):
    path = tmp_path / "words.csv"
    pd.DataFrame({"docno": list(WORDS), "words": list(WORDS.values())}).to_csv(path, index=False)
    measure = f"TBG(lengths='{path}')"
    assert "files are not read here" in explored().answer({"measure": measure})["error"]
    given = Exploration(QRELS, RUNS, measure=measure)  # by the person who started it
    shown = given.answer({})["measure"]["text"]
    assert "error" not in given.answer({"measure": shown, "set": {"half_life": "60"}})


def test_errors_are_answers():
    for request, message in (
        ({"measure": "CWLA(C='rpb(0.8)',A='erg')"}, "rpb"), ({"measure": "AP,RR"}, "several measures"),
        ({"measure": "Bpref"}, "no user model"), ({"measure": ""}, ""), ({"measure": "CWLA(C='prec(10000000)',A='erg',max_rel=2)"}, ""),
        ({"measure": "nDCG@999999999"}, "999,999,999 explicit ranks would be needed, and at most 4,194,304"),
        ({"topic": "q9"}, "q9"), ({"want": "sweep", "sweep": "C.nothing"}, "C.nothing"), ({"want": "everything"}, "everything"),
        ({"set": {"C.phi": "2"}}, "phi"), ({"set": {"C.theta": "0.5"}}, "theta"), ({"set": "C.phi"}, "map"), ({"set": {"C.phi.x": "1"}}, ""),
        ({"set": {"measure.x": "1"}}, "has no control 'measure.x' to change. Near: 'measure'"),
        ({"set": {"norm.__init__": "1"}}, "has no control 'norm.__init__' to change"),
        ({"set": {"lengths": ""}}, "has no control 'lengths' to change"),
        ({"grades": {"a": "two"}}, "number"), ({"grades": {"nothing": 1}}, "nothing"), ({"grades": {"a": 10**400}}, ""),
        ({"grades": dict.fromkeys("ad"), "topic": "q2"}, "no document"),
        ({"grades": {"a": 1001}}, "the grade 1,001 is too high for the explorer: grades are 1,000 at most."),
        *(({"orders": {"old": order}}, "") for order in (["a", "a", "b", "x"], ["a", "nothing"], [["a"], "b"], "ab", [])),
    ):  # fmt: skip
        error = explored().answer(request)["error"]
        assert error
        assert message in error


def test_three_runs_unknown_topics_and_odd_grades_are_refused():
    refused(lambda: Exploration(QRELS, {**RUNS, "third": RUNS["old"]}), CWLAError, "one run or two")
    refused(lambda: explored(topic="q9"), BadParameter, "q9")
    with pytest.raises(BadParameter, match=r"the grade 1e[+]15 is too high for the explorer: grades are 1,000 at most"):
        Exploration.of_grades([1e15, 0])
    for grades in ([None], "210", [1, "x"], [True]):
        with pytest.raises(BadParameter):
            Exploration.of_grades(grades)
    assert Exploration.of_grades([1000, 0]).answer({})["grades"][-1] == "1000"


def test_lengths_are_those_given_or_of_the_whole_run():
    runs = {"r": pd.DataFrame({"qid": ["q1", "q1", "q2"], "docno": ["a", "b", "d"], "score": [2.0, 1.0, 1.0]})}
    runs["r"]["doc_length"] = [100.0, None, 900.0]
    measure = "TBG(missing='mean',unseen=5)"
    state = Exploration(QRELS, runs, measure=measure).answer({"topic": "q1"})
    expected = evaluate(QRELS, runs, {"score": measure}, by_query=True)["score"]
    assert state["rankings"][0]["score"] == digits(expected.xs("q1", level="query_id").iloc[0])
    reordered = Exploration(QRELS, runs, measure=measure).answer({"topic": "q1", "orders": {"r": ["b", "a"]}})
    runs["r"]["score"] = [1.0, 2.0, 1.0]
    expected = evaluate(QRELS, runs, {"score": measure}, by_query=True)["score"]
    assert reordered["rankings"][0]["score"] == digits(expected.xs("q1", level="query_id").iloc[0])
    run = pd.DataFrame({"qid": "q1", "docno": ["a", "c"], "score": [2.0, 1.0], "doc_length": 5000.0})
    state = Exploration(QRELS, run, lengths=WORDS, measure="TBG(unseen=5)").answer({})
    pyterrier_cwla.register_lengths("words", WORDS)
    expected = explain(QRELS, run, "q1", "TBG(unseen=5,lengths='words')")
    assert state["rankings"][0]["score"] == digits(expected.score)
    ends = expected.table["T"] + expected.table["effort"]
    assert state["rankings"][0]["columns"]["end"] == [f"{end:.1f}" for end in ends]
    assert state["timed"]
    assert state["unit"] == "seconds"


def test_users_are_described_in_plain_words():
    for C, name in (("rbp(0.8)", "φ = 0.8"), ("ap2", "chosen at random"), ("inst(2)", "T = 2")):
        shown = explored().answer({"measure": f"CWLA(C='{C}',A='avg',max_rel=2)"})["measure"]
        _, reading, feeling, *_ = shown["sentences"]
        assert name in reading
        assert C in reading
        assert "mean gain" in feeling
    for kind, stories in descriptions()["users"].items():
        assert {name for name, part in TABLES[kind].items() if part.built_in} == {*stories}


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("name", ROWS)
def test_every_measure_with_a_user_model_has_a_state_and_sweeps(name):
    exploration = explored()
    state = exploration.answer({"set": {"measure": name}})
    if name in ("AdaptiveGP", "AdaptiveGAP", "AdaptiveGRBP") and "error" in state:
        return  # weights for two grades
    if name.endswith(("Within", "PerCost")):
        assert "needed. Open the explorer with costs: pyterrier-cwla explore … --costs FILE" in state["error"]
        exploration = explored(costs=WORDS)
        state = exploration.answer({"set": {"measure": name}})
    assert "error" not in state, state["error"]
    paths = [control["path"] for control in state["controls"]]
    assert len(set(paths)) == len(paths)
    for control in state["controls"]:
        if control.get("sweep"):
            request = {"want": "sweep", "measure": state["measure"]["text"], "sweep": control["path"]}
            sweep = exploration.answer(request)
            assert sweep["label"] == control["label"]
            moved = {"measure": state["measure"]["text"], "set": {control["path"]: control["steps"][-1]}}
            assert "path" not in str(exploration.answer(moved).get("error", ""))


def test_missing_lengths_are_an_error_for_the_page_or_the_mean():
    runs = {"A": {"q": {"a": 2.0, "b": 1.0}}}
    given = {"qrels": {"q": {"a": 1, "b": 0}}, "runs": runs, "lengths": {"a": 100}}
    answer = Exploration(**given).answer({"measure": "TBG"})
    assert "--missing mean" in answer["error"]
    assert "register_lengths" not in answer["error"]
    answer = Exploration(**given, missing="mean").answer({"measure": "TBG"})
    assert answer["measure"]["text"] == "TBG(missing='mean')"
    refused(lambda: Exploration(**given, missing="most"), BadParameter, "missing='most'", "'error' or 'mean'")


def test_budgets_have_costs_of_a_table_and_sliders_beyond_them():
    """A budget far from the default is swept around its value, and stays if another measure of budgets is chosen."""
    costs = {"a": 1000, "b": 1500}
    runs = {"A": {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "B": {"q": {"c": 3.0, "b": 2.0, "a": 1.0}}}
    given = {"qrels": {"q": {"a": 1}}, "runs": runs, "costs": costs}
    says = Exploration(**given).answer({"measure": "GainWithin(T=2000)"})["error"]
    assert says.startswith("an effort of known costs needs the cost of every document, and 1 of 3 have none")
    assert "(topic 'q': 'c'). Open the explorer with costs: " in says
    known = Exploration(**given, missing="mean", measure="GainWithin(T=2000)")
    sweep = known.answer({"want": "sweep", "sweep": "T"})
    assert (sweep["values"][0], sweep["values"][-1]) == ("0.04", "100000")
    assert sweep["sentence"].startswith("A never scores lower than B for T")
    state = known.answer({"set": {"measure": "RecallWithin"}})
    assert state["measure"]["title"] == "RecallWithin(T=2000,max_rel=1,missing='mean')"
    assert [ranking["score"] for ranking in state["rankings"]] == ["1.0000", "0.0000"]
    expected = evaluate(given["qrels"], runs, pyterrier_cwla.RecallWithin(T=2000, costs=costs, missing="mean"))
    assert expected.iloc[:, 0].tolist() == [1, 0]


def test_what_code_cannot_contain_is_said():
    run = pd.DataFrame({"query_id": "q", "doc_id": ["d1"], "score": 1.0, "doc_length": 9, "duplicate_of": ["d1"]})
    pyterrier_cwla.register_lengths("here", {"d1": 9})
    pyterrier_cwla.data.register_costs("here", {"d1": 9})
    cost = "CWLA(C='prec(1)',A='erg',gain='raw',effort='cost',end='stop',costs='here')"
    for documents, measure, says in (
        (1001, "AP", "1,001 documents, too many to copy"), (1, "TBG", "different lengths of 'd1'"),
        (1, "TBG(duplicates='run')", "reads more of the run than its order and lengths"),
        (1, "TBG(lengths='here')", "a table of lengths or costs of its own"), (1, cost, "a table of lengths or costs of its own"),
    ):  # fmt: skip
        qrels = {"q": {f"d{number}": 1 for number in range(1, documents + 1)}}
        exploration = Exploration(qrels, {"A": run, "B": run.assign(doc_length=8)})
        assert says in exploration.answer({"want": "code", "measure": measure})["error"]


START = measures_of(["CWLA(C='rbp(0.8)',A='erg',max_rel=3)"])[0]
FUNCTIONS = [(role, name) for role, (kind, _) in CHOICES.items() for name in TABLES[kind] if name != "given"]


@pytest.mark.parametrize(("role", "name"), [*FUNCTIONS, *(("measure", name) for name in ROWS)])
def test_every_measure_and_function_can_be_chosen_and_has_controls(role, name):
    """Every slider has its value among its steps, and can be moved to its ends."""
    measure = changed(START, role, name, 3)
    assert measures_of([repr(measure)])[0] == measure
    assert role == "measure" or getattr(measure.metric, role).name == name
    for control in controls_of(measure, 3):
        if control["kind"] == "number":
            assert control["steps"][control["at"]] == control["value"]
            for step in (control["steps"][0], control["steps"][-1]):
                changed(measure, control["path"], step, 3)
        elif control["kind"] == "choice":
            assert control["value"] in [option["value"] for option in control["options"]]


def test_choices_and_parameters_make_other_measures():
    same = changed(parse_measure("TBG(half_life=60)"), "norm", "ideal", 2)
    assert repr(same) == "TBG(half_life=60,norm='ideal')"
    other = changed(parse_measure("AP"), "A", "fin", 2)
    assert other.NAME == "CWLA"
    product = changed(START, "C", "product", 3)
    paths = [control["path"] for control in controls_of(product, 3)]
    assert "C.first.phi" in paths
    assert "C='product(rbp(0.5),rr)'" in repr(changed(product, "C.first.phi", "0.5", 3))


def test_sliders_have_meanings_and_few_steps():
    says = {control["path"]: control["says"] for control in controls_of(parse_measure("RBP(p=0.8,rel=1)"), 3)}
    assert says["p"] == "Persistence: the probability of going on to the next item."
    assert says["cutoff"].startswith("Only the first k results")
    controls = {control["path"]: control for control in controls_of(parse_measure("nDCG@1000000000"), 3)}
    assert len(controls["cutoff"]["steps"]) < 250
    assert controls["cutoff"]["steps"][controls["cutoff"]["at"]] == "1000000000"


def test_tables_and_lists_are_changed_as_texts():
    cascade = changed(parse_measure("Cascade(max_rel=3)"), "phi", "table(1, 0.6, 0.4)", 3)
    assert repr(cascade) == "Cascade(phi='table(1,0.6,0.4)',max_rel=3)"
    assert "table(1,0.6,0.4)" in " ".join(stories_of(cascade.metric))
    utility = parse_measure("CWLA(C='rr',A='utility(table(1,0.6))',max_rel=3)")
    assert "A.phi.values" in [control["path"] for control in controls_of(utility, 3)]
    assert "A='utility(table(1,0.5,0.1))'" in repr(changed(utility, "A.phi.values", "1, 0.5, 0.1", 3))
    fixed = changed(START, "C", "fixed", 3)
    assert "C='fixed(0.5,0.2)'" in repr(changed(fixed, "C.values", "0.5, 0.2", 3))
    table = changed(START, "gain", "table", 3)
    assert "{1:0.1,3:1}" in repr(changed(table, "gain.gains", "{1: 0.1, 3: 1}", 3)).replace(" ", "")
