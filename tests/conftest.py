"""Fixtures for all tests: folder of real data, command line, and browser; and the number of tests that used real data."""

import os
import shutil
from pathlib import Path

import pytest

collect_ignore = ["files/record_mteb.py"]  # a script that imports mteb and beir
DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real data; skip the test if it does not exist."""
    if not DATA.is_dir():
        pytest.skip(f"no real data at {DATA}; PYTERRIER_CWLA_DATA names the folder that has it")
    return DATA


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Start headless Chromium; skip the test if Chromium or its driver is not installed."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (program and driver):
        pytest.skip("no chromium and chromedriver on this machine")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    folder = tmp_path_factory.mktemp("profile")
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
                 "disable-background-networking", "disable-component-update", "disable-dev-shm-usage",
                 f"user-data-dir={folder}"):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options, webdriver.ChromeService(driver)) as opened:
        yield opened


@pytest.fixture
def cli(capsys):
    """Return a function that runs a command and returns its exit code, stdout and stderr."""

    from pyterrier_cwla.cli.app import main

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return run


@pytest.fixture
def prints(cli):
    """Return a function that runs a command without errors and returns its stdout."""

    def run(*arguments):
        code, out, err = cli(*arguments)
        assert (code, "Traceback" in err) == (0, False), err
        return out

    return run


@pytest.fixture
def says(cli):
    """Return a function that runs a command with an error and returns the one line of its stderr."""

    def run(*arguments):
        code, out, err = cli(*arguments)
        assert (code, out, err.count("\n"), err[-1:]) == (2, "", 1, "\n"), err
        return err[:-1]

    return run


def pytest_terminal_summary(terminalreporter):
    reports = [r for group in terminalreporter.stats.values() for r in group if isinstance(r, pytest.TestReport)]
    mine = {r.nodeid: r.skipped for r in reports if "real_data" in r.keywords and (r.when == "call" or not r.passed)}
    if mine:
        skipped = sum(mine.values())
        terminalreporter.write_line(
            f"real data ({DATA}, set by PYTERRIER_CWLA_DATA): {len(mine) - skipped} ran, {skipped} skipped"
        )
