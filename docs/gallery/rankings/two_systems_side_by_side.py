"""
Two systems side by side
========================

With two runs by name, :func:`~pyterrier_cwla.explain` shows the first rank where they differ, and what each gains
there. In the picture, grey bars are the gains of documents, and coloured bars are what they add to the score.
"""

from pyterrier_cwla import demo, explain

made = demo.collection()
systems = demo.systems(made)
runs = {name: systems[name](made.topics) for name in ("BM25", "BM25, length ignored")}
pair = explain(made.qrels, runs, "3", "nDCG@10")
pair.plot()

# %%
# What each system has at the first rank with different gains:

pair.at(pair.first_gain_difference).round(3)
