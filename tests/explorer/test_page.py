"""The explorer's page in Chromium, served as by the shell: all that it shows are numbers of explain and score."""

import time
from contextlib import ExitStack

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

import pyterrier_cwla
from pyterrier_cwla import explain, score
from pyterrier_cwla.errors.sanitise import harmless
from pyterrier_cwla.explorer import Exploration
from pyterrier_cwla.measures.named import measure_of
from tests.explorer.open_page import Page, computed
from tests.explorer.serving import served
from tests.support.browsing import seen_at, serious_violations

pytestmark = pytest.mark.slow

HOSTILE = '<img src=x onerror="document.title=1">'
GRADES = {"A": [2, 0, 1, None, 0, 0, 1, 0, 0, 0, 0, 1], "B": [0, 2, 1, 1, 0, None, 0, 0, 1, 0, 0, 0]}
QRELS = {"q1": {HOSTILE: 2, "b": 0, "c": 1, "z": 1}, "q2": {HOSTILE: 1, "d": 0}}
RUNS = {"old</script>": {"q1": {HOSTILE: 9.0, "b": 8.0, "x": 7.0, "c": 6.0}, "q2": {"d": 2.0, HOSTILE: 1.0}},
        "new": {"q1": {"b": 9.0, "c": 8.0, HOSTILE: 7.0}, "q2": {HOSTILE: 2.0, "d": 1.0}}}  # fmt: skip
WORDS = {HOSTILE: 100.0, "b": 200.0, "c": 300.0, "d": 400.0, "x": 500.0, "z": 600.0}


@pytest.fixture
def opened(browser):
    """Return a function that serves an exploration and opens its page."""
    with ExitStack() as running:

        def open_page(exploration, **how):
            address = running.enter_context(served(exploration)).address
            running.enter_context(seen_at(browser, address, **how))
            return Page(browser)

        yield open_page


def test_sliders_grades_and_order_give_the_numbers_of_score(opened):
    page = opened(Exploration.of_grades({"A": GRADES["A"]}))
    grades = list(GRADES["A"])

    def shown(C="rbp(0.5)"):
        return [f"{score(grades, C=C, A='erg', max_rel=2):.4f}"]

    page.until_scores(shown("rbp(0.8)"))
    page.slide("C.phi", 100)
    page.until_scores(shown())
    assert page.control("C.phi").find_element(By.CSS_SELECTOR, "[type=range]").get_attribute("aria-valuetext") == "0.5"
    assert page.measure == "CWLA(C='rbp(0.5)',A='erg',max_rel=2)"
    page.all("button.cwla-grade")[1].click()
    grades[1] = 1
    page.until_scores(shown())
    page.all('[data-way="up"]')[2].click()
    grades[1], grades[2] = grades[2], grades[1]
    page.until_scores(shown())
    page.until(lambda: page.ids(0)[:3] == ["d1", "d3", "d2"])
    rows = page.all("tbody tr[draggable] th")
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", rows[1])
    ActionChains(page.browser).click_and_hold(rows[0]).move_to_element(rows[2]).move_by_offset(0, 2).release().perform()
    grades = [*grades[1:3], grades[0], *grades[3:]]
    page.until_scores(shown())
    assert page.ids(0)[:3] == ["d3", "d2", "d1"]
    assert not page.errors()


def test_errors_stand_beside_their_control_or_field(opened):
    page = opened(Exploration.of_grades(GRADES))
    before = page.scores()
    page.typed("RPB(p=0.5)")
    page.until(lambda: "RPB" in page.find("[role=alert]").text)
    assert page.scores() == before
    page.typed("AP")
    page.until(lambda: page.scores() != before)
    assert page.find("[role=alert]").text == ""
    page = opened(Exploration.of_grades(GRADES))
    exact = page.control("C.phi").find_element(By.CSS_SELECTOR, ".cwla-exact")
    exact.send_keys(Keys.CONTROL, "a")
    exact.send_keys("1.5", Keys.TAB)
    page.until(lambda: "phi must be a number in [0, 1)" in page.control("C.phi").text)
    assert page.control("C.phi").find_element(By.CSS_SELECTOR, "[role=alert]")
    assert exact.get_attribute("value") == "0.8"
    page = opened(Exploration.of_grades([1, None]))
    before = page.scores()
    page.find("button.cwla-grade").click()
    page.until(lambda: "no document of the topic is judged" in page.find("[role=alert]").text)
    assert page.texts("button.cwla-grade") == ["1", "not judged"]
    page.slide("C.phi", 100)  # later changes are not refused for the same reason
    page.until_scores([f"{score([1, np.nan], C='rbp(0.5)', A='erg'):.4f}"])
    assert page.scores() != before
    assert page.find("[role=alert]").text == ""


