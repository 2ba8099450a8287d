"""Tests of the losses with torch and sentence-transformers, which `.ci/nightly` installs: gradients, types, LambdaLoss."""

import math
import pickle

import numpy as np
import pytest

from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.learning import LambdaMART, LambdaScheme, lambda_loss, measure_score
from pyterrier_cwla.learning.training_rows import TrainingRows
from tests.learning.test_neural import assert_weights_are, by_definition, catalogue, lists, padded_rows
from tests.support.tiny_reranker import WORDS, write_model

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module", autouse=True)
def torch():
    return pytest.importorskip("torch", reason="torch, of the extra [torch], has wheels of 3 GB")


@pytest.fixture
def losses():
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is in the extra [torch]")
    from sentence_transformers.cross_encoder import losses

    return losses


@pytest.mark.parametrize(("kind", "within"), [("float64", 1e-6), ("float32", 4e-5)])
def test_a_scheme_returns_tensors_of_the_weights_of_every_measure(kind, within, torch, tmp_path, monkeypatch):
    grades, padded = lists(1)
    gain, given = (
        torch.zeros(padded.shape, dtype=getattr(torch, kind)),
        torch.tensor(padded, dtype=getattr(torch, kind)),
    )
    compared = 0
    for text in catalogue(tmp_path, monkeypatch):
        try:
            found = LambdaScheme(text)(gain, None, given)
        except CWLAError:  # test_neural checks which measures are refused
            continue
        assert found.dtype == gain.dtype
        assert not found.requires_grad
        assert_weights_are(found.numpy(), by_definition(text, grades, monkeypatch), within)
        compared += 1
    assert compared > 110


def in_float64(objective, *given, monkeypatch):
    """Return the gradients of LambdaMART, which computes in float32, in float64."""
    with monkeypatch.context() as patch:
        for name in ("in_order", "rankings"):
            usual = getattr(TrainingRows, name)
            patch.setattr(TrainingRows, name, lambda *given, usual=usual: usual(*given[:-1], np.float64))
        return objective.gradients(*given)[0]


@pytest.mark.parametrize(("kind", "within"), [("float64", 1e-9), ("float32", 1e-5)])
def test_gradients_are_those_of_lambdamart_for_every_measure(kind, within, torch, tmp_path, monkeypatch):
    scores, grades, words, mask = padded_rows(3)
    docno = np.array([f"d{number}" for number in range(40)]).reshape(5, 8)
    compared, rounded = 0, []
    for text in catalogue(tmp_path, monkeypatch):
        objective = LambdaMART(text, norm=False, sigmoid=1.5, doc_length=words[mask], docno=docno[mask])
        rows = (grades[mask], scores[mask], mask.sum(axis=1)[mask.any(axis=1)])
        try:
            usual = objective.gradients(*rows)[0]
        except CWLAError:  # the table of the measure has other documents
            continue
        exact = in_float64(objective, *rows, monkeypatch=monkeypatch)
        given = torch.tensor(scores, dtype=getattr(torch, kind), requires_grad=True)
        lengths, labels = torch.tensor(words), torch.tensor(grades)
        lambda_loss(text, sigmoid=1.5)(given, labels, torch.tensor(mask), lengths=lengths, docno=docno).backward()
        found, largest = given.grad.numpy(), np.abs(exact).max()
        assert not found[~mask].any()
        np.testing.assert_allclose(found[mask], exact, rtol=0, atol=within * max(largest, 1e-6), err_msg=text)
        if np.abs(found[mask] - usual).max() > 1e-5 * largest:
            rounded.append(text)
            assert np.abs(usual - exact).max() < 1e-6, text
        compared += 1
    assert compared > 120
    assert len(rounded) < 5, rounded


@pytest.mark.parametrize("pairs", ["all", "gain"])
@pytest.mark.parametrize("measure", ["nDCG", "ERR", "TBG", "INST(max_rel=3)"])
def test_derivatives_with_the_weights_held(measure, pairs, torch):
    """Small changes of scores without ties keep the order, and so the weights."""
    rng = np.random.default_rng(4)
    scores = torch.tensor(rng.permutation(24).reshape(3, 8) / 4, dtype=torch.float64, requires_grad=True)
    labels, words = rng.choice([0, 0, 1, 2, 3], (3, 8)), rng.choice([15, 100, 700], (3, 8))
    mask = np.arange(8) < np.array([[8], [5], [2]])
    loss = lambda_loss(measure, pairs=pairs, truncation_level=4, sigmoid=0.7)
    assert torch.autograd.gradcheck(lambda s: loss(s, labels, mask, lengths=words), (scores,))
    assert torch.autograd.gradgradcheck(lambda s: loss(s, labels, mask, lengths=words), (scores,))


