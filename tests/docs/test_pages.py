"""Tests of the documentation: pages for all metrics and parts, examples that run, a current copy, and all equations of the papers."""

import doctest
import json
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import ir_measures
import markup
import pages
import pytest

import pyterrier_cwla
from pyterrier_cwla.cli import app
from pyterrier_cwla.learning.swaps import SWAP_ROUTES
from pyterrier_cwla.measures import reference
from pyterrier_cwla.measures.catalogue import Row
from pyterrier_cwla.measures.declarations import DECLARATIONS
from pyterrier_cwla.measures.named import measure_class
from pyterrier_cwla.measures.wrappers import MEASURES
from pyterrier_cwla.model import language
from pyterrier_cwla.model.language import In, Parameter
from pyterrier_cwla.model.scoring import ROUTES

DOCS = Path(__file__).parents[2] / "docs"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written():
    return pages.written()


def test_carried_pages_are_current_and_routes_are_complete():
    carried = {str(path.relative_to(pages.SHIPPED)): path.read_text() for path in pages.SHIPPED.rglob("*.rst")}
    fresh = pages.shipped()
    stale = sorted(name for name in {*carried, *fresh} if carried.get(name) != fresh.get(name))
    assert not stale, f"run `python docs/pages.py`: {', '.join(stale)}"
    text = pages._routes_page()
    for each in (*ROUTES, *SWAP_ROUTES):
        case = markup.mathematics(each.when.__doc__.splitlines()[0])
        assert f"``{each.compute.__name__}``\n     - {case}\n     - {each.gain[0].upper()}{each.gain[1:]}." in text


CARRIED = sorted(str(path.relative_to(pages.SHIPPED)) for path in pages.SHIPPED.rglob("*.rst"))
GENERATED = [name for name in CARRIED if name.startswith(("api/", "measures/", "parts/"))]