def test_flips_sweeps_ranks_and_choices(opened):
    page = opened(Exploration.of_grades({"A": [1, 0, 0, 0], "B": [0, 1, 1, 1]}))
    (flip,) = page.all(".cwla-flips span")
    assert "0.5437" in flip.get_attribute("title")
    range_ = page.control("C.phi").find_element(By.CSS_SELECTOR, "[type=range]").rect
    share = (flip.rect["x"] + 1 - range_["x"] - 8) / (range_["width"] - 16)
    assert share == pytest.approx(0.5437 / 0.995, abs=0.03)
    assert page.find(".cwla-wins").text == "A scores higher for φ below 0.5437; B for φ above 0.5437."
    assert "0.5437" in page.find(".cwla-sweep svg").text
    rank = page.find(".cwla-field input[type=number]")
    rank.clear()
    rank.send_keys("3")
    page.until(lambda: "Rank 3: 64 % of the users see it" in page.find(".cwla-answer").text)
    page.find(".cwla-five summary").click()
    Select(page.control("C").find_element(By.CSS_SELECTOR, "select")).select_by_value("prec")
    page.until(lambda: "C='prec(10)'" in page.measure)
    page.until(lambda: "Every user reads exactly 10 documents." in page.find(".cwla-users").text)


def test_topics_are_chosen_from_the_list_or_above_the_scores(opened):
    page = opened(Exploration(QRELS, RUNS, measure="AP", queries={"q2": "the second"}))
    assert sorted(one.text for one in page.all("[data-topic]")) == ["q1", "q2"]
    expected = {q: [f"{explain(QRELS, run, q, 'AP').score:.4f}" for run in RUNS.values()] for q in QRELS}
    page.find('[data-topic="q2"]').click()
    page.until_scores(expected["q2"])
    page.find('[data-topic="q1"]').click()
    page.until_scores(expected["q1"])
    choice = page.find(".cwla-topics").find_element(By.XPATH, "//label[.='Topic']/following-sibling::select")
    Select(choice).select_by_value("q2")
    page.until_scores(expected["q2"])
    assert page.find(".cwla-about").text == "the second"
    assert page.find(".cwla-topics [aria-current]").text == "q2"


def test_all_can_be_done_with_the_keyboard(opened):
    page = opened(Exploration.of_grades(GRADES))
    before = page.scores()
    page.control("C.phi").find_element(By.CSS_SELECTOR, "[type=range]").send_keys(Keys.ARROW_LEFT * 3)
    page.until(lambda: page.scores() != before)
    before = page.scores()
    page.all("button.cwla-grade")[1].send_keys(Keys.ENTER)
    page.until(lambda: page.scores() != before)
    page.all('[data-way="down"]')[0].send_keys(Keys.ENTER)
    page.until(lambda: page.ids(0)[:2] == ["d2", "d1"])
    page.until(lambda: page.browser.switch_to.active_element.get_attribute("aria-label") == "Move d1 down in A")
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)  # the focus moves with the document
    page.until(lambda: page.ids(0)[:3] == ["d2", "d3", "d1"])


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_in_both_widths_and_modes(opened, width, scheme):
    page = opened(Exploration(QRELS, RUNS, lengths=WORDS, measure="TBG(unseen=5)"), width=width, scheme=scheme)
    wide = page.browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    page.find(".cwla-five summary").click()
    assert serious_violations(page.browser) == {}
    page.browser.execute_script("document.querySelectorAll('details').forEach((one) => one.open = true)")
    assert page.browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_fast_moves_of_a_slider_end_at_the_last_value(opened):
    page = opened(Exploration.of_grades(GRADES))
    for place in range(0, 190, 7):
        page.slide("C.phi", place)
    page.slide("C.phi", 100)
    page.until(lambda: "rbp(0.5)" in page.measure)
    time.sleep(0.3)
    assert "rbp(0.5)" in page.measure
    assert page.control("C.phi").find_element(By.CSS_SELECTOR, "[type=range]").get_attribute("value") == "100"


