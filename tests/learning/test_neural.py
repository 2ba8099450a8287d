"""Tests of the losses of neural rankers, nearly all without torch: weights of padded lists, and measures that are refused."""

import copy
import pickle
import sys
from contextlib import suppress
from itertools import zip_longest

import numpy as np
import pytest

from pyterrier_cwla import aggregation, register_lengths
from pyterrier_cwla.errors import BadJudgments, BadParameter, CWLAError, MissingCost, MissingLength
from pyterrier_cwla.learning import LambdaMART, LambdaScheme, lambda_loss, training_rows
from pyterrier_cwla.learning.neural import padded_weights
from pyterrier_cwla.learning.swaps import by_scoring_anew
from tests.doors.measures import of_rows
from tests.doors.rows import write_tables
from tests.support.messages import refused


def catalogue(folder, monkeypatch):
    """Yield all measures of the package that LambdaMART learns, as texts."""
    write_tables(folder)
    monkeypatch.chdir(folder)
    for text in of_rows():
        with suppress(CWLAError):
            LambdaMART(text)
            yield text


def lists(seed=0, sizes=(7, 1, 4, 9, 2)):
    """Return grades in predicted order, and the same padded with 0."""
    rng = np.random.default_rng(seed)
    grades = [rng.choice([0, 0, 1, 2, 3], n).astype(float) for n in sizes]
    return grades, np.array([*zip_longest(*grades, fillvalue=0.0)]).T


def by_definition(measure, grades, monkeypatch):
    """Return |ΔM| of each list without padding, by scoring all swapped rankings."""
    with monkeypatch.context() as patch:
        patch.setattr(training_rows, "way_to_swap", lambda metric, longest: by_scoring_anew)
        objective = LambdaMART(measure)
        return [np.abs(objective.changes(own, -np.arange(len(own)), [len(own)])[0]) for own in grades]


def assert_weights_are(found, expected, within):
    """Compare matrices of padded lists with those of lists without padding, relative to the largest value.

    Scores that no swap changes are rounded to about 1e-15.
    """
    largest = max(1e-9, *(one.max() for one in expected))
    for padded, own in zip(found, expected, strict=True):
        np.testing.assert_allclose(padded[: len(own), : len(own)], own, rtol=0, atol=within * largest)


EXACT = ["nDCG", "nDCG@3", "AP", "ERR", "INST(max_rel=3)", "Cascade(max_rel=3)", "RR@2", "AdaptiveERR(effort='ratio(4)',max_rel=3)",
         "CWLA(C='inst(1)',A='max',max_rel=3,end='stop')", "TBG(seconds_per_word=0,seconds_per_document=20)"]  # fmt: skip


@pytest.mark.slow
def test_padding_does_not_change_the_weights_of_measures(tmp_path, monkeypatch):
    """And it changes those of nearly all that are refused, except measures with lengths and costs."""
    grades, padded = lists(1)
    compared, needless = [], []
    for text in [*EXACT, *catalogue(tmp_path, monkeypatch)]:
        try:
            found, within = LambdaScheme(text).weights(padded), 1e-12 if text in EXACT else 1e-6
            assert found.dtype == np.float64
            assert_weights_are(found, by_definition(text, grades, monkeypatch), within)
            compared.append(text)
        except CWLAError:
            objective, (queries, longest) = LambdaMART(text), padded.shape
            with suppress(CWLAError):  # lengths or costs are missing
                in_order = -np.tile(np.arange(longest), queries)
                of_lists = objective.changes(padded.ravel(), in_order, [longest] * queries)
                own = [objective.changes(one, -np.arange(len(one)), [len(one)])[0] for one in grades]
                if all(np.allclose(p[: len(o), : len(o)], o, rtol=0, atol=1e-9) for p, o in zip(of_lists, own)):
                    needless.append(text.partition("(")[0].partition("@")[0])
    assert len(compared) > 110 + len(EXACT)
    assert {*needless} <= {"CWLA", "AdaptiveP", "AdaptiveGP", "AdaptivenDCG"}  # an unread effort; all efforts are 1
    assert len(needless) < 8


@pytest.mark.parametrize(("measure", "says"), [
    ("TBG", "efforts must depend on grades alone"), ("AdaptiveERR(effort='time',max_rel=3)", "lambda_loss"),
    ("CWLA(C='rbp(0.8)',A='erg',effort='ratio(4)',max_rel=3,unseen=9)", "the same for unseen documents"),
    ("CWLA(C='rbp(0.8)',A='erg',max_rel=3,end='stop')", "all users leave at the last document"),
    ("CWLA(C='inst(1)',A='err',max_rel=3,end='stop')@4", "all users leave at the last document"),
    ("CWLA(C='rr',A='items',max_rel=3,end='stop')", "end='open' or a rank"), ("Bpref", "follows no user model"),
    ("AP(judged_only=True)", "does not remove or change rows"), ("IntentAware(measure='RR')", "which labels do not have"),
])  # fmt: skip
@pytest.mark.every_case
def test_measures_that_depend_on_the_length_of_lists_are_refused(measure, says):
    refused(lambda: LambdaScheme(measure), BadParameter, says)


