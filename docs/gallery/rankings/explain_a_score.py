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
# The table has the same numbers. ``L·A`` is what each rank adds to the score.

explained.table[["rank", "docno", "grade", "gain", "T", "V", "L·A"]].head(8).round(3)
