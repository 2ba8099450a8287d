"""
Which measure keeps the order of systems with fewer judgments?
==============================================================

:func:`~pyterrier_cwla.studies.robustness` removes judgments at random and compares the order of the systems with the
order by all judgments.
"""

from pyterrier_cwla import demo
from pyterrier_cwla.studies import plot_differences, plot_order, robustness

made = demo.collection(documents=1000, topics=20)
index = demo.Index.of(made.documents)
settings = [(k1, b) for k1 in (0.4, 1.2, 3.0) for b in (0.0, 0.3, 0.6, 0.9)]
runs = {f"k1={k1}, b={b}": demo.BM25(index, k1=k1, b=b)(made.topics) for k1, b in settings}
levels = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0]
options = {"fractions": levels, "seeds": 3, "pairs": 20, "resamples": 100, "progress": False}
study = robustness(made.qrels, runs, ["nDCG", "AP", "Bpref"], **options)
plot_order(study)

# %%
# Where the interval of a difference is above 0, the first measure keeps the order better than the second.

plot_differences(study)
