"""Text form of parts and measures: parsing, printing, errors, pickling, and functions with the same name."""

import pickle
import subprocess
import sys
import textwrap
from dataclasses import FrozenInstanceError

import cloudpickle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import CWLA, aggregation, continuation, effort, gain, score
from pyterrier_cwla.data.rankings import Rankings
from pyterrier_cwla.errors import BadParameter, CWLAError, UnknownSpec
from pyterrier_cwla.evaluation import residual
from pyterrier_cwla.measures.catalogue import PLAIN
from pyterrier_cwla.model import discount, parse, scoring
from pyterrier_cwla.model.facts import Facts
from pyterrier_cwla.model.language import TABLES, Grades, In
from tests.support.messages import refused
from tests.support.strategies import BUILT_IN, specs

PARTS = [(kind, name) for kind, parts in BUILT_IN.items() for name in parts]
rbp = BUILT_IN["continuation"]["rbp"]


@pytest.mark.parametrize(("kind", "name"), PARTS)
@given(data=st.data())
def test_what_is_printed_is_read_as_the_same(kind, name, data):
    spec = data.draw(specs(kind, (name,)))
    again = parse(str(spec), kind)
    assert again == spec
    assert hash(again) == hash(spec)
    assert str(again) == str(spec)
    assert parse(spec, kind) is spec


@pytest.mark.parametrize(("kind", "written", "canonical"), [
    ("continuation", "inst(T=2.0)", "inst(2)"),
    ("continuation", " rbp( phi = 0.80 ) ", "rbp(0.8)"),
    ("continuation", "prec(1e1)", "prec(10)"),
    ("continuation", "decay(224)", "decay"),
    ("continuation", "decay(half_life=224.0)", "decay"),
    ("continuation", "dcg(None)", "dcg"),
    ("continuation", "budget(4000, partial=False)", "budget(4000)"),
    ("continuation", "budget(T=4000, partial=True)", "budget(4000,True)"),
    ("continuation", "ap1(judged)", "ap1"),
    ("continuation", "ap1(R='judged',rel=2)", "ap1(rel=2)"),
    ("continuation", "ap2('ranking', rel=2)", "ap2(ranking,2)"),
    ("continuation", "cascade(rel=2,gamma=1)", "cascade(1,2)"),
    ("continuation", "fixed(1.0, 0.5)", "fixed(1,0.5)"),
    ("aggregation", "pe(beta=0.5)", "pe(0.5)"),
    ("aggregation", "utility(phi=power(p=0.5))", "utility(power(0.5))"),
    ("aggregation", "utility('power(0.5)')", "utility(power(0.5))"),
    ("aggregation", "utility(phi=table(1.0, .50))", "utility(table(1,0.5))"),
    ("discount", "table(1,0.6)", "table(1,0.6)"),
    ("gain", "table({2: 1.0, 1.0: 0.3})", "table({1:0.3,2:1})"),
    ("gain", "table({+1: +2})", "table({1:2})"),
    ("gain", "clicksave(rel=2)", "clicksave(rel=2)"),
    ("effort", "time(4.4, 0.018, 9)", "time(seconds_per_document=9)"),
])  # fmt: skip
def test_one_way_to_print(kind, written, canonical):
    """Normal form: fixed order, 2.0 printed as 2, defaults omitted."""
    assert str(parse(written, kind)) == canonical
    assert parse(written, kind) == parse(canonical, kind)


def test_parts_are_called_as_they_are_written():
    assert str(rbp(0.8)) == str(rbp(phi=np.float64(0.8))) == "rbp(0.8)"
    assert str(rbp(np.array([0.5]))) == "rbp(0.5)"
    assert rbp(0.8) == parse("rbp(0.8)", "continuation")
    assert rbp(0.8) != rbp(0.7)
    assert parse(BUILT_IN["aggregation"]["etg"], "aggregation") == BUILT_IN["aggregation"]["etg"]()
    assert rbp.signature() == "rbp(phi)"
    assert BUILT_IN["continuation"]["fixed"].signature() == "fixed(*values)"
    assert BUILT_IN["continuation"]["ap1"].signature() == "ap1(R=judged, rel=None)"
    assert str(parse("table({1: some, 2: 1})", "gain", {"some": 0.3})) == "table({1:0.3,2:1})"
    for C, value in (("halting", 1.5), ("halting(0.25)", 1.25), (halting(0.25), 1.25), (halting, 1.5)):
        assert score([1, 1], C=C, A="etg", end="stop") == value
    assert "C='halting(0.25)'" in str(CWLA(C=halting(0.25), A="etg", max_rel=1))
    assert not halting.built_in


