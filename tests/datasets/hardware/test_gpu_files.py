import pytest
from trainlaw.datasets import configuration, find_gpu
from trainlaw.datasets.files.faults import FaultsError
from trainlaw.datasets.hardware import gpu_files
from trainlaw.datasets.hardware.gpu_files import assumptions, with_gpus
from trainlaw.datasets.hardware.gpus import GpuCatalog, built_in_gpus

HEADER = "gpu,sm_count,core_count,boost_clock_hz,peak_fp32_flop_per_s,memory_bytes,bandwidth_byte_per_s"
NEW = "Tensor Beast 9000,10,1280,1.5e9,3.84e12,8e9,2e11"


def test_one_row_adds_a_gpu(write):
    catalog = with_gpus(write(f"{HEADER}\n{NEW}\n", "gpus.csv"))
    gpu = catalog.find("NVIDIA Tensor Beast 9000")
    assert (gpu.sm_count, gpu.peak_fp16_flop_per_s, gpu.source) == (10.0, 3.84e12, "file gpus.csv")
    assert gpu.gpu_group == "Tensor Beast 9000"
    assert gpu.source_of("peak_bf16_flop_per_s") == "derived: not in the file"
    assert gpu.source_of("sm_count") == "file gpus.csv"
    assert len(catalog.gpus) == len(with_gpus(write("gpu\nT4\n", "gpus.csv")).gpus) + 1
    run = configuration(cnn="resnet18", gpu="Tensor Beast 9000", batch_per_gpu=4, gpus=catalog)
    assert run.matrix(["bandwidth_byte_per_s"]).item() == 2e11


def test_what_a_file_does_not_state_is_assumed_and_said(write):
    gpu = with_gpus(write(f"{HEADER},vendor,l2_bytes\n{NEW},NVIDIA,4e6\n", "gpus.csv")).find(
        "Tensor Beast 9000"
    )
    said = assumptions(gpu)
    kin = next(text for text in said if text.startswith("l1_")).partition(" as of ")[2].partition(":")[0]
    assert (gpu.l2_bytes, gpu.l1_bytes_per_sm) == (4e6, find_gpu(kin).l1_bytes_per_sm)
    names = [text.partition(" is not stated and counts as ")[0] for text in said]
    assert names == [
        "base_clock_hz",
        "comparable_fp32_flop_per_s",
        "peak_tf32_flop_per_s",
        "peak_fp16_flop_per_s",
        "l1_bytes_per_sm",
        "last_level_cache_bytes",
    ]
    assert not any("{" in text for text in said)
    assert assumptions(with_gpus(write("gpu,tdp_w\nT4,60\n", "gpus.csv")).find("T4")) == ()


def test_a_known_name_corrects_only_filled_cells(write):
    gpu = with_gpus(write(f"{HEADER}\nT4,,,,,,3.3e11\n", "gpus.csv")).find("Tesla T4")
    assert gpu.bandwidth_byte_per_s == 3.3e11
    assert (gpu.sm_count, gpu.aliases) == (find_gpu("T4").sm_count, find_gpu("T4").aliases)
    assert gpu.source_of("bandwidth_byte_per_s") == "file gpus.csv"
    assert gpu.source_of("sm_count") == find_gpu("T4").source_of("sm_count")


def test_aliases_are_found(write):
    catalog = with_gpus(write(f"{HEADER},aliases\n{NEW},Beast PCIe;Beast OEM\n", "gpus.csv"))
    assert catalog.find("beast oem").gpu == "Tensor Beast 9000"


def test_a_gpu_that_is_not_known_needs_its_facts(write):
    with pytest.raises(FaultsError) as caught:
        with_gpus(write("gpu,sm_count,bandwidth_byte_per_s\nTensor Beast,10,-5\nT4,abc,\n", "gpus.csv"))
    faults = [str(fault) for fault in caught.value.faults]
    assert "row 1, column bandwidth_byte_per_s: expected a number from 1e+08 to 1e+15 B/s, got -5.0" in faults
    assert "row 2, column sm_count: expected a whole number from 1 to 100000, got 'abc'" in faults
    assert any(fault.startswith("row 1, column core_count, boost_clock_hz, peak_fp32") for fault in faults)
    assert str(caught.value).startswith("gpus.csv: row 1")


