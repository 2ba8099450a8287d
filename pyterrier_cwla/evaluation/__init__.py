"""Runs in, scores out: evaluation, comparison and explanation of runs."""