def test_a_table_of_discounts_has_a_value():
    words = "discount table() has no values: give φ at ranks 1, 2, …, as in table("
    refused(lambda: score([0, 1], C="rr", A="utility(table)"), BadParameter, words)
    refused(lambda: score([0, 1], C="rr", A="utility(table())"), BadParameter, words)


@given(st.floats(), st.sampled_from(["[0, 1)", "(0, inf)", "[0.5, inf)", "[0, 1]"]))
def test_ranges_are_those_of_mathematics(value, interval):
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = low <= value if interval[0] == "[" else low < value
    below = value <= high if interval[-1] == "]" else value < high
    assert (value in In(interval)) == (above and below)


UNKNOWN = [
    ("continuation", "rpb(0.8)",
     "no continuation 'rpb' in C='rpb(0.8)'. Near: 'rbp'. `pyterrier-cwla measures` lists all."),
    ("aggregation", "utility(log3)",
     "no discount 'log3' in A='utility(log3)'. Near: 'log2'. `pyterrier-cwla measures` lists all."),
    ("continuation", "rbp(0.8", "C='rbp(0.8' cannot be read: write a name and its parameters, as in 'rbp(0.8)'."),
]  # fmt: skip
MAP = "gains must be a map from grades to gains, of 0 or more for grades below 0, such as {1: 0.3, 2: 1}."
BAD = [
    ("continuation", "rbp(1)", "C='rbp(1)': phi must be a number in [0, 1)."),
    ("continuation", "rbp('0.8')", "C=\"rbp('0.8')\": phi must be a number in [0, 1)."),
    ("continuation", "rbp(True)", "C='rbp(True)': phi must be a number in [0, 1)."),
    ("continuation", "rbp(nan)", "C='rbp(nan)': phi must be a number in [0, 1)."),
    ("continuation", "prec(2.5)", "C='prec(2.5)': k must be a whole number in [1, inf)."),
    ("continuation", "prec(1e999)", "C='prec(1e999)': k must be a whole number in [1, inf)."),
    ("continuation", "inst(0.4)", "C='inst(0.4)': T must be a number in [0.5, inf)."),
    ("continuation", "ap1(both)", "C='ap1(both)': R must be 'judged' or 'ranking'."),
    ("continuation", "rbp", "C='rbp': rbp(phi) needs phi."),
    ("continuation", "rbp(0.8, 0.9)", "C='rbp(0.8, 0.9)': rbp(phi) takes 1 parameters, got 2."),
    ("continuation", "rbp(0.8, phi=0.8)", "C='rbp(0.8, phi=0.8)': phi is given twice."),
    ("continuation", "rbp(ph=0.8)", "C='rbp(ph=0.8)': rbp(phi) has no parameter 'ph'. Near: 'phi'."),
    ("continuation", "fixed(values=0.5)",
     "C='fixed(values=0.5)': give the values of fixed(*values) one after the other, without a name."),
    ("aggregation", "utility(3)", "A='utility(3)': phi must be a discount: one of geometric, log2, power, reciprocal, table, or your own."),
    ("aggregation", "utility(power)", "A='utility(power)': power(p) needs p."),
    ("gain", "table({-1: -1})", f"gain='table({{-1: -1}})': {MAP}"),
    ("gain", "table({1: 1, 1: 2})", "gain='table({1: 1, 1: 2})': give every grade once."),
    ("gain", "table({1: x})", f"gain='table({{1: x}})': {MAP}"),
    ("continuation", "fixed(0.5, 2)", "C='fixed(0.5, 2)': values must be a number in [0, 1]."),
    ("continuation", "rbp(phi=0.8, phi=0.9)",
     "C='rbp(phi=0.8, phi=0.9)': give every parameter once, by its name."),
    ("continuation", "rbp(**{'phi': 0.8})", "C=\"rbp(**{'phi': 0.8})\": give every parameter once, by its name."),
    ("aggregation", "utility(phi=power(q=1))",
     "A='utility(phi=power(q=1))': power(p) has no parameter 'q'. Available: p."),
    ("aggregation", "utility(table({1: 1, 2: 0.5}))",
     "A='utility(table({1: 1, 2: 0.5}))': values must be a number in [0, inf)."),
    ("aggregation", "utility(table(1, -0.5))", "A='utility(table(1, -0.5))': values must be a number in [0, inf)."),
    *((kind, text, f"{role}={text!r}: parameters are numbers, names, or maps such as {{1: 0.5}}.")
      for kind, role, text in (
          ("continuation", "C", "rbp(phi=[0.8])"), ("continuation", "C", "ap1(-'judged')"),
          ("continuation", "C", "rbp(-True)"), ("gain", "gain", "table({1: [2]})"),
      )),
]  # fmt: skip


