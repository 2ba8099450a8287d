"""Measures of the package as ir_measures measures: printing, parsing, pickling and evaluation."""

import ast
import os
import pickle
import shutil
import subprocess
import sys

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, ERR, INST, RBP, RR, Judged, NumQ, NumRel, NumRet, P, Rprec, nDCG

from pyterrier_cwla import CWLA, TBG, CWLAError, GeometricMean, Residual, evaluate, register_lengths
from pyterrier_cwla.errors import BadParameter, UnknownSpec
from pyterrier_cwla.measures import CWLAProvider
from pyterrier_cwla.measures.wrappers import MEASURES as NAMED
from pyterrier_cwla.model.aggregations import erg
from pyterrier_cwla.model.continuations import rbp
from tests.support.generated import collection, harmless
from tests.support.messages import refused
from tests.support.peers import (
    OTHER_VALUES,
    REGISTERED,
    per_query,
    with_other_parameters,
)

# ---- names


def kinds(numbers):
    """Return numbers that may be integers or floats, of Python's or NumPy's types."""
    whole = st.integers(1, 1000).flatmap(lambda n: st.sampled_from([n, float(n), np.int64(n)]))
    return whole | numbers.flatmap(lambda x: st.sampled_from([float(x), np.float64(x)]))


def one_of(texts):
    return st.sampled_from(texts.split())


POSITIVE = kinds(st.floats(0, 1e6, exclude_min=True))
SHARES = st.floats(0, 1).flatmap(lambda x: st.sampled_from([x, np.float64(x), 0, 1, 1.0]))
GRADES = st.integers(1, 4)
FRAME = {
    "norm": st.sampled_from(["none", "ideal", "all", "unlimited"]),
    "end": st.sampled_from(["open", "stop", 10, 10.0, np.int64(1000)]),
    "unseen": POSITIVE | st.none(),
    "missing": st.sampled_from(["error", "mean"]),
    "cutoff": st.integers(1, 1000) | st.none(),
}
CWLAS = st.fixed_dictionaries(
    {
        "C": one_of(
            "rbp(phi=0.50) dcg dcg(k=7) rr() rr(rel=2) ap1(ranking,rel=2) ap1(R='ranking') ap2(rel=1.0) prec(30) rbp(1e-9)"
            " cascade(0.3,rel=2) inst(2.0,rel=1) insq(0.5) decay(half_life=7) fixed(1,0.25,0)"
        ),
        "A": one_of(
            "etg erg() err avg max fin fgt(0.5) pe(beta=0.250) items effort utility(reciprocal) utility(phi=power(1.0))"
        ),
        "max_rel": GRADES | st.just(4.0),
    },
    optional={
        "gain": one_of(
            "linear linear(min_rel=0.0) linear(min_rel=.5) binary(1) binary(rel=2) exponential() raw burges"
            " table({2:1.0,1:.5,4:3,3:2.0}) clicksave(0.64,p_save=0.7)"
        ),
        "effort": one_of("unit() time time(4.40,rel=2) time(seconds_per_word=0.02)"),
    }
    | FRAME,
)
TBGS = st.fixed_dictionaries(
    {},
    optional={"half_life": POSITIVE, "summary_seconds": POSITIVE, "p_click_relevant": SHARES, "p_save": SHARES}
    | {"rel": GRADES, "max_rel": GRADES}
    | FRAME,
)
MEASURES = st.tuples(st.just(CWLA), CWLAS) | st.tuples(st.just(TBG), TBGS)


def of_same_value(value):
    """Return an equal parameter of another type."""
    if isinstance(value, str) or value is None:
        return f" {value}" if isinstance(value, str) and "(" in value else value
    return float(value) if float(value).is_integer() else np.float64(value)


@given(MEASURES)
def test_a_measure_is_its_text_and_survives_pickling(made):
    kind, parameters = made
    measure = kind(**parameters)
    again = pickle.loads(pickle.dumps(measure))
    assert (again, hash(again), again.metric) == (measure, hash(measure), measure.metric)
    text = str(measure)
    assert str(ir_measures.parse_measure(text)) == text
    assert ir_measures.parse_measure(text) == measure == text
    assert hash(ir_measures.parse_measure(text)) == hash(measure) == hash(text)
    assert {text: 1}[measure] == {measure: 1}[text] == 1
    assert measure != text + " "
    assert not {".0,", ".0)", "np.", "array"} & {text[i : i + n] for i in range(len(text)) for n in (3, 5)}


