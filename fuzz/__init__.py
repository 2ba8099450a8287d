"""Fuzzing: random files, measures and frames, each of which must be an error that helps, or what a slow reader reads."""
