"""Tests of the losses with torch and sentence-transformers, which `.ci/nightly` installs: gradients, types, LambdaLoss."""

import math
import pickle

import numpy as np
import pytest

from pyterrier_cwla.learning import LambdaMART, LambdaScheme, lambda_loss, measure_score
from pyterrier_cwla.learning.neural import padded_weights
from tests.learning.test_neural import PADDED, lists, padded_rows, sums
from tests.support.tiny_reranker import WORDS, write_model

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module", autouse=True)
def torch():
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is in the extra [torch]")
    return pytest.importorskip("torch", reason="torch, of the extra [torch], has wheels of 3 GB")


@pytest.mark.parametrize(("kind", "within"), [("float64", 1e-9), ("float32", 1e-5)])
@pytest.mark.parametrize("pairs", ["all", "gain"])
@pytest.mark.parametrize("measure", PADDED)
def test_gradients_are_those_of_the_weights_of_pairs(measure, pairs, kind, within, torch):
    """Other tests compare these weights with LambdaMART, and those of a scheme with scores of swapped rankings."""
    scores, grades, words, mask = padded_rows(3)
    given = torch.tensor(scores, dtype=getattr(torch, kind), requires_grad=True)
    options = {"pairs": pairs, "truncation_level": 3, "sigmoid": 1.5}
    loss = lambda_loss(measure, **options)
    loss(given, torch.tensor(grades), torch.tensor(mask), lengths=torch.tensor(words)).backward()
    expected = sums(padded_weights(LambdaMART(measure, **options), scores, grades, mask, words), scores, 1.5)
    found = given.grad.numpy()
    assert not found[~mask].any()
    np.testing.assert_allclose(found, expected, rtol=0, atol=within * np.abs(expected).max())


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
    _, padded = lists(1)
    for kind in (torch.float32, torch.float64):
        of_scheme = LambdaScheme("ERR")(torch.zeros(padded.shape, dtype=kind), None, torch.tensor(padded, dtype=kind))
        assert (of_scheme.dtype, of_scheme.requires_grad) == (kind, False)
        np.testing.assert_allclose(of_scheme.numpy(), LambdaScheme("ERR").weights(padded), atol=4e-5)


QUERIES = ["time", "users leave"]
DOCUMENTS = [["users read time", "time", "words", "gain of time", "rank"], ["users", "leave", "a user leaves"]]
GRADES = [[2, 0, 0, 1, 3], [0, 2, 1]]


def with_loss(folder, measure, **options):
    """Return a small cross-encoder and its LambdaLoss."""
    from sentence_transformers import CrossEncoder
    from sentence_transformers.cross_encoder import losses

    write_model(folder)
    reranker = CrossEncoder(str(folder), num_labels=1, device="cpu")
    return reranker, losses.LambdaLoss(reranker, weighting_scheme=LambdaScheme(measure), **options)


@pytest.mark.parametrize("measure", ["ERR", "INST(max_rel=3)", "TBG(seconds_per_word=0,seconds_per_document=20)"])
def test_lambdaloss_takes_the_scheme(measure, torch, tmp_path):
    """The loss is the mean over pairs of different grades, with |ΔM| of lists without padding."""
    reranker, loss = with_loss(tmp_path, measure, reduction_log="natural", sigma=1.5)
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


def test_training_with_the_scheme_raises_the_measure(torch, tmp_path):
    reranker, loss = with_loss(tmp_path, "ERR")
    optimiser, rng = torch.optim.Adam(reranker.parameters(), lr=3e-3), np.random.default_rng(0)
    documents = [[" ".join(rng.choice(WORDS, 4)) for _ in range(8)] for _ in range(16)]
    grades = [[float(("time" in one.split()) + 2 * ("users" in one.split())) for one in own] for own in documents]

    def err():
        found = reranker.predict([("time", one) for own in documents for one in own])
        return measure_score("ERR", grades, found.reshape(16, 8))

    before = err()
    for _ in range(15):
        optimiser.zero_grad()
        loss([["time"] * 16, documents], [torch.tensor(one) for one in grades]).backward()
        optimiser.step()
    assert err() > before + 0.02
