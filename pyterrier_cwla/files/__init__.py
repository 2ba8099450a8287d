"""Bytes on disk: formats, atomic writes, memory limits; nothing of metrics."""
