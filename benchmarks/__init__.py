"""Measures what pyterrier_cwla costs beside its peers; prints times and never asserts one."""
