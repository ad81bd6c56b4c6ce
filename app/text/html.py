"""HTML from the Jinja2 templates next to this file: every value is escaped unless a template says `safe`."""

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from trainlaw.app.text.tables import CSS_CLASSES


def render(template: str, **values: object) -> str:
    """Return a template filled with values; a name that is missing raises `jinja2.UndefinedError`."""
    return environment().get_template(template).render(**values)


def template_text(name: str) -> str:
    """Return the text of a file in the folder of templates, such as a style sheet or a script."""
    return resources.files("trainlaw.app.text").joinpath(f"templates/{name}").read_text(encoding="utf-8")


def page_style() -> str:
    """Return the style sheet of the pages, from one file for each part of them."""
    return "".join(template_text(f"page/{name}.css") for name in ("base", "form", "answer", "tables"))


def content_hash(text: str) -> str:
    """Return the source expression by which a content security policy allows an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def environment(is_html: bool = True) -> Environment:
    """Return the environment of the templates of pages, or of programs, in which nothing is escaped."""
    # Always escaped in pages: the suffix of a template must not decide about safety.
    found = Environment(
        loader=FunctionLoader(template_text),
        autoescape=is_html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not is_html,
    )
    found.filters["content_hash"] = content_hash
    found.globals["CSS_CLASSES"] = CSS_CLASSES
    return found
