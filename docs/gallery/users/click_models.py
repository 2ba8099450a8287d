"""
Which ranks users examine
=========================

A position-based click model separates two reasons for a click: the user examined the rank, and the document was
attractive. The first is compared with the share of users that measures expect at each rank.
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.behaviour import plot_positions, position_model, simulated_log

made = demo.collection(documents=1000, topics=20)
bm25 = demo.systems(made)["BM25"](made.topics)
log = simulated_log(made.qrels, bm25, TBG, users=200, seed=3)
judged = log.only(log.rows["grade"].notna())
model = position_model(judged, of=["grade"])  # documents of one grade are equally attractive
plot_positions(model, ["RBP(rel=1,p=0.8)", "nDCG@10"], depth=10)
