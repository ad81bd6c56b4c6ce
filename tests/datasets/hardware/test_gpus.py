import csv
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets import Gpu, GpuCatalog, built_in_gpus, find_gpu, link_table
from trainlaw.datasets.hardware.gpus import name_key, split_memory
from trainlaw.formulas.errors import UnknownNameError

from ...rows import each_row

GPUS = built_in_gpus().gpus

# Names as torch.cuda.get_device_name, nvidia-smi (name, query, -L), rocm-smi, sycl-ls and lscpu say them, and
# as people write them; names to refuse, each with GPUs that the refusal must suggest.
with Path(__file__).with_name("gpu_names.csv").open(encoding="utf-8", newline="") as file:
    NAMES = list(csv.DictReader(file))
FOUND, REFUSED = (
    {row["text"]: row["gpus"] for row in NAMES if row["answer"] == answer} for answer in ("found", "refused")
)


@each_row("text", FOUND)
def test_names_resolve(text):
    assert find_gpu(text).gpu == FOUND[text]


@each_row("text", REFUSED)
def test_near_misses_are_refused_with_the_right_suggestion(text):
    with pytest.raises(UnknownNameError) as caught:
        find_gpu(text)
    assert set(filter(None, REFUSED[text].split(";"))) <= set(caught.value.candidates)
    assert all(name in str(caught.value) for name in caught.value.candidates[:8])
    assert "\n" not in str(caught.value)


@each_row("gpu", GPUS)
def test_every_name_and_alias_finds_its_gpu(gpu):
    for name in (gpu.gpu, *gpu.aliases, gpu.gpu.lower(), f"NVIDIA {gpu.gpu}"):
        assert find_gpu(name) == gpu


def contains_its_name(text, gpu):
    """Whether a text has the name of a GPU without its memory, or is the beginning of it."""
    words = name_key(split_memory(text)[0])
    keys = [name_key(split_memory(name)[0]) for name in (gpu.gpu, *gpu.aliases)]
    return bool(words) and any(key in words or key.startswith(words) for key in keys)


def mutated(name, position, piece):
    position %= len(name) + 1
    return name[:position] + piece + name[position + len(piece) % 3 :]


@given(
    st.sampled_from([name for gpu in GPUS for name in (gpu.gpu, *gpu.aliases)]),
    st.integers(0, 40),
    st.text("0123456789 TiSuperXaAQGBmM-()with", max_size=6),
)
def test_no_string_resolves_to_a_gpu_whose_name_it_does_not_contain(name, position, piece):
    text = mutated(name, position, piece)
    try:
        gpu = find_gpu(text)
    except UnknownNameError:
        return
    assert contains_its_name(text, gpu)


@given(st.text(max_size=300))
def test_any_text_is_a_gpu_it_contains_or_refused(text):
    try:
        assert contains_its_name(text, find_gpu(text))
    except UnknownNameError as error:
        assert "\n" not in str(error)


def test_names_are_unique_and_unambiguous():
    owners = {}
    for gpu in GPUS:
        for name in (gpu.gpu, *gpu.aliases):
            assert owners.setdefault(name_key(name), gpu.gpu) == gpu.gpu


def test_table_has_the_gpus_asked_for():
    table = built_in_gpus().frame()
    assert len(table) >= 89
    named = set(table["gpu"])
    assert {"RTX 5090", "RTX 5080", "B200", "Instinct MI300X", "Instinct MI250X", "Arc B580"} <= named
    assert {"Xeon Phi 7120P", "Xeon Phi 7210", "Xeon Phi 7250", "EPYC 9654", "K80", "M60"} <= named


def test_facts_are_plausible():
    table = built_in_gpus().frame()
    assert (table["peak_fp16_flop_per_s"] >= 0.99 * table["peak_fp32_flop_per_s"]).all()
    assert (table["base_clock_hz"].fillna(0) <= table["boost_clock_hz"]).all()
    # Two operations per lane and clock, four where lanes issue twice; processors state their base clock.
    lanes = table["peak_fp32_flop_per_s"] / (2 * table["core_count"] * table["boost_clock_hz"])
    assert lanes.between(0.5, 2.05).all()
    assert (table["source"] != "").all()


def test_links_of_gpus_are_known():
    known = set(link_table()["link"]) | {""}
    assert all({gpu.host_link, gpu.gpu_link} <= known for gpu in GPUS)


