"""
What users get from each system
===============================

The same simulated users search with three systems. A row shows how much their results differ: the range of nine of ten
users, that of half of them, the median and the mean.
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.behaviour import simulate

made = demo.collection(documents=1000, topics=20)
runs = {name: system(made.topics) for name, system in demo.systems(made).items()}
simulate(made.qrels, runs, TBG, users=500, seed=0, keep=True, progress=False).plot("gain")
