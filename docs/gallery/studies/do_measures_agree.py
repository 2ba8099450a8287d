"""
Do measures order systems alike?
================================

:func:`~pyterrier_cwla.studies.metric_agreement` compares the orders of systems by all pairs of measures (Kendall's τ).
Measures of one group lead to the same conclusions, so that reporting one of them is enough.
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.studies import metric_agreement, plot_correlations

made = demo.collection(documents=1000, topics=20)
index = demo.Index.of(made.documents)
settings = [(k1, b) for k1 in (0.4, 1.2, 3.0) for b in (0.0, 0.3, 0.6, 0.9)]
runs = {f"k1={k1}, b={b}": demo.BM25(index, k1=k1, b=b)(made.topics) for k1, b in settings}
measures = {"nDCG@10": "nDCG@10", "AP": "AP", "RR": "RR", "RBP": "RBP(rel=1)", "ERR": "ERR", "TBG": TBG}
plot_correlations(metric_agreement(made.qrels, runs, measures, resamples=200))
