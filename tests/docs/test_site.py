"""Tests of the site: what builds its pages, and, on a built site, links, names of pictures, width and accessibility.

PYTERRIER_CWLA_SITE names the folder of a built site, and PYTERRIER_CWLA_AXE the file axe.min.js of axe-core. ``.ci/run``
sets both.
"""

import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import notebook_pages  # noqa: E402
import pages  # noqa: E402

from tests.support.browsing import seen, serious_violations  # noqa: E402

#: One page of each type.
TYPES = (
    "index",
    "tutorials/index",
    "tutorials/first_comparison",
    "examples/index",
    "examples/rankings/explain_a_score",
    "notebooks/index",
    "notebooks/compare_your_own_runs",
    "guide",
    "explorer",
    "explore",  # the explorer itself, with computed answers
    "learning",
    "measures/index",
    "measures/TBG",
    "parts/continuations",
    "api",
    "api/group-evaluation",
    "api/behaviour.InteractionLog",
    "contributing",
    "benchmarks",
    "search",
    "genindex",
)


# ---- what builds the pages


def test_pages_in_the_package_have_no_blocks_of_the_site():
    shipped = pages.shipped()
    assert {"index.rst", "tutorials/index.rst", "tutorials/add_time.rst"} <= shipped.keys()
    assert not [name for name, text in shipped.items() if "only:: site" in text or "raw:: html" in text]
    assert "examples/index" not in shipped["index.rst"]
    assert "tutorials/index" in shipped["index.rst"]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a\n\n.. only:: site\n\n   b\n\n   c\n\nd\n", "a\n\nd\n"),
        ("a\n\n.. only:: site\n\n   b\n", "a\n\n"),
        ("a\n\n.. only:: site\n\n   b\n\n.. only:: site\n\n   c\n\nd\n", "a\n\nd\n"),
    ],
)
def test_a_block_of_the_site_ends_where_its_indentation_ends(text, rest):
    assert pages._without_site(text) == rest


def notebook(*cells):
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def test_notebook_pages_link_the_file_and_name_pictures(tmp_path):
    shown = {"output_type": "display_data", "data": {"image/png": "aGk="}, "metadata": {}}
    own = {"mystnb": {"image": {"alt": "gain by rank"}}}
    cells = [
        {"cell_type": "markdown", "source": ["# A title\n", "\n", "What *is* learnt. More.\n"], "metadata": {}},
        {"cell_type": "markdown", "source": "## A section", "metadata": {}},
        {"cell_type": "code", "source": "plot()", "outputs": [shown], "metadata": {"tags": ["x"]}},
        {"cell_type": "code", "source": "plot()", "outputs": [shown], "metadata": own},
        {"cell_type": "code", "source": "1", "outputs": [], "metadata": {}},
    ]
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "one_x.ipynb").write_text(json.dumps(notebook(*cells)))
    notebook_pages.write(tmp_path / "from", tmp_path / "to")
    first, _, named, other, last = json.loads((tmp_path / "to" / "one_x.ipynb").read_text())["cells"]
    assert first["source"].startswith("# A title\n\n{download}`Download this notebook <../../notebooks/one_x.ipynb>`")
    assert "A section" in named["metadata"]["mystnb"]["image"]["alt"]
    assert named["metadata"]["tags"] == ["x"]
    assert other["metadata"]["mystnb"]["image"]["alt"] == "gain by rank"
    assert last == cells[-1]
    listed = (tmp_path / "to" / "index.rst").read_text()
    assert ":doc:`one_x`\n   What is learnt." in listed  # a notebook that no group names is listed, too


def test_the_list_of_notebooks_names_each_of_them(tmp_path):
    notebook_pages.write(DOCS.parent / "notebooks", tmp_path / "to")
    listed = re.findall(r"^:doc:`(\w+)`$", (tmp_path / "to" / "index.rst").read_text(), re.M)
    assert sorted(listed) == sorted(path.stem for path in (DOCS.parent / "notebooks").glob("*.ipynb"))
    described = re.findall(r"^   (.+)$", (tmp_path / "to" / "index.rst").read_text().replace(":hidden:", ""), re.M)
    assert {text[-1] for text in described if " " in text.strip()} == {"."}  # none ends before a list


