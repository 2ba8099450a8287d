"""Pictures in notebooks have no background, ids of their own, and are left out without matplotlib."""

import re
from html import escape
from xml.etree import ElementTree

import pytest

from pyterrier_cwla.measures.reference import entries
from pyterrier_cwla.rendering import figures as notebook_pictures
from pyterrier_cwla.rendering.figures import elided, notebook_formula, notebook_picture


def line(height):
    return notebook_picture(lambda ax: ax.plot([1, height], gid="line"), (3, 2), "a <line>")


def test_the_element_has_the_width_of_the_figure_and_no_background():
    div = ElementTree.fromstring(line(2))
    assert div.get("style") == "max-width: 288px; --page: transparent"
    (svg,) = div
    assert svg.get("aria-label") == "a <line>"


@pytest.mark.slow
def test_ids_depend_on_the_picture_only():
    assert line(2) == line(2)
    ids = [set(re.findall(r'\bid="([^"]*)"', line(height))) for height in (2, 3)]
    assert not ids[0] & ids[1]
    assert all(re.fullmatch(r"cwla-[0-9a-f]{8}-.+", name) for name in ids[0] | ids[1])
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', line(2))) == ids[0]


@pytest.mark.slow
def test_texts_are_texts_and_stay_as_they_are():
    svg = notebook_picture(lambda ax: ax.set_title("1.234567 <!-- a --> &"), (3, 2), "title")
    assert "1.234567 <!-- a --> &" in [(element.text or "").strip() for element in ElementTree.fromstring(svg).iter()]
    assert not re.search(r'<(?!text)[^>]*="[^"]*\d\.\d{6}', svg)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["notebook-bm25", 'x id="notebook-7" url(#a)', ' d="1.2345678"'])
def test_names_of_users_are_not_taken_for_ids(name):
    svg = notebook_picture(lambda ax: ax.set_title(name), (3, 2), name)
    (picture,) = ElementTree.fromstring(svg)
    assert picture.get("aria-label") == name
    assert name.strip() in [(element.text or "").strip() for element in picture.iter()]


def test_there_is_no_picture_without_matplotlib(monkeypatch):
    monkeypatch.setattr(notebook_pictures, "find_spec", lambda name: None)
    assert line(2) == ""


def test_long_names_are_shortened_in_the_middle():
    assert elided("bm25", 4) == "bm25"
    assert elided("clueweb09-en0000", 6) == "clu…00"
    assert len(elided("x" * 100, 25)) == 25


@pytest.mark.slow
@pytest.mark.parametrize("latex", [entry.equation.latex for entry in entries() if entry.equation])
def test_every_formula_of_a_measure_is_drawn(latex):
    page = notebook_formula(latex)
    assert page.count("<svg") == 1
    assert f'aria-label="{escape(latex)}"' in page
    width, height = (float(number) for number in re.search(r'viewBox="0 0 (\S+) (\S+)"', page).groups())
    assert float(re.search(r"max-width: (\d+)px", page).group(1)) == pytest.approx(96 / 72 * width, rel=0.25)
    assert 15 < height < 200


def test_letters_keep_their_size():
    """Factors of scales have more digits than coordinates need."""
    assert "scale(0.015625)" in notebook_formula("x")


def test_without_matplotlib_a_formula_is_latex(monkeypatch):
    monkeypatch.setattr("pyterrier_cwla.rendering.figures.find_spec", lambda name: None)
    assert notebook_formula(r"a < b \\ c") == r"<p><code>a &lt; b \\ c</code></p>"
