"""Take the pictures of ``docs/explorer.rst``: parts of the site's explorer page, in Chromium and in light mode.

``python docs/explorer_pictures.py`` writes ``docs/static/explorer_*.png``. It needs Selenium, Chromium and its driver.
Run it after a change of what the page looks like.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from explorer_page import NAME, PAIRS, written
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

STATIC = Path(__file__).parent / "static"
_WIDTH = 1280
_READY = "const shown = document.querySelector('.cwla-text').value; return shown === arguments[0]"
_CHOOSE = """const list = document.querySelector('[data-path="measure"] select');
list.value = arguments[0]; list.dispatchEvent(new Event("change", {bubbles: true}));
[...document.querySelectorAll('[data-topic]')].find((one) => one.dataset.topic === arguments[1]).click()"""
_PLACE = """if (!arguments[0]) return {x: 0, y: 0, width: innerWidth, height: 900, scale: 1};
const sections = [...document.querySelectorAll("section")];
const of = (title) => sections.find((one) => one.querySelector("h2")?.textContent === title).getBoundingClientRect();
const [first, last] = [of(arguments[0]), of(arguments[1])];
const [width, height] = [first.width + 24, last.bottom - first.top + 16];
return {x: first.x - 12, y: first.y + scrollY - 4, width, height, scale: 1}"""

#: For each picture: the measure and its text, the pair of rankings, and the first and last section (none: the top).
PICTURES = {
    "scores": ("RBP", "CWLA(C='rbp(0.7)',A='erg',max_rel=2)", PAIRS[0].name, "", ""),
    "users": ("TBG", "TBG", PAIRS[3].name, "Users, rank by rank", "Users, rank by rank"),
    "sweep": ("RBP", "CWLA(C='rbp(0.7)',A='erg',max_rel=2)", PAIRS[0].name)
    + ("Which value of a parameter favours which ranking?",) * 2,
}


def _is_ready(browser: Any, text: str) -> bool:
    return bool(browser.execute_script(_READY, text))


def main() -> None:
    """Take all pictures."""
    options = webdriver.ChromeOptions()
    for flag in ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", "force-color-profile=srgb"):
        options.add_argument(f"--{flag}")
    driver = webdriver.ChromeService(shutil.which("chromedriver"))
    with tempfile.TemporaryDirectory() as folder, webdriver.Chrome(options, driver) as browser:
        page = Path(folder) / NAME
        page.write_text(written(), encoding="utf-8")
        size = {"width": _WIDTH, "height": 6000, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        light = [{"name": "prefers-color-scheme", "value": "light"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": light})
        for name, (measure, text, topic, first, last) in PICTURES.items():
            browser.get(page.as_uri())
            browser.execute_script(_CHOOSE, measure, topic)
            WebDriverWait(browser, 10).until(partial(_is_ready, text=text))
            browser.execute_async_script("setTimeout(arguments[0], 800)")  # the sweep and the topics follow
            (STATIC / f"explorer_{name}.png").write_bytes(_taken(browser, browser.execute_script(_PLACE, first, last)))


def _taken(browser: webdriver.Chrome, clip: Mapping[str, Any]) -> bytes:
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
    return base64.b64decode(shot["data"])


if __name__ == "__main__":
    main()
