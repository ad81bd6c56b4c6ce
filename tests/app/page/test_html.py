"""Templates are loaded only where HTML is written."""

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["--help"], ["predict", "--cnn", "lenet5", "--gpu", "T4", "--batch", "8"]]
)
def test_templates_are_loaded_only_for_html(arguments, tmp_path):
    code = (
        "import sys; from typer.testing import CliRunner; from trainlaw.app.cli import app; "
        f"done = CliRunner().invoke(app, {arguments!r}); assert done.exit_code == 0, done.output; "
        "assert 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
