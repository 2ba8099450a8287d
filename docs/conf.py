"""How the site is made: ``sphinx-build -W --keep-going docs build/docs`` writes it, and looks nothing up online."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pages

from pyterrier_cwla import __version__

project = "pyterrier_cwla"
author = "The pyterrier_cwla developers"
version = release = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser", "sphinx_copybutton"]
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
add_module_names = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"
pygments_dark_style = "native"

html_theme = "furo"
html_title = f"pyterrier_cwla {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_copy_source = html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}

pages.write(pages.written(pictures=True), Path(__file__).parent)
