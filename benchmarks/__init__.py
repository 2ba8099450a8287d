"""Benchmarks of time and memory, of this package and of its peers; they print results and assert nothing."""
