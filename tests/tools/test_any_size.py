import lzma

import pytest
from trainlaw.datasets.cnns.any_size import FILE
from trainlaw.datasets.files.storage import read_data_file

from tools.any_size import shipped_lines


@pytest.mark.slow
def test_the_shipped_rules_are_those_of_the_layers():
    shipped = lzma.decompress(read_data_file(FILE)).decode().splitlines()
    made = dict.fromkeys(shipped_lines(5))
    assert len(made) > 20 and set(made) <= set(shipped)
