"""Drawing mutants, and finding them by their text."""

import pytest

pytest.importorskip("mutmut")
from mutation.mutants import applied, drawn

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
def package(tmp_path):
    (tmp_path / "module.py").write_text(CODE)
    return tmp_path


@pytest.mark.slow
def test_mutants_are_distinct_and_stay_when_other_code_changes(package):
    found = drawn(package, "module", 6)
    assert len({mutant.text for mutant in found}) == 6
    assert {mutant.scope for mutant in found} == {"first", "Second.first"}
    assert [mutant.text for mutant in drawn(package, "module", 3)] == [mutant.text for mutant in found[:3]]
    (package / "module.py").write_text(CODE + "\n\ndef last(b):\n    return b\n")
    assert all(applied(package, *mutant.text) for mutant in found)


def test_a_mutant_is_found_where_its_text_moved(package):
    text = ("module", "Second.first", "return a + 1", "return a - 1")
    (package / "module.py").write_text("import os\n" + CODE)
    moved = applied(package, *text)
    assert moved.code == "import os\n" + CODE[: CODE.index("class")] + CODE[CODE.index("class") :].replace("+", "-")
    assert moved.inside
    assert list(moved.lines) == [11]
    assert "        b = (a, 3)\n" in applied(package, "module", "Second.first", "b = (a, 2)", "b = (a, 3)").code
    assert applied(package, "module", "Third.first", *text[2:]) is None
    (package / "module.py").write_text(CODE.replace("a + 1", "1 + a"))
    assert applied(package, *text) is None
