"""The explorer's page of the site: its numbers are those of explain and evaluate; it opens from a file and asks for nothing."""

import base64
import gzip
import json
import re
from html import unescape
from pathlib import Path

import explorer_page
import pytest

from pyterrier_cwla import explain
from pyterrier_cwla.measures.named import measures_of
from tests.explorer.open_page import Page, computed, digits
from tests.support.browsing import seen, seen_at

DOCS = Path(__file__).parents[2] / "docs"


pytestmark = pytest.mark.slow

SMALL = [explorer_page.MEASURES[0], next(one for one in explorer_page.MEASURES if one.name == "TBG")]
PAIRS = [pair.name for pair in explorer_page.PAIRS]
ABOUT = {pair.name: pair.about for pair in explorer_page.PAIRS}


def known_of(html):
    start = json.loads(re.search(r"<script[^>]*>(.*?)</script>", html, re.S)[1])
    return json.loads(gzip.decompress(base64.b64decode(start["presets"])))


@pytest.fixture(scope="module")
def small():
    return explorer_page.written(SMALL)


def explained(text, topic):
    qrels, runs, lengths = explorer_page.collection_of()
    measure = measures_of([text])[0]
    return explain(qrels, runs, topic, measure(lengths=lengths) if text.startswith("TBG") else measure).explanations


def test_every_value_of_every_slider_has_the_numbers_of_explain(small):
    known = known_of(small)
    assert [*known["answers"]] == PAIRS
    texts = set()
    for preset in SMALL:
        for topic in PAIRS:
            states = known["answers"][topic][preset.name]["states"]
            assert len(states) == len(preset.values)
            for value, state in zip(preset.values, states, strict=True):
                slider = next(one for one in state["controls"] if one["kind"] == "number")
                assert (slider["path"], slider["value"], slider["steps"]) == (preset.path, value, [*preset.values])
                texts.add(text := state["measure"]["text"])
                for shown, of in zip(state["rankings"], explained(text, topic).values(), strict=True):
                    assert shown["score"] == f"{of.score:.4f}", (text, topic)
                    assert shown["columns"]["V"] == digits(of.table["V"][: shown["shown"]]), (text, topic)
    assert texts == {*known["texts"]}
    assert len(texts) == sum(len(preset.values) for preset in SMALL)


def test_only_what_is_computed_can_be_chosen(small):
    known = known_of(small)
    for answers in known["answers"].values():
        for preset in SMALL:
            for state in answers[preset.name]["states"]:
                measure, *others = state["controls"]
                assert measure["value"] == preset.name
                assert [option["value"] for option in measure["options"]] == [one.name for one in SMALL]
                assert [one["path"] for one in others if one["kind"] == "number"] == [preset.path]
                assert all(len(one["options"]) == 1 for one in others if one["kind"] == "choice")
            assert answers[preset.name]["sweep"]["path"] == preset.path
    assert known["topics"]["RBP"][3]["rows"][0]["scores"]
    exploration = explorer_page.exploration_of()
    for preset in explorer_page.MEASURES:
        for value in preset.values:
            state = exploration.answer({"measure": preset.measure, "set": {preset.path: value}})
            control = next(one for one in state["controls"] if one["path"] == preset.path)
            assert float(control["value"]) == float(value)


