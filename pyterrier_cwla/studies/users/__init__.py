"""Agreement of metrics with what users say."""