def test_unknown_names_get_near_ones_and_parameters_their_range():
    for error, cases in ((UnknownSpec, UNKNOWN), (BadParameter, BAD)):
        for kind, text, message in cases:
            assert refused(lambda text=text, kind=kind: parse(text, kind), error) == message


def test_errors_of_calls_name_the_function():
    assert refused(lambda: rbp(2), BadParameter) == "C=rbp(…): phi must be a number in [0, 1)."
    power, etg = TABLES["discount"]["power"], BUILT_IN["aggregation"]["etg"]()
    assert refused(lambda: power(-1), BadParameter) == "discount=power(…): p must be a number in [0, inf)."
    kinds = "C='etg': C must be a continuation, not of kind aggregation."
    assert refused(lambda: parse(etg, "continuation"), UnknownSpec) == kinds
    for nothing in (None, 5, len, ["rbp(0.8)"]):
        with pytest.raises(UnknownSpec, match="as text or as a decorated function"):
            parse(nothing, "continuation")
    table = r"Write gain='table\(\{0: -0\.5, 1: 1\}\)'\."
    with pytest.raises(UnknownSpec, match=table):
        parse({0: -0.5, 1: 1}, "gain")


DANGEROUS = [
    "__import__('os').system('touch {made}')", "rbp(__import__('os').system('touch {made}'))", "(lambda: open('{made}', 'w'))()",
    "rbp(lambda: 1)", "rbp(open('{made}', 'w'))", "rbp.function.__globals__", "rbp(0.8).part", "rbp(0.8)(0)",
    "rbp(().__class__.__bases__[0].__subclasses__())", "[open('{made}', 'w')]", "rbp(*[0.8])", "rbp(**{{'phi': 0.8}})",
    "rbp(phi := 0.8)", "rbp(0.4 + 0.4)", "rbp(f'{{open}}')", "rbp([0.8])", "rbp(b'0.8')", "rbp(0.8j)", "rbp(...)",
    "rbp(0.8); import os", "rbp(0.8) if 1 else 2", "table({{{{1: 2}}: 3}})", "table({{open: 1}})", "table({{**{{}}}})",
    "utility(utility(utility(log2)))", "rbp(\0)", "", "\n",
]  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("text", DANGEROUS)
def test_text_is_never_run(text, tmp_path):
    """Text is parsed with ast and never evaluated. Only names, numbers and maps of numbers are accepted."""
    made = tmp_path / "made"
    for kind in TABLES:
        refused(lambda kind=kind: parse(text.format(made=made), kind), CWLAError)
    refused(lambda: CWLA(C=text.format(made=made), A="etg", max_rel=1), CWLAError)
    assert not made.exists()


