"""
Why does one system lose this topic?
====================================

With two runs, :func:`~pyterrier_cwla.explain` sets them side by side and marks the first rank at which their gains
differ.
"""

from pyterrier_cwla import demo, explain

made = demo.collection()
systems = demo.systems(made)
runs = {name: systems[name](made.topics) for name in ("BM25", "BM25, length ignored")}
both = explain(made.qrels, runs, "3", "ERR@10")
both.plot()

# %%
# What each run has at this rank:

both.at(both.first_gain_difference)
