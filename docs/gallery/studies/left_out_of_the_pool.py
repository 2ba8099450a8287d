"""
How far does a system fall if nobody judged its documents?
==========================================================

New systems retrieve documents that no assessor has seen. :func:`~pyterrier_cwla.studies.groups_left_out` removes the
judgments that only one group of systems contributed, and shows how far the group falls.
"""

from pyterrier_cwla import demo
from pyterrier_cwla.studies import groups_left_out, plot_falls

made = demo.pooled_runs(pool_depth=5)
groups = {name: f"group {number % 5}" for number, name in enumerate(made.runs)}
plot_falls(groups_left_out(made.qrels, made.runs, groups, ["nDCG", "AP", "Bpref"], depth=5, resamples=100))
