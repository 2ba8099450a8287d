"""Fuzzing: random inputs must give a CWLAError, or the same values as a slow reference implementation."""
