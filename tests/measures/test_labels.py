"""Labels of measures, the names of columns without labels, and two measures of one name."""

import copy
import pickle

import cloudpickle
import ir_measures
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, ERR, RBP, RR, Judged, NumRet, P, SetF, alpha_nDCG, nDCG

from pyterrier_cwla import (
    CWLA,
    TBG,
    GeometricMean,
    IntentAware,
    QMeasure,
    Residual,
    compare,
    evaluate,
    evaluate_sessions,
    register_lengths,
    sDCG,
    stream,
)
from pyterrier_cwla.data.intents import register_intent_weights
from pyterrier_cwla.errors import BadParameter, UnknownSpec
from pyterrier_cwla.measures.labels import by_name, label_in, labelled
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.provider import LabelProvider
from pyterrier_cwla.model.continuations import continuation
from tests.support.messages import refused

QRELS = {"q": {"a": 1, "b": 0, "c": 1}, "r": {"a": 1}}
RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"b": 2.0, "a": 1.0}}
WORDS = {"a": 100, "b": 200, "c": 300}
OTHERS = {"a": 10, "b": 20, "c": 30}
RBP_CELL = {"C": "rbp(0.5)", "A": "erg", "max_rel": 1}


LABELLED = [
    TBG(lengths=WORDS, label="mine"),
    CWLA(**RBP_CELL, label="mine"),
    Residual(measure=CWLA(**RBP_CELL), label="mine"),
    GeometricMean(measure="AP", label="mine"),
    IntentAware(measure="AP", label="mine"),
    QMeasure(beta=2, label="mine"),
    sDCG(bq=2, label="mine"),
    labelled(nDCG @ 10, "mine"),
    labelled(P(rel=2) @ 5, "mine"),
]


@pytest.mark.parametrize("measure", LABELLED, ids=repr)
def test_the_label_is_shown_and_copied_and_the_text_canonical(measure):
    for other in (copy.copy(measure), copy.deepcopy(measure), pickle.loads(pickle.dumps(measure)), measure()):
        assert (other, str(other), repr(other)) == (measure, "mine", repr(measure))
    plain = labelled(measure, None)
    assert str(measure) == measure.label == "mine" != str(plain)
    assert repr(measure) == repr(plain)
    assert ir_measures.parse_measure(repr(measure)) == plain != measure
    assert measure == "mine"  # PyTerrier's searches look measures up by name
    assert {str(measure): 1.0}[measure] == 1.0


def test_other_parameters_drop_the_label():
    for measure in (TBG(lengths=WORDS, label="mine"), labelled(nDCG, "mine")):
        changed = measure @ 10
        assert str(changed) == f"{measure.NAME}@10"
    assert str(TBG(label="mine")(half_life=60)) == "TBG(half_life=60)"
    assert str(TBG(label="mine")(half_life=60, label="fast")) == "fast"
    assert str(TBG(label="mine")(label=None)) == "TBG"
    assert str(Residual(measure=RBP(rel=1), label="mine")(measure=RBP(rel=2))) == "Residual(measure='RBP(rel=2)')"


def test_names_have_inner_labels_but_no_hashes_and_no_paths(tmp_path):
    residual = Residual(measure=CWLA(**RBP_CELL, label="RBP of users"))
    assert str(residual) == "Residual(measure='RBP of users')"
    assert repr(residual) == repr(Residual(measure=CWLA(**RBP_CELL)))
    path = tmp_path / "words.tsv"
    path.write_text("".join(f"{document}\t{words}\n" for document, words in WORDS.items()))
    for lengths in (WORDS, pd.Series(WORDS), path, str(path)):
        assert str(TBG(lengths=lengths)) == "TBG"
        assert str(TBG(lengths=lengths, half_life=60) @ 5) == "TBG(half_life=60)@5"
        assert (
            str(Residual(measure=CWLA(**RBP_CELL, lengths=lengths))) == f"Residual(measure={str(CWLA(**RBP_CELL))!r})"
        )
        assert ir_measures.parse_measure(repr(TBG(lengths=lengths))) == TBG(lengths=lengths)
    assert str(TBG(duplicates={"a": "1", "b": "1"})) == "TBG"
    assert str(IntentAware(measure="AP", weights={"q": {"0": 1.0}})) == "IntentAware(measure='AP')"
    register_lengths("shown_words", WORDS)
    register_intent_weights("shown_weights", {"q": {"0": 1.0}})
    assert str(TBG(lengths="shown_words")) == "TBG(lengths='shown_words')"
    assert "shown_weights" in str(IntentAware(measure="AP", weights="shown_weights"))
    assert str(TBG(duplicates="run")) == "TBG(duplicates='run')"