def run_examples(name):
    """Run the examples of a page, and return their number."""
    document, said = (pages.SHIPPED / name).read_text(), []
    examples = doctest.DocTestParser().get_doctest(document, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with warnings.catch_warnings():
        runner.run(examples, out=said.append)
    assert not runner.failures, "".join(said)
    return runner.tries


@pytest.mark.every_case
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", [name for name in CARRIED if name not in GENERATED])
def test_examples_run_as_they_stand(name):
    run_examples(name)


@pytest.mark.slow  # examples of docstrings, which are also run there
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", GENERATED)
def test_examples_of_generated_pages(name):
    assert run_examples(name) > 4 or not name.startswith("measures/") or name == "measures/index.rst"


def test_everything_there_is_has_a_page_or_a_section(written):
    for entry in reference.entries():
        if entry.kind in ("measure", "ir_measures"):
            page = written[f"measures/{entry.name}.rst"]
            assert f":doc:`{entry.name} <{entry.name}>`" in written["measures/index.rst"]
            assert ("Weights\n---" in page) == (entry.parts is not None)
        elif entry.kind not in language.TABLES or language.TABLES[entry.kind][entry.name].built_in:
            page = written[f"parts/{pages.PARTS[entry.kind]}.rst"]
            assert f"\n{entry.name}\n{'-' * len(entry.name)}\n" in page


def test_pages_say_what_the_command_line_says(written, capsys):
    with pytest.raises(SystemExit):
        app.main(["measures", "--format", "jsonl"])
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ours = [record for record in records if record["kind"] in ("measure", "ir_measures")]
    there = {name for name in written if name.startswith("measures/")} - {"measures/index.rst"}
    assert {f"measures/{record['name']}.rst" for record in ours} == there
    for record in ours:
        page = written[f"measures/{record['name']}.rst"]
        for field in ("says", "source", "units", "range"):
            if record.get(field) not in (None, "", "ir_measures"):
                assert markup.mathematics(record[field]) in page
        for parameter in record.get("parameters", ()):
            assert f"``{parameter['name']}``" in page


def test_a_new_row_gets_a_page_by_itself(monkeypatch):
    row = Row("Weary", "Tires for good.", "Nobody (2020)", "rbp(tired)", "max", "linear",
              parameters=(Parameter("tired", In("[0, 1)")), Parameter("max_rel", In("(0, inf)"))),
              units="gain", range="[0, 1]")  # fmt: skip
    weary = measure_class(row)
    monkeypatch.setitem(DECLARATIONS, "Weary", row)
    monkeypatch.setitem(MEASURES, "Weary", weary())
    monkeypatch.setitem(ir_measures.measures.registry, "Weary", weary())
    page = pages.written()["measures/Weary.rst"]
    for text in (":Range: [0, 1]", ":Unit: gain", ":Source: Nobody (2020)", "rbp(phi=tired)", "C(i) = φ.", "``tired``",
                 "Weary(tired=0.5,max_rel=2)", "share of all attention"):  # fmt: skip
        assert text in page


def test_pages_open_with_the_full_name_and_the_usual_formula(written):
    page = written["measures/RBP.rst"]
    start = page.index("\nRBP: rank-biased precision\n=====")
    opening = page[start : page.index("As five choices")]
    assert ".. math::\n\n   \\text{RBP} = (1 - p) \\sum_{i \\ge 1} p^{i-1}\\,b_i\n" in opening
    assert ":math:`p` is the probability of going on to the next document." in opening
    assert opening.index(".. math::") < opening.index(":Range:")
    choices = page[page.index("As five choices") : page.index("Weights\n---")]
    assert r"M = \frac{\sum_i V(i)\,r_i}{\sum_i V(i)\,e_i}" in choices
    for name, first in (("Bpref", "R and N are the numbers"), ("GeometricMean", "The value of a query is ln max")):
        page = written[f"measures/{name}.rst"]
        assert page[page.index("Details\n-------") :].splitlines()[3].startswith(first)
    assert "Details" not in written["measures/Rprec.rst"]
    assert "   \\begin{aligned}\\text{TBG} &= " in written["measures/TBG.rst"]
    assert "\\\\\n   T(k) &= " in written["measures/TBG.rst"]
    index = written["measures/index.rst"]
    assert "Rate of gain of users who go on to the next document with probability p." in index
    assert "Discounted cumulative gain, divided by that of the ideal ranking" in index


def test_the_weights_on_a_page_are_those_of_the_metric(written):
    """Jiang and Allan (2016), Eq. 8 for RBP over ten documents: 0.8^(i−1) / Σ_j 0.8^(j−1)."""
    rows = re.findall(r'^   "(\d+)", .*"([^"]*)"$', written["measures/AdaptiveRBP.rst"], re.M)
    whole = sum(0.8**j for j in range(10))
    expected = [(i + 1, pytest.approx(0.8**i / whole, abs=5e-5)) for i in range(10)]
    assert [(int(rank), float(weight)) for rank, weight in rows] == expected


def test_pictures_take_the_page_s_colours_and_have_names():
    page = pages.written(pictures=True)["measures/AdaptiveGRBP.rst"]
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    ElementTree.fromstring(svg)
    assert 'role="img" aria-label="Bars: discount (score per gain) at ranks 1 to 10: 0.22, 0.18, ' in svg
    assert "currentColor" in svg
    assert not re.search(r"#000000|#ffffff|\bwhite\b(?!\))", svg)
    assert "The line is that of ``AdaptiveGRBP(effort='ratio(4)')``." in page


def test_formulas_are_set_and_mathematics_stands_between_dollars():
    for text, marked in {
        "r_i": "r\\ :sub:`i`\\ ", "Σ_{j≤i} r_j/j": "Σ\\ :sub:`j≤i`\\  r\\ :sub:`j`\\ /j",
        "2^(−E(i−1)/h)": "2\\ :sup:`−E(i−1)/h`\\ ", "2^(−e_i/h)": "2\\ :sup:`−eᵢ/h`\\ ", "log2(i+1)": "log\\ :sub:`2`\\ (i+1)",
        "2^max_rel − max_rel": "2\\ :sup:`max_rel`\\  − max\\_rel", "P(t|q) a*b": "P(t\\|q) a\\*b",
        "``r_i``: r_i": "``r_i``: r\\ :sub:`i`\\ ",
    }.items():  # fmt: skip
        assert markup.mathematics(text) == marked
    for text, marked in {"$r_i$ is ``r_i``": ":math:`r_i` is ``r_i``", "max_rel, $|w|$": "max\\_rel, :math:`|w|`",
                         "``a`` and ``b$c``": "``a`` and ``b$c``"}.items():  # fmt: skip
        assert markup.with_formulas(text) == marked


def test_every_measure_says_when_to_use_it_and_most_have_neighbours():
    known = {entry.name: entry for entry in reference.entries() if entry.kind in ("measure", "ir_measures")}
    assert pages.ABOUT.keys() == known.keys()
    for name, about in pages.ABOUT.items():
        assert about["when"].startswith("Use it ")
        assert len(about.get("near", ())) == 2 * bool(known[name].parts), name
        assert {*about.get("near", ())} <= {one for one, entry in known.items() if entry.parts} - {name}


PAPERS = (DOCS / "papers.rst").read_text()

#: The numbered equations, tables, figures and algorithms of each paper.
NUMBERED = {"Smucker and Clarke": {"Eq.": 10, "Table": 2, "Figure": 6},
            "Chapelle": {"Eq.": 6, "Table": 6, "Figure": 4, "Algorithm": 3, "Definition": 2},
            "Bompada": {"Table": 5, "Figure": 3}, "Jiang and Allan": {"Eq.": 8, "Table": 3, "Figure": 1},
            "Moffat": {"Eq.": 24, "Table": 5, "Figure": 3}}  # fmt: skip


def section(author):
    return re.split(rf"^{author}.*\n---+\n", PAPERS, flags=re.M)[1].split("\n---")[0]


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
    for entry in reference.entries():
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
    text = (DOCS / f"{page}.rst").read_text()
    for name in re.findall(r":(?:func|class|meth|data|attr):`(?:[^`<]*<)?~?([\w.]+)>?`", text):
        thing = pyterrier_cwla
        for part in name.removeprefix("pyterrier_cwla.").split("."):
            assert hasattr(thing, part), f"{page}.rst: {name}"
            thing = getattr(thing, part)


def test_every_part_measure_and_notebook_on_the_page_exists():
    for kind in ("gain", "effort", "continuation", "aggregation"):
        for names in re.findall(rf"\b{kind}s? ((?:``\w+``(?:,? and |, )?)+)", PAPERS):
            for name in re.findall(r"``(\w+)``", names):
                assert name in language.TABLES[kind], f"{kind} {name}"
    measures = {entry.name for entry in reference.entries()}
    assert set(re.findall(r":doc:`measures/(\w+)`", PAPERS)) <= measures
    notebooks = {path.stem for path in (DOCS.parent / "notebooks").glob("*.ipynb")}
    for names in re.findall(r"notebooks?\s+((?:``\w+``(?:\s+and\s+|,\s+)?)+)", PAPERS):
        assert set(re.findall(r"``(\w+)``", names)) <= notebooks
