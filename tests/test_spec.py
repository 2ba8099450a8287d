"""The language of metrics: canonical text, ranges, near matches, no code, and functions that travel."""

import pickle
import subprocess
import sys
import textwrap
from contextlib import suppress

import cloudpickle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyterrier_cwla import CWLA, continuation, parse, score
from pyterrier_cwla.errors import BadParameter, CWLAError, UnknownSpec
from pyterrier_cwla.spec import TABLES, Grades, In, Named, OneOf, Spec


def values_of(parameter):
    """A strategy for what a parameter may be."""
    allowed = parameter.allowed
    if isinstance(allowed, In):
        low, high = (float(end) for end in allowed.interval[1:-1].split(","))
        low, high = max(low, -1e6), min(high, 1e6)
        numbers = st.integers(int(np.ceil(low)), int(high)) if allowed.whole else st.floats(low, high)
        value = numbers.filter(lambda x: x in allowed)
    elif isinstance(allowed, OneOf):
        value = st.sampled_from(allowed.names)
    elif isinstance(allowed, Named):
        value = st.sampled_from(["reciprocal", "log2", "power(0.5)"])
    elif isinstance(allowed, Grades):
        value = st.dictionaries(st.integers(0, 4), st.floats(0, 1), min_size=1)
    if parameter.many:
        return st.lists(value, max_size=4)
    return st.one_of(st.none(), value) if parameter.default is None else value


@st.composite
def specs(draw):
    kind = draw(st.sampled_from(sorted(TABLES)))
    part = draw(st.sampled_from([p for p in TABLES[kind].values() if p.built_in]))
    given = {p.name: draw(values_of(p)) for p in part.parameters}
    many = [p.name for p in part.parameters if p.many]
    return part(*given[many[0]]) if many else part(**given)


@given(specs())
@settings(deadline=None)
def test_what_is_printed_reads_back(spec):
    again = parse(str(spec), spec.part.kind)
    assert again == spec
    assert str(again) == str(spec)
    assert hash(again) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec


@pytest.mark.parametrize(
    ("text", "kind", "canonical"),
    [
        ("rbp(phi=0.80)", "continuation", "rbp(0.8)"),
        (" inst( T = 2.0 ) ", "continuation", "inst(2)"),
        ("inst(2, rel=None)", "continuation", "inst(2)"),
        ("decay(224.0)", "continuation", "decay"),
        ("ap1(R='judged', rel=2)", "continuation", "ap1(rel=2)"),
        ("ap1(R=ranking)", "continuation", "ap1(ranking)"),
        ("utility(phi=power(p=0.5))", "aggregation", "utility(power(0.5))"),
        ("table({2: 1.0, 1: 0.30})", "gain", "table({1:0.3,2:1})"),
        ("clicksave(rel=2)", "gain", "clicksave(rel=2)"),
        ("fixed()", "continuation", "fixed"),
    ],
)
def test_the_canonical_form(text, kind, canonical):
    assert str(parse(text, kind)) == canonical


