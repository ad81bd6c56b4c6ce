import shutil
import subprocess

import numpy as np
import pytest
from trainlaw.formulas import variables
from trainlaw.formulas.printers import print_r

RSCRIPT = shutil.which("Rscript")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RSCRIPT, reason="needs Rscript, which is not on the PATH"),
]


def run(lines, folder):
    """Return what a program of R prints as numbers, one row per line."""
    (folder / "all.R").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run([RSCRIPT, folder / "all.R"], capture_output=True, text=True, check=True)
    assert not done.stderr
    return [
        [np.nan if cell in ("NaN", "NA") else float(cell) for cell in line.split()]
        for line in done.stdout.splitlines()
    ]


def test_printed_functions_compute_the_same(many_expressions, points, judge, tmp_path):
    lines = [f"{name} <- c({', '.join(map(repr, column.tolist()))})" for name, column in points.items()]
    for item in many_expressions:
        inputs = ", ".join(f"{name} = {name}" for name in variables(item))
        lines += [print_r(item), f'cat(sprintf("%.17g", rep_len(predict_time({inputs}), 60)), "\\n")']
    found = run(lines, tmp_path)
    compared = [judge(item, values) for item, values in zip(many_expressions, found, strict=True)]
    assert np.sum(compared, axis=0)[0] > 5000


def test_names_are_inert(nasty, tmp_path):
    label = "".join(f"\\U{ord(character):08x}" for character in nasty.features[0].name)
    call = f'cat(predict_time(2, 3, "{label}"), predict_time(2, 3), predict_time(2, 3, "none"), "\\n")'
    assert run([print_r(nasty), call], tmp_path) == [[11, 7, 7]]
