"""Tests of the HTML report of a study, opened in a browser, of the files beside it, and of values in its pictures."""

import base64
import copy
import json
import pickle
import re
import shutil
import sys
import time
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from pyterrier_cwla import studies
from pyterrier_cwla.rendering.figures import inset_panels, label_ends, measure_look, name_columns, name_rows
from pyterrier_cwla.studies import Finding, Picture, Study, Table
from pyterrier_cwla.studies.report import _by_picture, picture_values
from tests.support.browsing import seen, serious_violations
from tests.support.messages import refused

HOSTILE = ["<script>window.hacked = 1</script>", '"><img src=x onerror="window.hacked = 2">', "R&D 'run' {{ 7 * 7 }}"]


@dataclass(frozen=True, eq=False, repr=False)
class Hostile(Study):
    """A study with names of runs that would break an unescaped page."""

    title: str = f"A study of {HOSTILE[0]}"
    about: dict = field(default_factory=lambda: {"runs": HOSTILE, "seed": 0, HOSTILE[1]: {HOSTILE[0]: HOSTILE[2]}})

    def tables(self):
        scores = pd.DataFrame({"run": HOSTILE, "τ": [0.5, -2.0, np.nan], "p": [np.inf, 1e-9, 0.25], "n": [3, 20, 100],
                               HOSTILE[1]: [True, False, True]})  # fmt: skip
        long = pd.DataFrame({"run": [f"run {i}" for i in range(1000)], "score": np.arange(1000) / 7})
        wide = pd.DataFrame(np.arange(60.0).reshape(2, 30), columns=[f"measure number {i}" for i in range(30)])
        mixed = pd.DataFrame({"parameter": ["p", "A"], "value": [0.5, "erg"]}).set_index(pd.Index([1, 2], name="value"))
        return {
            "mixed": Table("Mixed", "Numbers and texts.", mixed),
            "scores": Table("Scores", f"Of {HOSTILE[1]}.", scores),
            "long": Table("Long", "A thousand runs.", long.set_index("run")),
            "wide": Table("Wide", "Thirty measures.", wide),
        }

    def pictures(self):
        data = self.tables()["scores"].frame

        def draw(ax):
            ax.bar(data["run"], data["n"])
            ax.set_title(HOSTILE[0])
            return ax

        return {"bars": Picture("Bars", f"Bars of {HOSTILE[1]}.", draw, data)}

    def findings(self):
        return [f"{HOSTILE[0]} is above {HOSTILE[1]}.", "x" * 300]

    def limits(self):
        return [HOSTILE[2]]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return Hostile().report(tmp_path_factory.mktemp("study"))


def open_all(browser):
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")


def texts(browser, selector):
    return [one.text for one in browser.find_elements("css selector", selector)]


def column(browser, table, number):
    return texts(browser, f"#table-{table} tbody tr > :nth-child({number + 1})")


@pytest.mark.slow
def test_the_files(page, tmp_path):
    folder = page.parent
    tables = {f"tables/{name}.{kind}" for name in ("long", "mixed", "scores", "wide") for kind in ("csv", "parquet")}
    files = {"about.json", "manifest.json", "pictures/bars.png", "pictures/bars.svg", "report.html"}
    assert content(folder).keys() == files | tables
    scores = Hostile().tables()["scores"].frame
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "tables/scores.parquet"), scores)
    pd.testing.assert_frame_equal(pd.read_csv(folder / "tables/scores.csv"), scores, check_dtype=False)
    assert pd.read_parquet(folder / "tables/long.parquet")["run"].tolist()[-1] == "run 999"
    assert json.loads((folder / "about.json").read_text("utf-8"))["runs"] == HOSTILE
    for table in (pd.read_parquet(folder / "tables/mixed.parquet"), pd.read_csv(folder / "tables/mixed.csv")):
        assert table.columns.tolist() == ["value_", "parameter", "value"]
        assert table["value"].tolist() == ["0.5", "erg"], "numbers and texts of one column are texts"
    assert Hostile().report(tmp_path).read_bytes() == page.read_bytes()


