import subprocess
import sys
import time

import trainlaw.formulas


def test_import_is_light():
    code = "import sys, trainlaw.formulas; print({'sympy', 'pandas', 'deap', 'numba'} & set(sys.modules))"
    times = []
    for _ in range(3):
        started = time.perf_counter()
        output = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        times.append(time.perf_counter() - started)
    assert output.strip() == "set()"
    # The bar is 0.5 s on an idle machine; a loaded one is given room.
    assert min(times) < 2.0


def test_all_names_exist():
    assert all(hasattr(trainlaw.formulas, name) for name in trainlaw.formulas.__all__)
