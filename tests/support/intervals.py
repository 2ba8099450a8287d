"""Confidence intervals from the bootstrap's standard error, computed by loops."""

from scipy import stats


def ends(value, drawn, units, lowest=-1, highest=1):
    """Return value ± t·s, with s the standard deviation of the resamples, limited to the range of possible values."""
    mean = sum(drawn) / len(drawn)
    s = (sum((one - mean) ** 2 for one in drawn) / (len(drawn) - 1)) ** 0.5
    half = stats.t.ppf(0.975, units - 1) * s
    return [max(value - half, lowest), min(value + half, highest)]
