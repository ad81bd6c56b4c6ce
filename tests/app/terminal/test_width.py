"""Commands that print tables, on a terminal of 80 characters: nothing is wider, and no row is broken.

Other commands are looked at where their transcripts are run, in `commands/test_transcripts.py`.
"""

import re

from ...commands import output
from ...rows import each_row

COMMANDS = [
    "gpus list",
    "gpus show T4",
    "gpus links",
    "gpus template --out gpus.csv",
    "cnn show resnet50 --explain",
    "cnn layers mobilenet_v2",
    "features",
    "features --layers",
    "data list",
    "data show default",
    "data show atlas --gpu V100-SXM2-16GB",
    "data coverage",
    "data noise",
    "data outliers default",
    "show xeon-phi-a",
    "show --all",
    'validate h100 --formula "6 * macs * batch / peak / 0.4" --split cnn --folds 2',
]
# The rest of a row whose last cells did not fit, indented as broken lines are.
_REST_OF_A_ROW = re.compile(r" {4,6}[\d.,]+( (%|s|ms|h|d))?")


WIDTH = 80


@each_row("command", COMMANDS)
def test_tables_fit_the_terminal(command, monkeypatch, in_empty_folder):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    lines = output(command).splitlines()
    faults = [line for line in lines if len(line) > WIDTH or _REST_OF_A_ROW.fullmatch(line)]
    assert not faults, faults[:2]
