"""
Which measure tells systems apart?
==================================

:func:`~pyterrier_cwla.studies.discriminative_power` tests all pairs of systems. The power of a measure is the share of
pairs for which its test finds a difference. A powerful measure is not always a good one: it may measure something else.
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.studies import discriminative_power, plot_levels, plot_power

made = demo.collection(documents=1000, topics=20)
index = demo.Index.of(made.documents)
settings = [(k1, b) for k1 in (0.4, 1.2, 3.0) for b in (0.0, 0.3, 0.6, 0.9)]
runs = {f"k1={k1}, b={b}": demo.BM25(index, k1=k1, b=b)(made.topics) for k1, b in settings}
measures = {"nDCG@10": "nDCG@10", "AP": "AP", "RR": "RR", "TBG": TBG}
power = discriminative_power(made.qrels, runs, measures, resamples=1000, progress=False)
plot_power(power)

# %%
# The same at all levels of significance:

plot_levels(power)