def test_focus_and_motion_are_those_of_the_user(opened):
    page = opened(Exploration.of_grades(GRADES))
    page.find(".cwla-five summary").click()
    choice = page.control("C").find_element(By.CSS_SELECTOR, "select")
    choice.click()
    Select(choice).select_by_value("inst")
    page.until(lambda: page.all('[data-path="C.T"]'))
    focused = page.browser.switch_to.active_element
    assert focused == page.control("C").find_element(By.CSS_SELECTOR, "select")
    assert focused.get_attribute("value") == "inst"
    page = opened(Exploration.of_grades(GRADES))
    media = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    moving = """
        return [...document.querySelectorAll("*")].filter((one) => {
            const style = getComputedStyle(one);
            return style.animationName !== "none" || style.transitionDuration.split(",").some((time) => parseFloat(time) > 0);
        }).map((one) => one.className)"""
    assert page.browser.execute_script(moving) == []


def test_clicks_are_not_lost_and_choose_ranks_on_charts(opened):
    page = opened(Exploration.of_grades({"A": [2, 0, 1, 1]}))
    twice = "for (const button of arguments) { button.click(); button.click(); }"
    page.browser.execute_script(twice, page.find('[data-way="down"]'))
    page.until(lambda: page.ids(0) == ["d2", "d3", "d1", "d4"])
    page.browser.execute_script(twice, page.find("button.cwla-grade"))
    page.until(lambda: page.texts("button.cwla-grade") == ["2", "1", "2", "1"])
    page = opened(Exploration.of_grades(GRADES))
    chart = page.find(".cwla-charts svg")
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    chart.click()
    rank = page.find(".cwla-field input[type=number]").get_attribute("value")
    assert int(rank) in range(5, 9)  # of 12 ranks
    assert page.find(".cwla-answer p").text.startswith(f"A: Rank {rank}:")


def explained(measure, runs=RUNS):
    pyterrier_cwla.register_lengths("words", WORDS)
    return [*explain(QRELS, runs, "q1", measure.replace("TBG(", "TBG(lengths=words,")).explanations.values()]


def test_tables_of_two_runs_follow_sliders_and_moved_documents(opened):
    page = opened(Exploration(QRELS, RUNS, lengths=WORDS))
    for measure in ("AP", "nDCG@3", "TBG(half_life=60,unseen=5)", "CWLA(C='inst(2)',A='max',max_rel=2)"):
        page.typed(measure)
        page.agrees_with(explained(measure))
    page = opened(Exploration(QRELS, RUNS, measure=measure))
    page.slide("C.T", 40)
    page.until(lambda: page.measure != measure)
    measure = page.measure
    page.agrees_with(explained(measure))
    rows = page.all(".cwla-table:nth-child(2) tbody tr[draggable] th")
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", rows[1])
    held = ActionChains(page.browser).click_and_hold(rows[2])
    held.move_to_element(rows[0]).move_by_offset(0, -2).release().perform()
    moved = {HOSTILE: 9.0, "b": 8.0, "c": 7.0}
    page.agrees_with(explained(measure, RUNS | {"new": {**RUNS["new"], "q1": moved}}))
    page.all('.cwla-table:nth-child(1) [data-way="down"]')[0].click()
    old = {"b": 9.0, HOSTILE: 8.0, "x": 7.0, "c": 6.0}
    both = {"old</script>": {**RUNS["old</script>"], "q1": old}, "new": {**RUNS["new"], "q1": moved}}
    page.agrees_with(explained(measure, both))


