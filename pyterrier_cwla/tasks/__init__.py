"""Long work: parallel, cached, resumable, with progress."""
