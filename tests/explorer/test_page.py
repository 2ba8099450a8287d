"""The explorer's page in Chromium, served as by the shell: all that it shows are numbers of explain and score."""

import time

import numpy as np
import pytest

import pyterrier_cwla
from pyterrier_cwla import explain, score
from pyterrier_cwla.explorer import Exploration
from tests.explorer.serving import served
from tests.support.browsing import seen_at, serious_violations

pytest.importorskip("selenium")
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.explorer.open_page import Page

pytestmark = pytest.mark.slow

HOSTILE = '<img src=x onerror="document.title=1">'
GRADES = {"A": [2, 0, 1, None, 0, 0, 1, 0, 0, 0, 0, 1], "B": [0, 2, 1, 1, 0, None, 0, 0, 1, 0, 0, 0]}
QRELS = {"q1": {HOSTILE: 2, "b": 0, "c": 1, "z": 1}, "q2": {HOSTILE: 1, "d": 0}}
RUNS = {
    "old</script>": {"q1": {HOSTILE: 9.0, "b": 8.0, "x": 7.0, "c": 6.0}, "q2": {"d": 2.0, HOSTILE: 1.0}},
    "new": {"q1": {"b": 9.0, "c": 8.0, HOSTILE: 7.0}, "q2": {HOSTILE: 2.0, "d": 1.0}},
}
WORDS = {HOSTILE: 100.0, "b": 200.0, "c": 300.0, "d": 400.0, "x": 500.0, "z": 600.0}


@pytest.fixture
def opened(browser):
    """Return a function that serves an exploration and opens its page."""
    running = []

    def open_page(exploration, **how):
        server = served(exploration)
        address = server.__enter__().address
        view = seen_at(browser, address, **how)
        view.__enter__()
        running.extend([view, server])
        return Page(browser)

    yield open_page
    for one in running:
        one.__exit__(None, None, None)


def digits(values):
    return ["–" if np.isnan(value) else f"{value:.4f}" for value in values]


def test_sliders_grades_and_order_give_the_numbers_of_score(opened):
    page = opened(Exploration.of_grades({"A": GRADES["A"]}))
    metric = {"A": "erg", "max_rel": 2}
    grades = list(GRADES["A"])
    page.until_scores([f"{score(grades, C='rbp(0.8)', **metric):.4f}"])
    page.slide("C.phi", 100)
    page.until_scores([f"{score(grades, C='rbp(0.5)', **metric):.4f}"])
    assert page.control("C.phi").find_element(By.CSS_SELECTOR, "[type=range]").get_attribute("aria-valuetext") == "0.5"
    assert page.find(".cwla-text").get_attribute("value") == "CWLA(C='rbp(0.5)',A='erg',max_rel=2)"
    page.all("button.cwla-grade")[1].click()
    grades[1] = 1
    page.until_scores([f"{score(grades, C='rbp(0.5)', **metric):.4f}"])
    page.all('[data-way="up"]')[2].click()
    grades[1], grades[2] = grades[2], grades[1]
    page.until_scores([f"{score(grades, C='rbp(0.5)', **metric):.4f}"])
    page.until(lambda: page.ids(0)[:3] == ["d1", "d3", "d2"])
    rows = page.all("tbody tr[draggable] th")
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", rows[1])
    ActionChains(page.browser).click_and_hold(rows[0]).move_to_element(rows[2]).move_by_offset(0, 2).release().perform()
    grades = [*grades[1:3], grades[0], *grades[3:]]
    page.until_scores([f"{score(grades, C='rbp(0.5)', **metric):.4f}"])
    assert page.ids(0)[:3] == ["d3", "d2", "d1"]
    assert not page.errors()


