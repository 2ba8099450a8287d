"""The explorer in notebooks: the widget's Python side, and its front end with it in Chromium."""

import base64
import json
from contextlib import ExitStack

import numpy as np
import pytest

import pyterrier_cwla
from pyterrier_cwla import TBG, explore, score
from pyterrier_cwla.errors import BadParameter, CWLAError
from tests.explorer.open_page import Page
from tests.support.browsing import seen
from tests.support.messages import refused

pytestmark = pytest.mark.slow

HOSTILE = '</script><img src=x onerror="document.title=1">'
QRELS = {"q": {HOSTILE: 1, "b": 0}}
RUNS = {"A": {"q": {HOSTILE: 2.0, "b": 1.0}}, "B": {"q": {"b": 2.0, HOSTILE: 1.0}}}


def answers_of(widget):
    """Collect what the widget sends."""
    sent = []
    widget.send = sent.append
    return sent


def ask(widget, **request):
    widget._handle_custom_msg({"view": "v", "number": 7, "request": request}, [])


def test_the_kernel_answers_each_view(monkeypatch):
    widget = explore([2, 0, 1], measure="CWLA(C='rbp(0.8)',A='erg',max_rel=2)")
    sent = answers_of(widget)
    ask(widget, want="state", set={"C.phi": "0.5"})
    assert (sent[0]["view"], sent[0]["number"]) == ("v", 7)
    expected = score([2, 0, 1], C="rbp(0.5)", A="erg", max_rel=2)
    assert sent[0]["answer"]["rankings"][0]["score"] == f"{expected:.4f}"
    widget = explore(QRELS, RUNS)
    assert widget.start == widget.exploration.start()
    assert "cwlaExplorer" in str(widget._esm)
    assert ".cwla-explorer" in str(widget._css)
    assert repr(explore([2, 0, 1])) == "<explorer of CWLA(C='rbp(0.8)',A='erg',max_rel=2) with ranking>"
    both = explore({"q": {"a": 1}, "p": {"a": 1}}, {"A": {"q": {"a": 1.0}, "p": {"a": 1.0}}}, measure="AP")
    assert repr(both) == "<explorer of AP with A on 2 topics>"
    widget = explore([1, 0])
    sent = answers_of(widget)
    monkeypatch.setattr(widget.exploration, "answer", lambda request: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        widget._answer(widget, {"view": "v", "number": 7, "request": {}}, [])
    assert "ZeroDivisionError" in sent[0]["answer"]["error"]


def test_the_measure_and_the_figure_are_those_of_the_page():
    widget = explore({"A": [2, 0, 1], "B": [0, 1, 2]}, measure="CWLA(C='rbp(0.8)',A='erg',max_rel=2)")
    assert widget.measure == widget.exploration.measure
    answers_of(widget)
    ask(widget, want="state", shown=True, set={"C.phi": "0.5"}, grades={"d1": 1})
    ask(widget, want="state", measure="AP")  # of a measure beside it
    assert str(widget.measure) == "CWLA(C='rbp(0.5)',A='erg',max_rel=2)"
    ask(widget, want="state", shown=True, measure="nothing")  # an error changes nothing
    score_of_a = score([1, 0, 1], C="rbp(0.5)", A="erg", max_rel=2)
    texts = [text.get_text() for ax in widget.figure().axes if ax.get_legend() for text in ax.get_legend().get_texts()]
    assert f"A, score {score_of_a:.3f}" in texts
    single = explore([2, 0, 1])
    assert len(single.figure().axes) >= 2


def test_pages_without_widgets_have_the_first_state_in_words():
    html = explore(QRELS, RUNS, measure="RBP(p=0.5,rel=1)")._repr_html_()
    assert "<code>RBP(p=0.5,rel=1)</code>" in html
    assert "0.5000" in html
    assert "0.2500" in html
    name = "<img src=x onerror=alert()>"
    html = explore({name: [1, 0]}, measure="AP")._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html


def test_texts_and_topics_need_runs():
    for name in ("texts", "queries", "topic", "missing"):
        refused(lambda name=name: explore([1, 0], **{name: "1"}), BadParameter, f"{name}= needs runs=")


def test_measures_can_be_explored():
    for measure in (TBG, TBG(half_life=60), pyterrier_cwla.CWLA(C="rr", A="err", max_rel=1)):
        widget = explore(measure=measure)
        assert widget.exploration.measure == measure
        assert widget.start["runs"] == ["A", "B"]
        assert explore(QRELS, RUNS, measure, lengths={HOSTILE: 10, "b": 20}).start["runs"] == ["A", "B"]
    assert explore(measure=TBG).start["state"]["notes"][:1] == ["Documents have 500 words."]
    assert explore().start["state"]["notes"] == []


HTML = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>widget</title><style>CSS</style><body><script type="module">
const widget = (await import("data:text/javascript;base64,CODE")).default;
window.heard = [];
window.sent = [];
const model = {
  get: (name) => ({ start: START })[name],
  on: (name, callback) => heard.push(callback),
  off: (name, callback) => heard.splice(heard.indexOf(callback), 1),
  send: (message) => sent.push(message),
};
for (const name of ["first", "second"]) {
  const el = document.createElement("div");
  el.id = name;
  document.body.append(el);
  window[name] = widget.render({ model, el });
}
</script>"""


class WidgetPage(Page):
    """A page that shows a widget twice; the kernel answers while the test waits."""

    def __init__(self, browser, widget):
        super().__init__(browser, within="#first ")
        self.widget, self.answers = widget, answers_of(widget)

    def until(self, condition):
        def answered():
            for message in self.browser.execute_script("return window.sent?.splice(0) ?? []"):
                self.widget._handle_custom_msg(message, [])
            while self.answers:
                self.browser.execute_script("heard.forEach((callback) => callback(arguments[0]))", self.answers.pop(0))
            return condition()

        super().until(answered)


@pytest.fixture
def shown(browser, tmp_path):
    """Return a function that shows a widget twice on one page."""
    with ExitStack() as running:

        def show(widget, **how):
            start = json.dumps(widget.start).replace("<", "\\u003c")
            code = base64.b64encode(str(widget._esm).encode()).decode()
            html = HTML.replace("CSS", str(widget._css)).replace("START", start).replace("CODE", code)
            (tmp_path / "widget.html").write_text(html, encoding="utf-8")
            running.enter_context(seen(browser, tmp_path / "widget.html", **how))
            page = WidgetPage(browser, widget)
            page.until(lambda: page.all("#second [data-score]", alone=True))
            return page

        yield show


def test_the_front_end_asks_the_kernel(shown):
    page = shown(explore({"A": [2, 0, 1, 0]}, measure="CWLA(C='rbp(0.8)',A='erg',max_rel=2)"))
    page.slide("C.phi", 100)
    expected = f"{score([2, 0, 1, 0], C='rbp(0.5)', A='erg', max_rel=2):.4f}"
    page.until_scores([expected])
    other = page.texts("#second [data-score]", alone=True)  # another view of the same widget
    assert other == [f"{score([2, 0, 1, 0], C='rbp(0.8)', A='erg', max_rel=2):.4f}"]
    page.all("button.cwla-grade")[1].click()
    page.until_scores([f"{score([2, 1, 1, 0], C='rbp(0.5)', A='erg', max_rel=2):.4f}"])
    assert not page.errors()


def test_a_users_own_continuation_and_hostile_ids(shown):
    @pyterrier_cwla.continuation
    def my_widget_reader(view, stay: float = 0.75):
        """Go on with one probability."""
        return np.full(view.r.shape, stay)

    page = shown(explore(QRELS, RUNS, measure=pyterrier_cwla.CWLA(C=my_widget_reader(0.5), A="erg", max_rel=1)))
    assert page.scores() == ["0.5000", "0.2500"]
    page.typed("CWLA(C='my_widget_reader(0.25)',A='erg',max_rel=1)")
    page.until_scores(["0.7500", "0.1875"])
    assert page.ids(0) == [HOSTILE, "b"]
    assert page.browser.title == "widget"
    assert not page.all("img")


def test_keys_and_removed_views_reach_nobody_else(shown):
    page = shown(explore([1, 0], measure="RBP(p=0.5,rel=1)"))
    page.browser.execute_script("""
        window.keys = [];
        document.addEventListener("keydown", (event) => { window.keys.push(event.key); event.preventDefault(); })""")
    page.control("p").find_element("css selector", "input").send_keys("\ue013")  # the key Arrow Up
    page.until(lambda: page.scores() != ["0.5000"])
    assert page.browser.execute_script("return window.keys") == []
    page = shown(explore([1, 0]))
    assert page.browser.execute_script("return window.heard.length") == 2
    page.browser.execute_script("window.first()")
    assert page.browser.execute_script("return window.heard.length") == 1


def test_it_fits_a_narrow_page(shown):
    page = shown(explore(QRELS, RUNS), width=400)
    assert page.browser.execute_script("return document.documentElement.scrollWidth") <= 400


def test_without_anywidget_the_error_names_the_extra(monkeypatch):
    refused(lambda: explore([1, 0], [0, 1]), CWLAError, "dict")
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    monkeypatch.delitem(__import__("sys").modules, "pyterrier_cwla.explorer.widget", raising=False)
    refused(lambda: explore([1]), CWLAError, "explorer")
