"""Pictures in the rich display of results in notebooks. They need matplotlib, and are left out without it."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any
from zlib import crc32

from .figures import inline_svg, page_colours

_LONG = re.compile(r"\b\d+\.\d{6}\b")  # coordinates with more digits than a screen shows


def notebook_picture(draw: Callable[[Any], Any], inches: tuple[float, float], label: str) -> str:
    """Return a picture for ``_repr_html_``, or an empty text without matplotlib.

    The picture has the notebook's colour of text and no background, so that it can be read in dark mode. It is never
    wider than its text is readable, and shrinks with the page.

    Parameters
    ----------
    draw : callable
        Draws on the axes that it is called with, such as the ``plot`` method of a result.
    inches : tuple of float
        Width and height.
    label : str
        What the picture shows, for readers who do not see it.

    Examples
    --------
    >>> notebook_picture(lambda ax: ax.plot([1, 2]), (3, 2), "a line")[:47]
    '<div style="max-width: 288px; --page: transpare'
    """
    if find_spec("matplotlib") is None:
        return ""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with page_colours(), rc_context({"svg.fonttype": "none"}):  # texts as texts take a third of the space
        figure = Figure(figsize=inches, layout="constrained")
        draw(figure.subplots())
        svg = inline_svg(figure, label, "notebook")
    svg = _without_what_no_reader_sees(svg)
    ids = f"cwla-{crc32(svg.encode()):08x}"  # equal pictures have equal ids, and notebooks do not change when run again
    svg = svg.replace("notebook-", f"{ids}-")
    return f'<div style="max-width: {96 * inches[0]:.0f}px; --page: transparent">{svg}</div>'


def _without_what_no_reader_sees(svg: str) -> str:
    """Shorten coordinates, and leave out comments, indents and ids that are not referred to."""
    svg = re.sub(r"\s*\n\s*", " ", re.sub(r"<!--.*?-->", "", svg, flags=re.S))
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda found: found.group() if found.group(1) in used else "", svg)
    return re.sub(r' (?:d|x|y|width|height|transform)="[^"]*"', lambda found: _shorter(found.group()), svg)


def _shorter(attribute: str) -> str:
    return _LONG.sub(lambda found: f"{float(found.group()):.2f}", attribute)
