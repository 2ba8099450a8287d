"""Draw the packages in their layers: the picture in CONTRIBUTING.md.

``python docs/package_map.py`` reads the layers from pyproject.toml and the sentences from the packages.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from image_files import image_file
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from pyterrier_cwla.rendering.figures import GREY, STAY, page_colours

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "static" / "packages.svg"
PACKAGE = "pyterrier_cwla"
_LABEL = "The packages in their layers, files and rendering at the bottom, the command line at the top"
_WIDTH, _STEP, _GAP = 10.0, 0.85, 0.12  # inches


def layers() -> list[list[str]]:
    """Return the names of the packages, layer by layer, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    names = [[name.strip() for name in layer.split("|")] for layer in listed]
    return [layer for layer in names if layer != ["_version"]]


def picture() -> str:
    """Return the picture as an SVG file."""
    rows = layers()
    with page_colours():
        figure = Figure(figsize=(_WIDTH, _STEP * len(rows)))
        ax = figure.add_axes((0, 0, 1, 1), xlim=(-0.6, _WIDTH), ylim=(-_STEP * len(rows), 0.05))
        ax.set_axis_off()
        for level, row in enumerate(rows):
            for column, name in enumerate(row):
                _draw_box(ax, name, _WIDTH * column / len(row), -_STEP * level, _WIDTH / len(row))
        ax.annotate(
            "", (-0.3, -_STEP * len(rows) + _GAP), (-0.3, -_GAP), arrowprops={"arrowstyle": "-|>", "color": GREY}
        )
        ax.text(-0.4, -_STEP * len(rows) / 2, "may import", rotation=90, ha="right", va="center", color=GREY)
        return image_file(figure, _LABEL, "packages")


def _draw_box(ax: Any, name: str, left: float, top: float, width: float) -> None:
    """Draw a box with the name of a package and the first sentence of its documentation."""
    text = inspect.getdoc(importlib.import_module(f"{PACKAGE}.{name}")) or ""
    lines = textwrap.wrap(text.splitlines()[0].rstrip(".").replace("`", ""), int(14 * (width - 0.3)))
    place, size = (left + _GAP / 2, top - _STEP + _GAP), (width - _GAP, _STEP - _GAP)
    ax.add_patch(FancyBboxPatch(place, *size, "round,pad=0,rounding_size=0.1", facecolor="none", edgecolor=STAY))
    ax.text(left + width / 2, top - 0.08, name, ha="center", va="top", weight="bold", fontsize=10)
    ax.text(left + width / 2, top - 0.27, "\n".join(lines), ha="center", va="top", fontsize=9)


if __name__ == "__main__":
    PICTURE.write_text(picture())
