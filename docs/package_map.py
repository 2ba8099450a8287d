"""Draw the packages in their layers, with the imports between them: the picture in CONTRIBUTING.md.

``python docs/package_map.py`` reads the layers from pyproject.toml and the imports from the code (with grimp).
"""

from __future__ import annotations

import importlib
import inspect
import io
import textwrap
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import grimp
import matplotlib

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "static" / "packages.svg"
PACKAGE = "pyterrier_cwla"
_BOX: Any = {"boxstyle": "round,pad=0.35", "facecolor": "#eef4fa", "edgecolor": "#2f7fc1"}
_ARROW = {"arrowstyle": "-|>", "color": "#8a8a8a", "shrinkA": 0, "shrinkB": 0}
_TEXT: Any = {"ha": "center", "va": "center", "bbox": _BOX, "zorder": 2}
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "packages", "font.family": "sans-serif", "font.size": 9}
_WIDTH, _STEP = 11.0, 1.15


def layers() -> list[list[str]]:
    """Return the names of the packages, layer by layer, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    names = [[name.strip() for name in layer.split("|")] for layer in listed]
    return [layer for layer in names if layer != ["_version"]]


def imports(names: set[str]) -> dict[str, set[str]]:
    """Return, for each package, the packages it imports directly and not only through others."""
    graph = grimp.build_graph(PACKAGE)
    found: dict[str, set[str]] = {name: set() for name in names}
    for module in graph.modules:
        upper = module.split(".")[1:2]
        for imported in graph.find_modules_directly_imported_by(module) if upper and upper[0] in names else ():
            lower = imported.split(".")[1:2]
            if lower and lower[0] in names and lower != upper:
                found[upper[0]].add(lower[0])
    below: dict[str, set[str]] = {}
    for name in TopologicalSorter(found).static_order():
        below[name] = set().union(*({lower} | below[lower] for lower in found[name]), set())
    return {name: {one for one in of if not any(one in below[other] for other in of)} for name, of in found.items()}


def picture() -> str:
    """Return the picture as SVG."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = layers()
    level = {name: number for number, row in enumerate(rows) for name in row}
    with matplotlib.rc_context(_STYLE):
        figure, ax = pyplot.subplots(figsize=(_WIDTH, _STEP * len(rows)))
        ax.set(xlim=(0, _WIDTH), ylim=(-_STEP * (len(rows) - 0.5), _STEP / 2))
        ax.set_axis_off()
        boxes = {
            name: ax.text(_WIDTH * (column + 0.5) / len(row), -_STEP * level[name], _label(name), **_TEXT)
            for row in rows
            for column, name in enumerate(row)
        }
        figure.canvas.draw()
        to_data = ax.transData.inverted()
        extents = {
            name: to_data.transform_bbox(patch.get_window_extent())
            for name, box in boxes.items()
            if (patch := box.get_bbox_patch()) is not None
        }
        for name, of in sorted(imports(set(boxes)).items()):
            for lower in sorted(of):
                bend = 0.0 if level[lower] - level[name] == 1 else -0.25
                ax.annotate(
                    "",
                    ((extents[lower].x0 + extents[lower].x1) / 2, extents[lower].y1),
                    ((extents[name].x0 + extents[name].x1) / 2, extents[name].y0),
                    arrowprops=_ARROW | {"connectionstyle": f"arc3,rad={bend}"},
                    zorder=1,
                )
        out = io.StringIO()
        figure.savefig(out, format="svg", bbox_inches="tight", facecolor="white", metadata={"Date": None})
        pyplot.close(figure)
    return out.getvalue()


def _label(name: str) -> str:
    """Return the name of a package over the first sentence of its documentation."""
    sentence = (inspect.getdoc(importlib.import_module(f"{PACKAGE}.{name}")) or "").splitlines()[0].rstrip(".")
    return "\n".join([f"$\\bf{{{name}}}$", *textwrap.wrap(sentence, 36)])


if __name__ == "__main__":
    PICTURE.write_text(picture())
