"""
How far does a system fall if nobody judged its documents?
==========================================================

New systems retrieve documents that no assessor has seen. :func:`~pyterrier_cwla.studies.groups_left_out` removes the
judgments that only one group of systems contributed, and shows how far the group falls.
"""

from pyterrier_cwla import demo
from pyterrier_cwla.studies import groups_left_out, plot_falls

made = demo.collection(documents=1000, topics=20)
index = demo.Index.of(made.documents)
settings = [(k1, b) for k1 in (0.4, 1.2, 3.0) for b in (0.0, 0.3, 0.6, 0.9)]
runs = {f"k1={k1}, b={b}": demo.BM25(index, k1=k1, b=b)(made.topics) for k1, b in settings}
groups = {name: name.partition(",")[2].strip() for name in runs}
plot_falls(groups_left_out(made.qrels, runs, groups, ["nDCG", "AP", "Bpref"], depth=10, resamples=100))
