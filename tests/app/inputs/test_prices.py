import math
from pathlib import Path

import pytest
from trainlaw.app.inputs.prices import read_prices, template
from trainlaw.app.inputs.selection import GpuSelection
from trainlaw.datasets import built_in_gpus
from trainlaw.formulas import InputError, UnknownNameError

HEADER = "gpu,n_gpus,price_per_hour_eur,date,source\n"


def prices(tmp_path, text):
    (tmp_path / "prices.csv").write_text(text)
    return read_prices(tmp_path / "prices.csv")


def test_prices_are_those_of_the_machine_or_of_any(tmp_path):
    found = prices(
        tmp_path,
        HEADER + "Tesla T4,,0.5,2026-01-31,a list\nNVIDIA A100-SXM4-40GB,8,2,2026-02-01,another\n"
        "T4,4,0.4,2026-02-01,a list\n",
    )
    assert found.currency == "EUR"
    assert (found.of("T4", 1), found.of("T4", 4), found.of("A100-SXM4-40GB", 8)) == (0.5, 0.4, 2.0)
    assert math.isnan(found.of("A100-SXM4-40GB", 1)) and math.isnan(found.of("K80", 1))
    assert "2026-01-31 to 2026-02-01" in found.origin


def test_prices_are_read_as_people_write_them(tmp_path):
    found = prices(
        tmp_path,
        "Karte;Preis/h;Spot;Host/h;Stand\nH100;2,49 €;1,99;0,80;20.9.2026\n4090;0,39;;;\n"
        "g4dn.12xlarge;3,912;1,2;;\n",
    )
    assert found.currency == "EUR" and found.origin.endswith("of 2026-09-20")
    assert found.of("H100-SXM5-80GB", 8) == pytest.approx(2.49 + 0.8 / 8)
    assert found.spot_of("H100-PCIE-80GB", 1) == pytest.approx(1.99 + 0.8)
    assert found.of("T4", 4) == pytest.approx(3.912 / 4) and math.isnan(found.of("T4", 1))
    assert found.of("RTX 4090", 2) == 0.39 and math.isnan(found.spot_of("RTX 4090", 2))


def test_the_example_has_what_people_rent_and_the_template_is_read_again(tmp_path):
    example = read_prices(Path("example"))
    rented = ("T4", "L4", "A10G", "L40S", "RTX 4090", "A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB")
    assert all(example.of(gpu, 8) > 0 or example.of(gpu, 1) > 0 for gpu in (*rented, "Instinct MI300X"))
    assert example.of("T4", 4) == pytest.approx(0.978) and "of 20" in example.origin
    again = prices(tmp_path, template())
    assert again.of("T4", 4) == pytest.approx(example.of("T4", 4), rel=1e-3)


def test_gpus_are_selected_by_limits():
    catalog = built_in_gpus()
    some = GpuSelection(vendor="nvidia", min_memory_bytes=16e9, max_power_w=75)
    found = {gpu.gpu for gpu in some.of(catalog)}
    assert "T4" in found and found.isdisjoint({"GTX 1080", "V100-SXM2-16GB", "Radeon VII"})
    changed = GpuSelection(names=("T4 with 2x bandwidth",)).of(catalog)
    assert changed[0].bandwidth_byte_per_s == 2 * catalog.find("T4").bandwidth_byte_per_s
    with pytest.raises(UnknownNameError, match="NVIDIA"):
        GpuSelection(vendor="Nvidea").of(catalog)
    with pytest.raises(InputError, match="no GPU"):
        GpuSelection(max_memory_bytes=1.0).of(catalog)