@pytest.mark.parametrize(
    "measure", ["CWLA(C='inst(2)',A='max',max_rel=2)", "TBG(half_life=60,unseen=5)", "AP", "nDCG@3"]
)
def test_tables_show_what_explain_returns(opened, measure):
    page = opened(Exploration(QRELS, RUNS, lengths=WORDS, measure=measure))
    pyterrier_cwla.register_lengths("words", WORDS)
    both = explain(QRELS, RUNS, "q1", measure.replace("TBG(", "TBG(lengths=words,")).explanations
    assert page.scores() == [f"{one.score:.4f}" for one in both.values()]
    for at, one in enumerate(both.values()):
        table = one.table[one.table["docno"] != ""]
        assert page.ids(at) == table["docno"].tolist()
        for name in ("V", "L", "W", "A", "discount", "gain"):
            assert page.cells(at, name) == digits(table[name]), name
        assert page.cells(at, "adds") == digits(one.contributions[: len(table)])


def test_hostile_ids_and_names_are_texts(opened):
    page = opened(Exploration(QRELS, RUNS, texts={"b": "<b>bold</b>"}, queries={"q1": "<i>about</i>"}))
    assert page.find("caption bdi").text == "old</script>"
    assert page.ids(0)[0] == HOSTILE
    assert page.browser.title.startswith("User models")
    assert not page.all("#explorer img, #explorer b b, #explorer i")
    assert "<i>about</i>" in page.find(".cwla-about").text
    assert not page.errors()


def test_a_users_own_continuation(opened):
    @pyterrier_cwla.continuation
    def my_page_reader(view, stay: float = 0.75):
        """Go on with one probability."""
        return np.full(view.r.shape, stay)

    page = opened(Exploration.of_grades(GRADES))
    page.typed("CWLA(C='my_page_reader(0.25)',A='erg',max_rel=2)")
    page.until(lambda: page.all('[data-path="C.stay"]'))
    judged = [2, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]  # of both rankings
    expected = [score(of, C="rbp(0.25)", A="erg", max_rel=2, judged=judged) for of in GRADES.values()]
    page.until_scores([f"{value:.4f}" for value in expected])


def test_a_measure_that_cannot_be_read_is_an_error_beside_its_field(opened):
    page = opened(Exploration.of_grades(GRADES))
    before = page.scores()
    page.typed("RPB(p=0.5)")
    page.until(lambda: "RPB" in page.find("[role=alert]").text)
    assert page.scores() == before
    page.typed("AP")
    page.until(lambda: page.scores() != before)
    assert page.find("[role=alert]").text == ""


def test_choices_sweep_and_rank(opened):
    page = opened(Exploration.of_grades({"A": [1, 0, 0, 0], "B": [0, 1, 1, 1]}))
    assert page.find(".cwla-wins").text == "A scores higher for φ below 0.5437; B for φ above 0.5437."
    assert "0.5437" in page.find(".cwla-sweep svg").text
    rank = page.find(".cwla-field input[type=number]")
    rank.clear()
    rank.send_keys("3")
    page.until(lambda: "Rank 3: 64 % of the users see it" in page.find(".cwla-answer").text)
    page.find(".cwla-five summary").click()
    Select(page.control("C").find_element(By.CSS_SELECTOR, "select")).select_by_value("prec")
    page.until(lambda: "C='prec(10)'" in page.find(".cwla-text").get_attribute("value"))
    page.until(lambda: "Every user reads exactly 10 documents." in page.find(".cwla-users").text)


def test_topics_are_opened_from_the_list(opened):
    page = opened(Exploration(QRELS, RUNS, measure="AP"))
    order = [one.text for one in page.all("[data-topic]")]
    assert sorted(order) == ["q1", "q2"]
    page.find('[data-topic="q2"]').click()
    expected = [explain(QRELS, run, "q2", "AP").score for run in RUNS.values()]
    page.until_scores([f"{value:.4f}" for value in expected])


