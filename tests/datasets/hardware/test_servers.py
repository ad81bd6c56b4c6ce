import pytest
from trainlaw.datasets import built_in_gpus, find_link
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.formulas import InputError


def test_servers_hold_known_gpus_and_fabrics():
    known, seen = {gpu.gpu for gpu in built_in_gpus().gpus}, []
    for row in read_data_rows("servers.csv"):
        seen += row["gpus"].split(";")
        assert find_link(row["fabric"]).scope == "network" and row["source"]
    assert len(seen) == len(set(seen)) and set(seen) - {"*"} <= known


def test_gpus_are_spread_evenly_or_refused():
    assert [usual_server("T4").nodes_of(count) for count in (1, 8, 9 + 1, 64)] == [1, 1, 2, 8]
    assert usual_server("V100-SXM3-32GB with 2x peak").nodes_of(16) == 1
    with pytest.raises(InputError, match="got 9; say how"):
        usual_server("T4").nodes_of(9)
