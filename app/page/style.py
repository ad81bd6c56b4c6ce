"""The style of the pages, from one file for each part of them."""

from trainlaw.app.text.html import template_text

_FILES = ("base", "form", "answer", "tables")


def page_style() -> str:
    """Return the style sheet."""
    return "".join(template_text(f"page/{name}.css") for name in _FILES)
