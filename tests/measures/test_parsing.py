"""Texts of measures: names in any case and of trec_eval, values without quotes, several measures in a text, errors."""

import ast
import itertools
import random
from functools import partial

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.measures import grammar
from pyterrier_cwla import CWLA, TBG, Residual, evaluate
from pyterrier_cwla.errors import BadJudgments, BadParameter, CWLAError, CWLAWarning, UnknownSpec
from pyterrier_cwla.measures.labels import parsed
from pyterrier_cwla.measures.named import measures_of, split_measures
from pyterrier_cwla.measures.provider import computed_here
from tests.support.messages import refused
from tests.support.peers import REGISTERED, with_other_parameters

TREC_EVAL = {
    "map": "AP", "map_cut_5": "AP@5", "map_cut.5": "AP@5", "gm_map": "GeometricMean(measure='AP')",
    "gm_bpref": "GeometricMean(measure='Bpref')", "ndcg": "nDCG", "ndcg_cut_10": "nDCG@10", "ndcg_cut.10": "nDCG@10",
    "P_5": "P@5", "P.5": "P@5", "recip_rank": "RR", "bpref": "Bpref", "recall_100": "R@100", "Rprec": "Rprec",
    "success_5": "Success@5", "infAP": "infAP", "num_ret": "NumRet", "num_rel": "NumRel", "num_rel_ret": "NumRet(rel=1)",
    "num_q": "NumQ", "set_P": "SetP", "set_recall": "SetR", "set_F": "SetF", "set_F_2": "SetF(beta=2.0)",
    "set_map": "SetAP", "iprec_at_recall_0.10": "IPrec@0.1", "11pt_avg": "AP11pt", "utility": "SetUtility",
}  # fmt: skip
OTHER_CASE = {
    "ndcg@10": "nDCG@10", "NDCG@10": "nDCG@10", "tbg": "TBG", "err@20": "ERR@20", "p(rel=2)@5": "P(rel=2)@5",
    "recall@5": "R@5", "mrr": "RR", "cwla(C='rbp(0.8)',A='erg',max_rel=3)": "CWLA(C='rbp(0.8)',A='erg',max_rel=3)",
    "Map": "AP", "gmap": "GeometricMean(measure='AP')", "residual(measure=rbp(rel=1))": "Residual(measure='RBP(rel=1)')",
}  # fmt: skip
WITHOUT_QUOTES = {
    "CWLA(C=inst(2),A=max,max_rel=3)": "CWLA(C='inst(2)',A='max',max_rel=3)",
    "CWLA( C = product(rr(rel=1), prec(3)), A = pe(0.5), max_rel = 2 )":
        "CWLA(C='product(rr(1),prec(3))',A='pe(0.5)',max_rel=2)",
    "Residual(measure=CWLA(C=rbp(0.8),A=erg,max_rel=2))": "Residual(measure=\"CWLA(C='rbp(0.8)',A='erg',max_rel=2)\")",
    "GeometricMean(measure=nDCG@10)": "GeometricMean(measure='nDCG@10')",
    "IntentAware(measure=map)": "IntentAware(measure='AP')",
    "CWLA(C=rbp(0.5),A=erg,gain=table({0:0,1:1}))": "CWLA(C='rbp(0.5)',A='erg',gain='table({0:0,1:1})')",
    "nDCG(dcg=exp-log2)@5": "nDCG(dcg='exp-log2')@5",
    "TBG(norm=ideal,end=stop,missing=mean)@5": "TBG(norm='ideal',end='stop',missing='mean')@5",
    "nDCG(gains={0:0,1:3,2:9})@3": "nDCG(gains={1:3,2:9})@3",
    "nDCG(gains={0:-1,+1:2})": "nDCG(gains={0:-1,1:2})",
    "TBG(half_life=+3)": "TBG(half_life=3)",
    "esNDCG(discount=none,p_reform=0.8,p_down=0.5)": "esNDCG(p_down=0.5,discount='none')",
    "P@+5": "P@5",
    "CWLA(C=rbp(+.8),A=erg,max_rel=+3)": "CWLA(C='rbp(0.8)',A='erg',max_rel=3)",
    "CWLA(C=rr,A=err,gain='table({+1:+0.5})')": "CWLA(C='rr',A='err',gain='table({1:0.5})')",
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("text, name", [*TREC_EVAL.items(), *OTHER_CASE.items(), *WITHOUT_QUOTES.items()])
def test_texts_and_the_names_of_their_measures(text, name):
    [found] = measures_of([text])
    assert (str(found), measures_of(name), measures_of(f" {text} ")) == (name, [found], [found])
    for other in (text.upper(), text.lower()) if text in TREC_EVAL else ():
        assert measures_of([other]) == [found]


@pytest.mark.parametrize("name", [name for name in TREC_EVAL if not name.startswith(("gm_", "11pt", "utility"))])
def test_names_of_trec_eval_as_in_ir_measures(name):
    assert ir_measures.parse_trec_measure(name) == measures_of([name])


def test_columns_have_the_canonical_names():
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"b": 2.0, "a": 1.0}}
    table = evaluate(qrels, run, ["map", "ndcg_cut_10", "err@20"])
    assert table.columns.tolist() == ["AP", "nDCG@10", "ERR@20"]
    assert evaluate(qrels, run, "map, ndcg_cut_10, err@20").equals(table)