@given(MEASURES, st.randoms(use_true_random=False))
def test_order_defaults_and_kinds_of_numbers_do_not_matter(made, random):
    kind, parameters = made
    names = list(parameters)
    random.shuffle(names)
    other = {name: of_same_value(parameters[name]) for name in names}
    defaults = {n: info.default for n, info in kind.SUPPORTED_PARAMS.items() if not info.required and n != "lengths"}
    for name in sorted(defaults.keys() - other.keys()):
        if random.random() < 0.5:
            other[name] = defaults[name]
    step_by_step = kind(**{n: other[n] for n in ("C", "A", "gain", "effort", "max_rel") if n in other})
    for name, value in other.items():
        step_by_step = step_by_step(**{name: value})
    assert str(kind(**other)) == str(kind(**parameters)) == str(step_by_step)


def test_how_measures_print():
    assert CWLA(C=rbp(0.8), A=erg, max_rel=3) == CWLA(C="rbp(0.8)", A="erg", max_rel=3)
    assert str(TBG) == "TBG"
    assert str(TBG(p_save=1, half_life=120.0) @ 10) == "TBG(half_life=120,p_save=1)@10"
    assert str(CWLA(max_rel=3, A="erg()", C="rbp(phi=0.80)")) == "CWLA(C='rbp(0.8)',A='erg',max_rel=3)"
    assert str(Residual(measure="TBG(half_life=120.0)")) == "Residual(measure='TBG(half_life=120)')"


# ---- registration with ir_measures


def python(script, *inputs, **more):
    """Return the output of a new interpreter with a fixed hash seed, so that the order of sets is constant."""
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-c", script, *inputs], capture_output=True, text=True, timeout=120, env=env, **more
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("imports", ["pyterrier_cwla, pyterrier", "pyterrier, pyterrier_cwla"])
def test_star_imports_of_pyterrier_bind_all_measures(imports):
    """No name of ir_measures has another value, whatever is imported first."""
    script = f"""
import ir_measures
before = dict(ir_measures.measures.registry)
import {imports}
bound = {{}}
exec("from pyterrier.measures import *", bound)
print(all(bound[name] is measure for name, measure in before.items()))
print(sorted(name for name in {{*bound}} - {{*before}} if isinstance(bound[name], ir_measures.Measure) and name != "v"))
print(bound["GMAP"] is ir_measures.GMAP is ir_measures.measures.registry["GMAP"])
"""
    same, more, geometric = python(script).splitlines()
    assert (same, geometric) == ("True", "True")
    assert ast.literal_eval(more) == sorted([*NAMED, "GMAP"])


@pytest.mark.slow
def test_importing_changes_no_existing_value():
    script = """
import sys
import ir_measures
from ir_measures import *
if "ours" in sys.argv:
    import pyterrier_cwla
qrels = [Qrel(str(q), f"d{d}", (q * d) % 4) for q in range(1, 9) for d in range(1, 12)]
run = [ScoredDoc(str(q), f"d{d * q % 23}", 1 / (1 + d % 7)) for q in range(2, 10) for d in range(1, 23)]
wanted = [ir_measures.parse_measure(text) for text in sys.argv[1].split()]
for m, value in sorted(ir_measures.calc_aggregate(wanted, qrels, run).items(), key=str):
    print(m, value.hex() if isinstance(value, float) else value)
for name in sorted(ir_measures.measures.registry):
    m = ir_measures.measures.registry[name]
    print(name, m, hash(m) == hash(str(m))) if not type(m).__module__.startswith("pyterrier_cwla") else None
"""
    names = (
        "AP AP(rel=2)@5 P@5 RR RR@10 R@10 nDCG nDCG@5 nDCG(gains={1:2,2:5}) Rprec Success@5 Bpref infAP SetF IPrec@0.1"
        " NumQ NumRel NumRet NumRet(rel=1) Judged@10 RBP(rel=1) RBP(rel=2,p=0.5) INST(max_rel=3) INSQ(max_rel=3,T=2.0)"
        " BPM(max_rel=3)@10 SDCG(max_rel=3)@10 NERR8(max_rel=3)@10"
    ) + (" ERR@10" if shutil.which("perl") else "")
    before, after = python(script, names), python(script, names, "ours")
    assert before == after
    assert "INST(max_rel=3) 0x" in before


