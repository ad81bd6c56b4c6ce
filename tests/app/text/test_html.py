"""Templates: every value is escaped, a missing one is an error, the hash is that of the policy."""

import base64
import hashlib
import subprocess
import sys

import jinja2
import pytest
from trainlaw.app.text import html
from trainlaw.app.text.html import content_hash, render
from trainlaw.app.text.tables import Table

EVIL = "</script><img src=x onerror=alert(1)>'\"&"


@pytest.fixture
def template(monkeypatch):
    """Replaces the folder of templates by one text."""
    original = html.template_text

    def use(text):
        html.environment.cache_clear()
        monkeypatch.setattr(
            html, "template_text", lambda name: text if name == "test.html" else original(name)
        )

    yield use
    html.environment.cache_clear()


def test_values_are_escaped_in_elements_and_attributes(template):
    template('<p title="{{ text }}">{{ text }}</p>')
    shown = render("test.html", text=EVIL)
    assert "<img" not in shown and shown.count('"') == 2


def test_cells_captions_and_classes_of_tables_are_escaped(template):
    template('{% from "macros.html" import show_table %}{{ show_table(caption, table) }}')
    shown = render("test.html", caption=EVIL, table=Table.of([EVIL], [[EVIL]]))
    assert "<img" not in shown and shown.count("&lt;img") == 3


def test_a_missing_value_is_an_error(template):
    template("{{ absent }}")
    with pytest.raises(jinja2.UndefinedError, match="absent"):
        render("test.html")


def test_the_hash_is_that_of_the_content_security_policy():
    digest = hashlib.sha256(b"const a = 1;").digest()
    assert content_hash("const a = 1;") == f"sha256-{base64.b64encode(digest).decode()}"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["predict", "--cnn", "lenet5", "--gpu", "T4", "--batch", "8"]]
)
def test_templates_are_loaded_only_for_html(arguments, tmp_path):
    code = (
        "import sys; from click.testing import CliRunner; from trainlaw.app.cli import app; "
        f"done = CliRunner().invoke(app, {arguments!r}); assert done.exit_code == 0, done.output; "
        "assert 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
