"""
Where two measures disagree about systems
=========================================

Twelve settings of BM25, scored by nDCG@10 and by time-biased gain. Each point is a system; the labels name the systems
whose ranks differ most.
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.studies import metric_agreement, plot_scatter

made = demo.collection(documents=1000, topics=20)
index = demo.Index.of(made.documents)
settings = [(k1, b) for k1 in (0.4, 1.2, 3.0) for b in (0.0, 0.3, 0.6, 0.9)]
runs = {f"k1={k1}, b={b}": demo.BM25(index, k1=k1, b=b)(made.topics) for k1, b in settings}
agreement = metric_agreement(made.qrels, runs, {"nDCG@10": "nDCG@10", "TBG": TBG, "AP": "AP"}, resamples=200)
plot_scatter(agreement, "nDCG@10", "TBG")
