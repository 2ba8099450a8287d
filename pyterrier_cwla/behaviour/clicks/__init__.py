"""Click models and click metrics."""
