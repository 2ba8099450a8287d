"""Tests of the built site: links, names of pictures, width and accessibility.

PYTERRIER_CWLA_SITE names the folder of a built site, and PYTERRIER_CWLA_AXE the file axe.min.js of axe-core. ``.ci/run``
sets both.
"""

import os
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import explorer_page
import pytest

from tests.support.browsing import seen, serious_violations

#: One page of each type.
TYPES = ["index", "tutorials/index", "tutorials/first_comparison", "examples/index", "examples/rankings/explain_a_score", "notebooks/index", "notebooks/compare_your_own_runs", "guide", "explorer", "explore", "learning", "measures/index", "measures/TBG", "parts/continuations", "api", "api/group-evaluation", "api/behaviour.InteractionLog", "contributing", "benchmarks", "search", "genindex"]  # fmt: skip


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


def test_internal_links_and_anchors_exist(site, parsed):
    broken, openings = set(), {f"measure={preset.name}" for preset in explorer_page.MEASURES}
    for path, found in parsed.items():
        for link in [*found.links, *found.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            exists = target.is_file() and target.is_relative_to(site)
            anchor = unquote(parts.fragment)
            if target.name == explorer_page.NAME and anchor in openings:
                anchor = ""
            if not exists or (anchor and target in parsed and anchor not in parsed[target].ids):
                broken.add((str(path.relative_to(site)), link))
    assert not broken


def test_pages_have_one_title_named_pictures_and_load_nothing(parsed, site):
    assert {src for found in parsed.values() for src in found.loaded if urlsplit(src).netloc} == set()
    assert {link for found in parsed.values() for link in found.links if link.startswith("mailto:")} == set()
    assert {str(path.relative_to(site)): found.nameless for path, found in parsed.items() if found.nameless} == {}
    titles = {path: len(re.findall(r"<h1[ >]", path.read_text(encoding="utf-8"))) for path in parsed}
    wrong = {str(path.relative_to(site)) for path, number in titles.items() if number != 1}
    assert wrong <= {"search.html"}  # its script writes the title


def test_a_search_finds_the_wanted_page_first(browser, site):
    """What readers look for, and the full name of each measure."""
    root = Path(__file__).parents[2]
    wanted = tomllib.loads((root / "docs/searches.toml").read_text(encoding="utf-8"))
    page_of = {text: page for page, texts in wanted.items() for text in texts}
    for path in (root / "pyterrier_cwla/pt_docs/measures").glob("*.rst"):
        if title := re.search(r"^\w+: (.+)\n=+$", path.read_text(encoding="utf-8"), flags=re.M):
            page_of[title[1]] = f"measures/{path.stem}"
    with seen(browser, site / "search.html"):
        found = browser.execute_async_script(
            """
            const [texts, done] = arguments;
            const first = (text) => Search._performSearch(...Search._parseQuery(text)).at(-1)?.[0];
            (function look() { Search._index ? done(texts.map(first)) : setTimeout(look, 50); })()""",
            [*page_of],
        )
    assert dict(zip(page_of, found)) == page_of


DARK = ["index", "examples/rankings/explain_a_score", "notebooks/compare_your_own_runs", "explorer", "explore",
        "measures/TBG", "api"]  # fmt: skip
SEEN = [(page, width, "light") for page in TYPES for width in (1280, 400)]
SEEN += [*((page, 1280, "dark") for page in DARK), ("explore", 400, "dark")]


@pytest.mark.parametrize(("page", "width", "scheme"), SEEN)
def test_pages_fit_the_window_without_serious_violations(browser, site, page, width, scheme):
    with seen(browser, site / f"{page}.html", width, scheme):
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        cut = browser.execute_script("""
            const clipped = (e) => e && e !== document.body
                && (/auto|scroll/.test(getComputedStyle(e).overflowX) || clipped(e.parentElement));
            return [...document.querySelectorAll("article *")].filter((e) => e.getClientRects().length
                && e.getBoundingClientRect().right > innerWidth + 1 && !clipped(e)).map((e) => e.outerHTML.slice(0, 200))""")
        assert serious_violations(browser) == {}
    assert cut == []  # wide tables, code and pictures scroll within the page
