"""Runs, judgments and documents as aligned arrays."""
