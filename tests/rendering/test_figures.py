"""Pictures take the colours of the page that they stand in, and their ids are unique in it."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from pyterrier_cwla.rendering.figures import (
    COLOURS,
    GAIN,
    GREY,
    axes_of,
    inline_svg,
    label_box,
    measure_look,
    page_colours,
    system_looks,
    titled,
)


def drawn(prefix="p1", label="Gains of <two> runs"):
    with page_colours():
        figure = Figure(figsize=(4, 2), layout="constrained")
        ax = titled(axes_of(figure.subplots()), "Gains")
        ax.plot([1, 2], [3, 4], gid="line-1", **measure_look(0))
        ax.text(1.5, 3.5, "on a line", bbox=label_box(ax))
        return inline_svg(figure, label, prefix)


@pytest.mark.slow
def test_inline_svg_is_one_element_with_a_name_and_no_size():
    svg = drawn()
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert root.get("aria-label") == "Gains of <two> runs"
    assert root.get("role") == "img"
    assert root.get("viewBox")
    assert root.get("width") is root.get("height") is None


@pytest.mark.slow
def test_text_and_background_are_the_colours_of_the_page():
    svg = drawn()
    assert "fill: currentColor" in svg
    assert "var(--page, white)" in svg
    assert not re.search(r"#0{3,6}\b|#f{3,6}\b|#010204|#fdfefc", svg)


@pytest.mark.slow
def test_ids_start_with_the_prefix_and_references_follow():
    svg = drawn("left")
    ids = set(re.findall(r'\bid="([^"]*)"', svg))
    assert "left-line-1" in ids
    assert all(name.startswith("left-") for name in ids)
    used = set(re.findall(r'href="#([^"]*)"', svg)) | set(re.findall(r"url\(#([^)]*)\)", svg))
    assert used
    assert used <= ids


@pytest.mark.slow
def test_equal_figures_give_equal_text():
    assert drawn() == drawn()


def luminance(colour):
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("page", ["white", "#131416"])
@pytest.mark.parametrize("colour", [*COLOURS, GREY, GAIN])
def test_colours_have_contrast_on_light_and_dark_pages(colour, page):
    low, high = sorted([luminance(colour), luminance(page)])
    assert (high + 0.05) / (low + 0.05) >= 3


def test_eight_systems_have_colours_and_the_others_are_grey():
    looks = system_looks([f"run {i}" for i in range(20)])
    assert len({look["color"] for look in looks.values()}) == 9
    assert looks["run 7"] == measure_look(7)
    assert {look["color"] for name, look in looks.items() if int(name[4:]) >= 8} == {GREY}