FOUND = """
import ir_measures
m = [ir_measures.parse_measure(t) for t in ("TBG", "CWLA(C='rbp(0.5)',A='erg',max_rel=1)", "AP", "RBP(p=0.5)@3", "ERR")]
qrels, run = [ir_measures.Qrel("1", "a", 1)], [ir_measures.ScoredDoc("1", "a", 1.0)]
print({str(k): v for k, v in ir_measures.calc_aggregate(m[1:], qrels, run).items()} ==
      {str(m[1]): 0.5, "AP": 1.0, "RBP(p=0.5)@3": 0.5, "ERR": 1 / 16})
print(ir_measures.DefaultPipeline.supports(m[0]), ir_measures.cwla.supports(m[0]), ir_measures.TBG == m[0])
narrow = [p for p in ir_measures.DefaultPipeline.providers if p.NAME == "cwla"]
print(len(narrow), narrow[0] is ir_measures.providers.registry["cwla"], [narrow[0].supports(k) for k in m])
"""
PRINTED = "True\nTrue True True\n1 False [True, True, False, True, True]\n"


AGAIN = "import importlib; importlib.reload(pyterrier_cwla)"
AFRESH = "import sys\nfor name in [n for n in sys.modules if 'cwla' in n]: del sys.modules[name]\nimport pyterrier_cwla"


@pytest.mark.slow
@pytest.mark.parametrize(("imports", "more"), [
    ("import pyterrier as pt", "pt.cwla.TBG == pt.measures.TBG == ir_measures.TBG"),
    (f"import pyterrier_cwla, pyterrier\n{AGAIN}", "pyterrier.measures.TBG == 'TBG'"),
    (f"import pyterrier, pyterrier_cwla\n{AGAIN}", "pyterrier.measures.TBG == 'TBG'"),
    (f"import pyterrier_cwla\n{AFRESH}", True),
], ids=["plain import of pyterrier", "reloaded", "reloaded after pyterrier", "from scratch again"])  # fmt: skip
def test_the_default_pipeline_knows_us_once_whatever_is_imported(imports, more):
    assert python(f"{imports}\n{FOUND}\nprint({more})") == PRINTED + "True\n"


# ---- values


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["RBP(rel=1,p=0.999)", "INST(T=100.0,max_rel=3)", "INSQ(T=100.0,max_rel=3)"])
def test_we_agree_with_cwl_eval_below_rank_1000(measure):
    frames = collection(3, queries=5, depth=1200, judged=1500, ties=False, shuffled=False)
    ours, theirs = (per_query(provider, ir_measures.parse_measure(measure), frames)
                    for provider in (ir_measures.cwla, ir_measures.cwl_eval))  # fmt: skip
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_rbp_is_graded_only_where_grades_are_0_and_1():
    frames = collection(7, ties=False, shuffled=False, grades=(-1, 0, 1))
    ours = per_query(ir_measures.cwla, RBP(p=0.5), frames)
    assert ours == pytest.approx(per_query(ir_measures.cwl_eval, RBP(p=0.5, rel=1), frames), abs=1e-9)
    refused(lambda: per_query(ir_measures.cwla, RBP(p=0.5), collection(7)), BadParameter, "max_rel=3")


# ---- ways of calling

GRADED_RBP = CWLA(C="rbp(0.8)", A="erg", max_rel=3)
OURS = [TBG, GRADED_RBP, Residual(measure=GRADED_RBP), CWLA(C="ap2", A="avg", max_rel=3) @ 5]
THEIRS = [AP, nDCG @ 10, INST(max_rel=3), ERR @ 10, Judged @ 10, RR(rel=2), NumRet, RBP(rel=1), Rprec]
MIXED = [*THEIRS[:4], *OURS, *THEIRS[4:]]


@pytest.mark.slow
def test_the_default_pipeline_serves_a_mixed_list_too():
    frames = harmless(collection(8, lengths=True, ties=False, shuffled=False))
    theirs = ir_measures.calc_aggregate(MIXED, frames.qrels, frames.run)
    ours = ir_measures.cwla.calc_aggregate(MIXED, frames.qrels, frames.run)
    assert ours == pytest.approx(theirs, abs=6e-6)


