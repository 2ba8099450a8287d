"""The generated collection, its retrieval systems, and the demonstration."""
