"""Pages in Chromium: at a width, in light or dark mode, checked by axe-core."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def seen(browser, page, width=1280, scheme="light"):
    """Open the page of a path at a width, in the scheme "light" or "dark"."""
    with seen_at(browser, page.as_uri(), width, scheme):
        yield


@contextmanager
def seen_at(browser, address, width=1280, scheme="light"):
    """Open an address at a width, in the scheme "light" or "dark"."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        browser.get(address)
        yield
    finally:
        browser.get("about:blank")  # an open page may still ask its server, and the next test would see the error
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def serious_violations(browser):
    """Return the open page's violations of accessibility that axe-core calls serious or critical, by rule.

    PYTERRIER_CWLA_AXE names the file axe.min.js; the test is skipped without it.
    """
    axe = os.environ.get("PYTERRIER_CWLA_AXE")
    if not axe:
        pytest.skip("PYTERRIER_CWLA_AXE does not name axe.min.js (npm install axe-core)")
    browser.execute_script(Path(axe).read_text(encoding="utf-8"))
    found = browser.execute_async_script("""
        const done = arguments[arguments.length - 1];
        axe.run({resultTypes: ["violations"]}).then((all) => done(all.violations), (error) => done(String(error)))""")
    assert isinstance(found, list), found
    return {
        one["id"]: [node["html"][:150] for node in one["nodes"]][:5]
        for one in found
        if one["impact"] in ("serious", "critical")
    }