def test_seconds_follow_the_sliders_and_can_be_the_axis(opened):
    page = opened(Exploration(QRELS, RUNS, lengths=WORDS, measure="TBG(unseen=5)"))
    for path, place in (("half_life", 20), ("seconds_per_word", 30)):
        before = page.measure
        page.slide(path, place)
        page.until(lambda before=before: page.measure != before)
    page.agrees_with(explained(page.measure))
    page = opened(Exploration(QRELS, RUNS, lengths=WORDS, measure="TBG(unseen=5)"))
    first = page.find(".cwla-charts svg").get_attribute("aria-label")
    assert "by rank" in first
    page.find(".cwla-axis input[value=effort]").click()
    assert "by seconds" in page.find(".cwla-charts svg").get_attribute("aria-label")


@pytest.mark.parametrize("width", [400, 1280])
def test_hostile_names_of_all_kinds(opened, width):
    names = ["</script><script>document.title=1</script>", '"><img src=x onerror="document.title=1">', "a\u202eb\u0000\x1b[2J",
             "{{7*7}}${7*7}", "&lt;b&gt;", "w" * 300, "'; alert(1); //"]  # fmt: skip
    qrels = {names[1]: dict.fromkeys(names, 1) | {names[0]: 0}, names[0]: {names[0]: 1}}
    ranking = {name: 9.0 - at for at, name in enumerate(names)}
    runs = {names[0]: dict.fromkeys(qrels, ranking),
            names[1]: {qid: {name: -score for name, score in ranking.items()} for qid in qrels}}  # fmt: skip
    texts, about = dict.fromkeys(names, names[1]), dict.fromkeys(qrels, names[0])
    page = opened(Exploration(qrels, runs, texts=texts, queries=about, topic=names[1]), width=width)
    assert page.ids(0) == [harmless(name) for name in names]
    assert page.browser.title.startswith("User models")
    assert not page.all("img, #explorer script, #explorer style")
    assert page.browser.execute_script("return document.scripts.length") == 2
    before = page.scores()
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", page.all("button.cwla-grade")[0])
    page.all("button.cwla-grade")[0].click()
    page.until(lambda: page.scores() != before)
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", page.all('[data-way="down"]')[0])
    page.all('[data-way="down"]')[0].click()
    page.until(lambda: page.ids(0)[:2] == [harmless(name) for name in names[1::-1]])
    assert page.find("[role=alert]").text == ""
    page.typed("<img/src/onerror>")
    page.until(lambda: "<img/src" in page.find("[role=alert]").text)
    assert not page.all("img")
    assert page.browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert not page.errors()


def test_silent_programs_are_an_error_and_the_page_stays(opened):
    page = opened(Exploration.of_grades(GRADES))
    before = page.scores()
    page.browser.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    try:
        page.slide("C.phi", 100)
        page.until(lambda: "still running" in page.find("[role=alert]").text)
    finally:
        page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline | {"offline": False})
    assert page.scores() == before
    page.slide("C.phi", 100)
    page.until(lambda: page.scores() != before)
    assert page.find("[role=alert]").text == ""
    page.errors()  # the browser logs the failed request


def test_every_control_is_reached_by_tab_and_shows_the_focus(opened):
    page = opened(Exploration(QRELS, RUNS, lengths=WORDS, measure="TBG(unseen=5)"))
    page.browser.execute_script("document.querySelector('.cwla-five').open = true")
    script = """
        const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter(
            (one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0 && (one.type !== "radio" || one.checked));
        const one = document.activeElement, style = getComputedStyle(one);
        const name = one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent;
        return [all.length, all.indexOf(one), style.outlineStyle, parseFloat(style.outlineWidth), (name || "").trim()]"""
    reached = []
    while -1 not in reached and len(reached) < 200:
        page.browser.switch_to.active_element.send_keys(Keys.TAB)
        number, at, style, wide, name = page.browser.execute_script(script)
        reached.append(at)
        assert at == -1 or (style != "none" and wide >= 1 and name), (at, style, wide, name)
    assert reached == [*range(number), -1]


