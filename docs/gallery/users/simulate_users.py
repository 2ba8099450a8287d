"""
How much users differ
=====================

A score is a mean over users. :func:`~pyterrier_cwla.behaviour.simulate` draws single users of a measure and shows how
their results vary.
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.behaviour import simulate

made = demo.collection(documents=1000, topics=20)
bm25 = demo.systems(made)["BM25"](made.topics)
users = simulate(made.qrels, {"BM25": bm25}, TBG, users=1000, seed=0, keep=True, progress=False)
users.plot("gain", "3")
