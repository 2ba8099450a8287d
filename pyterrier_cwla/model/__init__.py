"""One user: gain, effort, continuation, aggregation and normaliser give a score."""