def test_scores_of_any_type_and_padding_of_any_value(torch):
    scores, grades, words, mask = padded_rows()
    loss = pickle.loads(pickle.dumps(lambda_loss("TBG")))
    exact = loss(torch.tensor(scores), grades, mask, lengths=words)
    for kind in (torch.float32, torch.bfloat16, torch.float16):  # these scores are exact in all types
        found = loss(torch.tensor(np.where(mask, scores, -np.inf)).to(kind), grades, mask, lengths=words)
        assert found.dtype == torch.float32
        assert found.item() == pytest.approx(exact.item(), rel=1e-6)
    whole = loss(torch.zeros(2, 3), torch.tensor([[0, 1, 2]] * 2), lengths=torch.ones(2, 3))
    assert whole.item() > 0
    nothing = loss(torch.zeros(2, 3, requires_grad=True), torch.zeros(2, 3), np.zeros((2, 3)), lengths=torch.ones(2, 3))
    nothing.backward()
    assert nothing.item() == 0


def model(folder):
    from sentence_transformers import CrossEncoder

    write_model(folder)
    return CrossEncoder(str(folder), num_labels=1, device="cpu")


QUERIES = ["time", "users leave"]
DOCUMENTS = [["users read time", "time", "words", "gain of time", "rank"], ["users", "leave", "a user leaves"]]
GRADES = [[2, 0, 0, 1, 3], [0, 2, 1]]


@pytest.mark.parametrize("measure", ["ERR", "INST(max_rel=3)", "TBG(seconds_per_word=0,seconds_per_document=20)"])
def test_lambdaloss_takes_the_scheme(measure, losses, torch, tmp_path):
    """The loss is the mean over pairs of different grades, with |ΔM| of lists without padding."""
    reranker = model(tmp_path)
    loss = losses.LambdaLoss(reranker, weighting_scheme=LambdaScheme(measure), reduction_log="natural", sigma=1.5)
    assert "LambdaScheme" in loss.get_config_dict()["weighting_scheme"]
    found = loss([QUERIES, DOCUMENTS], [torch.tensor(one) for one in GRADES])
    terms = []
    for query, documents, grades in zip(QUERIES, DOCUMENTS, GRADES):
        scores = reranker.predict([(query, one) for one in documents], activation_fn=torch.nn.Identity())
        changes = np.abs(LambdaMART(measure).changes(grades, scores, [len(grades)])[0])
        terms += [changes[i, j] * math.log1p(math.exp(-1.5 * float(scores[i] - scores[j])))
                  for i in range(len(grades)) for j in range(len(grades)) if grades[i] > grades[j]]  # fmt: skip
    assert found.item() == pytest.approx(np.mean(terms), rel=1e-4)
    found.backward()
    gradients = [weights.grad for weights in reranker.parameters() if weights.grad is not None]
    assert sum(one.abs().sum().item() for one in gradients) > 0


def test_training_with_the_scheme_raises_the_measure(losses, torch, tmp_path):
    reranker = model(tmp_path)
    loss = losses.LambdaLoss(reranker, weighting_scheme=LambdaScheme("ERR"))
    optimiser = torch.optim.Adam(reranker.parameters(), lr=3e-3)
    rng = np.random.default_rng(0)
    documents = [[" ".join(rng.choice(WORDS, 4)) for _ in range(8)] for _ in range(16)]
    grades = [
        [float(("time" in one.split()) + 2 * ("users" in one.split())) for one in of_query] for of_query in documents
    ]
    queries = ["time"] * len(documents)

    def err():
        found = reranker.predict([(q, one) for q, own in zip(queries, documents) for one in own])
        return measure_score("ERR", grades, found.reshape(16, 8))

    before = err()
    for _ in range(15):
        optimiser.zero_grad()
        loss([queries, documents], [torch.tensor(one) for one in grades]).backward()
        optimiser.step()
    assert err() > before + 0.02
