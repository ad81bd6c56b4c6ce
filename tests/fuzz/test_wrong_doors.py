"""Ways to a wrong number beside tables of runs: files and options, as a table; and right ones beside them."""

import shlex
from pathlib import Path

import pytest
import trainlaw
from trainlaw.app.cli import app
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.formulas import InputError
from typer.testing import CliRunner

CORPUS = Path(__file__).with_name("corpus")
RUNS = "gpu,cnn,batch_per_gpu,time_s\nT4,resnet50,8,85\nT4,resnet50,16,145\nT4,vgg16,32,450\n"
GPU = {
    "gpu": "Own", "sm_count": 40, "core_count": 2560, "boost_clock_hz": 1.59e9,
    "peak_fp32_flop_per_s": 8.1e12, "memory_bytes": 16e9, "bandwidth_byte_per_s": 320e9,
    "l2_bytes": 4194304, "l1_bytes_per_sm": 65536,
    "comparable_fp32_flop_per_s": 8.1e12, "last_level_cache_bytes": 4194304, "tensor_fp16_flop_per_s": 65e12,
    "tdp_w": 70,
}  # fmt: skip
ONE = "predict --cnn resnet50 --gpu T4 --batch 64"
PLAN = "plan --cnn resnet50 --gpu T4 --gpus 1 --prices file.csv"
STUDY = "study fp32-2026 --rates file.csv --out run"
ANCHOR = "predict-from-profile --gpu V100-SXM2-16GB --cnn vgg16 --batch 32 --anchor-gpu"


def own_gpu(**changes):
    row = GPU | changes
    return f"{','.join(row)}\n{','.join(map(str, row.values()))}\n"


def table(header, *rows):
    return "\n".join((header, *rows)) + "\n"


def of_corpus(name, old="", new=""):
    return (CORPUS / name).read_text().replace(old, new, 1)


