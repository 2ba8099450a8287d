"""
Fit a parameter to users
========================

:func:`~pyterrier_cwla.studies.fit` chooses the parameters of a measure that agree best with ratings, and estimates the
gain on users whose ratings were not used. The ratings here are generated with a persistence of 0.7.
"""

from pyterrier_cwla import demo
from pyterrier_cwla.studies import fit, plot_parameter, plot_sensitivity, sensitivity

rated = demo.rated_lists("RBP(rel=1,p=0.7)")
ranges, default = {"p": (0.1, 0.99)}, {"p": 0.95}
fitted = fit("RBP(rel=1,p=$p)", ranges, rated, default=default, cv=5, repeats=2, progress=False)
plot_parameter(fitted, "p")

# %%
# How the agreement changes along the parameter, for two measures:

templates = {"RBP": "RBP(rel=1,p=$p)", "graded RBP": "CWLA(C='rbp($p)',A='erg',max_rel=2)"}
plot_sensitivity(sensitivity(templates, {"p": [0.1, 0.3, 0.5, 0.7, 0.9]}, rated, resamples=100, progress=False))
