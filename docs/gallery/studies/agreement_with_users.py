"""
Which measure agrees with user ratings?
=======================================

:func:`~pyterrier_cwla.studies.user_agreement` correlates measures with ratings and compares each of them with a
baseline. The ratings here are generated; :class:`~pyterrier_cwla.studies.Rated` takes yours.
"""

from pyterrier_cwla import demo
from pyterrier_cwla.studies import grid, plot_agreement, plot_bands, plot_cells, user_agreement

rated = demo.rated_lists("RBP(rel=1,p=0.7)")
measures = ["nDCG@10", "P@10", "RR", "RBP(rel=1,p=0.7)", "ERR@10", "AP"]
study = user_agreement(rated, measures, baseline="nDCG@10", cv=5, resamples=200)
plot_agreement(study)

# %%
# The ratings of the lists with a low and a high score:

plot_bands(study, "RBP(rel=1,p=0.7)")

# %%
# Every user model with every aggregation (:doc:`/frame`):

crossed = grid(["prec(5)", "prec(10)", "rbp(0.5)", "rbp(0.8)", "rr"], ["erg", "avg", "max", "fin"], max_rel=2)
plot_cells(user_agreement(rated, crossed, cv=5, repeats=2, resamples=100))
