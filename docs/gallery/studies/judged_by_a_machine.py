"""
Does a machine judge as people do?
==================================

:func:`~pyterrier_cwla.studies.judge_agreement` compares machine judges with people: do their labels order systems
alike, also the best systems, and which systems do they favour?
"""

import numpy as np

from pyterrier_cwla import demo
from pyterrier_cwla.studies import judge_agreement, plot_confusion, plot_favoured, plot_judges

made = demo.collection(documents=1000, topics=30)
index = demo.Index.of(made.documents)
settings = [(k1, b) for k1 in (0.2, 0.4, 1.2, 3.0, 6.0) for b in (0.0, 0.3, 0.6, 0.9)]
runs = {f"k1={k1}, b={b}": demo.BM25(index, k1=k1, b=b)(made.topics) for k1, b in settings}
rng = np.random.default_rng(0)


def judged(share):
    """Return the labels, of which a share is guessed."""
    guessed = rng.random(len(made.qrels)) < share
    return made.qrels.assign(label=np.where(guessed, rng.permutation(made.qrels["label"]), made.qrels["label"]))


machines = {"careful": judged(0.1), "careless": judged(0.6)}
study = judge_agreement(made.qrels, machines, runs, ["nDCG@10", "AP", "RR"], best=8, resamples=200)
plot_judges(study)

# %%
# A careless judge raises bad systems and lowers good ones:

plot_favoured(study, "careless", "AP")

# %%
# How people label the documents with each label of the machines:

plot_confusion(study)