@dataclass(frozen=True, eq=False, repr=False)
class Plain(Study):
    """A study with one table of a given name."""

    name: str = "scores"
    value: int = 1
    title: str = "A study"
    about: dict = field(default_factory=dict)

    def tables(self):
        return {self.name: Table("Scores", "Some.", pd.DataFrame({"value": [self.value]}))}

    def pictures(self):
        return {}

    def findings(self):
        return []


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_force_replaces_the_report_before_and_nothing_else(tmp_path):
    """Without force no report is replaced; whether it was edited is not known."""
    Hostile().report(tmp_path)
    (tmp_path / "tables/notes.csv").write_text("of the user")
    (tmp_path / "pictures/photo.png").write_text("of the user")
    for changed in ("tables/notes.csv", "tables/scores.csv", "report.html"):
        (tmp_path / changed).write_text("changed")
        before = content(tmp_path)
        for study in (Hostile(), Plain("third", title="Another")):
            refused(partial(study.report, tmp_path), "the file exists")
        assert content(tmp_path) == before
    Plain().report(tmp_path, force=True)
    assert content(tmp_path).keys() == {
        "about.json", "manifest.json", "pictures/photo.png", "report.html", "tables/notes.csv", "tables/scores.csv",
        "tables/scores.parquet",
    }  # fmt: skip
    listed = json.loads((tmp_path / "manifest.json").read_text())["files"]
    assert listed == ["about.json", "report.html", "tables/scores.csv", "tables/scores.parquet"]
    assert Plain("other").report(tmp_path, force=True).is_file()
    assert "tables/scores.csv" not in content(tmp_path)


FORCE, MOVE = " with force=True", ", or move the file away: it is not of a rep"


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "cure"), [
    ("report.html", FORCE), ("about.json", FORCE), ("tables/scores.csv", FORCE), ("manifest.json", FORCE),
    ("tables/notes.csv", MOVE), ("pictures/photo.png", MOVE),
])  # fmt: skip
def test_existing_files_are_replaced_with_force_alone(name, cure, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text('{"files": []}')
    before = content(tmp_path)
    refused(lambda: Plain().report(tmp_path), f"{name}: the file exists. Write", " to another folder", cure)
    assert content(tmp_path) == before
    if cure == FORCE:
        Plain().report(tmp_path, force=True)
        assert content(tmp_path)[name] != before[name]


NO_MANIFEST = ["", "[]", "{}", '{"files": {}}', '{"files": ["report.html", 3]}', "[" * 100_000]
NO_FILES = ["../victim.csv", "/etc/passwd", "tables/../../victim.csv", "victim.csv", "tables\\..\\x.csv", "tables/x"]


@pytest.mark.every_case
@pytest.mark.parametrize("text", [*NO_MANIFEST, *(json.dumps({"files": [name]}) for name in NO_FILES)])
def test_a_manifest_lists_files_of_a_report_only(text, tmp_path):
    says = ["is in the way"] if text in NO_MANIFEST else ["lists ", ", which is not a file of a report"]
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "victim.csv").write_text("of the user")
    (folder / "manifest.json").write_text(text)
    before = content(tmp_path)
    refused(lambda: Plain().report(folder, force=True), "manifest.json: ", *says)
    assert content(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("link", ["tables", "report.html", "manifest.json", "tables/scores.csv"])
def test_links_are_not_followed(link, tmp_path):
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    Plain().report(folder)
    Plain().report(outside)
    before = content(outside)
    if link == "tables":
        shutil.rmtree(folder / link)
    else:
        (folder / link).unlink()
    (folder / link).symlink_to(outside / link)
    refused(lambda: Plain(value=2).report(folder, force=True), f"{link}: is in the way")
    assert content(outside) == before


@pytest.mark.slow
def test_names_that_leave_the_folder_and_folders_that_cannot_be(tmp_path):
    for name in ("../x", "a/b", "/x", "a\\b"):
        refused(partial(Plain(name).report, tmp_path / "folder"), "is not a valid file name of a report")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    refused(lambda: Hostile().report(tmp_path / "file" / "study"), "file/study")


@pytest.mark.slow
def test_an_interrupted_report_can_be_written_again(tmp_path, monkeypatch):
    from pyterrier_cwla.files import atomic

    real, left = atomic.os.replace, []

    def tired(part, place):
        left.append(place)
        if len(left) == stop:
            raise KeyboardInterrupt
        real(part, place)

    for stop in range(1, 7):
        folder = tmp_path / str(stop)
        Plain("old").report(folder)
        left.clear()
        with monkeypatch.context() as patched:
            patched.setattr(atomic.os, "replace", tired)
            with pytest.raises(KeyboardInterrupt):
                Plain(value=2).report(folder, force=True)
        assert (folder / "report.html").exists() == (stop in (1, 6))
        assert not list(folder.rglob(".part-*"))
        Plain(value=3).report(folder, force=True)
        assert {*content(folder)} == {
            "about.json", "manifest.json", "report.html", "tables/scores.csv", "tables/scores.parquet"
        }  # fmt: skip


def test_the_page_needs_nothing_else(page):
    text = page.read_text("utf-8")
    attributes = re.findall(r'<[^>"]*(?:"[^"]*"[^>"]*)*\s(?:xlink:)?(?:href|src)="([^"]*)', text)
    links = {*attributes, *re.findall(r"url\((.*?)\)", text)}
    assert links
    assert all(link.startswith("#picture-bars-") for link in links)
    namespaces = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "http-equiv")
    assert "http" not in re.sub("|".join(namespaces), "", text)
    assert not any(name in text for name in HOSTILE)
    assert text.count("<script") == 1


