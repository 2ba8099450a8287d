"""
Seconds by grade
================

Users spend more time on relevant documents. :func:`~pyterrier_cwla.behaviour.grade_efforts` estimates the seconds for
each grade, which measures of adaptive effort read (:doc:`/measures/AdaptiveRBP`).
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.behaviour import grade_efforts, plot_grade_efforts, simulated_log

made = demo.collection(documents=1000, topics=20)
bm25 = demo.systems(made)["BM25"](made.topics)
log = simulated_log(made.qrels, bm25, TBG, users=40, seed=3)
plot_grade_efforts(grade_efforts(log))