def test_links_between_notebooks_show_titles(tmp_path):
    notebook_pages.write(DOCS.parent / "notebooks", tmp_path / "to")
    page = (tmp_path / "to" / "a_thousand_users.ipynb").read_text(encoding="utf-8")
    assert "[Calibrate time-biased gain from a log](calibrate_from_a_log.ipynb)" in page


def test_pages_of_removed_examples_go_and_others_stay(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures are the extra [plots]")
    import gallery_pictures

    for file in ("gallery/a/kept.py", "examples/a/kept.rst", "examples/a/gone.rst", "examples/a/index.rst"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    gallery_pictures.remove_stale(tmp_path / "gallery", tmp_path / "examples")
    assert sorted(path.name for path in (tmp_path / "examples" / "a").iterdir()) == ["index.rst", "kept.rst"]


# ---- the built site


@pytest.fixture(scope="module")
def site():
    """Return the folder of the built site; skip the test without one."""
    folder = os.environ.get("PYTERRIER_CWLA_SITE")
    if not folder:
        pytest.skip("PYTERRIER_CWLA_SITE does not name a built site (sphinx-build docs build/docs)")
    return Path(folder).resolve()


class Page(HTMLParser):
    """Links, ids, and elements of a page that show something from elsewhere."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.loaded, self.nameless = [], set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        of = dict(attrs)
        self.ids |= {of[name] for name in ("id", "name") if of.get(name)}
        if tag == "a" and of.get("href"):
            self.links.append(of["href"])
        if tag in ("img", "script", "iframe") and of.get("src"):
            self.loaded.append(of["src"])
        if tag == "link" and "stylesheet" in (of.get("rel") or ""):
            self.loaded.append(of["href"])
        if tag == "img" and of.get("alt") is None:
            self.nameless.append(of.get("src"))
        if tag == "svg" and of.get("role") == "img" and not of.get("aria-label"):
            self.nameless.append("svg")


@pytest.fixture(scope="module")
def parsed(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


@pytest.mark.slow
def test_internal_links_and_anchors_exist(site, parsed):
    broken = set()
    for path, found in parsed.items():
        for link in [*found.links, *found.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            exists = target.is_file() and target.is_relative_to(site)
            anchor = unquote(parts.fragment)
            if not exists or (anchor and target in parsed and anchor not in parsed[target].ids):
                broken.add((str(path.relative_to(site)), link))
    assert not broken


@pytest.mark.slow
def test_nothing_is_loaded_from_the_network_and_no_measure_is_a_mail_address(parsed):
    assert {src for found in parsed.values() for src in found.loaded if urlsplit(src).netloc} == set()
    assert {link for found in parsed.values() for link in found.links if link.startswith("mailto:")} == set()


@pytest.mark.slow
def test_each_picture_has_a_name(site, parsed):
    assert {str(path.relative_to(site)): found.nameless for path, found in parsed.items() if found.nameless} == {}


@pytest.mark.slow
def test_each_page_has_one_title(site, parsed):
    titles = {path: len(re.findall(r"<h1[ >]", path.read_text(encoding="utf-8"))) for path in parsed}
    wrong = {str(path.relative_to(site)) for path, number in titles.items() if number != 1}
    assert wrong <= {"search.html"}  # its script writes the title


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("page", TYPES)
def test_pages_fit_the_window(browser, site, page, width):
    with seen(browser, site / f"{page}.html", width):
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        cut = browser.execute_script("""
            const clipped = (e) => e && e !== document.body
                && (/auto|scroll/.test(getComputedStyle(e).overflowX) || clipped(e.parentElement));
            return [...document.querySelectorAll("article *")].filter((e) => e.getClientRects().length
                && e.getBoundingClientRect().right > innerWidth + 1 && !clipped(e)).map((e) => e.outerHTML.slice(0, 200))""")
    assert cut == []  # wide tables, code and pictures scroll within the page


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", TYPES)
def test_axe_finds_no_serious_violation(browser, site, page, scheme):
    for width in (1280, 400):
        with seen(browser, site / f"{page}.html", width, scheme):
            assert serious_violations(browser) == {}, f"at {width} px"
