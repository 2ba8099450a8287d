"""Display of measures in notebooks: formula, choices, and a chart whose numbers are scores of the measure."""

import inspect
import pydoc
from html.parser import HTMLParser

import ir_measures
import pandas as pd
import pytest

import pyterrier_cwla
from pyterrier_cwla import CWLA, TBG, GeometricMean, Residual, continuation, evaluate
from pyterrier_cwla.cli.app import main
from pyterrier_cwla.measures.declarations import metric_of
from pyterrier_cwla.measures.equations import discounts, measure_html
from pyterrier_cwla.measures.named import CWLAMeasure, measures_of
from pyterrier_cwla.measures.wrappers import MEASURES


class Text(HTMLParser):
    """Text of a page; all elements must be closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag not in ("br", "path", "use", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("br", "path", "use", "meta"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.slow
def test_a_measure_shows_formula_choices_and_discount():
    page = TBG(half_life=60)._repr_html_()
    text = Text(page).text
    assert "Methods" not in pydoc.render_doc(TBG(half_life=60))
    assert r'aria-label="\text{TBG} &amp;= \frac{1}{N} \sum' in page
    for part in (
        *("TBG(half_life=60): time-biased gain", "clicksave", "decay(60) — Continue", "documents saved, [0, ∞)"),
        "Smucker and Clarke (2012)",
    ):
        assert part in text
    assert "<code>" not in page.partition(":")[0]
    of_list = Text(CWLA(C="dcg", A="erg", gain="binary", end="stop")._repr_html_()).text
    assert "gain 1 for every grade of at least rel, otherwise 0." in of_list
    assert "endall users leave at the last result" in of_list
    assert "to be given: a continuation" in Text(CWLA._repr_html_()).text
    for wrapper, inner in ((Residual, "RBP(rel=1)"), (GeometricMean, "TBG")):
        assert f"measure{inner}" in Text(wrapper(measure=inner)._repr_html_()).text


@pytest.mark.slow
def test_the_chart_has_the_scores_of_lists_with_one_relevant_document():
    pytest.importorskip("matplotlib")
    page = measure_html(ir_measures.nDCG @ 10)
    assert "<svg" in page
    assert "1.00 at rank 1, 0.39 at rank 5, 0.29 at rank 10, 0.00 at rank 20" in page
    assert "500 words" not in page
    assert "Documents have 500 words." in measure_html(TBG)
    assert "Documents cost 30 seconds." in measure_html(CWLA(C="decay(30)", A="etg", gain="raw", effort="seconds"))


@pytest.mark.parametrize(
    "measure", ["P@5", "AP", "RR", "nDCG@10", "TBG", "RBP(rel=1)", "ERR@20", "CWLA(C='inst(2)',A='max',max_rel=3)"]
)
def test_discounts_are_scores_by_evaluate(measure):
    (measure,) = measures_of([measure])
    metric = metric_of(measure)
    try:
        grade = int(metric.best[1])
    except pyterrier_cwla.CWLAError:
        grade = 1
    found = discounts(metric)
    ids = [f"{number:03}" for number in range(20)]
    for rank in (1, 2, 7, 20):
        qrels = {"q": {d: grade if at == rank else 0 for at, d in enumerate(ids, 1)}}
        first = {"q": {d: grade if at == 1 else 0 for at, d in enumerate(ids, 1)}}
        run = [("q", d, 20.0 - at, 500.0) for at, d in enumerate(ids)]
        frame = pd.DataFrame(run, columns=["query_id", "doc_id", "score", "doc_length"])
        score, of_first = (evaluate(judged, frame, [measure])[str(measure)].iloc[0] for judged in (qrels, first))
        assert found[rank - 1] == pytest.approx(score / of_first, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*MEASURES, *ir_measures.measures.registry}))
def test_every_measure_has_a_display_or_none(name):
    """Also without its required parameters, which the display names."""
    measure = {**ir_measures.measures.registry, **MEASURES}[name]
    page = measure_html(measure)
    if page is not None:
        assert str(measure.NAME) in Text(page).text
    assert (page is not None) or name not in MEASURES


@pytest.mark.slow
def test_labels_and_texts_of_users_are_escaped():
    page = TBG.with_label("<b>x</b> & y")._repr_html_()
    assert "<b>x</b>" not in page
    assert "&lt;b&gt;x&lt;/b&gt; &amp; y" in page
    assert "<code>TBG</code>" in page

    @continuation
    def leaves(view):
        """<script>alert(1)</script>"""
        return 0.5 + 0 * view.i

    page = CWLA(C=leaves, A="erg", gain="binary")._repr_html_()
    assert "<script" not in page


@pytest.mark.slow
def test_a_measure_without_a_score_has_no_chart():
    @continuation
    def refuses(view):
        raise pyterrier_cwla.CWLAError("no")

    page = CWLA(C=refuses, A="erg", gain="binary")._repr_html_()
    assert "Score of a list" not in page
    assert "refuses" in page


def test_without_matplotlib_there_is_no_picture(monkeypatch):
    monkeypatch.setattr("pyterrier_cwla.rendering.figures.find_spec", lambda name: None)
    assert "<svg" not in TBG._repr_html_()


@pytest.mark.slow
def test_ipython_shows_measures_of_ir_measures_only_if_asked():
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    try:
        formatter = shell.display_formatter.formatters["text/html"]
        assert formatter(ir_measures.nDCG @ 10) is None
        shell.extension_manager.load_extension("pyterrier_cwla")
        assert "normalised discounted cumulative gain" in formatter(ir_measures.nDCG @ 10)
        assert formatter(ir_measures.define_byquery(lambda qrels, run: len(run), name="Size")) is None
        shell.extension_manager.unload_extension("pyterrier_cwla")
        assert formatter(ir_measures.nDCG @ 10) is None
        assert formatter(TBG) is not None
    finally:
        InteractiveShell.clear_instance()


def words(text):
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TBG", "ByTopic", "sDCG", "AdaptiveERR"])
def test_help_says_what_the_command_says(name, capsys):
    with pytest.raises(SystemExit):
        main(["measures", name])
    printed = words(capsys.readouterr().out).partition(" Also with ")[0]
    assert words(getattr(pyterrier_cwla, name).__doc__) == printed
    assert printed in words(pydoc.plain(pydoc.render_doc(getattr(pyterrier_cwla, name))))
    assert f'(qrels, run, {"sessions, " * (name == "sDCG")}["{name}' in printed


@pytest.mark.parametrize("measure", [measure for measure in MEASURES.values() if isinstance(measure, CWLAMeasure)])
def test_the_signature_names_the_parameters(measure):
    signature = inspect.signature(measure)
    assert signature == inspect.signature(type(measure))
    assert [*signature.parameters] == [*(p.name for p in measure.PARAMETERS), "label"]
    for name, parameter in signature.parameters.items():
        assert f"{name}={parameter.default!r}" in measure.__doc__ or parameter.default is inspect.Parameter.empty


@pytest.mark.slow
@pytest.mark.parametrize("use_jedi", [False, True])
def test_notebooks_complete_the_names_of_parameters(use_jedi):
    completer = pytest.importorskip("IPython.core.completer")
    ours = completer.IPCompleter(namespace={"TBG": TBG, "pyterrier_cwla": pyterrier_cwla}, use_jedi=use_jedi)
    with completer.provisionalcompleter():
        for text in ("TBG(ha", "pyterrier_cwla.TBG(ha"):
            assert "half_life=" in [found.text for found in ours.completions(text, len(text))]
