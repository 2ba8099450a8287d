"""Changes of a score when two items of a ranking are swapped (LambdaMART's ΔM), for all pairs of ranks."""