def test_texts_of_ir_measures_own_measures_are_read_as_the_objects():
    for measure in itertools.chain.from_iterable(map(with_other_parameters, REGISTERED)):
        found = parsed(repr(measure))
        assert (found, found.params) == (measure, measure.params)


NUMBERS = st.integers(-3, 4) | st.floats(-3, 4)


@given(st.dictionaries(NUMBERS, NUMBERS, min_size=1), st.none() | st.integers(1, 3))
def test_gains_of_any_sign_are_read_as_in_the_object(gains, k):
    measure = ir_measures.nDCG(gains=gains) if k is None else ir_measures.nDCG(gains=gains) @ k
    found = parsed(repr(measure))
    assert found == measure
    assert found.params["gains"] == {grade: gain for grade, gain in gains.items() if grade != gain}  # as in its text
    qrels, run = {"q": {"a": 1, "b": 0, "c": 1, "d": -1}}, {"q": {"b": 3.0, "a": 2.0, "c": 1.0, "d": 0.5}}
    assert evaluate(qrels, run, [repr(measure)]).equals(evaluate(qrels, run, [measure]))


def bare(text):
    """Return the text of a measure without quotes, where the quoted text is an expression."""
    node, cutoff = ast.parse(text, mode="eval").body, ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        node, cutoff = node.left, "@" + ast.unparse(node.right)
    if not isinstance(node, ast.Call):
        return text
    values = [f"{keyword.arg}={bare_value(keyword.value, keyword.arg == 'measure')}" for keyword in node.keywords]
    return f"{ast.unparse(node.func)}({','.join(values)}){cutoff}"


def bare_value(node, is_measure):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            inner = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError):
            return repr(node.value)
        if isinstance(inner, ast.Name | ast.Call | ast.BinOp | ast.Attribute) and node.value.isprintable():
            return bare(node.value) if is_measure else node.value
    return ast.unparse(node)


@pytest.mark.slow
@given(st.integers(0, 10**9))
def test_quotes_make_no_difference(seed):
    """Texts of random measures, from the grammar of the fuzzing tests."""
    rng, found = random.Random(seed), []
    for _ in range(60):
        try:
            found += computed_here([grammar(rng).decode("utf-8", "surrogateescape")])
        except CWLAError:
            continue
    found = list({str(measure): measure for measure in found}.values())  # tables by content have no name
    for measure in found:
        assert measures_of([bare(repr(measure))]) == [measure]
    texts = list(map(repr, found))
    assert split_measures(",".join(texts)) == texts or not texts
    assert measures_of(" , ".join(texts)) == found or not texts


@pytest.mark.parametrize("text, parts", [
    ("nDCG@10,AP", ["nDCG@10", "AP"]),
    ("AP", ["AP"]),
    (" AP , CWLA(C=inst(2),A=max,max_rel=3) ", ["AP", "CWLA(C=inst(2),A=max,max_rel=3)"]),
    ("nDCG(gains={0:0,1:2})@3,TBG(lengths='a,b.csv')", ["nDCG(gains={0:0,1:2})@3", "TBG(lengths='a,b.csv')"]),
    (r"TBG(lengths='it\'s, here'),AP", [r"TBG(lengths='it\'s, here')", "AP"]),
    ("A(x='(',y=1),B", ["A(x='(',y=1)", "B"]),
    ("AP,", ["AP", ""]),
])  # fmt: skip
def test_split(text, parts):
    assert split_measures(text) == parts