@pytest.mark.slow
def test_the_page_in_a_browser(page, browser):
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    assert browser.execute_script("return [window.hacked === undefined, document.scripts.length]") == [True, 1]
    assert browser.title == browser.find_element("tag name", "h1").text == f"A study of {HOSTILE[0]}"
    open_all(browser)
    assert column(browser, "scores", 0) == HOSTILE
    assert HOSTILE[2] in browser.find_element("id", "limits").text
    assert browser.find_element("id", "headline").text == f"{HOSTILE[0]} is above {HOSTILE[1]}."
    pictures = "return Array.from(document.querySelectorAll('svg'), one => [one.getBBox().width > 100, one.ariaLabel])"
    assert browser.execute_script(pictures) == [[True, f"Bars: Bars of {HOSTILE[1]}."]]


@pytest.mark.slow
def test_tables_are_sorted_by_their_heads(page, browser):
    browser.get(page.as_uri())
    open_all(browser)
    heads = browser.find_elements("css selector", "#table-scores th button")
    for number, rising in [(1, ["−2.0", "0.5", "–"]), (2, ["1.0e-09", "0.25", "∞"]), (3, ["3", "20", "100"])]:
        heads[number].click()
        assert column(browser, "scores", number) == rising
        assert heads[number].find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
        heads[number].click()
        falling = [text for text in rising[::-1] if text != "–"]
        assert column(browser, "scores", number) == falling + ["–"] * (3 - len(falling))
    assert len(browser.find_elements("css selector", "th[aria-sort]")) == 1
    assert "The first 300 of 1,000 rows" in browser.find_element("id", "table-long").text


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280, 1600])
def test_the_page_is_readable_at_any_width(page, browser, width, scheme):
    with seen(browser, page, width, scheme):
        open_all(browser)
        root = "document.documentElement"
        shown, needed = browser.execute_script(f"return [{root}.clientWidth, {root}.scrollWidth]")
        assert width - 20 <= shown == needed, "but for the scroll bar"
        letters = "document.querySelectorAll('main *:not(svg *)'), one => parseFloat(getComputedStyle(one).fontSize)"
        assert browser.execute_script(f"return Math.min(...Array.from({letters}))") >= 14
        widths = browser.execute_script("return Array.from(document.querySelectorAll('svg'), one => one.clientWidth)")
        assert all(36 * 16 <= one <= 48 * 16 for one in widths), "letters of pictures stay legible"
        time.sleep(0.1)  # the event of opened details
        cut = (
            "return Array.from(document.querySelectorAll('.scrolls, .drawing')).every(one =>"
            " one.previousElementSibling.hidden === (one.scrollWidth <= one.clientWidth))"
        )
        assert browser.execute_script(cut), "what is cut has a hint"
        colours = browser.execute_script(
            "const of = one => getComputedStyle(one);"
            "return [of(document.body).backgroundColor, of(document.querySelector('svg')).color]"
        )
        light, dark = ("rgb(255, 255, 255)", "rgb(29, 29, 29)"), ("rgb(19, 20, 22)", "rgb(233, 233, 233)")
        assert tuple(colours) == (light if scheme == "light" else dark)


