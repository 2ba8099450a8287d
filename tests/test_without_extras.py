"""The package without extras, installed from a wheel in a fresh environment: what works, and what each error says."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import ir_measures
import numpy as np
import pytest

from tests.support import without_extras

ROOT = Path(__file__).parents[1]
#: Texts in errors of uv and pip if there is no network.
NO_NETWORK = "error sending request|Connection refused|dns error|NewConnectionError|Max retries|name resolution"


class Environment:
    """Virtual environment in a folder, made with uv, which is fast, or with venv and pip."""

    def __init__(self, folder):
        self.folder = folder
        bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.python, self.command = bin / "python", bin / "pyterrier-cwla"
        self.uv = shutil.which("uv")
        made = [self.uv, "venv", "--quiet", "--python", sys.executable] if self.uv else [sys.executable, "-m", "venv"]
        done = self._run(*made, folder / "venv")
        assert done.returncode == 0, done.stderr

    def install(self, *packages):
        of_uv, of_pip = [self.uv, "pip", "install", "--python", self.python], [self.python, "-m", "pip", "install"]
        self._online(*(of_uv if self.uv else of_pip), "--quiet", *packages)

    def wheel(self):
        """Build a wheel of the working tree and return its path."""
        tool = [self.uv] if self.uv else [sys.executable, "-m"]
        self._online(*tool, "build", "--wheel", "-o", self.folder / "wheel", ROOT)
        [path] = (self.folder / "wheel").glob("*.whl")
        return path

    def script(self, *arguments):
        done = self._run(self.python, "-W", "ignore", without_extras.__file__, *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def says(self, *command):
        """Return the one line of stderr of a command that fails."""
        done = self._run(*command)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        return done.stderr.strip()

    def _online(self, *command):
        done = self._run(*command)
        if done.returncode and re.search(NO_NETWORK, done.stderr) and "CI" not in os.environ:
            pytest.skip(f"no network to install packages from: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr

    def _run(self, *command):
        outside = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        given = {"cwd": self.folder, "env": outside, "capture_output": True, "text": True, "timeout": 600}
        return subprocess.run([*map(str, command)], **given)


@pytest.mark.slow
def test_the_package_without_extras(tmp_path):
    environment = Environment(tmp_path)
    environment.install(environment.wheel())

    works = environment.script("works")
    assert Path(works["folder"]).is_relative_to(tmp_path)
    ndcg, tbg, cell = works["experiment"]
    qrels = without_extras.QRELS.set_axis(["query_id", "doc_id", "relevance"], axis=1)
    run = without_extras.RUN.set_axis(["query_id", "doc_id", "score"], axis=1)
    assert ndcg == pytest.approx(ir_measures.nDCG(cutoff=10).calc_aggregate(qrels, run))
    assert works["evaluate"] == pytest.approx([ndcg, tbg, cell])
    assert min(tbg, cell) > 0
    assert all("TBG" in text for text in works["compare"] + works["explain"])
    assert np.isfinite(works["scores"]).all()
    assert works["duplicates"] == 1

    messages = environment.script("messages")
    line = environment.says(environment.python, "-m", "pyterrier_cwla", "--help")
    assert environment.says(environment.command) == line
    messages["cli"] = line
    expected = {"cli": ("the command line needs typer", ["typer"]),
                "cluster": ("a cluster needs Dask", ["dask[dataframe]", "distributed"]),
                "demo": ("the demo needs bm25s", ["bm25s", "matplotlib", "typer"]),
                "duplicates": ("a similarity below 1 needs datasketch", ["datasketch"]),
                "lightgbm": ("GroupedRanker() needs lightgbm, or an xgboost.XGBRanker as its ranker", ["lightgbm"]),
                "plots": ("figures need matplotlib", ["matplotlib"]),
                "studies": ("reports need jinja2 and matplotlib", ["matplotlib", "typer"]),
                "tune": ("a study needs optuna", ["optuna"])}  # fmt: skip
    assert messages.keys() == expected.keys()
    for extra, (what, packages) in expected.items():
        found = re.fullmatch(rf'(.*)\. Install the extra "{extra}": (uv|python -m) (pip install .*)', messages[extra])
        assert found, messages[extra]
        assert found[1] == what
        assert [re.sub("[<>=].*", "", word) for word in shlex.split(found[3])[2:]] == packages

    # The commands of the messages do what they say.
    environment.install(*shlex.split(messages["cli"].partition(" install ")[2]))
    assert "evaluate" in environment._run(environment.python, "-m", "pyterrier_cwla", "--help").stdout
    assert environment.says(environment.command, "demo") == re.sub(' "typer[^"]*"', "", messages["demo"])
    environment.install(*shlex.split(messages["plots"].partition(" install ")[2]))
    assert {extra for extra, text in environment.script("messages").items() if text is None} == {"plots", "studies"}
    assert (tmp_path / "report" / "report.html").is_file()


@pytest.mark.nightly
@pytest.mark.parametrize("extra", without_extras.NEED)
def test_each_extra_alone(extra, tmp_path):
    environment = Environment(tmp_path)
    environment.install(f"pyterrier-cwla[{extra}] @ {environment.wheel().as_uri()}")
    message = environment.script("messages")[extra]
    assert message is None or "Install the extra" not in message