def test_huge_and_deep_text_is_refused_in_few_words():
    for text in (
        "a" * 10**6, "(" * 9000, "-" * 9000 + "1", "rbp(" + "-" * 5000 + "1)", "rbp(" + "1+" * 4000 + "1)", "rbp(" * 2000,
        "rbp(" + "[" * 150 + "]" * 150 + ")", "utility(" * 900 + "log2" + ")" * 900, "prec(1" + "0" * 5000 + ")",
        "rbp(0." + "1" * 9999 + ")", "table({" + "1:1," * 2000 + "})",
    ):  # fmt: skip
        for kind in ("continuation", "aggregation", "gain"):
            assert len(refused(lambda text=text, kind=kind: parse(text, kind), CWLAError)) < 600


def test_numbers_that_no_float_holds():
    for huge in (10**400, float("inf"), float("nan"), np.float64("nan"), np.array([0.5, 0.6]), "0.5", None, True, 1j):
        with pytest.raises(BadParameter):
            BUILT_IN["continuation"]["prec"](huge)


def test_long_text_is_cut_when_read_and_when_shown():
    assert parse("rbp(0.8)".rjust(10_000), "continuation") == rbp(0.8)
    refused(lambda: parse("rbp(0.8)".rjust(10_001), "continuation"), UnknownSpec, "cannot be read")
    refused(lambda: parse("x" * 200, "continuation"), UnknownSpec, f"in C='{'x' * 200}'.")
    refused(lambda: parse("x" * 201, "continuation"), UnknownSpec, f"in C='{'x' * 200}…'.")


def test_whole_numbers_that_floats_tell_apart_are_written_as_such():
    prec = BUILT_IN["continuation"]["prec"]
    assert str(prec(200.0)) == "prec(200)"
    assert str(prec(2.0**53 - 1)) == "prec(9007199254740991)"
    assert str(prec(2.0**53)) == "prec(9007199254740992.0)"


def test_nothing_that_describes_a_function_can_be_changed():
    spec = parse("utility(log2)", "aggregation")
    described = [*(p.allowed for part in ("ap1", "rbp") for p in BUILT_IN["continuation"][part].parameters)]
    described += [
        spec,
        *spec.part.parameters,
        Grades("gains"),
        Facts(last_rank=len),
        CWLA(C="rr", A=spec, max_rel=1).metric,
    ]
    for thing in described:
        name = next(iter(vars(thing)))
        with pytest.raises(FrozenInstanceError):
            setattr(thing, name, None)


@continuation
def halting(view, share: float = 0.5):
    """Continue with a constant probability."""
    return share


def test_a_built_in_name_cannot_be_taken():
    with pytest.raises(BadParameter, match="continuation 'rbp' is built in; give yours another name"):

        @continuation
        def rbp(view):
            return 0.5

    @aggregation(linear_in_gain=True)
    def prec(view):  # names of continuations are not valid as aggregations
        return view.G

    assert score([1, 1], C="prec(2)", A="prec") == 2
    assert "prec" not in BUILT_IN["aggregation"]
    TABLES["aggregation"].pop("prec")


def test_a_redefined_function_gets_its_own_results():
    """Caches are keyed by functions, not by names, because notebooks redefine functions."""
    rankings = Rankings.of_gains([[1, 0, 1], [0, 1, 1]])
    results = []
    for probability, worth in ((0.5, 1), (0.25, 2), (0.5, 1)):
        values = {
            continuation(constant_beyond_list=True): lambda view, p=probability: p,
            discount: lambda i, w=worth: w / i,
            gain: lambda grade, w=worth: w * np.asarray(grade),
            aggregation(linear_in_gain=True): lambda view, w=worth: w * view.G,
            effort: lambda documents, w=worth: w + 0 * documents.grade,
        }
        for decorate, function in values.items():
            function.__name__ = "changing"
            decorate(function)
        parts = {"C": "changing", "A": "changing", "gain": "changing", "effort": "unit"}
        metric = CWLA(**parts, norm="all").metric
        ideal = CWLA(**parts | {"A": "utility(changing)"}, norm="ideal", end="stop").metric
        paid = CWLA(**parts | {"A": "effort", "effort": "changing"}).metric
        results.append([scoring.score(m, rankings).tolist() for m in (metric, ideal, paid)])
        assert results[-1][0][0] == pytest.approx(worth * (1 + probability**2) / 2)
        assert results[-1][2][0] == pytest.approx(worth / (1 - probability))
    assert results[0] == results[2]
    assert results[0] != results[1]


