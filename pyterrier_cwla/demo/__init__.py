"""The generated collection, its retrieval systems, and the demonstration."""

from .experiment import BM25, Collection, PreferShort, collection, compare, measures, remark, run, systems

__all__ = ["BM25", "Collection", "PreferShort", "collection", "compare", "measures", "remark", "run", "systems"]
