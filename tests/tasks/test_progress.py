"""Progress bars: one in a notebook, updated in place and removed; tqdm's own in a terminal."""

from types import SimpleNamespace

import pytest

from pyterrier_cwla.tasks import progress
from pyterrier_cwla.tasks.notebook_bar import NotebookBar


@pytest.fixture
def notebook(monkeypatch):
    """Return a shell with all that a notebook showed, in each of its places."""
    pytest.importorskip("IPython")

    def display(shown, raw, display_id):
        assert (raw, display_id) == (True, True)
        place = [shown]
        shell.places.append(place)
        return SimpleNamespace(update=lambda shown, raw: place.append(shown))

    shell = SimpleNamespace(kernel=1, execution_count=1, places=[])
    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr(progress, "_DELAY", 0)
    return shell


def test_a_bar_is_updated_in_place_and_removed(notebook):
    with progress.counted(True, "reading <b>", 4, "rows") as done:
        NotebookBar._open.refresh()
        for _ in range(4):
            done(1)
            NotebookBar._open.refresh()
    (place,) = notebook.places
    assert 'value="4" max="4"' in place[-2]["text/html"]
    assert "reading &lt;b&gt;: 4 of 4 rows" in place[-2]["text/html"]
    assert place[-1] == {"text/html": "", "text/plain": ""}


def test_a_bar_within_a_bar_is_not_shown(notebook):
    seen = []
    for outer in progress.bar(range(2), True, "outer", unit="runs"):
        NotebookBar._open.refresh()
        with progress.counted(True, "inner", 3, "rows") as done:
            done(3)
        seen += list(progress.bar([outer], True, "other"))
    assert seen == [0, 1]
    assert len(notebook.places) == 1
    assert {shown["text/plain"].split(":")[0] for shown in notebook.places[0]} == {"outer", ""}


def test_the_next_bar_is_shown_again_also_after_an_error(notebook):
    def failing():
        yield 1
        raise ValueError

    with pytest.raises(ValueError):
        list(progress.bar(failing(), True, "first"))
    assert list(progress.bar(range(3), True, "second", 3)) == [0, 1, 2]
    assert NotebookBar._open is None
    assert [place[-1]["text/html"] for place in notebook.places] == [""] * len(notebook.places)


def test_bars_of_failed_cells_do_not_hide_the_next(notebook):
    """The traceback of the error keeps the iterator, and so the bar, alive."""
    first = iter(progress.bar(range(3), True, "first"))
    next(first)
    NotebookBar._open.refresh()
    notebook.execution_count = 2
    for _ in progress.bar(range(3), True, "second", 3):
        NotebookBar._open.refresh()
    assert len(notebook.places) == 2
    assert notebook.places[1][0]["text/plain"].startswith("second")
    first.close()
    assert NotebookBar._open is None


def test_short_work_and_work_without_progress_show_nothing(notebook, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 100)
    assert list(progress.bar(range(3), True, "short")) == [0, 1, 2]
    assert progress.bar([1], False, "x") == [1]
    with progress.counted(False, "x", 1, "rows") as done:
        done(1)
    assert notebook.places == []


def test_a_terminal_has_the_bar_of_tqdm(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 0)
    list(progress.bar(range(3), True, "reading", 3))
    assert "reading" in capsys.readouterr().err
