"""Drawing mutants, and finding them by their text."""

import pytest

pytest.importorskip("mutmut")
from mutation import net

CODE = """
def first(a):
    return a + 1


class Second:
    def first(self, a):
        b = (a,
             2)
        return a + 1
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(net, "PACKAGE", tmp_path)
    (tmp_path / "data" / "module.py").write_text(CODE)
    return tmp_path / "data" / "module.py"


@pytest.mark.slow
def test_mutants_are_distinct_and_seeds_draw_them_again(module, tmp_path):
    drawn = net.drawn("data", [], 6)
    texts = [(entry["scope"], entry["was"], entry["now"]) for entry in drawn]
    assert len(set(texts)) == 6
    assert {scope for scope, *_ in texts} == {"first", "Second.first"}
    assert net.drawn("data", drawn[:5], 1) == drawn[5:]
    net.write(drawn, tmp_path / "net.toml")
    assert net.read(tmp_path / "net.toml") == drawn


def test_a_mutant_is_found_where_its_text_moved(module):
    entry = {"module": "data/module", "scope": "Second.first", "was": "return a + 1", "now": "return a - 1"}
    wrapped = entry | {"was": "b = (a, 2)", "now": "b = (a, 3)"}
    module.write_text("import os\n" + CODE)
    moved = net.applied(entry)
    assert moved.code == "import os\n" + CODE[: CODE.index("class")] + CODE[CODE.index("class") :].replace("+", "-")
    assert moved.inside
    assert list(moved.lines) == [11]
    assert "        b = (a, 3)\n" in net.applied(wrapped).code
    assert net.applied(entry | {"scope": "Third.first"}) is None
    module.write_text(CODE.replace("a + 1", "1 + a"))
    assert net.applied(entry) is None
