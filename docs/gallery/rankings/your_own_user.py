"""
A user of your own
==================

A continuation is a function of the rank, and of gains and efforts: it returns the share of users who go on
(:doc:`/own`). These users get bored; they go on less readily at each rank.
"""

from pyterrier_cwla import continuation, explain_gains


@continuation
def bored(view, after: float):
    """Continue less readily at each rank."""
    return after / (after + view.i)


explain_gains([1, 0, 1, 1, 0], C="bored(2)", A="etg").plot()
