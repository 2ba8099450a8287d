"""Agreement of metrics with each other, and their discriminative power."""
