"""PyTerrier transformers and hyper-parameter searches."""