@dataclass(frozen=True, eq=False, repr=False)
class Lines(Study):
    """A study with two pictures of two measures, and findings that rest on them."""

    title: str = "Two measures"
    about: dict = field(
        default_factory=lambda: {"measures": ["AP", "p"], "alpha": 0.05, "coefficient": "tau_b", "error": 1 / 3}
    )

    def tables(self):
        frame = pd.DataFrame({"measure": ["AP", "p"], "tau": [0.5, 0.25], "tau_low": [0.4, 0.125], "tau_high": [0.6, 1],
                              "p": [0.1, 0.2], "needed_median": [3.0, 4.0], "compared_with": [None, "AP"]})  # fmt: skip
        return {"of": Table("Numbers", "Of two measures.", frame)}

    def pictures(self):
        curves = {"AP": ([1, 2, 3], [0.1, 0.2, 0.3]), "p": ([1, 2, 3], [0.3, 0.2, 0.25])}

        def draw(ax):
            looks = {name: measure_look(number) for number, name in enumerate(curves)}
            for name, curve in curves.items():
                ax.plot(*curve, label=name, **looks[name])
            ax.set_xlabel("rank")
            ax.set_ylabel("score")
            label_ends(ax, curves, looks)
            return ax

        data = pd.DataFrame({"rank": [1, 2, 3], "AP": curves["AP"][1], "p": curves["p"][1]})
        return {name: Picture(name.title(), "Of two measures.", draw, data) for name in ("one", "other", "unused")}

    def headline(self):
        return "AP rises."

    def findings(self):
        of = ["one", "one", "one", "other", None, "other", "missing", "one"]
        return [Finding(f"Finding {number}.", name) for number, name in enumerate(of, 1)]


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    return Lines().report(tmp_path_factory.mktemp("lines"))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_axe_finds_no_serious_violation(page, lines, browser, width, scheme):
    for one in (page, lines):
        with seen(browser, one, width, scheme):
            open_all(browser)
            assert serious_violations(browser) == {}


@pytest.mark.slow
def test_a_finding_is_beside_its_picture(lines, browser):
    with seen(browser, lines):
        assert texts(browser, "#headline") == ["AP rises."]
        groups = browser.find_elements("class name", "finding")
        expected = [[f"Finding {number}." for number in of] for of in ((1, 2), (4, 6), (5,))]
        assert [texts(group, "li") for group in groups] == expected
        assert [texts(group, ".title") for group in groups] == [["One"], ["Other"], []]
        assert texts(browser, "summary") == [
            "More findings (3)", "Picture: Unused", "Table: Numbers (2 rows)", "How it was computed"
        ]  # fmt: skip
        assert texts(browser, "#other-findings li") == ["", "", ""], "closed"


@pytest.mark.slow
def test_tables_have_words_and_intervals_in_one_column(lines, browser):
    with seen(browser, lines):
        open_all(browser)
        heads = ["measure", "Kendall's τ [interval]", "p", "required difference (median)", "compared with"]
        assert texts(browser, "#table-of thead th") == heads
        assert column(browser, "of", 1) == ["0.500 [0.400, 0.600]", "0.250 [0.125, 1.000]"]
        assert column(browser, "of", 3) == ["3", "4"]
        assert column(browser, "of", 4) == ["–", "AP"]
        settings = browser.find_element("id", "about").text
        assert all(text in settings for text in ("level of significance", "Kendall's τ_b", "error\n0.3333"))
    of_file = "measure tau tau_low tau_high p needed_median compared_with"
    assert " ".join(pd.read_csv(lines.parent / "tables/of.csv")) == of_file


