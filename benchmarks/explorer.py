"""Latency of the explorer's page: from the move of a slider to new numbers, in Chromium, at 100 ranks and two rankings.

``python -m benchmarks.explorer`` needs chromium, chromedriver and selenium.
"""

from __future__ import annotations

import shutil
import statistics
import threading

import numpy as np

from pyterrier_cwla.explorer import Exploration, ExplorerServer

_MOVES = 60
_RANKS = 100

#: Moves the slider of the first parameter, and resolves with the milliseconds until the score has changed.
_MOVE = """
const done = arguments[arguments.length - 1];
const range = document.querySelector(".cwla-control input[type=range]");
const field = document.querySelector(".cwla-text");
const before = field.value;
const observed = new MutationObserver(() => {
  if (field.value === before) return;
  observed.disconnect();
  requestAnimationFrame(() => done(performance.now() - start));
});
observed.observe(document.querySelector(".cwla-scores"), {subtree: true, childList: true, characterData: true});
range.value = arguments[0];
const start = performance.now();
range.dispatchEvent(new Event("input", {bubbles: true}));
"""


def exploration(measure: str) -> Exploration:
    """Return two rankings of a topic of 150 judged documents, with lengths."""
    rng = np.random.default_rng(1)
    ids = [f"d{number}" for number in range(150)]
    qrels = {"1": dict(zip(ids, rng.integers(0, 3, 150).tolist(), strict=True))}
    runs = {
        name: {"1": dict(zip(ids[first : first + _RANKS], rng.random(_RANKS).tolist(), strict=True))}
        for name, first in (("A", 0), ("B", 50))
    }
    return Exploration(qrels, runs, measure=measure, lengths=dict.fromkeys(ids, 400.0))


def main() -> None:
    """Print the median latency for three measures."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    driver = webdriver.ChromeService(shutil.which("chromedriver"))
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1800"):
        options.add_argument(option)
    with webdriver.Chrome(options, driver) as browser:
        for measure in ("CWLA(C='rbp(0.8)',A='erg',max_rel=2)", "CWLA(C='inst(2)',A='erg',max_rel=2)", "TBG"):
            times = _times(browser, measure)
            low, middle, high = min(times), statistics.median(times), max(times)
            print(f"{measure:40} {middle:6.0f} ms, from {low:.0f} to {high:.0f} ms ({len(times)} moves)")


def _times(browser: object, measure: str) -> list[float]:
    with ExplorerServer(exploration(measure)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.get(server.address)  # type: ignore[attr-defined]
        places = np.random.default_rng(2).permutation(180)[:_MOVES] + 5
        times = [browser.execute_async_script(_MOVE, int(place)) for place in places]  # type: ignore[attr-defined]
        server.shutdown()
    return times


if __name__ == "__main__":
    main()
