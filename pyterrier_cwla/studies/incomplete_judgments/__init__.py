"""Robustness of metrics to missing judgments."""