def test_the_page_can_load_nothing_from_elsewhere(small):
    elements = re.sub(r"(<script[^>]*>).*?</script>", r"\1", small, flags=re.S)
    loads = re.findall(r"\s(?:src|href|srcset|data)=\W?([\w.]+)", elements)
    assert loads == ["explorer.html"]  # the link to its description
    policy = unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', small)[1])
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    addresses = set(re.findall(r"https?://[^\s\"'<]+", small))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"fetch\(|XMLHttpRequest|@import|url\(", small)
    wrong = explorer_page.Preset("RBP", "RBP", "RBP(rel=1)", "p", ("0.5", "1.5"))
    with pytest.raises(ValueError, match=r"'p': '1.5'.*p must be"):
        explorer_page.written([wrong])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / explorer_page.NAME
    path.write_text(explorer_page.written(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def known(page):
    return known_of(page.read_text(encoding="utf-8"))


class Shown(Page):
    """The open page of the site, on which measures and topics are chosen from lists."""

    def changed(self, selector, event, value):
        script = """const one = document.querySelector(arguments[0]);
            one.value = arguments[2]; one.dispatchEvent(new Event(arguments[1], {bubbles: true}))"""
        self.browser.execute_script(script, selector, event, value)

    def choose(self, name):
        self.changed('[data-path="measure"] select', "change", name)

    def open_topic(self, name):
        topics = "[...document.querySelectorAll('[data-topic]')]"
        self.browser.execute_script(f"{topics}.find((one) => one.dataset.topic === arguments[0]).click()", name)
        self.until(lambda: self.texts(".cwla-about") == [ABOUT[name]])
        self.until(lambda: self.find(".cwla-field select").get_property("value") == name)


@pytest.mark.nightly
def test_the_page_is_small_and_has_all_presets(page, known):
    assert page.stat().st_size < 2_000_000
    names = [preset.name for preset in explorer_page.MEASURES]
    assert {topic: [*answers] for topic, answers in known["answers"].items()} == dict.fromkeys(PAIRS, names)
    for pair in explorer_page.PAIRS:
        assert len(pair.A.split()) == len(pair.B.split()) == 12
        assert pair.about.endswith(".")
    qrels, runs, lengths = explorer_page.collection_of()
    assert {doc_id for run in runs.values() for ranks in run.values() for doc_id in ranks} == {*lengths}
    assert {grade for grades in qrels.values() for grade in grades.values()} == {0, 1, 2}


@pytest.mark.parametrize("topic", PAIRS)
@pytest.mark.nightly
def test_presets_show_explain_s_numbers_at_both_ends(browser, page, known, topic):
    texts = {(name, at): text for text, (name, at) in known["texts"].items()}
    with seen(browser, page):
        shown = Shown(browser)
        shown.open_topic(topic)
        for preset in explorer_page.MEASURES:
            shown.choose(preset.name)
            shown.until(lambda name=preset.name: shown.measure == texts[name, known["measures"][name]["start"]])
            for at in (0, len(preset.values) - 1):
                shown.slide(preset.path, at)
                shown.until(lambda name=preset.name, at=at: shown.measure == texts[name, at])
                shown.agrees_with([*explained(shown.measure, topic).values()])


@pytest.mark.nightly
def test_sweeps_and_topics_follow_the_choices_and_nothing_is_asked(browser, page, known):
    browser.get_log("browser")
    with seen(browser, page):
        shown = Shown(browser)
        assert shown.texts(".cwla-wins") == ["A scores higher for φ below 0.8094; B for φ above 0.8094."]
        shown.choose("INST")
        shown.open_topic(PAIRS[1])
        wanted = known["answers"][PAIRS[1]]["INST"]["sweep"]["sentence"]
        shown.until(lambda: shown.texts(".cwla-wins") == [wanted])
        at = known["measures"]["INST"]["start"]
        of_topics = [row["topic"] for row in known["topics"]["INST"][at]["rows"]]
        shown.until(lambda: shown.texts("[data-topic]") == of_topics)
        assert browser.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)") == []
        assert browser.get_log("browser") == []
        editable = "return [...document.querySelectorAll('input[type=text]')].filter((one) => !one.readOnly).length"
        assert browser.execute_script(editable) == 0
        assert shown.all("button.cwla-grade, .cwla-move, tr[draggable]") == []
        assert "computed" in shown.texts(".cwla-note")[0]


def test_links_lessons_and_code_of_the_site(browser, tmp_path):
    path = tmp_path / explorer_page.NAME
    path.write_text(explorer_page.written(), encoding="utf-8")
    with seen_at(browser, f"{path.as_uri()}#measure=Cascade"):
        shown = Shown(browser)
        shown.until(lambda: shown.measure.startswith("Cascade("))
        for lesson in shown.all(".cwla-lessons button"):
            lesson.click()
            shown.until(lambda lesson=lesson: shown.texts(".cwla-lesson") != [""])
        shown.until(lambda: shown.texts("h3 bdi") == ["A", "B"])
        browser.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        browser.find_element("xpath", "//button[.='Copy Python code']").click()
        shown.until(lambda: browser.execute_script("return window.copied"))
        assert shown.scores() == digits(computed(browser.execute_script("return window.copied")))
        assert shown.texts("[role=alert]") == [""]
