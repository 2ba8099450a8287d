"""Interaction logs: reading, validation, and estimates of user parameters."""