def test_dies_of_a_board_are_single():
    assert find_gpu("K80").memory_bytes == 12e9
    assert find_gpu("Tesla M60").memory_bytes == 8e9
    assert find_gpu("MI250X").sm_count == 110


def test_catalog_with_a_gpu_of_the_same_name_keeps_one():
    gpu = find_gpu("T4")
    catalog = GpuCatalog((gpu,)).with_gpus([gpu])
    assert catalog.gpus == (gpu,)
    assert list(catalog.frame()["gpu"]) == ["T4"]


def test_memory_is_read_from_any_unit():
    assert split_memory("T4 16 GB")[1] == 16e9
    assert split_memory("T4 16384MiB")[1] == 16e9
    assert split_memory("T4")[1] is None
    assert re.sub(r"\s", "", split_memory("T4 16GB")[0]) == "t4"


def test_frame_is_new_each_time():
    table = built_in_gpus().frame()
    table["gpu"] = "changed"
    assert "changed" not in set(built_in_gpus().frame()["gpu"])
    assert np.isfinite(built_in_gpus().frame()["peak_fp32_flop_per_s"]).all()


def test_a_name_has_at_most_two_hundred_characters():
    name = "g" * 200
    catalog = GpuCatalog((Gpu(name),))
    # A different spelling, so that the exact match of the name does not decide.
    assert catalog.find(name.upper()).gpu == name
    with pytest.raises(UnknownNameError, match="expected the name of a GPU"):
        GpuCatalog((Gpu(name + "g"),)).find(name.upper() + "G")


def test_memory_may_differ_by_eight_percent_of_the_larger_size():
    catalog = GpuCatalog((Gpu("Toy 100GB", memory_bytes=100e9), Gpu("Toy 10GB", memory_bytes=10e9)))
    assert {catalog.find(f"Toy {reported}").gpu for reported in ("92GB", "108.6GB")} == {"Toy 100GB"}
    for reported in ("91.9GB", "108.8GB"):
        with pytest.raises(UnknownNameError, match="Toy 100GB"):
            catalog.find(f"Toy {reported}")


def test_several_that_begin_so_are_asked_for_and_three_similar_ones_are_near():
    catalog = GpuCatalog(tuple(Gpu(f"X100-{letter}") for letter in "abcdefghij"))
    assert catalog.meaning("X100").candidates == tuple(f"X100-{letter}" for letter in "abcdefghij")
    assert catalog.names.near("X200-a") == ["X100-a"]
    # "X10" would continue with a digit, which is another product.
    assert catalog.meaning("X10").candidates == ("X100-a", "X100-b", "X100-c")
    assert catalog.names.near("") == catalog.names.near("qqqqqq") == []


@each_row(("text", "gpus"), {"8x T4": 8, "T4 x2": 2, "T4 (4 GPUs)": 4}.items())
def test_a_number_of_gpus_is_refused_where_one_gpu_is_named(text, gpus):
    with pytest.raises(UnknownNameError, match=f"did you mean 'T4' with --gpus {gpus} "):
        find_gpu(text)
    assert built_in_gpus().find(text, counted=True).gpu == "T4"


@each_row(
    ("facts", "numbers"),
    [
        ({"base_clock_hz": 1e9, "boost_clock_hz": 2e9}, {"base_clock_hz": 1e9, "boost_clock_hz": 2e9}),
        ({"boost_clock_hz": 2e9}, {"base_clock_hz": 2e9}),
        ({"peak_fp32_flop_per_s": 2e13}, {"comparable_fp32_flop_per_s": 2e13, "last_level_cache_bytes": 0.0}),
        (
            {"comparable_fp32_flop_per_s": 1.0, "peak_fp32_flop_per_s": 2.0},
            {"comparable_fp32_flop_per_s": 1.0},
        ),
        ({"last_level_cache_bytes": 96e6}, {"last_level_cache_bytes": 96e6}),
        ({"vendor": "AMD"}, {"is_amd": 1.0}),
        ({}, {"is_amd": 0.0}),
    ],
)
def test_numbers_as_features_use_them(facts, numbers):
    gpu = Gpu("mine", **facts)
    assert {name: gpu.number(name) for name in numbers} == numbers and np.isnan(gpu.number("l2_bytes"))
