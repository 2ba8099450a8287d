"""Parameters of a metric fitted to user ratings."""
