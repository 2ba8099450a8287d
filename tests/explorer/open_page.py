"""The explorer's page in the browser, as tests read and operate it."""

from contextlib import contextmanager

import numpy as np
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from pyterrier_cwla import register_lengths
from pyterrier_cwla.data import Lengths


class Page:
    """The page in the browser, or the part of it within a selector."""

    def __init__(self, browser, within=""):
        self.browser, self.within = browser, within

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, self.within + selector)

    def all(self, selector, alone=False):
        return self.browser.find_elements(By.CSS_SELECTOR, selector if alone else self.within + selector)

    def control(self, path):
        return self.find(f'[data-path="{path}"]')

    @property
    def measure(self):
        """The measure in the field for its text."""
        return self.find(".cwla-text").get_property("value")

    def scores(self):
        return self.texts("[data-score]")

    def texts(self, selector, alone=False):
        """Return the texts of elements, of one moment."""
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
        return self.browser.execute_script(script, selector if alone else self.within + selector)

    def until(self, condition):
        WebDriverWait(self.browser, 10, 0.02).until(lambda _: condition())

    def until_scores(self, expected):
        self.until(lambda: self.scores() == expected)

    def cells(self, ranking, name):
        return self.texts(f'.cwla-table:nth-child({ranking + 1}) tbody [data-name="{name}"]')

    def ids(self, ranking):
        return self.texts(f".cwla-table:nth-child({ranking + 1}) .cwla-id")

    def typed(self, measure):
        field = self.find(".cwla-text")
        field.clear()
        field.send_keys(measure, Keys.ENTER)

    def slide(self, path, value):
        """Move a slider as a mouse does."""
        script = """const all = [...document.querySelectorAll("[data-path]")];
            const range = all.find((one) => one.dataset.path === arguments[0]).querySelector("input");
            range.value = arguments[1]; range.dispatchEvent(new Event("input", {bubbles: true}))"""
        self.browser.execute_script(script, path, value)

    def agrees_with(self, explanations):
        """Compare all numbers of the tables with those of explain."""
        self.until_scores([f"{one.score:.4f}" for one in explanations])
        for at, one in enumerate(explanations):
            table = one.table[one.table["docno"] != ""]
            self.until(lambda at=at, table=table: self.ids(at)[: len(table)] == table["docno"].tolist())
            for name in ("V", "L", "W", "A", "discount", "gain"):
                assert self.cells(at, name)[: len(table)] == digits(table[name]), name
            assert self.cells(at, "adds")[: len(table)] == digits(one.contributions[: len(table)])
        first, second = (one.score for one in explanations)
        size = f"{abs(second - first):.4f}"
        assert (size if size != "0.0000" else "the same score") in self.find(".cwla-difference").text

    def errors(self):
        return [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]


def digits(values):
    return ["–" if np.isnan(value) else f"{value:.4f}" for value in values]


def computed(code):
    """Return the values of the last line of the code."""
    *lines, last = code.strip().splitlines()
    names = {}
    with registered_anew():
        exec("\n".join(lines), names)
        return eval(last.removeprefix("print"), names).iloc[:, 0].tolist()


@contextmanager
def registered_anew():
    before = Lengths.default
    try:
        yield
    finally:
        register_lengths(before)
