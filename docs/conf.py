"""Settings of Sphinx for `python docs/build.py`."""

from importlib.metadata import version as version_of

project = "trainlaw"
author = "The trainlaw authors"
version = release = version_of("trainlaw")
copyright = f"2026 {author}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
]
html_theme = "furo"
html_title = f"trainlaw {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
# A page per function and class; the copy button leaves prompts and printed output out.
autosummary_generate = True
copybutton_prompt_text = "$ "
html_show_sourcelink = False
myst_heading_anchors = 3

# Types are in the sections of the docstrings; signatures stay short, and no name of another project is
# looked up, since the site is built without a network.
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]
