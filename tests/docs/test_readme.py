"""Tests of the code and the two commands in the README."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_code_runs_block_after_block(capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
    assert "TBG" in capsys.readouterr().out
    assert names["score"]([1, 0, 1], C="bored(2)", A="etg") == pytest.approx(1.3333, abs=1e-4)


def test_ci_runs_the_same_test_command():
    [pattern] = re.findall(r'grep -oE "(.*)" README.md', (Path(__file__).parents[2] / ".ci" / "run").read_text())
    [command] = re.findall(pattern, README, re.M)
    assert command == "python -m pip install '.[test]' && python -m pytest"