@pytest.mark.slow
def test_values_are_shown_at_points_and_measures_are_highlighted(lines, browser):
    with seen(browser, lines):
        drawing, box = (browser.find_element("css selector", of) for of in ("#picture-one .drawing", "#value"))
        assert not box.is_displayed()
        drawing.send_keys("\ue014")
        assert box.text == "AP\nscore: 0.1\nrank: 1"
        drawing.send_keys("\ue012")
        assert box.text == "p\nscore: 0.25\nrank: 3"
        circle = browser.execute_script("return document.querySelector('.spot').getBoundingClientRect().toJSON()")
        drawing.send_keys("\ue00c")
        assert not box.is_displayed()
        event = "document.querySelector('#picture-one .drawing').dispatchEvent(new PointerEvent('pointermove', "
        middle = [circle["x"] + circle["width"] / 2 + 3, circle["y"] + circle["height"] / 2]
        browser.execute_script(event + "{clientX: arguments[0], clientY: arguments[1]}))", *middle)
        assert box.text == "p\nscore: 0.25\nrank: 3"
        assert texts(browser, "#picture-one .series button") == ["AP", "p"]
        button = browser.find_element("css selector", "#picture-one .series button")
        browser.find_element("css selector", "#picture-other .series button").click()
        faded = "return Array.from(document.querySelectorAll('.faded'), one => one.id)"
        shown = browser.execute_script(faded)
        assert {one.split("-series-")[0] for one in shown} == {"picture-one", "picture-other", "picture-unused"}
        assert {one.split("-series-")[1] for one in shown} == {"1-0", "1-1"}, "line and label of the other measure"
        assert button.get_attribute("aria-pressed") == "true"
        button.click()
        assert browser.execute_script(faded) == []


@pytest.mark.slow
def test_the_page_is_printed_with_pictures_and_small_tables(lines, browser, page):
    for path in (lines, page):
        with seen(browser, path):
            pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"])
            assert 1 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 4
            assert not browser.find_elements("css selector", "details[open]"), "closed again"
    with seen(browser, lines):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        root = browser.find_element("tag name", "main")
        assert {"Picture: Unused", "Finding 8.", "level of significance"} <= set(root.text.split("\n"))
        assert "0.500 [0.400, 0.600]" in root.text
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.slow
def test_a_study_in_a_notebook_shows_headline_picture_and_table():
    html = Lines()._repr_html_()
    assert html.startswith("<p><b>AP rises.</b><br>Two measures</p>")
    assert html.count("<svg") == 1
    assert html.index("<svg") < html.index("<table") < html.index("What was found")
    assert "Kendall&#x27;s τ [interval]" in html or "Kendall's τ [interval]" in html
    assert not any(name in Hostile()._repr_html_() for name in HOSTILE)
    assert "Long" not in Plain()._repr_html_()
    assert "A study" in Plain()._repr_html_(), "without findings and pictures"


def test_the_first_finding_is_the_headline_and_each_has_a_picture():
    assert Hostile().headline() == Hostile().findings()[0]
    assert Plain().headline() == "A study"
    assert repr(Lines()).startswith("Two measures\nAP rises.\nWhat was found:")
    found = Finding("AP is best.", "power")
    assert found == "AP is best."
    assert pickle.loads(pickle.dumps(found)).picture == copy.copy(found).picture == "power"
    assert Finding("x").picture is None
    found = [Finding(str(number), "one") for number in range(4)]
    assert _by_picture(found, ["one"]) == ([("one", ["0", "1", "2"])], ["3"])
    assert _by_picture([], []) == ([], [])


def test_each_study_opens_with_its_question_method_and_limits():
    named = [getattr(studies, name) for name in dir(studies)]
    results = [one for one in named if isinstance(one, type) and issubclass(one, Study) and one is not Study]
    assert len(results) > 8
    for name in {one.__module__ for one in results}:
        doc = sys.modules[name].__doc__
        assert [part in doc for part in ("Question: ", "Method: ", "Not to conclude: ")] == [True] * 3, name


NOTHING = pd.DataFrame()


@pytest.fixture
def ax():
    return Figure().subplots()


def shown(ax, data=NOTHING):
    return [text for *_, text in picture_values(ax.figure, data)["points"]]


