"""
How far users get in five minutes
=================================

:func:`~pyterrier_cwla.behaviour.progress` computes the rank that users have reached after a time, and what they have
saved by then. Reading takes time, so long documents slow users down.
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.behaviour import progress

made = demo.collection(documents=1000, topics=20)
runs = {name: system(made.topics) for name, system in demo.systems(made).items()}
found = progress(made.qrels, runs, TBG, times=range(0, 301, 15))
found.plot_ranks()

# %%
# The relevant documents that users have saved:

found.plot_gains()
