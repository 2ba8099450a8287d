"""Generated answers of a reader whose probability of being correct follows from the score of a known measure."""

import numpy as np
import pandas as pd

from pyterrier_cwla import UDCG
from pyterrier_cwla.studies import Rated

DOCUMENTS = [f"d{number}" for number in range(20)]


def made(seed, questions=100, per=1, retrieved=8, relevant=0.3):
    """Return judgments, lists of passages, and probabilities of abstention; each question has `per` lists."""
    rng = np.random.default_rng(seed)
    names = [f"q{number}" for number in range(questions)]
    qrels = {q: dict(zip(DOCUMENTS, (rng.random(20) < relevant).astype(int).tolist())) for q in names}
    lists = [(q, rng.permutation(DOCUMENTS)[:retrieved].tolist()) for q in names for _ in range(per)]
    abstention = {q: dict(zip(DOCUMENTS, rng.beta(0.5, 0.5, 20).tolist())) for q in names}
    answers = pd.DataFrame(lists, columns=["question", "passages"]).assign(correct=0)
    return qrels, answers, abstention


def answered(seed, measure, slope=2.0, **sizes):
    """Return answers that are correct with the logistic function of `slope` times the standardised score.

    ``measure`` is the text of a measure, or a function from probabilities of abstention to a measure.
    """
    qrels, answers, abstention = made(seed, **sizes)
    measure = measure(abstention) if callable(measure) else measure
    score = Rated.answers(qrels, answers.assign(correct=np.arange(len(answers)) % 2)).scores([measure]).to_numpy()[:, 0]
    chance = 1 / (1 + np.exp(-slope * (score - score.mean()) / score.std()))
    correct = (np.random.default_rng([seed, 1]).random(len(answers)) < chance).astype(int)
    return Rated.answers(qrels, answers.assign(correct=correct)), abstention


WORDS = {document: 40.0 + 31 * number % 260 for number, document in enumerate(DOCUMENTS)}
#: Parameters that are recovered from answers: the true value, the measure with it, the template, and the range.
KNOWN = {
    "p of RBP": (0.8, lambda abstention, p: f"RBP(p={p},rel=1)", (0.3, 0.99)),
    "half-life of TBG": (20.0, lambda abstention, h: f"TBG(half_life={h},lengths='words_of_answers')", (2, 400)),
    "harm of UDCG": (0.5, lambda abstention, harm: UDCG(abstention=abstention, harm=harm), (0, 3)),
}
