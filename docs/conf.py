"""Settings of the site: ``sphinx-build -W --keep-going -j 2 docs build/docs`` writes it and needs no network."""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import explorer_page
import gallery_pictures
import notebook_pages
import pages
import two_systems
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from pyterrier_cwla import __version__

HERE = Path(__file__).parent

project = "pyterrier_cwla"
author = "The pyterrier_cwla developers"
version = release = __version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
add_module_names = False
exclude_patterns = ["gallery", "used", "examples/**/*.ipynb"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"

smartquotes = False  # it turns the quotes of norm='ideal' the wrong way

nb_execution_mode = "off"  # pages show the outputs that the notebooks carry
nb_merge_streams = True

sphinx_gallery_conf = gallery_pictures.SETTINGS

html_theme = "furo"
html_title = f"pyterrier_cwla {release}"
html_static_path = ["static"]
html_extra_path = ["extra"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_copyright = False
html_copy_source = html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {"navigation_with_keys": True}

pages.write({**pages.written(pictures=True), "pictures/two_systems.svg": two_systems.on_a_page()}, HERE)
pages.write({f"extra/{explorer_page.NAME}": explorer_page.written()}, HERE)
gallery_pictures.remove_stale(HERE / "gallery", HERE / "examples")
notebook_pages.write(HERE.parent / "notebooks", HERE / "notebooks")


def _formula(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    block = isinstance(node, nodes.math_block)
    mathml = tex2mathml(node.astext(), as_block=block)
    translator.body.append(f'<div class="math" tabindex="0">{mathml}</div>' if block else mathml)
    raise nodes.SkipNode


SEARCHES = tomllib.loads((HERE / "searches.toml").read_text())


def _with_index_entries(app: Sphinx, name: str, text: list[str]) -> None:
    """Add what readers search for to the index entries of a page: the name of its measure, and ``searches.toml``."""
    sought = SEARCHES.get(name, [])
    if name.startswith("measures/") and (title := re.search(r"^(\w+): (.+)\n=+$", text[0], flags=re.M)):
        sought = [*title.groups(), *sought]
    entries = "".join(f"   ! single: {one}\n" for one in sought)
    text[0] = f".. index::\n{entries}\n{text[0]}" if entries else text[0]


def _without_mail_links(app: Sphinx, doctree: nodes.document) -> None:
    """Make plain text of links such as mailto:nDCG@10, for which docutils takes the names of measures."""
    for link in list(doctree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(nodes.Text(link.astext()))


def _without_ways_back(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Remove links from source code to pages of the API: they name anchors by the module that defines an object."""
    if name.startswith("_modules/"):
        context["body"] = re.sub(r'<a class="viewcode-back".*?</a>', "", context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    app.tags.add("site")  # the pages in the package have no blocks that are marked as only:: site
    app.connect("source-read", _with_index_entries)
    app.connect("doctree-read", _without_mail_links)
    app.connect("html-page-context", _without_ways_back)
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    return {"parallel_read_safe": True}
