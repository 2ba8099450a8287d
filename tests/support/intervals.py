"""Intervals of the bootstrap's standard error, by loops."""

from scipy import stats


def ends(value, drawn, units, lowest=-1, highest=1):
    """value ± t·s, s the standard deviation of what was drawn; no further than there can be a value."""
    mean = sum(drawn) / len(drawn)
    s = (sum((one - mean) ** 2 for one in drawn) / (len(drawn) - 1)) ** 0.5
    half = stats.t.ppf(0.975, units - 1) * s
    return [max(value - half, lowest), min(value + half, highest)]