def test_numbers_may_have_their_unit(write):
    row = "Tensor Beast 9000,10,1280,1.5 GHz,3.84 TFLOPS,8 GB,200 GB/s"
    gpu = with_gpus(write(f"{HEADER}\n{row}\n", "gpus.csv")).find("Tensor Beast 9000")
    plain = with_gpus(write(f"{HEADER}\n{NEW}\n", "gpus.csv")).find("Tensor Beast 9000")
    # Python 3.13 finds two objects with nan unequal.
    assert repr(gpu) == repr(plain)


def test_all_faults_are_in_the_message(write):
    text = f"{HEADER},l2\nTensor Beast,10,1280,1.5 GB,3.84 TFLOP/s,8 GHz,200 Gb/s,4\n"
    with pytest.raises(FaultsError) as caught:
        with_gpus(write(text, "gpus.csv"))
    message = str(caught.value)
    for found in ("'1.5 GB'", "'8 GHz'", "'200 Gb/s'", "got 'l2'", "trainlaw gpus template"):
        assert found in message


def _asked_about(monkeypatch, names, **changes):
    """Return which GPUs are refused where they are not in the table and state no architecture."""
    asked = []
    for name in names:
        others = GpuCatalog(tuple(gpu for gpu in built_in_gpus().gpus if gpu.gpu != name))
        monkeypatch.setattr(gpu_files, "built_in_gpus", lambda catalog=others: catalog)
        gpu = find_gpu(name)
        row = {column.name: getattr(gpu, column.name) for column in gpu_files.GPU_COLUMNS}
        row |= {"gpu": "Own", "aliases": "", "generation": "", "compute_capability": ""}
        row |= {column: change(gpu) for column, change in changes.items()}
        faults = [str(fault) for fault in gpu_files._strange(1, gpu_files._gpu(row, None, "gpus.csv"))]
        assert all("without sparsity" in fault for fault in faults), (name, faults)
        asked += [name] if faults else []
    return asked


def test_rates_with_sparsity_are_asked_about_where_no_architecture_is_stated(monkeypatch):
    # The rest shares the host's memory.
    known = [gpu for gpu in built_in_gpus().gpus if gpu.memory_bytes > 0][::3]
    names = [gpu.gpu for gpu in known]
    right = _asked_about(monkeypatch, names)
    # Their rate per multiprocessor is twice that of all that resembles them.
    twice = {"L4", "A10", "Instinct MI100", "Instinct MI355X", "Radeon RX 9070 XT", "Xeon Platinum 8480+"}
    twice.add("RTX 5000 Ada Laptop")
    assert set(right) <= twice
    with_tensor_cores = [gpu.gpu for gpu in known if gpu.tensor_fp16_flop_per_s > 0]

    def sparse(gpu):
        return 2 * gpu.tensor_fp16_flop_per_s

    doubled = _asked_about(monkeypatch, with_tensor_cores, tensor_fp16_flop_per_s=sparse)
    # GPUs whose rate was halved look as their siblings with the doubled one.
    halved = {"A10G", "Arc A380", "L40", "RTX 3080 Laptop", "RTX 4090 Laptop", "H20-96GB"}
    assert set(with_tensor_cores) - set(doubled) <= halved
    assert len(doubled) >= 30
    # A file may state the sparse rate as the peak, and no other.
    some = with_tensor_cores[::2]
    none = dict.fromkeys(("tensor_fp16_flop_per_s", "peak_bf16_flop_per_s"), lambda gpu: None)
    peak = _asked_about(monkeypatch, some, peak_fp16_flop_per_s=sparse, **none)
    assert set(some) - set(peak) <= halved
