"""Output for people: figures, labels, LaTeX tables and terminal text; independent of metrics."""