@pytest.mark.parametrize(
    ("text", "kind", "error", "message"),
    [
        (
            "rpb(0.8)",
            "continuation",
            UnknownSpec,
            "no continuation 'rpb' in C='rpb(0.8)'. Near: 'rbp'. `pyterrier-cwla measures` lists all.",
        ),
        ("rbp(1)", "continuation", BadParameter, "C='rbp(1)': phi must be a number in [0, 1)."),
        ("prec(2.5)", "continuation", BadParameter, "C='prec(2.5)': k must be a whole number in [1, inf)."),
        ("prec", "continuation", BadParameter, "C='prec': prec(k) needs k."),
        ("rbp(0.5, 0.6)", "continuation", BadParameter, "C='rbp(0.5, 0.6)': rbp(phi) takes 1 parameters, got 2."),
        (
            "rbp(psi=0.5)",
            "continuation",
            BadParameter,
            "C='rbp(psi=0.5)': rbp(phi) has no parameter 'psi'. Near: 'phi'.",
        ),
        ("ap1(R=all)", "continuation", BadParameter, "C='ap1(R=all)': R must be 'judged' or 'ranking'."),
        ("maxi", "aggregation", UnknownSpec, "no aggregation 'maxi' in A='maxi'. Near: 'max'"),
        ("inst(0.4)", "continuation", BadParameter, "T must be a number in [0.5, inf)."),
        ("rbp(nan)", "continuation", BadParameter, "phi must be a number"),
        ("rbp(True)", "continuation", BadParameter, "phi must be a number"),
        ("prec(1e999)", "continuation", BadParameter, "k must be a whole number"),
    ],
)
def test_an_error_says_what_is_allowed_and_what_is_near(text, kind, error, message):
    with pytest.raises(error) as caught:
        parse(text, kind)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "rbp(__import__('os'))",
        "rbp.function(0.5)",
        "(lambda: 0)()",
        "rbp(0.5)(1)",
        "rbp(*[0.5])",
        "rbp(**{'phi': 0.5})",
        "[rbp(0.5)]",
        "rbp(0.5) if 1 else 0",
        "rbp(0.5);rbp(0.6)",
        "rbp(f'{1}')",
        "rbp(phi:=0.5)",
        "rbp(\x00)",
        "rbp(" + "(" * 500 + "0.5" + ")" * 500 + ")",
        "-" * 5000 + "1",
        "x" * 20_000,
        "",
        "\n",
    ],
)
def test_nothing_but_names_and_numbers_is_read(text):
    with pytest.raises(CWLAError):
        parse(text, "continuation")


@given(st.text(max_size=40))
@settings(deadline=None, max_examples=300)
def test_any_text_is_a_spec_or_an_error_of_ours(text):
    for kind in TABLES:
        with suppress(CWLAError):
            assert isinstance(parse(text, kind), Spec)


def test_a_built_in_name_is_taken():
    with pytest.raises(BadParameter, match="'rbp' is built in; give yours another name"):

        @continuation
        def rbp(view):
            return 0.5


def test_a_redefined_function_gets_its_own_results():
    """As a notebook does; nothing is cached by name."""

    @continuation
    def redefined(view):
        return 0.5

    before = CWLA(C="redefined", A="erg", max_rel=1)
    first = score([1, 0, 1], C="redefined", A="erg")

    @continuation
    def redefined(view):  # noqa: F811
        return 0.8

    assert score([1, 0, 1], C="redefined", A="erg") == pytest.approx(0.2 * (1 + 0.64))
    assert first == pytest.approx(0.625)
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    assert before.calc_aggregate({"q": {"a": 1, "c": 1}}, run) == pytest.approx(0.625)
    assert CWLA(C="redefined", A="erg", max_rel=1).calc_aggregate({"q": {"a": 1, "c": 1}}, run) == pytest.approx(0.328)


def test_a_users_function_travels_to_a_process_that_cannot_import_it():
    script = textwrap.dedent(
        """
        import pickle, sys
        from pyterrier_cwla import CWLA, aggregation, continuation
        @continuation
        def patient(view, share: float):
            return share
        @aggregation
        def doubled(view):
            return 2 * view.G
        sys.stdout.buffer.write(pickle.dumps(CWLA(C="patient(0.5)", A="doubled", max_rel=1)))
        """
    )
    pickled = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout
    measure = pickle.loads(pickled)
    assert str(measure) == "CWLA(C='patient(0.5)',A='doubled',max_rel=1)"
    assert measure.calc_aggregate({"q": {"a": 1}}, {"q": {"a": 1.0}}) == pytest.approx(2)
    assert cloudpickle.loads(cloudpickle.dumps(measure)) == measure


def test_a_measure_of_built_in_parts_is_pickled_by_name():
    assert b"cloudpickle" not in pickle.dumps(CWLA(C="rbp(0.8)", A="max", max_rel=1))