def test_a_function_within_one_of_ours_gets_new_results():
    """The inner function reads a variable that changes, or is a new function with the same name."""
    told, specs = {"worth": 1}, []
    for power in (1, 2):

        @discount
        def told_discount(i, power=power):
            return told["worth"] / i**power

        specs.append(parse("utility(told_discount)", "aggregation"))
        for worth in (1, 3):
            told["worth"] = worth
            assert score([0, 1], C="prec(2)", A="utility(told_discount)") == worth / 2**power
    assert specs[0] != specs[1]
    assert str(specs[0]) == str(specs[1])


def test_measures_differ_by_the_values_of_closures():
    def measure(worth):
        @gain
        def closing(grade):
            return worth * np.asarray(grade)

        return CWLA(C="rr", A="erg", gain=closing(), max_rel=1)

    assert measure(0.5) == measure(0.5)
    assert measure(0.5) != measure(0.25)


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_specs_and_measures_of_built_in_parts_are_pickled_by_name(dumps):
    spec = parse("utility(power(0.5))", "aggregation")
    assert pickle.loads(dumps(spec)) == spec
    assert pickle.loads(dumps(halting(0.25))) == halting(0.25)  # of an importable module
    assert b"cloudpickle" not in dumps(halting(0.25))
    measure = CWLA(C="inst(2)", A=spec, max_rel=3)
    again = pickle.loads(dumps(measure))
    assert again == measure
    assert again.metric == measure.metric
    assert len(dumps(spec)) < 1000


def a_notebooks_function():
    """Return a function that other processes cannot import, with names and annotations of the module ``__main__``."""
    names = {"continuation": continuation, "np": np, "__name__": "__main__"}
    exec(
        textwrap.dedent('''
            from __future__ import annotations
            from typing import Annotated
            from pyterrier_cwla.model.language import In
            Chance = Annotated[float, In("[0, 1)")]

            def half(x):
                return x / 2

            @continuation(constant_beyond_list=True)
            def travelling(view, p: Chance = 0.5):
                """Continue with probability p, via a helper function."""
                return np.minimum(half(2 * p), 1.0)
        '''),
        names,
    )
    return names["travelling"]


def test_a_script_s_own_function_is_no_module_s(monkeypatch):
    """Other processes have a different ``__main__``."""
    part = a_notebooks_function()
    monkeypatch.setattr(sys.modules["__main__"], part.name, part, raising=False)
    assert pickle.loads(pickle.dumps(part)) is not part


def in_a_fresh_process(pickled, tmp_path):
    """Return the output of a new process that imports only the package and loads a pickled measure."""
    path = tmp_path / "measure.pickle"
    path.write_bytes(pickled)
    code = f"""
        import pickle
        measure = pickle.load(open({str(path)!r}, "rb"))
        from pyterrier_cwla.data.rankings import Rankings
        from pyterrier_cwla.model import scoring
        print(measure, scoring.score(measure.metric, Rankings.of_gains([[1, 0, 1]]))[0])
        print(measure(C="travelling(0.25)").metric.C)
        try:
            measure(C="travelling(2)")
        except ValueError as error:
            print(error)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_a_measure_carries_its_function_to_a_fresh_process(dumps, tmp_path):
    """The pickle of a measure contains the function. After loading, the function can be used by name."""
    measure = CWLA(C=a_notebooks_function()(0.5), A="erg", max_rel=1)
    lines = in_a_fresh_process(dumps(measure), tmp_path)
    assert lines == [f"{measure} 0.625", "travelling(0.25)", "C='travelling(2)': p must be a number in [0, 1)."]


def test_pickled_functions_do_not_take_newer_names():
    old = a_notebooks_function()
    pickled = pickle.dumps(old(0.5))

    @continuation
    def travelling(view, p: float = 0.5):
        return 0.0

    assert score([1, 1], C=pickle.loads(pickled), A="etg", end="stop") == 1.5
    assert score([1, 1], C="travelling", A="etg", end="stop") == 1.0
    assert residual([1, None], C="travelling", A="etg", end="stop") == 0.0
    assert PLAIN.C.name == "rbp"
