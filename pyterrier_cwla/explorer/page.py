"""The explorer as one HTML page: style, script and first answers inlined, so that it loads nothing else."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

SCRIPT, STYLE = "explorer.js", "explorer.css"
_LINK = '<p class="about"><a href="{0}">What this page shows, and how to open it on your runs</a></p>'
_NONE = "default-src 'none'; base-uri 'none'; form-action 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'"


def page(start: Mapping[str, Any], ask: str, title: str, connect: str = "'none'", about: str = "") -> str:
    """Return the page as HTML.

    Parameters
    ----------
    start : mapping
        What the page shows first; see :meth:`Exploration.start`.
    ask : str
        JavaScript expression of the function that answers requests.
    title : str
        Title of the page.
    connect : str, default="'none'"
        Where the page may send requests to, as in a Content-Security-Policy.
    about : str, default=""
        Address of a page about the explorer, for a link.
    """
    nonce = secrets.token_urlsafe(16)
    run = f"""cwlaExplorer(
  document.getElementById("explorer"), JSON.parse(document.getElementById("start").textContent), {ask});"""
    return Template(source("page.html")).substitute(
        title=escape(title),
        link=_LINK.format(escape(about)) if about else "",
        nonce=nonce,
        policy=escape(f"{_NONE.format(nonce)}; connect-src {connect}"),
        style=source(STYLE),
        script=f"{source(SCRIPT)}\n{run}",
        start=as_script(start),
    )


def source(name: str) -> str:
    """Return the text of a file of the page: its script, style or HTML."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def as_script(data: Any) -> str:
    """Return data as JSON that can stand in a script element: no text of it can close the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
