"""Measures by name: the catalogue, counting measures, wrappers and the ir_measures provider."""
