"""How sphinx-gallery runs the examples of ``gallery``: pictures are SVG in the page's colours, thumbnails are PNG."""

from __future__ import annotations

import atexit
import logging
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pyterrier_cwla.rendering.figures import inline_svg, page_colours

_STYLE = ExitStack()
atexit.register(_STYLE.close)


def remove_stale(scripts: Path, pages: Path) -> None:
    """Remove the pages of examples whose scripts were removed or renamed; sphinx-gallery keeps them."""
    for page in pages.glob("*/*.rst"):
        script = (scripts / page.relative_to(pages)).with_suffix(".py")
        if page.name != "index.rst" and not script.is_file():
            page.unlink()


def page_style(gallery: dict[str, Any], name: str) -> None:
    """Draw the figures of the next example in the colours of the page, whatever the last one has set."""
    import matplotlib

    matplotlib.use("Agg")
    _STYLE.close()
    _STYLE.enter_context(page_colours())
    logging.getLogger("bm25s").setLevel(logging.WARNING)


def figures(block: tuple[str, str, int], variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Save the figures of a block of code, and return reStructuredText that shows them."""
    from matplotlib import pyplot

    shown = []
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        path = Path(next(variables["image_path_iterator"]))  # sphinx-gallery makes the thumbnail from this file
        figure.savefig(path, dpi=160, bbox_inches="tight")
        svg = inline_svg(figure, _label(figure) or variables["example_globals"]["__doc__"].split("\n")[0], path.stem)
        path.with_suffix(".svg").write_text(svg, encoding="utf-8")
        shown.append(f".. container:: cwla-scroll\n\n   .. raw:: html\n      :file: images/{path.stem}.svg\n\n")
    pyplot.close("all")
    return "\n" + "".join(shown)


def _label(figure: Any) -> str:
    """Return the titles of a figure and its axes as one text."""
    titles = [figure.get_suptitle(), *(ax.get_title(place) for ax in figure.axes for place in ("left", "center"))]
    return re.sub(r"[\s$\\]+", " ", "; ".join(text for text in titles if text)).strip()


SETTINGS: dict[str, Any] = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "backreferences_dir": "used",
    "doc_module": ("pyterrier_cwla",),
    "subsection_order": [f"gallery/{name}" for name in ("rankings", "systems", "users", "studies")],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("gallery_pictures.figures",),
    "reset_modules": ("gallery_pictures.page_style",),
    "capture_repr": ("_repr_html_",),
    "min_reported_time": 3600,  # pages differ only if their examples do
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "inspect_global_variables": False,
    "thumbnail_size": (480, 280),
}