TWENTY = ("AP", "RR", "ERR@10", "P@5", "R@5", "Success@5", "nDCG@10", "SDCG(max_rel=2)@5", "RBP(p=0.7,rel=1)", "TBG",
          "INST(T=2,max_rel=2)", "INSQ(T=2,max_rel=2)", "BPM(T=2,max_rel=2)@10", "Cascade(gamma=0.8,max_rel=2)",
          "UMeasure(T=240,max_rel=2)", "AdaptiveGRBP(effort='ratio(4)')", "NERR10(p=0.8,max_rel=2)", "IFT(T=2,A=0.2,max_rel=2)",
          "CWLA(C='rbp(0.8)',A='max',max_rel=2)", "CWLA(C='rr',A='err',max_rel=2,end='stop')")  # fmt: skip


def test_the_python_code_gives_the_numbers_shown_for_twenty_measures(opened):
    exploration = Exploration.of_grades(GRADES)
    page = opened(exploration)
    for measure in TWENTY:
        page.typed(measure)
        code = exploration.answer({"want": "code", "measure": repr(measure_of(measure))})["code"]
        page.until_scores([f"{value:.4f}" for value in computed(code)])
        assert page.find("[role=alert]").text == ""


def test_a_link_restores_the_page(opened):
    page = opened(Exploration(QRELS, RUNS, lengths=WORDS, measure="AP"))
    page.find('[data-topic="q2"]').click()
    page.until(lambda: page.ids(0)[0] == "d")  # of q2
    page.typed("TBG(unseen=5)")
    page.until(lambda: page.all(".cwla-axis:not([hidden])"))
    page.browser.execute_script("document.querySelector('button.cwla-grade').click()")
    page.until(lambda: page.texts(".cwla-grade")[0] == "1")
    Select(page.find(".cwla-beside select")).select_by_value("AP")
    page.until(lambda: page.texts("h3 bdi") == ["TBG(unseen=5)", "AP"])
    found = page.scores()
    button(page, "Copy a link to this").click()
    address = page.browser.current_url
    page.browser.get("about:blank")
    page.browser.get(address)
    page.until_scores(found)
    assert page.texts("h3 bdi") == ["TBG(unseen=5)", "AP"]
    assert page.texts(".cwla-grade")[0] == "1"
    page.browser.execute_script("location.hash = 'measure=AP&compared=5&beside=nDCG@3&rank=abc'")  # of another link
    page.until(lambda: page.texts("h3 bdi") == ["AP", "nDCG@3"])
    assert page.find("[role=alert]").text == ""
    for hostile in ("#edits={", "#measure=%3Cimg%20src%3Dx%3E", "#topic=none&rank=-5", "#edits=%7B%22orders%22%3A7%7D"):
        page.browser.get("about:blank")
        page.browser.get(address.partition("#")[0] + hostile)
        page.until(lambda: page.find("[role=alert]").text)
        assert len(page.scores()) == 2
    assert not page.all("img")


def test_two_measures_share_an_axis_only_in_one_unit(opened):
    page = opened(Exploration(QRELS, RUNS, lengths=WORDS, measure="TBG(unseen=5)"))
    titles = lambda: " ".join(page.texts(".cwla-main figcaption"))  # noqa: E731
    assert "Seconds before each rank" in titles()
    Select(page.find(".cwla-beside select")).select_by_value("AP")
    page.until(lambda: page.texts("h3 bdi") == ["TBG(unseen=5)", "AP"])
    assert "Seconds" not in titles()
    assert not page.all(".cwla-axis:not([hidden])")
    assert page.find(".cwla-difference").text.startswith("By TBG(unseen=5), ")
    Select(page.find(".cwla-beside select")).select_by_value("")
    page.until(lambda: "Seconds before each rank" in titles())


def button(page, text):
    return page.browser.find_element(By.XPATH, f"//button[.='{text}']")


