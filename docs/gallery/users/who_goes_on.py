"""
At which ranks users go on
==========================

The share of users who continue after each rank, estimated from the views of a log with intervals (here smaller
than the points), and the continuation of two measures for comparison.
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.behaviour import continuing_from_views, plot_continuing, simulated_log

made = demo.collection(documents=1000, topics=20)
bm25 = demo.systems(made)["BM25"](made.topics)
log = simulated_log(made.qrels, bm25, TBG, users=40, seed=3)
plot_continuing(continuing_from_views(log), ["RBP(rel=1,p=0.8)", "nDCG@10"], depth=15)
