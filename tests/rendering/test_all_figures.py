"""Each public figure is readable at full width on a light page, and narrow on a dark one: colours and places are independent.

The inputs are large, generated or real.
"""

import ast
import inspect
import sys
import warnings
from importlib import import_module
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

import pyterrier_cwla
from pyterrier_cwla import CWLAError
from pyterrier_cwla.evaluation import Comparison
from tests.rendering.test_figures import contrast
from tests.support.drawn_figures import FIGURES, NOT_REAL, Generated, Real
from tests.support.messages import refused
from tests.support.readable import assert_readable, drawn_texts

pytestmark = pytest.mark.slow

NARROW, STANDARD = 3.3, 7.0  # inches
PAGES = {"light": (STANDARD, "default"), "narrow and dark": (NARROW, "dark_background")}


@pytest.fixture(scope="session")
def generated():
    return Generated()


@pytest.fixture(scope="session")
def real(data):
    return Real(data)


@pytest.fixture(autouse=True)
def closed():
    mpl.use("agg")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(no relevant|do not answer|not in the|unjudged|duplicate).*")
        yield
    pyplot.close("all")


def public_figures():
    """Return the public functions and methods that plot by name, from the stubs that list public names."""
    root, found = Path(pyterrier_cwla.__file__).parent, {}
    for stub in root.rglob("__init__.pyi"):
        package = import_module(".".join([root.name, *stub.parent.relative_to(root).parts]))
        for node in ast.walk(ast.parse(stub.read_text())):
            for name in (alias.asname or alias.name for alias in getattr(node, "names", [])):
                value = getattr(package, name, None)
                if isinstance(value, type):
                    inherited = (
                        {*dir(Comparison)} if issubclass(value, Comparison) and value is not Comparison else set()
                    )
                    plots = {one for one in dir(value) if one.startswith("plot")} - inherited
                    found |= {f"{name}.{one}": getattr(value, one) for one in plots}
                elif name.startswith("plot"):
                    found[name] = value
    return found


def drawn(name, given, width):
    """Draw a figure at its own height, also at half a column's width."""
    figure_of = lambda made: np.ravel(made)[0].figure.figure  # noqa: E731
    figure = figure_of(FIGURES[name](given, None, STANDARD))
    if width != STANDARD:
        height = figure.get_figheight()
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
        figure = figure_of(FIGURES[name](given, ax, width))
        assert figure is ax.figure or name.startswith("Comparison.plot")
    return figure


def check(name, given, page):
    width, style = PAGES[page]
    with pyplot.style.context(style):
        figure = drawn(name, given, width)
        assert_readable(figure)
        for ax in figure.axes:
            for line in ax.lines:
                low, high = sorted(ax.get_ylim())
                y = np.asarray(line.get_ydata(), float)
                assert line.get_transform() != ax.transData or ((y >= low) & (y <= high)).mean() > 0.5, "out of view"
        for text, _ in drawn_texts(figure):
            if name.split(" ")[0] not in ("plot_correlations", "plot_cells", "plot_confusion"):  # these colour cells
                assert contrast(text.get_color(), figure.get_facecolor()[:3]) >= 3, f"no contrast: {text.get_text()}"


def test_every_public_figure_is_drawn_returned_and_may_be_saved(generated, tmp_path):
    assert public_figures().keys() == {name.split(" ")[0] for name in FIGURES}
    assert NOT_REAL.keys() < FIGURES.keys()
    for name, function in public_figures().items():
        signature = inspect.signature(function)
        assert signature.parameters["path"].default is None, name
        assert signature.return_annotation in ("Axes", "Figure"), name
    ax = pyterrier_cwla.studies.plot_power(generated.power, path=tmp_path / "power.svg")
    assert ax.get_title(loc="left")
    assert "<svg" in (tmp_path / "power.svg").read_text()


@pytest.mark.parametrize("name", FIGURES)
def test_without_matplotlib_an_error_names_the_extra(name, generated, monkeypatch):
    FIGURES[name](generated, None, STANDARD)  # computes the input
    for module in [module for module in sys.modules if module.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    refused(lambda: FIGURES[name](generated, None, STANDARD), CWLAError, "figures need matplotlib")


@pytest.mark.every_case
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", FIGURES)
def test_readable_at_full_width_and_narrow_on_a_dark_page(name, page, generated):
    check(name, generated, page)


@pytest.mark.nightly
@pytest.mark.real_data
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", FIGURES)
def test_readable_on_real_data(name, page, real):
    if name in NOT_REAL:
        pytest.skip(NOT_REAL[name])
    check(name, real, page)
