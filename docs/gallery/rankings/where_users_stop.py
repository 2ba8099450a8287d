"""
Where users stop
================

A measure with a user model predicts at which rank users stop. Here, users leave when they have found two documents of
the highest grade, or run out of patience (:doc:`/measures/INST`).
"""

from pyterrier_cwla import demo
from pyterrier_cwla.evaluation import plot_stops, stop_distribution

made = demo.collection(documents=1000, topics=20)
bm25 = demo.systems(made)["BM25"](made.topics)
stops = stop_distribution(made.qrels, bm25, "INST(T=2,max_rel=3)")
plot_stops(stops)