@pytest.mark.parametrize(("labels", "says"), [
    (["", " ", " TBG", "two\nlines", "\x1b[31m", 3, b"x", "\ud800"], "a label is a text of one line"),
    (["run", "query_id", "qid", "name", "mrt", "fold"], "tables of scores have another column of this name"),
])  # fmt: skip
def test_labels_are_texts_of_one_line_and_no_other_column(labels, says):
    for label in labels:
        for make in (lambda label=label: TBG(label=label), lambda label=label: evaluate(QRELS, RUN, {label: AP})):
            refused(make, BadParameter, says)


@pytest.mark.parametrize("label", [
    "AP", "nDCG@10", "GradedTBG", "P(rel=2)@5", "map", "ndcg_cut_10", "P_5", "recip_rank", "Map", "mrr", "ndcg@10",
    "TBG(half_life=60)", "tbg@10",
])  # fmt: skip
def test_a_label_is_not_another_measure(label):
    for make in (lambda: TBG(label=label), lambda: TBG.with_label(label), lambda: labelled(RBP(p=0.9), label)):
        refused(make, BadParameter, "is another measure")
    refused(lambda: measures_of(f"{label}=CWLA(C=rr,A=err,gain=binary)"), BadParameter, "is another measure")


def test_the_keys_of_a_dict_are_any_names():
    """All measures of the call are seen, so two of one name are an error."""
    assert evaluate(QRELS, RUN, {"nDCG": "CWLA(C='dcg',A='etg',gain='binary',norm='ideal')", "AP": AP}).shape == (1, 2)
    assert list(map(str, measures_of({"AP": RBP(p=0.9)}))) == ["AP"]
    refused(lambda: by_name([*measures_of({"AP": RBP(p=0.9)}), AP]), BadParameter, "two measures are called 'AP'")


def test_the_name_of_the_measure_itself_is_a_label():
    named = {"TBG": "TBG(half_life=60)", "RBP": "RBP(p=0.9,rel=1)"}
    assert list(map(str, measures_of(named))) == ["TBG", "RBP"]
    assert str(TBG(half_life=60, label="TBG")) == "TBG"
    refused(lambda: measures_of([TBG(half_life=60, label="TBG"), TBG]), BadParameter, "two measures are called 'TBG'")
    refused(lambda: labelled(nDCG @ 10, "nDCG"), BadParameter, "is another measure")


def test_a_label_may_be_the_measure_itself_or_no_measure():
    words = TBG(lengths=WORDS)
    for label, measure in {
        "map": AP, "MRR@10": RR @ 10, "ndcg_cut_10": nDCG @ 10, "P": P @ 5, "TBG": words, "tbg": words, "TBG@10": words @ 10,
        "CWLA": CWLA(**RBP_CELL), "GMAP": GeometricMean(measure=AP), "early": nDCG @ 5, "P(rel)": AP,
        "RBP (users)": CWLA(**RBP_CELL), "official": TBG,
    }.items():  # fmt: skip
        assert str(labelled(measure, label)) == label
        assert [str(one) for one in measures_of({label: measure})] == [label]
        assert str(pickle.loads(pickle.dumps(labelled(measure, label)))) == label


def test_columns_have_the_names_and_the_order_of_a_dict():
    words = TBG(lengths=WORDS)
    given_measures = {"z": nDCG @ 10, "short": words, "a": "AP", "again": AP, "RR": RR}
    found = evaluate(QRELS, RUN, given_measures)
    assert found.columns.tolist() == list(given_measures)
    for name, measure in given_measures.items():
        assert found[name].item() == evaluate(QRELS, RUN, [measure]).iloc[0, 0]
    by_query = evaluate(QRELS, RUN, given_measures, by_query=True)
    assert by_query.columns.tolist() == list(given_measures)


