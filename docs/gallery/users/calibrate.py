"""
Calibrate time-biased gain from a log
=====================================

:func:`~pyterrier_cwla.behaviour.calibrate` estimates the times and probabilities of time-biased gain from a log of
users. The log here is simulated; yours is read by ``InteractionLog.read("log.csv")`` (:doc:`/logs`).
"""

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.behaviour import calibrate, simulated_log

made = demo.collection(documents=1000, topics=20)
bm25 = demo.systems(made)["BM25"](made.topics)
log = simulated_log(made.qrels, bm25, TBG, users=40, seed=3)
calibration = calibrate(log, depth="seen", min_clicks=0, resamples=100)
calibration.plot_reading_times()

# %%
# When users leave. The half-life is the time after which half of the users are gone.

calibration.plot_survival()

# %%
# Does the calibrated measure predict how fast users move down the ranking?

calibration.plot_progress(log)