def test_the_horizontal_axis_can_be_time(opened):
    page = opened(Exploration(QRELS, RUNS, lengths=WORDS, measure="TBG(unseen=5)"))
    first = page.find(".cwla-charts svg").get_attribute("aria-label")
    assert "by rank" in first
    page.find(".cwla-axis input[value=effort]").click()
    assert "by seconds" in page.find(".cwla-charts svg").get_attribute("aria-label")


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
    page.until(lambda: "rbp(0.5)" in page.find(".cwla-text").get_attribute("value"))
    time.sleep(0.3)
    assert "rbp(0.5)" in page.find(".cwla-text").get_attribute("value")
    assert page.control("C.phi").find_element(By.CSS_SELECTOR, "[type=range]").get_attribute("value") == "100"


def test_a_topic_is_chosen_above_the_scores(opened):
    page = opened(Exploration(QRELS, RUNS, measure="AP", queries={"q2": "the second"}))
    choice = page.find(".cwla-topics").find_element(By.XPATH, "//label[.='Topic']/following-sibling::select")
    Select(choice).select_by_value("q2")
    page.until_scores([f"{explain(QRELS, run, 'q2', 'AP').score:.4f}" for run in RUNS.values()])
    assert page.find(".cwla-about").text == "the second"
    assert page.find(".cwla-topics [aria-current]").text == "q2"


def test_a_refused_change_is_taken_back(opened):
    page = opened(Exploration.of_grades([1, None]))
    before = page.scores()
    page.find("button.cwla-grade").click()
    page.until(lambda: "no document of the topic is judged" in page.find("[role=alert]").text)
    assert page.texts("button.cwla-grade") == ["1", "not judged"]
    page.slide("C.phi", 100)  # later changes are not refused for the same reason
    page.until_scores([f"{score([1, np.nan], C='rbp(0.5)', A='erg'):.4f}"])
    assert page.scores() != before
    assert page.find("[role=alert]").text == ""


def test_errors_stand_below_the_control_that_was_changed(opened):
    page = opened(Exploration.of_grades(GRADES))
    exact = page.control("C.phi").find_element(By.CSS_SELECTOR, ".cwla-exact")
    exact.send_keys(Keys.CONTROL, "a")
    exact.send_keys("1.5", Keys.TAB)
    page.until(lambda: "phi must be a number in [0, 1)" in page.control("C.phi").text)
    assert page.control("C.phi").find_element(By.CSS_SELECTOR, "[role=alert]")
    assert exact.get_attribute("value") == "0.8"


def test_the_focus_stays_on_a_choice_that_changes_the_controls(opened):
    page = opened(Exploration.of_grades(GRADES))
    page.find(".cwla-five summary").click()
    choice = page.control("C").find_element(By.CSS_SELECTOR, "select")
    choice.click()
    Select(choice).select_by_value("inst")
    page.until(lambda: page.all('[data-path="C.T"]'))
    focused = page.browser.switch_to.active_element
    assert focused == page.control("C").find_element(By.CSS_SELECTOR, "select")
    assert focused.get_attribute("value") == "inst"


def test_clicks_before_the_answer_are_not_lost(opened):
    page = opened(Exploration.of_grades({"A": [2, 0, 1, 1]}))
    twice = "for (const button of arguments) { button.click(); button.click(); }"
    page.browser.execute_script(twice, page.find('[data-way="down"]'))
    page.until(lambda: page.ids(0) == ["d2", "d3", "d1", "d4"])
    page.browser.execute_script(twice, page.find("button.cwla-grade"))
    page.until(lambda: page.texts("button.cwla-grade") == ["2", "1", "2", "1"])


def test_a_click_on_a_chart_chooses_a_rank(opened):
    page = opened(Exploration.of_grades(GRADES))
    chart = page.find(".cwla-charts svg")
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    chart.click()
    rank = page.find(".cwla-field input[type=number]").get_attribute("value")
    assert int(rank) in range(5, 9)  # of 12 ranks
    assert page.find(".cwla-answer p").text.startswith(f"A: Rank {rank}:")