OWN = "predict --cnn resnet50 --gpu Own --batch 64 --gpu-file file.csv"
FROM = "predict --from file.csv"
NET = "predict --cnn file.csv --gpu T4 --batch 64"
PRICE = "gpu,price_per_hour_usd"
RATE = "gpu,achieved_matmul_flop_per_s,achieved_copy_byte_per_s"
#: What a file holds, the command, and what it must say.
WAYS = {
    "bandwidth in bit/s": (own_gpu(bandwidth_byte_per_s=2.56e12), OWN, "for this fp32 rate"),
    "bandwidth x 10": (own_gpu(bandwidth_byte_per_s=3.2e12), OWN, "for this fp32 rate"),
    "lanes and multiprocessors exchanged": (own_gpu(sm_count=2560, core_count=40), OWN, "lanes for these"),
    "tensor rate as peak": (own_gpu(peak_fp32_flop_per_s=65e12), OWN, "for these lanes and clock"),
    "tensor rate below fp32": (own_gpu(tensor_fp16_flop_per_s=1e12), OWN, "tensor_fp16_flop_per_s"),
    "peak x 10": (own_gpu(peak_fp32_flop_per_s=81e12), OWN, "for this fp32 rate"),
    "memory of a disk": (own_gpu(memory_bytes=64e12), OWN, "B for this bandwidth"),
    "milliwatts": (own_gpu(tdp_w=70_000), OWN, "tdp_w"),
    "a known GPU, corrected in GFLOP/s": (table("gpu,peak_fp32_flop_per_s", "T4,8.1e9"),
                                          f"{ONE} --gpu-file file.csv", "for this fp32 rate"),
    "forward in a file": (table("cnn,gpu,batch_per_gpu,timed_parts", "resnet50,T4,64,forward"), FROM,
                          "got a forward pass"),
    "forward by a law of training": ("", f"{ONE} --forward --formula {BUILT_IN}", "got a forward pass"),
    "an instance's forward pass": ("", "predict --cnn resnet50 --gpu p4d.24xlarge --batch 64 --forward",
                                   "setup: 1 GPU"),
    "an instance in a file": (table("cnn,gpu,batch_per_gpu", "resnet50,p4d.24xlarge,64"), FROM, "8 GPUs"),
    "an instance and a GPU": ("", "predict --cnn resnet50 --gpu p3.8xlarge,T4 --batch 64", "GPUs"),
    "one time for two batches": ("", "predict --cnn resnet50 --gpu T4 --batch 32,64 --gpus 8 "
                                 "--single-gpu-seconds 0.5", "one configuration, got 2"),
    "one time for two GPUs": ("", "predict --cnn resnet50 --gpu T4,V100S-PCIE-32GB --batch 64 --gpus 8 "
                              "--single-gpu-seconds 0.5", "one configuration, got 2"),
    "a time three times too long": ("", f"{ONE} --gpus 8 --single-gpu-seconds 1.6", "3.2 times that"),
    "a time of half a millisecond": ("", f"{ONE} --gpus 8 --single-gpu-seconds 0.0005", "s read as ms?"),
    "InfiniBand in a node": ("", f"{ONE} --gpus 4 --link ib-hdr", "give it as --fabric"),
    "NVLink between nodes": ("", f"{ONE} --gpus 16 --nodes 2 --fabric nvlink2", "give it as --link"),
    "PCIe between uneven nodes": ("", f"{ONE} --allocation 4,2 --fabric pcie3-x16", "give it as --link"),
    "more GPUs than ever": ("", "scaling --cnn vgg16 --gpu T4 --batch 64 --max-gpus 4096", "more than 256"),
    "scaling of a batch that cannot fit": ("", "scaling --cnn vgg16 --gpu T4 --batch 9999", "cannot fit"),
    "streams of a batch that cannot fit": ("", "schedule --cnn vgg16 --gpu T4 --batch 9999", "cannot fit"),
    "seconds between streams": ("", "schedule --cnn lenet5 --gpu T4 --event 5", "less than or equal to"),
    "clock in GHz": ("", "many-core --clock 1.238", "greater than or equal to"),
    "clock in MHz": ("", "many-core --clock 1238", "greater than or equal to"),
    "one core": ("", "many-core --cores 1", "core_count lies outside"),
    "cents": (table(PRICE, "T4,20"), PLAN, "of one T4 for an hour"),
    "price of a second": (table(PRICE, "T4,0.0001"), PLAN, "of one T4 for an hour"),
    "price of a minute": (table(PRICE, "T4,0.0058"), PLAN, "of one T4 for an hour"),
    "price of a month, said": (table("gpu,price_per_month", "T4,19"), PLAN, "prices per hour"),
    "price of a day, said": (table("gpu,price per day", "T4,8.4"), PLAN, "prices per hour"),
    "price of a minute, said": (table("gpu,price per minute", "T4,0.35"), PLAN, "prices per hour"),
    "two currencies": (table("gpu,price", "T4,$0.35", "V100-SXM2-16GB,€2.4"), PLAN, "one currency"),
    "spot above price": (table(f"{PRICE},spot_per_hour_usd", "T4,0.35,0.9"), PLAN, "spot price of T4 below"),
    "kernel 55": (of_corpus("net.csv", "28,28,5,5", "28,28,55,55"), NET, "its kernel makes"),
    "stride 0": (of_corpus("net.csv", "28,28,5,5,1,1", "28,28,5,5,0,0"), NET, "strides"),
    "steps, stated otherwise": (of_corpus("torch.txt"), f"{ANCHOR} T4 --profile file.csv --anchor-steps 10",
                                "states 3"),
    "profile of another GPU": (of_corpus("operations.csv"), f"{ANCHOR} K80 --profile file.csv", "on T4"),
    "profile of a smaller batch": (of_corpus("statistics.csv"),
                                   f"{ANCHOR} T4 --profile file.csv --pixels 448", "times that of"),
    "rate above the peak": (table(RATE, "T4,4.1e15,2.4e11"), STUDY, "achieved_matmul_flop_per_s of"),
    "rate in TFLOP/s": (table(RATE, "T4,4.1,2.4e11"), STUDY, "achieved_matmul_flop_per_s of"),
    "copies in GB/s": (table(RATE, "T4,4.1e12,240"), STUDY, "achieved_copy_byte_per_s of"),
    "latency in us": (table("gpu,launch_latency_s", "T4,5"), STUDY, "launch_latency_s of"),
    "rates of an unknown GPU": (table(RATE, "T5,4.1e12,2.4e11"), STUDY, "'T5'"),
    "a machine's price": (table(f"{PRICE},n_gpus", "V100-SXM2-16GB,19.84,8"), PLAN, "of a machine of 8"),
    "a machine's price, said": (table("gpu,price per instance", "T4,3.9"), PLAN, "prices of one GPU"),
    "a machine's price, unsaid": (table(PRICE, "V100-SXM2-16GB,19.84"),
                                  PLAN.replace("T4", "V100-SXM2-16GB"), "is it the price of one GPU?"),
    "sparse rate": (own_gpu(compute_capability="7.5", tensor_fp16_flop_per_s=130e12), OWN,
                    "without sparsity"),
    "sparse rate of a generation": (own_gpu(generation="Turing", tensor_fp16_flop_per_s=130e12), OWN,
                                    "without sparsity"),
    "a known GPU, corrected to its sparse rate": (
        table("gpu,peak_fp16_flop_per_s", "A100-SXM4-80GB,624e12"),
        "predict --cnn resnet50 --gpu A100-SXM4-80GB --batch 64 --precision amp --gpu-file file.csv",
        "without sparsity"),
    "sparse TF32": (table("gpu,peak_tf32_flop_per_s", "A100-SXM4-80GB,312e12"),
                    "gpus list --gpu-file file.csv", "without sparsity"),
    "sparse bf16": (table("gpu,peak_bf16_flop_per_s", "H100-SXM5-80GB,1979e12"),
                    "gpus list --gpu-file file.csv", "without sparsity"),
    "algorithm of one GPU": ("", f"{ONE} --algorithm tree", "use several --gpus"),
    "buckets of one GPU": ("", f"{ONE} --unbucketed", "use several --gpus"),
    "link of one GPU": ("", f"{ONE} --link pcie3-x16", "use more --gpus"),
    "fabric of one GPU": ("", f"{ONE} --fabric ib-hdr", "use several --nodes"),
    "images without epochs": ("", f"{ONE} --images 1000", "give --epochs too"),
    "shares of a batch that cannot fit": ("", "show --cnn resnet50 --gpu T4 --batch 100000", "cannot fit"),
    "suggestion by ms": (RUNS, "suggest --gpu T4 --runs file.csv", "ms read as s"),
    "contribution in ms": (RUNS, "data contribute file.csv --source a-lab", "ms read as s"),
}  # fmt: skip
#: Values of another kind in Python, and what they must say.
PYTHON = {
    "batch True": ({"batch": True}, "batch_per_gpu as a whole number"),
    "batches True": ({"batch": [True]}, "got True or False"),
    "pixels True": ({"pixels": True}, "pixels as a whole number"),
    "pixels as text": ({"pixels": "224"}, "pixels as a whole number"),
    "GPUs True": ({"n_gpus": True}, "n_gpus as a whole number"),
    "half a GPU": ({"n_gpus": 0.5}, "n_gpus as a whole number"),
    "tuned no": ({"tuned": "no"}, "tuned as True or False"),
    "tuned 2": ({"tuned": 2}, "tuned as True or False"),
    "bucketed no": ({"bucketed": "no"}, "bucketed as True or False"),
    "launch True": ({"host_launch_s": True}, "host_launch_s as a number"),
    "launch in us": ({"host_launch_s": 40}, "host_launch_s as a number from"),
    "layout True": ({"layout": True}, "layout as a text"),
    "link of one GPU": ({"link": "pcie3-x16"}, "use more --gpus"),
    "algorithm of one GPU": ({"algorithm": "tree"}, "use several --gpus"),
    "batch 64.5": ({"batch": [64.5]}, "batch_per_gpu"),
}  # fmt: skip
RIGHT = {
    "own GPU": (own_gpu(), OWN),
    "own GPU with units": (own_gpu(bandwidth_byte_per_s="320 GB/s", peak_fp32_flop_per_s="8.1 TFLOP/s"), OWN),
    "own GPU of a rack": (own_gpu(memory_bytes=192e9, bandwidth_byte_per_s=2e12, tdp_w=1400), OWN),
    "price in cents of euros": (table("gpu,price_eur", "T4,0.35"), PLAN),
    "cheap": (table(PRICE, "T4,0.11"), PLAN),
    "dear": (table(PRICE, "T4,2.9"), PLAN),
    "decimal comma": (table("GPU;Preis je Stunde", "T4;0,35"), PLAN),
    "spot": (table(f"{PRICE},spot_per_hour_usd", "T4,0.35,0.12"), PLAN),
    "a time of one GPU": ("", f"{ONE} --gpus 8 --single-gpu-seconds 0.54"),
    "NVSwitch between nodes": ("", "predict --cnn resnet50 --gpu GB200 --batch 64 --gpus 8 --nodes 2 "
                               "--fabric nvswitch5"),
    "fabric": ("", f"{ONE} --gpus 16 --nodes 2 --fabric ib-hdr"),
    "net": (of_corpus("net.csv"), NET),
    "steps of the profile": (of_corpus("torch.txt"), f"{ANCHOR} T4 --profile file.csv --anchor-steps 3 "
                             "--anchor-seconds 0.4"),
    "forward": ("", f"{ONE} --forward"),
    "events": ("", "schedule --cnn lenet5 --gpu T4 --event 1e-5"),
    "clock": ("", "many-core --clock 1.1e9"),
}  # fmt: skip


def said(content, words, folder):
    (folder / "file.csv").write_text(content)
    result = CliRunner().invoke(app, shlex.split(words))
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize("name", WAYS)
def test_no_other_wrong_number_is_silent(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, words, expected = WAYS[name]
    status, text = said(content, words, tmp_path)
    assert expected in text, text[-300:]
    assert status in (0, 2) and "nan" not in text.split("warning")[0]


@pytest.mark.parametrize("name", PYTHON)
def test_no_wrong_value_of_python_is_silent(name):
    settings, expected = PYTHON[name]
    with pytest.raises(InputError, match=expected):
        trainlaw.predict(**{"cnn": "resnet50", "gpu": "T4", "batch": 64} | settings)


@pytest.mark.parametrize("name", RIGHT)
def test_right_inputs_are_taken(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, text = said(*RIGHT[name], tmp_path)
    assert status == 0, text
    assert "times that of" not in text
