"""Command line `pyterrier-cwla`."""
