"""Settings of Sphinx for `python docs/build.py`."""

from importlib.metadata import version as version_of

project = "trainlaw"
author = "The trainlaw authors"
version = release = version_of("trainlaw")

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
html_title = "trainlaw"
html_static_path: list[str] = []
html_show_sourcelink = False
myst_heading_anchors = 3

# Types are in the sections of the docstrings; signatures stay short, and no name of another project is
# looked up, since the site is built without a network.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]
