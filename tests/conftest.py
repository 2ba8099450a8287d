"""Where the real data is, and how many of the tests that need it ran."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data"))


def pytest_configure(config):
    config.addinivalue_line("markers", "real_data: needs the folder of real data; skipped, with a word, without it")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data."""
    if not DATA.is_dir():
        pytest.skip(f"no real data at {DATA}; PYTERRIER_CWLA_DATA names the folder that has it")
    return DATA


def pytest_terminal_summary(terminalreporter):
    reports = [r for group in terminalreporter.stats.values() for r in group if isinstance(r, pytest.TestReport)]
    mine = {r.nodeid: r.skipped for r in reports if "real_data" in r.keywords and (r.when == "call" or not r.passed)}
    if mine:
        skipped = sum(mine.values())
        terminalreporter.write_line(
            f"real data ({DATA}, set by PYTERRIER_CWLA_DATA): {len(mine) - skipped} ran, {skipped} skipped"
        )