@pytest.mark.every_case
@pytest.mark.parametrize("text, says", [
    ("CWLA(C=inst(2),A=max", "cannot read the measure 'CWLA(C=inst(2),A=max' at character 5: '(' was never closed"),
    ("nDCG@", "at character 6: invalid syntax"),
    ("nDCG@10 AP", "at character 9: invalid syntax"),
    ("Residual(AP)", "at character 10: each parameter needs its name, as in Residual(measure=AP)"),
    ("CWLA(C=[1],A=erg)", "at character 8: C= must be a number, True, False, None, text or a map"),
    ("TBG(lengths=ä, unseen=[1])", "at character 23: unseen= must be"),
    ("RBP(p=0.5,p=0.6)", "at character 11: give every parameter once"),
    ("CWLA(**x)", "at character 6: give every parameter once"),
    ("ndcg_cut_10@5", "at character 13: cutoff is given twice"),
    ("nDCG(cutoff=5)@10", "at character 16: cutoff is given twice"),
    ("nDCG(gains={x:1})", "at character 12: the keys of the map gains= must be"),
    ("3", "at character 1: a measure starts with a name"),
    ("", "at character 1: the text is empty"),
    ("AP,", "at character 1: the text is empty"),
    ("early=ndcg_cut", "ndcg_cut of trec_eval stands for several measures. Write one of them: nDCG@5, nDCG@10,"),
    ("early=official", "official of trec_eval stands for several measures. Write one of them: NumQ, NumRet,"),
    ("f1@5", "f1@5 of ranx is not computed: 'SetF' is F1 of all retrieved documents"),
    ("f1", "no measure 'f1'. Near: 'SetF'"),
    ("hits@3-l2", "hits@3-l2 of ranx: hits@3 is computed without a level of relevance"),
    ("relstring", "neither this package nor ir_measures computes relstring of trec_eval"),
    ("ndcg_cut_10abc", "no measure 'ndcg_cut_10abc'"),
    ("Q", "no measure 'Q'. Near: 'QMeasure'"),
    ("hit_rate", "Near: 'Success'"),
    ("nDGC@10", "no measure 'nDGC'. Near: 'nDCG'"),
    ("early=iprec_at_recall", "Write one of them: IPrec@0.0, IPrec@0.1,"),
    ("alpha-nDCG@5", "no measure 'alpha-nDCG'. Near: 'alpha_nDCG'"),
    ("α-nDCG@5", "no measure 'α-nDCG'. Near: 'alpha_nDCG'"),
    ("MAP-IA", "no measure 'MAP-IA'. Near: 'AP_IA'"),
    ("P@5(rel=2)", "write P(rel=2)@5"),
    ("nDCG10", "Near: 'nDCG@10'"),
    ("p5", "Near: 'P@5'"),
    ("TBG(lengths=/a/b.tsv)", "a path stands in quotes, as in TBG(lengths='/data/lengths.tsv')"),
    ("TBG(lengths=~/b.tsv)", "a path stands in quotes"),
    ("TBG(lengths=./b.tsv)", "a path stands in quotes"),
])  # fmt: skip
def test_errors_name_the_position(text, says):
    refused(lambda: measures_of(text), UnknownSpec, says)


@pytest.mark.parametrize("theirs, here", [
    ("hit_rate@10", "Success@10"), ("r-precision", "Rprec"), ("mrr", "RR"), ("mrr@5", "RR@5"), ("map@100", "AP@100"),
    ("dcg@7", "CWLA(C='dcg(7)',A='etg',gain='raw')"), ("dcg_burges@7", "CWLA(C='dcg(7)',A='etg',gain='burges')"),
    ("ndcg_burges@10", "nDCG(dcg='exp-log2')@10"), ("ndcg_burges", "nDCG(dcg='exp-log2')"), ("precision@5", "P@5"),
    ("recall@5", "R@5"), ("bpref", "Bpref"), ("rbp.80", "CWLA(C='rbp(0.8)',A='erg',gain='raw')"),
    ("rbp.95", "CWLA(C='rbp(0.95)',A='erg',gain='raw')"), ("map-l2", "AP(rel=2)"), ("precision@5-l2", "P(rel=2)@5"),
    ("hits@3", "CWLA(C='prec(3)',A='etg',gain='binary')"), ("ndcg@10", "nDCG@10"),
])  # fmt: skip
def test_names_of_ranx(theirs, here):
    assert measures_of(theirs) == measures_of([here])


def test_lists_of_trec_eval():
    official = measures_of("official")
    assert [*map(str, official[:5])] == ["NumQ", "NumRet", "NumRel", "NumRet(rel=1)", "AP"]
    assert [*map(str, official[-9:])] == [f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]
    assert measures_of(["RR", "official"])[1:] == official == measures_of("official,RR")[:-1]
    with pytest.warns(CWLAWarning, match="all_trec is read without Rndcg"):
        everything = measures_of("all_trec")
    assert everything[: len(official)] == official
    assert len(everything) == len(set(map(str, everything))) == 69
    assert [*map(str, measures_of("ndcg_cut"))][:3] == ["nDCG@5", "nDCG@10", "nDCG@15"]


