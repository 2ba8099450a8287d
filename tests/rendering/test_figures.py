"""Pictures take the colours of the page that they stand in, and their ids are unique in it."""

import re
from html import escape
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from pyterrier_cwla.measures.reference import entries
from pyterrier_cwla.rendering import figures


def drawn(prefix):
    with figures.page_colours():
        figure = Figure(figsize=(4, 2), layout="constrained")
        ax = figures.titled(figures.axes_of(figure.subplots()), "Gains")
        ax.plot([1, 2], [3, 4], gid="line-1", **figures.measure_look(0))
        ax.text(1.5, 3.5, "on a line", bbox=figures.label_box(ax))
        return figures.inline_svg(figure, "Gains of <two> runs", prefix)


@pytest.mark.slow
def test_inline_svg_has_a_name_and_the_colours_of_the_page():
    svg = drawn("left")
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert (root.get("aria-label"), root.get("role")) == ("Gains of <two> runs", "img")
    assert root.get("viewBox")
    assert root.get("width") is root.get("height") is None
    assert "fill: currentColor" in svg
    assert "var(--page, white)" in svg
    assert not re.search(r"#0{3,6}\b|#f{3,6}\b|#010204|#fdfefc", svg)
    ids, used = ids_of(svg)
    assert "left-line-1" in ids
    assert all(name.startswith("left-") for name in ids)
    assert used
    assert used <= ids
    assert drawn("left") == svg


def ids_of(svg):
    """Return the ids in a picture, and those that it uses."""
    return set(re.findall(r'\bid="([^"]*)"', svg)), set(re.findall(r'(?:href="|url\()#([^")]*)', svg))


def luminance(colour):
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_colours_have_contrast_on_light_and_dark_pages():
    for colour in (*figures.COLOURS, figures.GREY, figures.GAIN):
        assert contrast(colour, "white") >= 3
        assert contrast(colour, "#131416") >= 3


def test_eight_systems_have_colours_and_the_others_are_grey():
    looks = figures.system_looks([f"run {i}" for i in range(20)])
    assert len({look["color"] for look in looks.values()}) == 9
    assert looks["run 7"] == figures.measure_look(7)
    assert {look["color"] for name, look in looks.items() if int(name[4:]) >= 8} == {figures.GREY}


def line(height):
    return figures.notebook_picture(lambda ax: ax.plot([1, height], gid="line"), (3, 2), "a <line>")


@pytest.mark.slow
def test_pictures_of_users_data_keep_texts_and_ids():
    assert line(2) == line(2)
    (ids, used), (others, _) = ids_of(line(2)), ids_of(line(3))
    assert not ids & others
    assert all(re.fullmatch(r"cwla-[0-9a-f]{8}-.+", name) for name in ids | others)
    assert used == ids
    for name in ("1.234567 <!-- a --> &", "notebook-bm25", 'x id="notebook-7" url(#a)', ' d="1.2345678"'):
        svg = figures.notebook_picture(lambda ax, name=name: ax.set_title(name), (3, 2), name)
        assert next(iter(ElementTree.fromstring(svg))).get("aria-label") == name
        assert name.strip() in [(element.text or "").strip() for element in ElementTree.fromstring(svg).iter()]
    svg = figures.notebook_picture(lambda ax: ax.set_title("1.234567 <!-- a --> &"), (3, 2), "title")
    assert not re.search(r'<(?!text)[^>]*="[^"]*\d\.\d{6}', svg)
    div = ElementTree.fromstring(line(2))
    assert div.get("style") == "max-width: 288px; --page: transparent"
    (svg,) = div
    assert svg.get("aria-label") == "a <line>"


def test_without_matplotlib_there_is_no_picture_and_a_formula_is_latex(monkeypatch):
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    assert line(2) == ""
    assert figures.notebook_formula(r"a < b \\ c") == r"<p><code>a &lt; b \\ c</code></p>"


def test_long_names_are_shortened_and_letters_keep_their_size():
    assert figures.elided("bm25", 4) == "bm25"
    assert figures.elided("clueweb09-en0000", 6) == "clu…00"
    assert len(figures.elided("x" * 100, 25)) == 25
    # Factors of scales have more digits than coordinates need.
    assert "scale(0.015625)" in figures.notebook_formula("x")


@pytest.mark.slow
@pytest.mark.parametrize("latex", [entry.equation.latex for entry in entries() if entry.equation])
def test_every_formula_of_a_measure_is_drawn(latex):
    page = figures.notebook_formula(latex)
    assert page.count("<svg") == 1
    assert f'aria-label="{escape(latex)}"' in page
    width, height = (float(number) for number in re.search(r'viewBox="0 0 (\S+) (\S+)"', page).groups())
    assert float(re.search(r"max-width: (\d+)px", page).group(1)) == pytest.approx(96 / 72 * width, rel=0.25)
    assert 15 < height < 200
