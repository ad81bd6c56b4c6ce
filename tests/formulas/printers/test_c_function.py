import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from trainlaw.formulas import variables
from trainlaw.formulas.printers import print_c_function
from trainlaw.formulas.printers.programming import C

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, which is not on the PATH")


def build(sources, folder):
    """Return a shared library of all sources, in one file, where each has helpers of its own."""
    parts = []
    for index, source in enumerate(sources):
        parts += [f"#define {name} {name}_{index}" for name in C.helpers]
        parts += [source, *(f"#undef {name}" for name in C.helpers)]
    (folder / "all.c").write_text("\n".join(parts))
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
    files = ["-o", folder / "all.so", folder / "all.c"]
    subprocess.run([*command, *files, "-lm"], check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "all.so"))


@pytest.mark.slow
def test_printed_functions_compute_the_same(many_expressions, points, judge, tmp_path):
    sources = [print_c_function(item, name=f"f{index}") for index, item in enumerate(many_expressions)]
    library = build(sources, tmp_path)
    compared = []
    for index, item in enumerate(many_expressions):
        function = library[f"f{index}"]
        function.restype, names = ctypes.c_double, variables(item)
        function.argtypes = [ctypes.c_double] * len(names)
        compared.append(judge(item, [function(*(points[name][row] for name in names)) for row in range(60)]))
    assert np.sum(compared, axis=0)[0] > 5000
