"""Tests of the README: its length, its code with the output that it shows, its commands, and its links."""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLES = re.findall(r"```(python|console)\n(.*?)```(?:\n```text\n(.*?)```)?", README, re.S)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _agree(found, shown):
    assert doctest.OutputChecker().check_output(shown, found, _FLAGS), f"shown:\n{shown}\nfound:\n{found}"


def test_it_is_short_links_lead_to_files_and_ci_agrees():
    assert len(README.splitlines()) <= 130
    for kind, code, _ in EXAMPLES:
        assert kind == "console" or len(code.splitlines()) <= 14
    links = re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```", "", README, flags=re.S))
    assert [link for link in links if not (ROOT / link).exists()] == []
    guides = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.rst")}
    others = ("index", "api", "renamed", "fuzzing", "mutation", "security", "testing")
    elsewhere = {f"docs/{name}.rst" for name in others}
    assert guides - elsewhere <= set(links)
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"`{notebook.stem}`" in README
    [pattern] = re.findall(r'grep -oE "(.*)" README.md', (ROOT / ".ci" / "run").read_text())
    [command] = re.findall(pattern, README, re.M)
    assert command == "python -m pip install '.[test]' && python -m pytest"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pandas.errors.Pandas4Warning")
def test_examples_print_what_is_shown(prints, tmp_path, monkeypatch):

    monkeypatch.chdir(tmp_path)
    for kind, code, shown in EXAMPLES:
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, "README.md", "exec"), {})  # each block runs alone
            _agree(printed.getvalue(), shown)
            continue
        for command, expected in re.findall(r"^\$ pyterrier-cwla (.*)\n((?:(?!\$ ).*\n)*)", code, re.M):
            _agree(prints(*shlex.split(command, comments=True)), expected)


@pytest.mark.slow
def test_the_table_at_the_top_is_that_of_the_demo(prints):
    """By TBG and nDCG@10, systems of the default collection differ in length, both significantly."""
    out = prints("demo")
    printed = [re.findall(r"\d\.\d{3}[▲▼]?", line) for line in out.splitlines() if line.startswith("BM25")]
    shown = [re.findall(r"\d\.\d{3}[▲▼]?", line) for line in README.splitlines() if re.match(r"BM25.* \d\.\d", line)]
    assert shown == [[row[0], row[1], row[6]] for row in printed]
    remark = "nDCG@10 ranks “BM25, length ignored” above “BM25”.* both significantly"
    assert re.search(remark, " ".join(out.split()))
