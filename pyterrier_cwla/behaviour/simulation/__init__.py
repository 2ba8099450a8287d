"""Simulated users of a metric."""