def test_columns_of_sessions_have_the_labels():
    measures = {"z": sDCG(bq=2), "RR": "RR", "first": "RR@1", "sDCG": sDCG}
    found = evaluate_sessions(QRELS, RUN, {"q": ["q"]}, measures)
    assert found.columns.tolist() == list(measures)
    listed = evaluate_sessions(QRELS, RUN, {"q": ["q"]}, [sDCG(bq=2, label="z"), RR, "first=RR@1", sDCG])
    assert listed.equals(found)


def test_texts_may_have_a_label():
    found = evaluate(QRELS, RUN, ["early=RR@1", "AP", "half (users) = CWLA(C='rbp(0.5)',A='erg',max_rel=1)"])
    assert found.columns.tolist() == ["early", "AP", "half (users)"]
    assert label_in("users (half) = CWLA(C='rbp(0.5)',A='erg')") == ("users (half)", "CWLA(C='rbp(0.5)',A='erg')")
    for text in ("CWLA(C='rbp(0.5)',A='erg')", "nDCG@10", "nDCG(gains={1:2})@5", "TBG(half_life=9)"):
        assert label_in(text) == (None, text)
    for text in ("=AP", "x=", "x=y=AP"):
        with pytest.raises((UnknownSpec, BadParameter)):
            measures_of([text])


@given(st.text(max_size=12))
def test_every_label_comes_back_or_is_refused(label):
    try:
        measure = TBG(label=label)
    except BadParameter:
        return
    assert str(pickle.loads(pickle.dumps(measure))) == str(measure) == label
    assert evaluate(QRELS, RUN, {label: AP}).columns.tolist() == [label]


def test_two_measures_of_one_name_are_an_error(tmp_path):
    first, second = TBG(lengths=WORDS), TBG(lengths=OTHERS)
    for measures in ([first, second], [first, TBG], ["x=AP", "x=RR"]):
        for score in (evaluate, lambda *data: list(stream(*data))):
            with pytest.raises(BadParameter, match=r"two measures are called .*label="):
                score(QRELS, RUN, measures)
    with pytest.raises(BadParameter, match=r"two measures are called 'x'"):
        evaluate_sessions(QRELS, RUN, {"q": ["q"]}, [sDCG(label="x"), sDCG(bq=2, label="x")])
    with pytest.raises(BadParameter, match=r"two measures are called 'TBG'"):
        ir_measures.calc_aggregate([first, second], QRELS, RUN)
    with pytest.raises(BadParameter, match=r"two measures are called 'x'.*label='…' of a measure of this package\.$"):
        ir_measures.calc_aggregate([labelled(AP, "x"), labelled(RR, "x")], QRELS, RUN)
    found = evaluate(QRELS, RUN, [first, second(label="others")])
    assert found["TBG"].item() != found["others"].item()
    evaluate(QRELS, RUN, [first(label="x"), GeometricMean(measure=second(label="x"))])  # no error


def test_the_same_measure_twice_is_one_column():
    words = TBG(lengths=WORDS)
    assert evaluate(QRELS, RUN, [AP, "AP", words, TBG(lengths=WORDS)]).columns.tolist() == ["AP", "TBG"]
    assert evaluate(QRELS, RUN, [words, words(label="again")]).columns.tolist() == ["TBG", "again"]


def _defined(body):
    """Return a continuation whose name is always the same."""
    if body == "half":

        @continuation
        def redefined(view, p=0.5):
            return p + 0 * view.i

    else:

        @continuation
        def redefined(view, p=0.5):
            return p * body(view.i)

    return redefined


def _of(body):
    return CWLA(C=_defined(body)(0.5), A="erg", max_rel=1)


def _falling(depth=3):
    def falling(i, depth=depth):
        return i / (i + 1) if depth == 0 else falling(i, depth - 1)

    return falling


