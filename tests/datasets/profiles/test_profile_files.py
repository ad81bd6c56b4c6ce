"""Exports of profilers: what is in them, counted once, and refused in one line where it is broken."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trainlaw.datasets import load
from trainlaw.datasets.features.pair_features import grouped_seconds
from trainlaw.datasets.profiles.operations import operation_group
from trainlaw.datasets.profiles.profile_files import read_profile
from trainlaw.formulas.errors import InputError

from ...refusals import read_or_refused


def torch_table(
    *rows, columns=("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")
):
    """A table as `key_averages().table()` prints it: names and cells aligned right."""
    widths = [40, *([12] * len(columns))]
    rule = "  ".join("-" * width for width in widths)
    lines = ["  ".join(map(str.rjust, row, widths)) for row in (("Name", *columns), *rows)]
    lines = [rule, lines[0], rule, *lines[1:]]
    return "\n".join([*lines, rule, "Self CPU time total: 34.982ms", ""])


TORCH = torch_table(
    ("aten::mkldnn_convolution", "38.38%", "13.426ms", "38.51%", "13.473ms", "4.491ms", "3"),
    ("Optimizer.step#SGD.step", "36.52%", "12.774ms", "37.40%", "13.084ms", "4.361ms", "3"),
    ("aten::convolution_backward", "5.59%", "1.956ms", "5.65%", "1.976ms", "658.646us", "3"),
    ("ProfilerStep*", "5.26%", "1.841ms", "100.00%", "34.983ms", "11.661ms", "3"),
    ("aten::native_batch_norm", "2.02%", "706.200us", "2.10%", "735.236us", "245.079us", "3"),
    ("autograd::engine::evaluate_function: ViewBackward0", "0.01%", "2.6us", "0.04%", "14us", "4us", "3"),
)
TENSORFLOW = """Rank,Host/device,Type,Operation,#Occurrences,Total time (us),Total self-time (us)
1,Device,Conv2D,model/conv_1/Conv2D,2,"3,000.5",2000.5
2,Device,Conv2D,model/conv_2/Conv2D,2,1000,999.5
3,Device,FusedBatchNormGradV3,gradients/bn/FusedBatchNormGradV3,2,500,500
4,Host,IteratorGetNext,IteratorGetNext,2,80,80
"""


def profile_of(tmp_path, text, name="profile.txt", steps=1):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_profile(path, steps)


def test_torch_table_counts_operators_per_step(tmp_path):
    profile = profile_of(tmp_path, TORCH)
    assert profile.device == pytest.approx(
        {
            "aten::mkldnn_convolution": 13.426e-3 / 3,
            "aten::convolution_backward": 1.956e-3 / 3,
            "aten::native_batch_norm": 0.7062e-3 / 3,
        }
    )
    assert profile.step_s == pytest.approx(34.983e-3 / 3)
    assert profile.kind == "PyTorch's table, CPU"


def test_torch_table_of_a_gpu_counts_the_operators_and_not_their_kernels(tmp_path):
    columns = ("Self CPU", "CPU total", "Self CUDA", "# of Calls")
    rows = (
        ("aten::cudnn_convolution", "1.0ms", "1.1ms", "8.000ms", "4"),
        ("void cudnn::ops::some_kernel<float, 4>", "0.0us", "0.0us", "8.000ms", "4"),
        ("aten::addmm", "1.0ms", "1.1ms", "2.0s", "4"),
    )
    profile = profile_of(tmp_path, torch_table(*rows, columns=columns), steps=4)
    assert profile.device == pytest.approx({"aten::cudnn_convolution": 2e-3, "aten::addmm": 0.5})
    assert math.isnan(profile.step_s) and profile.kind.endswith("GPU")


def test_tensorflow_statistics_use_self_times_by_kind_of_operation(tmp_path):
    profile = profile_of(tmp_path, TENSORFLOW, "stats.csv", steps=2)
    assert profile.device == pytest.approx({"Conv2D": 1.5e-3, "FusedBatchNormGradV3": 250e-6})
    assert profile.host == pytest.approx({"IteratorGetNext": 40e-6})


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("op,total_time_us", 1e-6),
        ("name;Total time (ms)", 1e-3),
        ("operation,total_time_s", 1.0),
        ("op\ttime", 1e-6),
    ],
)
def test_two_columns_suffice_and_titles_tell_the_unit(tmp_path, header, seconds):
    separator = next(letter for letter in ";\t," if letter in header)
    profile = profile_of(tmp_path, f"{header}\nConv2D_3{separator}20\nConv2D{separator}5\n", "ops.csv")
    assert profile.device == pytest.approx({"Conv2D": 25 * seconds})


def test_all_operations_of_the_built_in_profiles_are_known():
    names = [name.removeprefix("device_").removesuffix("_s") for name in load("profet-pairs").operations]
    unknown = {name for name in names if not name.startswith("host_") and operation_group(name) is None}
    assert unknown == {"IDLE"}


def test_grouped_seconds_keep_the_total():
    pairs = load("profet-pairs")
    profile = pairs.frame[list(pairs.operations)]
    grouped = grouped_seconds(
        {name: profile[name].to_numpy() for name in profile}, pairs.frame["anchor_time_s"]
    )
    device = profile.filter(like="device_").drop(columns="device_IDLE_s").sum(axis=1)
    assert np.allclose(grouped["profiled_s"], device, rtol=1e-12)
    host = profile.filter(like="host_").drop(columns="host_IDLE_s").sum(axis=1)
    assert np.allclose(grouped["on_host_s"], host, rtol=1e-12)
    assert (grouped["unprofiled_s"] >= 0).all()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("13.426ms", "13.4 apples", "a time such as 12.5ms"), ("-", "", "lines of dashes")],
)
def test_faults_of_a_printed_table_are_refused(tmp_path, old, new, words):
    with pytest.raises(InputError, match=words):
        profile_of(tmp_path, TORCH.replace(old, new))


def correct_profile(path):
    """Read a profile and hold it to what every profile has."""
    profile = read_profile(path)
    assert profile.total_s > 0 and all(value >= 0 for value in profile.device.values())
    named = {f"device_{name}_s": np.array([value]) for name, value in profile.device.items()}
    assert np.isfinite(grouped_seconds(named, np.array([1.0])).to_numpy()).all()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=2000) | st.text(max_size=500).map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path, content):
    path = tmp_path / "any.txt"
    path.write_bytes(content)
    read_or_refused(correct_profile, path)


@given(st.text(max_size=200))
def test_any_name_has_a_group_or_none(name):
    assert operation_group(name) is None or isinstance(operation_group(name), str)


def _statistics(tmp_path, *times, separator=";"):
    path = tmp_path / "ops.csv"
    rows = [f"op{row}{separator}{time}" for row, time in enumerate(times)]
    path.write_text("\n".join([f"operation{separator}total_time_us", *rows]) + "\n")
    return path


def test_a_decimal_comma_is_not_a_thousands_separator(tmp_path):
    profile = read_profile(_statistics(tmp_path, "12,5", "1.250,5"))
    assert list(profile.device.values()) == pytest.approx([12.5e-6, 1250.5e-6])
