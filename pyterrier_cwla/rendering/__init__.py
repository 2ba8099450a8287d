"""What people see: figures, labels, LaTeX, terminal; nothing of metrics."""
