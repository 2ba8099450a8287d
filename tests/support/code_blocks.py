"""Code of the pages of the documentation: blocks of Python, and blocks of what they print."""

import contextlib
import io
import re
import textwrap
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")


def blocks(page):
    """Return the kinds and texts of the blocks of a page: "python", or "text" for output."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"\.\. code-block:: (python|text)\n\n((?:   .*\n|\n)+)", text)
    return [(kind, textwrap.dedent(block).strip("\n")) for kind, block in found]


def printed(of_page):
    """Run the code of a page block after block, and yield what stands below each block and what it printed."""
    names, out = {}, ""
    for kind, block in of_page:
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(block, "code of a page", "exec"), names)
            out = stream.getvalue().rstrip("\n")
        else:
            yield block, out


def numbers(text):
    return [float(number) for number in NUMBER.findall(text)]