def test_other_errors():
    refused(lambda: measures_of(["AP,nDCG"]), UnknownSpec, "several measures in one text; give a list of texts")
    for text, hint in {
        "recall": "R needs cutoff=, as in R@10",
        "nDCG(k=10)": "Write cutoff=",
        "AP(relevance_level=2)": "Write rel=",
        "CWLA(C=rr,A=err,max_grade=3)": "Write max_rel=",
        "TBG(k=5)": "Write cutoff=",
        "TBG(half_lif=3)": "Near: 'half_life'",
        "TBG(half_life=-3)": "half_life must be a number in (0, inf)",
        "RBP(p=True)": "RBP(p=True): p must not be True or False",
        "AP@True": "cutoff must not be True or False",
        "P@0": "P@0: the cutoff must be a whole number",
        "recall_0": "R@0: the cutoff must be a whole number",
        "INST": "INST needs max_rel=, as in INST(max_rel=3), with the highest grade",
        "BPM(T=2)": "BPM needs cutoff= and max_rel=, as in BPM(T=2.0,max_rel=3)@10",
        "NERR8(max_rel=4)": "NERR8 needs cutoff=, as in NERR8(max_rel=4)@10.",
        "nDCG(label='n')@10": "labelled(nDCG@10, 'n'), or where texts are read 'n=nDCG@10'",
        "Residual(measure=TBG,unseen=12)": "Write Residual(measure=TBG(unseen=12)).",
    }.items():
        refused(lambda text=text: measures_of(text), BadParameter, hint)
    for wrong in ("--3", "+'3'", "+True", "not 3"):
        refused(lambda wrong=wrong: measures_of(f"TBG(half_life={wrong})"), UnknownSpec, "half_life= must be a number")


def test_names_that_differ_in_case_alone_are_ambiguous(monkeypatch):
    monkeypatch.setitem(ir_measures.measures.registry, "NDcg", ir_measures.AP)
    with pytest.raises(
        UnknownSpec, match=r"'ndcg' stands for NDCG or NDcg: write one of them|'ndcg' stands for nDCG or NDcg"
    ):
        measures_of("ndcg@10")
    assert measures_of(["nDCG", "NDcg"]) == [ir_measures.nDCG, ir_measures.AP]


def test_several_cutoffs_of_trec_eval_are_several_measures():
    for text, expected in {
        "P.5,10": ["P@5", "P@10"],
        "ndcg_cut_5,10,20,map": ["nDCG@5", "nDCG@10", "nDCG@20", "AP"],
        "AP, recall.5 , 10": ["AP", "R@5", "R@10"],
        "iprec_at_recall_0.1,0.2": ["IPrec@0.1", "IPrec@0.2"],
    }.items():
        assert list(map(str, measures_of(text))) == expected
    for text in ("AP,10", "P@5,10", "10"):
        refused(lambda text=text: measures_of(text), UnknownSpec, "a measure starts with a name")


def test_parameters_without_names_are_refused():
    for make, way_out in {
        lambda: CWLA("inst(2)", "max", max_rel=3): "by name: write CWLA(C='inst(2)', A='max', max_rel=3)",
        lambda: TBG(30): "by name: write TBG(half_life=30)",
        lambda: Residual("TBG"): "by name: write Residual(measure='TBG')",
        lambda: Residual("TBG", unseen=12): "Write Residual(measure=TBG(unseen=12))",
        lambda: ir_measures.run_inputs([ir_measures.nDCG(label="n") @ 10]): "labelled(nDCG@10, 'n')",
    }.items():
        refused(make, BadParameter, way_out)


def test_names_made_from_content_are_not_offered():
    TBG(lengths={"a": 1, "b": 12})
    assert "table_" not in refused(lambda: TBG(lengths="nowhere"), BadParameter, "neither a file nor the name")


def test_grades_above_those_of_err_have_a_way_out():
    grades, run = {"q": {"a": 5, "b": 0}}, {"q": {"b": 2.0, "a": 1.0}}
    cell = "CWLA(C='rr',A='err',gain='exponential',max_rel=5)"
    for measure, written in (("ERR", cell), ("ERR@10", f"{cell}@10")):
        message = refused(partial(evaluate, grades, run, [measure]), BadJudgments)
        assert message == f"topic 'q': 'a' has grade 5, above max_rel=4: write {written}, or correct the judgments."
        assert evaluate(grades, run, [written]).iloc[0, 0] == pytest.approx(31 / 32 / 2)
    for measure in ("ERR", "ERR@3"):
        written = measure.replace("ERR", "CWLA(C='rr',A='err',gain='exponential',max_rel=4)")
        one, other = evaluate({"q": {"a": 4, "b": 1}}, run, [measure, written]).iloc[0]
        assert one == other
