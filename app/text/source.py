"""Source code from the Jinja2 templates of this folder: nothing is escaped, so values must be literals."""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from trainlaw.app.text.html import template_text


def render_source(template: str, filters: Mapping[str, Callable[..., str]], values: Mapping[str, Any]) -> str:
    """Return a template of source code filled with values; `filters` write them in the language.

    A name that is missing raises `jinja2.UndefinedError`.
    """
    environment = Environment(
        loader=FunctionLoader(template_text),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(filters)
    return environment.get_template(template).render(**values)
