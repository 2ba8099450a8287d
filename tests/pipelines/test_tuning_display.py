"""Display of search results in notebooks: best value, parameters, and values of trials."""

import re

import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_cwla.demo import PreferShort
from pyterrier_cwla.pipelines import OptunaSearch

pytestmark = pytest.mark.slow

FOUND = pd.DataFrame({"qid": "1", "docno": ["long", "short"], "doc_length": [900, 90], "score": [1.1, 1.0]})
QRELS = pd.DataFrame({"qid": ["1"], "docno": ["short"], "label": [1]})


def tuned(metric="TBG", trials=6):
    prefer = PreferShort(strength=0.0)
    pipeline = pt.Transformer.from_df(FOUND) >> prefer
    return OptunaSearch(pipeline, {prefer: {"strength": (0.0, 0.2)}}, FOUND[["qid"]].head(1), QRELS, metric,
                       trials=trials, verbose=False)  # fmt: skip


def test_the_best_value_and_its_parameters_are_shown():
    found = tuned()
    page = found._repr_html_()
    assert f"<b>TBG {found.value:.4f}</b> (best of 6 trials)" in page
    assert re.findall("<span>(.*?)</span>", page) == ["PreferShort", "strength", f"{found.setting[0][2]:.6g}"]
    first = found.trials["TBG"].iloc[0]
    reached = int(found.trials["TBG"].argmax()) + 1
    said = f"TBG by trial: first {first:.4f}, best {found.value:.4f}, first reached in trial {reached} of 6."
    assert f'aria-label="{said}"' in page


def test_where_less_is_better_the_lowest_is_searched():
    """Without ``strength`` the long document is first, and its time is spent first; the best spends the least."""
    seconds = "CWLA(C='prec(1)',A='effort',gain='binary',effort='time',end='stop')"
    found = tuned(seconds, trials=12)
    (column,) = (name for name in found.trials if name.startswith("CWLA"))
    assert found.value == found.trials[column].min() < found.trials[column].max()
    assert found.setting[0][2] == found.trials["PreferShort.strength"][found.trials[column].argmin()]
    page = found._repr_html_()
    assert f"best {found.value:.4f}, first reached in trial {found.trials[column].argmin() + 1} of 12." in page
    both = tuned({"time": seconds, "nDCG@1": "nDCG@1"})
    assert [one.name for one in both.study.directions] == ["MINIMIZE", "MAXIMIZE"]
    assert both.value[0] == both.trials["time"].min()


def test_of_several_measures_all_values_are_shown():
    found = tuned({"<i>early": "nDCG@1", "TBG": "TBG"})
    page = found._repr_html_()
    assert "&lt;i&gt;early" in page
    assert "<i>early" not in page
    assert f"TBG {found.value[1]:.4f}" in page
    assert "on the Pareto front" in page
    assert "<svg" not in tuned(trials=1)._repr_html_()