@pytest.mark.slow
def test_lines_have_labels_and_bands_and_texts_belong(ax):
    curves = {"AP, all": ([1, 2], [0.5, 1.0]), "P$5": ([1, 2], [0.5, np.nan])}
    looks = {name: measure_look(number) for number, name in enumerate(curves)}
    for name, curve in curves.items():
        ax.plot(*curve, label=name, **looks[name])
        ax.fill_between(curve[0], 0, 1, label=name, color=looks[name]["color"], alpha=0.1)
    ax.axhline(0.9, color="grey")
    ax.set_xlim(1, 3)
    ax.set_ylim(0, 1)
    label_ends(ax, curves, looks)
    found = picture_values(ax.figure, NOTHING)
    assert [(one["name"], len(one["ids"])) for one in found["series"]] == [("AP, all", 3), ("P$5", 3)]
    assert [text for *_, text in found["points"]] == ["AP, all\n0.5\n1", "AP, all\n1\n2", "P$5\n0.5\n1"]
    assert found["points"][1][:3] == [0, 0.5, 1.0]
    gids = [artist.get_gid() for artist in (*ax.lines, *ax.collections, *ax.texts)]
    assert sorted(filter(None, gids)) == sorted(gid for one in found["series"] for gid in one["ids"])
    ax, names = Figure().subplots(), ["AP", "RR"]
    looks = {name: measure_look(number) for number, name in enumerate(names)}
    ax.set_ylabel("score")
    for name, one in zip(names, inset_panels(ax, names, looks), strict=True):
        one.plot([1], [0.5], label=name, **looks[name])
        one.plot([1], [0.7], color="grey", alpha=0.5)
    found = picture_values(ax.figure, NOTHING)
    assert [text for *_, text in found["points"]] == ["AP\nscore: 0.5\n1", "RR\nscore: 0.5\n1"]
    assert [one["name"] for one in found["series"]] == names


def test_values_have_the_unit_of_the_axis(ax):
    ax.plot([0.01, 0.025, 1.0, 2.0], [0, 1, 2, 3])
    ax.set_xlabel("kept\n(%)")
    ax.fmt_xdata = lambda x: "all" if x == 2 else f"{100 * x:g}"
    assert shown(ax) == [
        "0\nkept (%): 1", "1\nkept (%): 2.5", "2\nkept (%): 100", "3\nkept (%): all",
    ]  # fmt: skip
    ax = Figure().subplots()
    ax.scatter([-0.5, 0.25], [0, 1.2])
    ax.set_xlabel("τ")
    name_rows(ax, [0, 1], ["nDCG@10", "RR"])
    assert shown(ax) == ["nDCG@10\nτ: −0.5", "RR\nτ: 0.25"]
    ax, whole = Figure().subplots(), "a name that is broken into lines " * 3
    ax.plot([0, 1], [0.5, 1])
    name_columns(ax, [0, 1], [whole, "2"])
    assert shown(ax) == [f"0.5\n{whole}", "1\n2"]
    ax = Figure().subplots()
    ax.bar([0, 1], [0.25, 0.5], label="1")
    ax.bar([0, 1], [0.75, 0.5], bottom=[0.25, 0.5], label="2")
    ax.set_ylabel("share")
    assert shown(ax) == ["1\nshare: 0.25", "1\nshare: 0.5", "2\nshare: 0.75", "2\nshare: 0.5"]


@pytest.mark.slow
def test_points_have_the_name_of_their_only_row(ax):
    ax.plot([0.1, 0.2, 0.3], [1, 2, 3], "o")
    data = pd.DataFrame({"run": ["a", "b", "c", "d"], "x": [0.1, 0.2, 0.3, 0.3], "y": [1.0, 2.0, 3.0, 3.0]})
    assert shown(ax, data) == ["a\n1\n0.1", "b\n2\n0.2", "3\n0.3"]
    ax = Figure().subplots()
    assert picture_values(ax.figure, NOTHING) == {"series": [], "points": []}
    ax.plot(np.arange(4000.0), np.arange(4000.0))
    assert picture_values(ax.figure, NOTHING) == {"series": [], "points": []}