def test_functions_of_users_with_an_open_end_are_taken():
    @aggregation
    def first_impression(view):
        return view.G / (1 + view.i)

    measure = "CWLA(C='rbp(0.8)',A='first_impression',max_rel=3"
    assert LambdaScheme(f"{measure})").weights([[0, 2]]).max() > 0
    refused(lambda: LambdaScheme(f"{measure},end='stop')"), BadParameter, "all users leave")


def test_a_scheme_has_the_errors_of_measures_and_travels(monkeypatch):
    scheme = LambdaScheme("ERR")
    assert repr(scheme) == "LambdaScheme('ERR')"
    before = scheme.weights([[0, 2, 1], [1, 0, 0]])
    for other in (copy.deepcopy(scheme), pickle.loads(pickle.dumps(scheme))):
        np.testing.assert_array_equal(other.weights([[0, 2, 1], [1, 0, 0]]), before)
    refused(lambda: scheme.weights([[0, 9]]), BadJudgments, "9")
    refused(lambda: scheme.weights([0, 2, 1]), BadParameter, "grades must have the shape (n_lists, n_ranks), not (3,)")
    assert pickle.loads(pickle.dumps(lambda_loss("TBG", sigmoid=2.0))).args[0].sigmoid == 2.0
    refused(lambda: lambda_loss("TBG", sigmoid=0), BadParameter, "sigmoid")
    refused(lambda: lambda_loss("IntentAware(measure='RR')"), BadParameter, "which labels do not have")
    monkeypatch.setitem(sys.modules, "torch", None)
    refused(lambda: lambda_loss("ERR")(np.zeros((1, 2)), np.zeros((1, 2))), CWLAError, "the loss needs torch")


def sums(weights, scores, sigmoid):
    """Return the gradient of Σ w_ij·log(1 + e^{−σ(s_i − s_j)}) for each list, pair by pair."""
    gradient = np.zeros(scores.shape)
    for query, i, j in zip(*np.nonzero(weights)):
        pulled = sigmoid * weights[query, i, j] / (1 + np.exp(sigmoid * (scores[query, i] - scores[query, j])))
        gradient[query, i] -= pulled
        gradient[query, j] += pulled
    return gradient


def padded_rows(seed=0):
    """Return scores, grades, words and mask of padded lists, with padding at any place and one empty list."""
    rng = np.random.default_rng(seed)
    mask = rng.random((5, 8)) < 0.7
    mask[1] = False
    scores = np.where(mask, rng.choice([-1.0, 0.0, 0.25, 2.0, 2.5], mask.shape), np.nan)
    grades = np.where(mask, rng.choice([0, 0, 1, 2, 3], mask.shape), -7)
    return scores, grades, rng.choice([15, 100, 700], mask.shape), mask


PADDED = ["ERR", "TBG", "INST(max_rel=3)", "CWLA(C='rbp(0.8)',A='erg',max_rel=3,end='stop')"]


@pytest.mark.every_case
@pytest.mark.parametrize("pairs", ["all", "gain"])
@pytest.mark.parametrize("measure", PADDED)
def test_weights_of_padded_lists_give_the_gradients_of_lambdamart(measure, pairs):
    scores, grades, words, mask = padded_rows()
    objective = LambdaMART(measure, truncation_level=3, sigmoid=1.5, norm=False, pairs=pairs)
    weights = padded_weights(objective, scores, grades, mask, lengths=words)
    assert not weights[~mask].any()
    found = sums(weights, scores, 1.5)
    bound = objective.bound(doc_length=words[mask])
    expected = bound.gradients(grades[mask], scores[mask], mask.sum(axis=1)[mask.any(axis=1)])[0]
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(found[mask], expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_the_loss_of_a_pair_is_weighted_by_its_change():
    """RR changes by 1/2, and the scores by 1; padding may be NaN."""
    torch = pytest.importorskip("torch")
    loss = lambda_loss("RR")(torch.tensor([[2, 1, np.nan]]), [[0, 1, 5]], [[True, True, False]])
    assert loss.item() == pytest.approx(np.log(1 + np.e) / 2)


def test_costs_are_found_by_the_ids_of_documents():
    scores, grades, words, mask = padded_rows()
    docno = np.array([f"d{number}" for number in range(40)]).reshape(5, 8)
    register_lengths("of_documents", dict(zip(docno.ravel().tolist(), words.ravel().tolist())))
    by_id = LambdaMART("TBG(lengths='of_documents')")
    found = padded_weights(by_id, scores, grades, mask, docno=docno)
    np.testing.assert_array_equal(found, padded_weights(LambdaMART("TBG"), scores, grades, mask, lengths=words))


def test_errors_name_what_is_missing_or_has_another_shape():
    scores, grades, words, mask = padded_rows()
    tbg = LambdaMART("TBG")
    refused(lambda: padded_weights(tbg, scores, grades, mask), MissingLength, "doc_length=")
    short = words[:, :3]
    refused(lambda: padded_weights(tbg, scores, grades, mask, short), BadParameter, "lengths must have the shape")
    refused(lambda: padded_weights(tbg, scores[0], grades[0], mask[0]), BadParameter, "(n_lists, n_documents)")
    dear = LambdaMART("CWLA(C='rbp(0.9)',A='avg',effort='seconds',max_rel=3,end='stop')")
    refused(lambda: padded_weights(dear, scores, grades, mask), MissingCost, "docno=")
    assert not padded_weights(tbg, scores, grades, np.zeros(mask.shape, bool)).any()