@pytest.mark.slow
def test_three_ways_to_call_agree():
    frames = collection(9, lengths=True)
    evaluator = ir_measures.cwla.evaluator(MIXED, frames.qrels)
    listed = list(evaluator.iter_calc(frames.run))
    aggregated, same = evaluator.calc(frames.run)
    assert listed == same
    assert aggregated == evaluator.calc_aggregate(frames.run)
    assert len(listed) == len(MIXED) * frames.qrels.query_id.nunique()
    for measure in MIXED:
        values = [m.value for m in listed if m.measure == measure]
        total = sum(values) if measure == NumRet else sum(values) / len(values)
        assert aggregated[measure] == pytest.approx(total, rel=1e-14)
    assert list(aggregated) == MIXED
    assert aggregated == {m: ir_measures.cwla.calc_aggregate([m], frames.qrels, frames.run)[m] for m in MIXED}
    assert TBG.calc(frames.qrels, frames.run).aggregated == aggregated[TBG]


@pytest.mark.slow
def test_an_evaluator_serves_many_runs():
    runs = [collection(seed, lengths=True).run for seed in (1, 2, 3)]
    qrels = collection(1).qrels
    evaluator = ir_measures.cwla.evaluator(MIXED, qrels)
    for run in [*runs, runs[0]]:
        assert evaluator.calc_aggregate(run) == ir_measures.cwla.calc_aggregate(MIXED, qrels, run)


def test_sums_are_sums_and_means_are_over_judged_topics():
    qrels = {"1": {"a": 1}, "2": {"a": 1, "b": 1}, "3": {"a": 0}}
    run = {"1": {"a": 1.0, "x": 0.5}, "9": {"a": 1.0}}
    values = ir_measures.cwla.calc_aggregate([NumQ, NumRel, NumRel(rel=1), NumRet, P @ 1, nDCG], qrels, run)
    assert list(values.values()) == [1, 1, 2, pytest.approx(1 / 3), pytest.approx(1 / 3)]
    assert not list(ir_measures.cwla.iter_calc([AP, TBG, NAMED["ESL"]], [], []))


def test_num_rel_of_unanswered_queries_is_0():
    """``trec_eval -c`` would count its two relevant documents."""
    qrels = {"1": {"a": 1, "b": -1}, "2": {"a": 1, "b": 1}}
    run = {"1": {"a": 1.0}}
    theirs = {one.query_id: one.value for one in ir_measures.pytrec_eval.iter_calc([NumRel], qrels, run)}
    assert evaluate(qrels, run, ["NumRel"], by_query=True)["NumRel"].tolist() == [1, 0] == [theirs["1"], theirs["2"]]
    assert evaluate(qrels, run, ["NumRel"])["NumRel"].tolist() == [1]


def test_run_inputs():
    table = {"a": 1}
    for provider in (ir_measures.cwla, ir_measures.DefaultPipeline):
        assert set(provider.run_inputs([TBG, AP])) == {"query_id", "doc_id", "score", "doc_length"}
        assert "doc_length" in provider.run_inputs([CWLA(C="rbp(0.5)", A="etg", gain="raw", effort="time")])
        assert "doc_length" in provider.run_inputs([Residual(measure=TBG)])
        own = CWLA(C="prec(3)", A="erg", gain="binary", effort="seconds", duplicates="run", duplicate_gain="none")
        assert set(provider.run_inputs([own])) == {"query_id", "doc_id", "score", "duplicate_of", "doc_cost"}
        without = [GRADED_RBP, TBG(lengths=table), AP, Residual(measure=TBG(lengths=table))]
        assert set(provider.run_inputs(without)) == {"query_id", "doc_id", "score"}
        assert set(provider.qrel_inputs([TBG])) == {"query_id", "doc_id", "relevance"}


# ---- unsupported measures

FRAMES = harmless(collection(3, ties=False, shuffled=False))


def test_every_parameter_of_ir_measures_has_another_value():
    assert {parameter for m in REGISTERED.values() for parameter in m.SUPPORTED_PARAMS} == set(OTHER_VALUES)


@pytest.mark.every_case
@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_what_is_not_supported_is_refused(name):
    for measure in with_other_parameters(name):
        for use in WAYS_TO_USE if not ir_measures.cwla.supports(measure) else ():
            with pytest.raises(CWLAError, match=rf"\b{name}\b"):
                use(ir_measures.cwla, measure)


