"""
Where users stop
================

A measure with a user model predicts at which rank users stop. Users of expected reciprocal rank stop when a document
satisfies them, the sooner the higher its grade (:doc:`/measures/ERR`).
"""

from pyterrier_cwla import demo
from pyterrier_cwla.evaluation import plot_stops, stop_distribution

made = demo.collection(documents=1000, topics=20)
bm25 = demo.systems(made)["BM25"](made.topics)
stops = stop_distribution(made.qrels, bm25, "ERR@10")
plot_stops(stops)
