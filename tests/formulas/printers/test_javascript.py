import json
import shutil
import subprocess

import numpy as np
import pytest
from trainlaw.formulas.printers import print_javascript

node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which is not on the PATH")


def run(sources, features, labels="{}"):
    """Return the values of all functions on all points: nan where the function gives NaN."""
    program = "".join(f"functions.push((() => {{ {source}\nreturn predict; }})());\n" for source in sources)
    program = (
        f"const functions = []; const points = {json.dumps(features)};\n{program}"
        f"console.log(JSON.stringify(functions.map(f => points.map(p => f(p, {labels})))));"
    )
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=True)
    return [[np.nan if value is None else value for value in row] for row in json.loads(done.stdout)]


@node
def test_printed_functions_compute_the_same(many_expressions, points, judge):
    rows = [{name: column[row] for name, column in points.items()} for row in range(60)]
    found = run([print_javascript(item) for item in many_expressions], rows)
    compared = [judge(item, values) for item, values in zip(many_expressions, found, strict=True)]
    assert np.sum(compared, axis=0)[0] > 5000


@node
def test_missing_feature_is_invalid(law):
    assert np.isnan(run([print_javascript(law)], [{"batch": 1}])).all()
