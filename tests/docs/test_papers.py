"""The page on papers: complete, and every name on it exists."""

import re
from pathlib import Path

import pytest

import pyterrier_cwla
from pyterrier_cwla.measures.reference import entries
from pyterrier_cwla.model.language import TABLES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.rst").read_text()

#: The numbered equations, tables, figures and algorithms of each paper.
NUMBERED = {"Smucker and Clarke": {"Eq.": 10, "Table": 2, "Figure": 6},
            "Chapelle": {"Eq.": 6, "Table": 6, "Figure": 4, "Algorithm": 3, "Definition": 2},
            "Bompada": {"Table": 5, "Figure": 3}, "Jiang and Allan": {"Eq.": 8, "Table": 3, "Figure": 1},
            "Moffat": {"Eq.": 24, "Table": 5, "Figure": 3}}  # fmt: skip


def section(author):
    return re.split(rf"^{author}.*\n---+\n", PAGE, flags=re.M)[1].split("\n---")[0]


@pytest.mark.parametrize("author", NUMBERED)
def test_everything_numbered_in_a_paper_is_listed(author):
    text = section(author)
    numbered = re.findall(r"(Eq\.|Table|Figure|Algorithm|Definition) (\d+)\b", text)
    listed = {(kind, int(number)) for kind, number in numbered}
    assert {(kind, n + 1) for kind, count in NUMBERED[author].items() for n in range(count)} - listed == set()


@pytest.mark.parametrize("name, year", [
    ("Smucker and Clarke", "2012"), ("Chapelle", "2009"), ("Jiang and Allan", "2016"), ("Moffat", "2022"),
])  # fmt: skip
def test_what_measures_and_parts_cite_is_listed(name, year):
    """The sources in the reference: "Moffat et al. (2022), Eq. 22" needs Eq. 22 in the table of this paper."""
    cited = set()
    for entry in entries():
        for source in (entry.source or "").split(";"):
            if source.strip().startswith(name.split()[0]) and year in source:
                cited |= set(re.findall(r"(?:Eq\.|Table|Figure|Algorithm) \d+", source))
    assert cited
    text = section(name)
    assert [one for one in cited if not re.search(rf"{re.escape(one)}\b", text)] == []


@pytest.mark.parametrize("page", [
    "papers", "questions", "guide", "coming_from", "start", "learning", "behaviour", "studies", "tune", "train", "documents",
    "streaming", "own",
])  # fmt: skip
def test_every_function_that_a_page_names_exists(page):
    text = (ROOT / "docs" / f"{page}.rst").read_text()
    for name in re.findall(r":(?:func|class|meth|data|attr):`(?:[^`<]*<)?~?([\w.]+)>?`", text):
        thing = pyterrier_cwla
        for part in name.removeprefix("pyterrier_cwla.").split("."):
            assert hasattr(thing, part), f"{page}.rst: {name}"
            thing = getattr(thing, part)


def test_every_part_measure_and_notebook_on_the_page_exists():
    for kind in ("gain", "effort", "continuation", "aggregation"):
        for names in re.findall(rf"\b{kind}s? ((?:``\w+``(?:,? and |, )?)+)", PAGE):
            for name in re.findall(r"``(\w+)``", names):
                assert name in TABLES[kind], f"{kind} {name}"
    measures = {entry.name for entry in entries()}
    assert set(re.findall(r":doc:`measures/(\w+)`", PAGE)) <= measures
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    for names in re.findall(r"notebooks?\s+((?:``\w+``(?:\s+and\s+|,\s+)?)+)", PAGE):
        assert set(re.findall(r"``(\w+)``", names)) <= notebooks