BODIES = [_falling(), "half", lambda i: i / (i + 1), lambda i: i / (i + 2)]


def test_measures_with_other_functions_of_one_name_are_unequal():
    measures = [_of(body) for body in BODIES]
    assert len({repr(measure) for measure in measures}) == len(set(map(hash, measures))) == 1
    assert len(set(measures)) == len(measures)
    for wrapped in (Residual, GeometricMean):
        assert len({wrapped(measure=measure) for measure in measures}) == len(measures)
    for body, measure in zip(BODIES, measures, strict=True):
        copies = [cloudpickle.loads(cloudpickle.dumps(measure)), copy.deepcopy(measure), measure(), _of(body)]
        copies += [cloudpickle.loads(cloudpickle.dumps(copies[0]))]
        assert set(copies) == {measure}
        residual = Residual(measure=measure)
        assert cloudpickle.loads(cloudpickle.dumps(residual)) == residual


@pytest.mark.parametrize("wrapped", [lambda measure: measure, lambda measure: Residual(measure=measure)])
def test_two_functions_of_one_name_are_an_error_everywhere(wrapped):
    measures = [wrapped(_of(body)) for body in BODIES[:2]]
    for score in (
        lambda: evaluate(QRELS, RUN, measures),
        lambda: compare(QRELS, {"a": RUN, "b": RUN}, measures),
        lambda: ir_measures.calc_aggregate(measures, QRELS, RUN),
        lambda: list(ir_measures.iter_calc(measures, QRELS, RUN)),
    ):
        refused(score, BadParameter, "two measures are called", "and differ: a function")


@pytest.mark.slow
def test_two_functions_of_one_name_need_labels():
    first, second = map(_of, BODIES[:2])
    found = evaluate(QRELS, RUN, {"first": first, "second": second})
    assert found["first"].item() == evaluate(QRELS, RUN, [first]).iloc[0, 0]
    assert found["second"].item() == evaluate(QRELS, RUN, [second]).iloc[0, 0] != found["first"].item()


def test_a_cached_run_is_found_under_another_label(tmp_path):
    words = TBG(lengths=WORDS)
    first = evaluate(QRELS, RUN, [words(label="one"), AP, ERR], cache_dir=tmp_path)
    files = sorted(path.name for path in tmp_path.rglob("*"))
    second = evaluate(QRELS, RUN, {"two": words, "AP": AP, "E": ERR}, cache_dir=tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == files
    assert second.columns.tolist() == ["two", "AP", "E"]
    assert first.to_numpy().tolist() == second.to_numpy().tolist()


def test_measures_of_ir_measures_keep_values_beside_labelled_twins():
    plain = [nDCG @ 2, AP, P @ 1, Judged @ 2, alpha_nDCG @ 2, RBP(p=0.9), SetF, NumRet]
    once = {measure: ir_measures.calc_aggregate([measure], QRELS, RUN)[measure] for measure in plain}
    labels = {measure: (f"first {measure}", f"second {measure}") for measure in plain}
    twins = [labelled(measure, label) for measure, both in labels.items() for label in both]
    for measures in ([*plain, *twins], [*twins, *plain, TBG(lengths=WORDS)], twins):
        found = ir_measures.calc_aggregate(measures, QRELS, RUN)
        assert len(found) == len(measures)
        for measure in measures:
            if measure.NAME != "TBG":
                assert found[measure] == once[labelled(measure, None)]
        by_query = list(ir_measures.iter_calc(measures, QRELS, RUN))
        assert {str(metric.measure) for metric in by_query} == set(map(str, measures))
    assert set(ir_measures.run_inputs(twins)) == set(ir_measures.run_inputs(plain))
    assert set(ir_measures.qrel_inputs(twins)) == set(ir_measures.qrel_inputs(plain))


def test_a_measure_may_have_a_parameter_label_of_its_own():
    class Own(ir_measures.measures.Measure):
        SUPPORTED_PARAMS = {"label": ir_measures.measures.ParamInfo(dtype=str)}

    assert not LabelProvider().supports(Own(label="x"))
