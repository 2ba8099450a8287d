"""
Explain a score rank by rank
============================

:func:`~pyterrier_cwla.explain` shows which ranks a score comes from: what the user gains at each rank, how many users
still read there, and when they arrive. The measure is time-biased gain (:doc:`/measures/TBG`).
"""

from pyterrier_cwla import TBG, demo, explain

made = demo.collection(documents=1000, topics=20)
bm25 = demo.systems(made)["BM25"](made.topics)
explained = explain(made.qrels, bm25, "3", TBG)
explained.plot()

# %%
# The table has the same numbers, and ``contributions`` is what each rank adds to the score.

table = explained.table[["rank", "docno", "grade", "gain", "T", "V"]].set_index("rank")
table.assign(adds=explained.contributions).head(8).round(3)
