"""SVG files that pages show as images: such an image takes no colours of its page, but knows of dark mode."""

from __future__ import annotations

from typing import Any

from pyterrier_cwla.rendering.figures import inline_svg

_MODES = """<style>
svg { background: var(--page); color: #1b1f24; --page: #ffffff; }
@media (prefers-color-scheme: dark) { svg { color: #e4e6e8; --page: #131416; } }
</style>
"""


def image_file(figure: Any, label: str, prefix: str) -> str:
    """Return a figure, drawn within ``page_colours``, as an SVG file with colours for light and for dark mode."""
    start, rest = inline_svg(figure, label, prefix).split(">", 1)
    return "\n".join(line.rstrip() for line in f"{start}>\n{_MODES}{rest}".splitlines()) + "\n"
