import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from trainlaw.formulas import variables
from trainlaw.formulas.printers import print_c_function

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, which is not on the PATH")


def build(sources, folder):
    """Return a shared library of all sources."""
    files = []
    for index, source in enumerate(sources):
        files.append(folder / f"f{index}.c")
        files[-1].write_text(source)
    command = [
        "gcc",
        "-std=c99",
        "-O0",
        "-Wall",
        "-Werror",
        "-Wno-div-by-zero",
        "-Wno-unused-function",
        "-shared",
        "-fPIC",
    ]
    subprocess.run([*command, "-o", folder / "all.so", *files, "-lm"], check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "all.so"))


def test_printed_functions_compute_the_same(expressions, points, judge, tmp_path):
    sources = [print_c_function(item, name=f"f{index}") for index, item in enumerate(expressions)]
    library = build(sources, tmp_path)
    compared = []
    for index, item in enumerate(expressions):
        function = library[f"f{index}"]
        function.restype, names = ctypes.c_double, variables(item)
        function.argtypes = [ctypes.c_double] * len(names)
        compared.append(judge(item, [function(*(points[name][row] for name in names)) for row in range(60)]))
    assert np.sum(compared, axis=0)[0] > 1000
