"""The stack of a run follows from what is known of its software, unless it is stated."""

import pandas as pd
import pytest
from trainlaw.datasets import configuration, load
from trainlaw.datasets.measurements.runs import STACKS, with_defaults
from trainlaw.datasets.measurements.stacks import UNKNOWN, stacks_of

OF_A_RUN = [
    ({"framework": "pytorch"}, "eager"),
    ({"framework": "pytorch", "layout": "channels_last"}, "channels_last"),
    ({"framework": "pytorch", "tuned": 1, "layout": "channels_last"}, "fused"),
    ({"framework": "pytorch", "framework_version": "2.0.1", "compilation": "inductor"}, "channels_last"),
    ({"framework": "pytorch", "framework_version": "2.4", "compilation": "inductor"}, "fused"),
    ({"framework": "TensorFlow", "bench_year": 2021, "layout": "nchw"}, "channels_last"),
    ({"framework": "TensorFlow", "bench_year": 2018}, "eager"),
    ({"framework": "TensorFlow", "bench_year": 2021, "gpu": "GTX 1080 Ti"}, "eager"),
    ({"framework": "TensorFlow", "bench_year": 2021, "precision": "fp32"}, "eager"),
    ({"framework": "mxnet", "framework_version": "1.6.0(NGC 20.03)"}, "fused"),
    ({"framework": "mxnet"}, "eager"),
    ({"framework": "mine"}, "unknown"),
    ({}, "unknown"),
    ({"precision": "tf32"}, "eager"),
]


@pytest.mark.parametrize(("known", "stack"), OF_A_RUN)
def test_rules_derive_the_stack(known, stack):
    run = {"gpu": "V100-SXM2-16GB", "cnn": "resnet50", "batch_per_gpu": 8, "precision": "amp", **known}
    assert with_defaults(pd.DataFrame([run]))["stack"].tolist() == [stack]


def test_a_stated_stack_replaces_the_rules():
    runs = pd.DataFrame({"layout": ["nchw"] * 3, "stack": ["fused", "unknown", None]})
    assert with_defaults(runs)["stack"].tolist() == ["fused", "unknown", "eager"]


def test_every_shipped_run_in_16_bits_has_a_stack():
    for name in ("atlas-all", "atlas-multi-all"):
        runs = load(name).frame
        assert set(runs["stack"]) == set(STACKS) - {UNKNOWN}
        assert (runs["stack"] == stacks_of(runs)).all()


@pytest.mark.parametrize(
    ("settings", "flags"),
    [
        ({}, [0, 0]),
        ({"layout": "channels_last"}, [1, 0]),
        ({"tuned": True}, [0, 1]),
        ({"stack": "fused", "precision": "tf32"}, [0, 0]),
        ({"stack": "unknown", "layout": "channels_last"}, [0, 0]),
    ],
)
def test_features_of_a_stack_count_in_16_bits(settings, flags):
    run = configuration(cnn="resnet50", gpu="T4", batch_per_gpu=8, **({"precision": "amp"} | settings))
    assert run.matrix(["runs_channels_last", "runs_fused"]).tolist() == [flags]


@pytest.mark.parametrize(
    ("gpu", "settings", "slower"),
    [
        ("V100-SXM2-16GB", {"precision": "fp32", "layout": "channels_last"}, {"conv_own_cached_s": 2.0}),
        ("V100-SXM2-16GB", {"precision": "fp32", "compilation": "inductor"}, {"moved_own_s": 5 / 6}),
        ("A100-SXM4-40GB", {"precision": "default", "layout": "channels_last"}, {}),
        ("A100-SXM4-40GB", {"precision": "tf32", "tuned": True}, {}),
        (
            "Instinct MI300A",
            {"precision": "amp", "layout": "channels_last"},
            {"runs_channels_last_amd": None},
        ),
    ],
)
def test_stacks_change_amounts_in_32_bits_and_factors_of_amd(gpu, settings, slower):
    names = ["conv_own_cached_s", "moved_own_s", "runs_channels_last", "runs_channels_last_amd"]
    plain = {"layout": "nchw", "compilation": "eager", "tuned": False}
    found, eager = (
        configuration(cnn="resnet50", gpu=gpu, batch_per_gpu=8, **given).matrix(names)[0]
        for given in (settings, settings | plain)
    )
    ratio = {
        name: one / other if other else None
        for name, one, other in zip(names, found, eager, strict=True)
        if one != other
    }
    assert ratio == pytest.approx(slower)
