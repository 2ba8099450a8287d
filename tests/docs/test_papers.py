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
    listed = {
        (kind, int(number)) for kind, number in re.findall(r"(Eq\.|Table|Figure|Algorithm|Definition) (\d+)\b", text)
    }
    assert {(kind, n + 1) for kind, count in NUMBERED[author].items() for n in range(count)} - listed == set()


@pytest.mark.parametrize(
    ("author", "name"),
    [("Smucker", "Smucker and Clarke"), ("Chapelle", "Chapelle"), ("Jiang", "Jiang and Allan"), ("Moffat", "Moffat")],
)
def test_what_measures_and_parts_cite_is_listed(author, name):
    """The sources in the reference: "Moffat et al. (2022), Eq. 22" needs Eq. 22 in the table of this paper."""
    years = {"Smucker": "2012", "Chapelle": "2009", "Jiang": "2016", "Moffat": "2022"}
    cited = set()
    for entry in entries():
        for source in (entry.source or "").split(";"):
            if source.strip().startswith(author) and years[author] in source:
                cited |= set(re.findall(r"(?:Eq\.|Table|Figure|Algorithm) \d+", source))
    assert cited
    text = section(name)
    assert [one for one in cited if not re.search(rf"{re.escape(one)}\b", text)] == []


@pytest.mark.parametrize("page", [
    "papers", "questions", "guide", "coming_from", "start", "learning", "behaviour", "studies", "tune", "documents",
    "streaming", "own",
])  # fmt: skip
def test_every_function_that_a_page_names_exists(page):
    path = ROOT / "docs" / f"{page}.rst"
    for name in re.findall(
        r":(?:func|class|meth|data|attr):`(?:[^`<]*<)?~?([\w.]+)>?`", path.read_text() if path.exists() else ""
    ):
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
