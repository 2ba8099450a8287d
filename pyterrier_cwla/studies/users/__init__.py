"""Agreement of metrics with ratings and preferences of users."""
