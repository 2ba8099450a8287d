"""
Compare systems with intervals
==============================

:func:`~pyterrier_cwla.compare` tests the differences of systems to a baseline. Each panel is a measure; bars are the
confidence intervals of the differences, drawn at the scores.
"""

from pyterrier_cwla import TBG, compare, demo

made = demo.collection()
runs = {name: system(made.topics) for name, system in demo.systems(made).items()}
compared = compare(made.qrels, runs, ["nDCG@10", "AP", "RR", TBG], baseline="BM25")
compared.plot()

# %%
# The same as a table:

compared
