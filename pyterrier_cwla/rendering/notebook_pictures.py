"""Pictures in the rich display of results in notebooks. They need matplotlib, and are left out without it."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from importlib.util import find_spec
from typing import Any
from zlib import crc32

from .figures import in_tags, inline_svg, page_colours

_LONG = re.compile(r"(?<!scale\()\b\d+\.\d{6}\b")  # coordinates with more digits than a screen shows

_FORMULA = 13  # points


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
        return _in_page(inline_svg(figure, label, "notebook"), inches[0])


def notebook_formula(latex: str) -> str:
    r"""Return a formula as a picture for ``_repr_html_``; without matplotlib, return its LaTeX.

    It needs no script of the page, so that it is the same in all notebooks, in editors, and on pages of a site.

    Parameters
    ----------
    latex : str
        The formula; ``\\\\`` separates lines, and ``&`` is ignored.

    Examples
    --------
    >>> notebook_formula(r"\frac{1}{2}")[-6:]
    '</div>'
    """
    if find_spec("matplotlib") is None:
        return f"<p><code>{escape(latex)}</code></p>"
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    # matplotlib has \geq and \leq, and not their short names.
    lines = [re.sub(r"\\([gl])e(?![a-zA-Z])", r"\\\1eq", line.replace("&", "")) for line in latex.split(r"\\")]
    with page_colours(), rc_context({"mathtext.fontset": "stix"}):
        parser, font = MathTextParser("path"), FontProperties(size=_FORMULA)
        sizes = [parser.parse(f"${line}$", dpi=72, prop=font)[:2] for line in lines]
        heights = [height + 0.5 * _FORMULA for _, height in sizes]
        inches = (max(width for width, _ in sizes) / 72 + 0.1, sum(heights) / 72)
        figure = Figure(figsize=inches)
        top = 1.0
        for line, height in zip(lines, heights, strict=True):
            figure.text(0.05 / inches[0], top, f"${line}$", fontsize=_FORMULA, va="top")
            top -= height / 72 / inches[1]
        return _in_page(inline_svg(figure, latex, "notebook"), inches[0])


def _in_page(svg: str, width: float) -> str:
    """Return the picture in an element of at most `width` inches."""
    svg = _without_what_no_reader_sees(svg)
    ids = f"cwla-{crc32(svg.encode()):08x}"  # equal pictures have equal ids, and notebooks do not change when run again
    svg = in_tags(r'( id="|href="#|url\(#)notebook-', rf"\g<1>{ids}-", svg)
    return f'<div style="max-width: {96 * width:.0f}px; --page: transparent">{svg}</div>'


def _without_what_no_reader_sees(svg: str) -> str:
    """Shorten coordinates, and leave out comments, indents and ids that are not referred to."""
    svg = re.sub(r"\s*\n\s*", " ", re.sub(r"<!--.*?-->", "", svg, flags=re.S))
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', svg))
    svg = in_tags(r' id="([^"]*)"', lambda found: found.group() if found.group(1) in used else "", svg)
    return in_tags(r' (?:d|x|y|width|height|transform)="[^"]*"', lambda found: _shorter(found.group()), svg)


def _shorter(attribute: str) -> str:
    return _LONG.sub(lambda found: f"{float(found.group()):.2f}", attribute)
