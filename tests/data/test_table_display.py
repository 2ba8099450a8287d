"""Display of tables of lengths and of duplicates in notebooks: sizes, quantiles, clusters, and texts of users."""

import re

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import Lengths, find_duplicates
from pyterrier_cwla.data import document_tables as table_display
from pyterrier_cwla.data.duplicates import Duplicates

pytestmark = pytest.mark.slow


def cells(page, kind="td"):
    return re.findall(f'<{kind}(?: class="number")?>(?:<span>)?(.*?)(?:</span>)?</{kind}>', page)


def test_lengths_show_their_quantiles():
    table = Lengths.of({f"d{number}": number for number in range(1, 101)}, name="mine")
    page = table._repr_html_()
    assert "&lt;lengths &#x27;mine&#x27;: 100 documents, mean 50.5 words&gt;" in page
    assert cells(page, "th") == ["shortest", "5 %", "25 %", "median", "75 %", "95 %", "longest"]
    assert cells(page) == ["1", "5", "25", "50", "75", "95", "100"]
    assert 'aria-label="Lengths of 100 documents in words: median 50, mean 50."' in page


def test_empty_large_and_unread_tables_say_what_they_are(monkeypatch):
    empty = Lengths.of(pd.DataFrame({"doc_id": pd.Series(dtype=str), "words": pd.Series(dtype=float)}))
    assert "0 documents" in empty._repr_html_()
    assert not cells(empty._repr_html_())
    monkeypatch.setattr(table_display, "_MOST", 10)
    words = {f"d{number}": number for number in range(101)}
    page = Lengths.of(words)._repr_html_()
    assert "one document in 11." in page
    assert cells(page)[0] == "0"
    assert cells(page)[-1] == "100"
    assert "column duplicate_of of the run" in Duplicates._named["run"]._repr_html_()


def test_duplicates_show_the_largest_clusters():
    originals = {f"{cluster}-{number}": cluster for cluster in "abcdefg" for number in range(ord(cluster) - 95)}
    page = Duplicates.of(originals, name="few")._repr_html_()
    assert f"{len(originals):,} duplicates of 7 documents" in page
    assert cells(page)[:3] == ["g", "8", "g-0, g-1, g-2, …"]
    assert len(cells(page)) == 5 * 3
    assert "The 5 largest clusters of 7." in page
    one = find_duplicates({"d1": "a b", "d2": "a b", "d3": "c"}, progress=False)._repr_html_()
    assert cells(one) == ["d1", "1", "d2"]
    assert "largest" not in one
    assert "0 duplicates of 0 documents" in find_duplicates({"d": "x"}, progress=False)._repr_html_()


@pytest.mark.parametrize("kind", [Lengths, Duplicates])
def test_a_file_that_is_missing_is_said(kind):
    assert "the file cannot be read" in kind("x", path="/no/such/file")._repr_html_()


def test_ids_and_names_are_escaped():
    page = Duplicates.of({"<script>\x1b": "<b>"}, name="run_x")._repr_html_()
    assert "<script" not in page
    assert "<b>" not in page
    assert "\x1b" not in page
    page = Lengths.of(pd.Series({"d": 3.0}), name="<i>x")._repr_html_()
    assert "<i>" not in page


def test_the_picture_has_all_documents(monkeypatch):
    drawn = []

    def picture(draw, inches, label):
        from matplotlib.figure import Figure

        ax = Figure().subplots()
        draw(ax)
        drawn.append(sum(bar.get_height() for bar in ax.patches))
        return ""

    monkeypatch.setattr(table_display, "notebook_picture", picture)
    rng = np.random.default_rng(0)
    for words in (rng.integers(0, 4000, 500), rng.lognormal(5, 2, 500), np.zeros(3)):
        Lengths.of({f"d{number}": length for number, length in enumerate(words.tolist())})._repr_html_()
    assert drawn == pytest.approx([1.0, 1.0, 1.0])
