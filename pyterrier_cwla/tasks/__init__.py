"""Long computations: parallel processes, result caches, checkpoints, hashes and progress bars."""
