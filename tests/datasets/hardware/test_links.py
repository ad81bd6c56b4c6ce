import numpy as np
import pytest
from trainlaw.datasets import find_link, link_table


def test_kinds_asked_for_are_there():
    named = set(link_table()["link"])
    assert {"pcie3-x16", "pcie4-x16", "pcie5-x16", "nvlink-bridge", "nvlink5-x18", "nvswitch4"} <= named
    assert {f"ethernet-{rate}g" for rate in (1, 10, 25, 40, 50, 100, 200, 400)} <= named
    assert {"infiniband-fdr", "infiniband-edr", "infiniband-hdr", "infiniband-ndr"} <= named


def test_rates_are_plausible_and_sourced():
    links = link_table()
    real = links[links["link"] != "none"]
    assert (real["effective_byte_per_s"] <= 1.001 * real["nominal_byte_per_s"].fillna(np.inf)).all()
    assert real["latency_s"].between(1e-6, 1e-4).all()
    for figure in ("nominal", "effective"):
        known = real[real[f"{figure}_byte_per_s"].notna()]
        assert (known[f"{figure}_source"] != "").all()
    assert (real["latency_source"] != "").all()
    assert set(real["scope"]) == {"node", "network"}


def test_names_are_found_in_any_spelling():
    assert find_link("PCIe4 x16") == find_link("pcie4-x16")
    assert [find_link(name).link for name in ("nvlink3", "ib-hdr", "NVLink4")] == [
        "nvlink3-x12",
        "infiniband-hdr",
        "nvlink4-x18",
    ]
    assert find_link("infiniband_hdr").s_per_byte == pytest.approx(1 / 24.5e9)