WAYS_TO_USE = [
    lambda provider, measure: list(provider.iter_calc([measure], FRAMES.qrels, FRAMES.run)),
    lambda provider, measure: provider.calc([measure], FRAMES.qrels, FRAMES.run),
    lambda provider, measure: provider.calc_aggregate([measure], FRAMES.qrels, FRAMES.run),
    lambda provider, measure: provider.evaluator([measure], FRAMES.qrels),
]


@pytest.mark.parametrize("measure", [nDCG(gains={0: 1, 1: 4}), nDCG(gains={1: -1}, judged_only=True)])
def test_the_default_pipeline_gives_unsupported_measures_to_other_providers(measure):
    """This also holds in a list that contains measures of the package."""
    alone = per_query(ir_measures.pytrec_eval, measure, FRAMES)
    mixed = ir_measures.iter_calc([measure, GRADED_RBP], FRAMES.qrels, FRAMES.run)
    assert {m.query_id: m.value for m in mixed if m.measure == measure} == pytest.approx(alone)


def test_an_unsupported_measure_within_another_is_refused():
    size = ir_measures.define_byquery(lambda qrels, run: len(run), name="Size")
    assert not CWLAProvider().supports(size)
    measure = nDCG(dcg="exp-log2", gains={1: 1})
    with pytest.raises(UnknownSpec, match=r"nDCG\(dcg='exp-log2',gains=\{\}\), in GeometricMean"):
        ir_measures.cwla.evaluator([GeometricMean(measure=measure)], FRAMES.qrels)


# ---- lengths


@pytest.fixture
def with_lengths():
    """Return judgments, a run without doc_length, a run with it, and the lengths as a dict."""
    frames = collection(11, lengths=True)
    words = dict(zip(frames.run.doc_id, frames.run.doc_length, strict=True))
    return frames.qrels, frames.run.drop(columns="doc_length"), frames.run, words


@pytest.mark.slow
def test_lengths_in_every_form_are_the_same_lengths(with_lengths, tmp_path):
    qrels, run, run_with_lengths, words = with_lengths
    expected = TBG.calc(qrels, run_with_lengths).per_query
    series = pd.Series(words)
    frame = pd.DataFrame({"doc_id": list(words), "doc_length": list(words.values())})
    frame.to_parquet(tmp_path / "words.parquet")
    frame.to_csv(tmp_path / "words.csv", index=False)
    frame.to_csv(tmp_path / "words.tsv", index=False, header=False, sep="\t")
    paths = [tmp_path / name for name in ("words.parquet", "words.csv", "words.tsv")]
    others = [frame.set_axis(["docno", "words"], axis=1), frame.astype({"doc_length": int}), series.sample(frac=1)]
    register_lengths("as_named", words)
    for lengths in (words, series, frame, *others, *paths, *map(str, paths), "as_named"):
        measure = TBG(lengths=lengths)
        assert [m.value for m in measure.calc(qrels, run).per_query] == [m.value for m in expected]
        assert ir_measures.parse_measure(repr(measure)) == measure
        again = pickle.loads(pickle.dumps(measure))
        assert again == measure
        assert again.calc_aggregate(qrels, run) == measure.calc_aggregate(qrels, run)


def test_a_table_without_a_name_is_named_by_its_content(with_lengths):
    *_, words = with_lengths
    backwards = dict(reversed(words.items()))
    other = words | {"d1": 1e6}
    assert repr(TBG(lengths=words)) == repr(TBG(lengths=backwards)) == repr(TBG(lengths=pd.Series(words)))
    assert repr(TBG(lengths=words)).startswith("TBG(lengths='table_")
    assert TBG(lengths=words) != TBG(lengths=other) != TBG


def test_two_tables_in_one_call_are_kept_apart(with_lengths):
    qrels, run, _, words = with_lengths
    longer = {d: n + 1000 for d, n in words.items()}
    measures = [TBG(lengths=words), TBG(lengths=longer, label="longer"), TBG(half_life=60, lengths=words)]
    together = ir_measures.cwla.calc_aggregate(measures, qrels, run)
    assert together == {m: m.calc_aggregate(qrels, run) for m in measures}
    assert len(set(together.values())) == 3