def test_one_step_is_undone_at_a_time(opened):
    page = opened(Exploration.of_grades(GRADES))
    seen = [page.scores()]
    assert not button(page, "Undo").is_enabled()
    for change in (lambda: page.typed("AP"), page.all("button.cwla-grade")[1].click, lambda: page.typed("RBP")):
        change()
        page.until(lambda: page.scores() != seen[-1])
        seen.append(page.scores())
    for expected in seen[-2::-1]:
        button(page, "Undo").click()
        page.until_scores(expected)
    assert not button(page, "Undo").is_enabled()
    for name in ("RBP", "IFT"):  # typed or chosen from the list
        page.typed(name)
        page.until(lambda name=name: page.measure.startswith(f"{name}("))
        typed = page.measure
        button(page, "Undo").click()
        page.until(lambda typed=typed: page.measure != typed)
        Select(page.control("measure").find_element(By.CSS_SELECTOR, "select")).select_by_value(name)
        page.until(lambda typed=typed: page.measure == typed)


def test_charts_are_in_view_beside_the_controls_or_stay_above_them(opened):
    page = opened(Exploration.of_grades(GRADES), width=1280)
    place = "const {left, top, bottom} = arguments[0].getBoundingClientRect(); return [left, top, bottom]"
    control, charts = page.control("C.phi"), page.all(".cwla-charts figure")
    left, top, _ = page.browser.execute_script(place, control)
    assert left < 100
    assert top < 900
    assert all(page.browser.execute_script(place, chart)[2] <= 900 for chart in charts[:4])
    page = opened(Exploration.of_grades(GRADES), width=400)
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", page.control("C.phi"))
    assert page.browser.execute_script(place, page.find(".cwla-charts figure"))[1] == pytest.approx(0, abs=1)


def test_pictures_are_saved_with_a_caption(opened):
    page = opened(Exploration.of_grades(GRADES))
    saved = """const click = HTMLAnchorElement.prototype.click, done = arguments[1];
        HTMLAnchorElement.prototype.click = function () {
          HTMLAnchorElement.prototype.click = click;
          fetch(this.href).catch(() => null);
          done([this.download, this.href.slice(0, 5)]);
        };
        [...document.querySelectorAll("button")].find((one) => one.textContent === arguments[0]).click()"""
    for name, ending in (("Save as SVG", "svg"), ("Save as PNG", "png")):
        assert page.browser.execute_async_script(saved, name) == [f"CWLA.{ending}", "blob:"]
    page.errors()  # the page may not fetch what it saves


def test_lessons_show_what_they_speak_of(opened):
    page = opened(Exploration.of_grades(GRADES))
    for lesson in page.all(".cwla-lessons button"):
        lesson.click()
        page.until(lambda: page.find(".cwla-lesson").text)
        page.until(lambda: not page.find("[role=alert]").text)
    wanted = {"nDCG and TBG disagree": ["TBG", "nDCG@10"], "What does patience do?": ["A", "B"]}
    for title, names in wanted.items():
        button(page, title).click()
        page.until(lambda names=names: [one.partition("(")[0] for one in page.texts("h3 bdi")] == names)


def test_topics_whose_order_changes_are_marked(opened):
    early = {q: {"a": 9.0, "b": 8.0, "c": 7.0, "d": 6.0} for q in ("q1", "q2")}
    late = {q: {"b": 9.0, "a": 8.0, "c": 7.0, "d": 6.0} for q in ("q1", "q2")}
    late["q1"] = {"b": 9.0, "c": 8.0, "d": 7.0, "a": 6.0}
    qrels = {"q1": {"a": 1, "c": 1, "d": 1}, "q2": {"a": 1, "b": 0}}
    early["q1"] = {"a": 9.0, "b": 8.0}
    page = opened(Exploration(qrels, {"early": early, "late": late}, measure="CWLA(C='rbp(0.5)',A='etg',max_rel=1)"))
    shown = lambda: " ".join(page.texts(".cwla-topics"))  # noqa: E731
    assert "⇄" not in shown()
    page.slide("C.phi", 199)
    page.until(lambda: "⇄" in shown())
    assert "one topic has changed its order (⇄)" in shown()
