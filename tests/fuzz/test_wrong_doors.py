"""Ways to a wrong number beside tables of runs: files and options, as a table; and right ones beside them."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import trainlaw
from click.testing import CliRunner
from trainlaw.app.cli import app
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.formulas import InputError

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


def configured(column, cell, others=None):
    """A header and a row with a cell in a column, which may be a further one."""
    row = (others or {"cnn": "resnet50", "gpu": "T4", "batch_per_gpu": 64}) | {column: cell}
    return ",".join(row), ",".join(map(str, row.values()))


def layer(column, cell):
    """The first convolution of a network with another cell."""
    header, *lines = (CORPUS / "net.csv").read_text().splitlines()
    cells = lines[1].split(",")
    cells[header.split(",").index(column)] = cell
    return table(header, lines[0], ",".join(cells), *lines[2:])


def of_corpus(name, old="", new=""):
    return (CORPUS / name).read_text().replace(old, new, 1)


def lines_of(name):
    return Path(__file__).with_name(name).read_text().splitlines()


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
    "seconds between streams": ("", "schedule --cnn lenet5 --gpu T4 --event 5", "'--event'"),
    "clock in GHz": ("", "many-core --clock 1.238", "'--clock'"),
    "clock in MHz": ("", "many-core --clock 1238", "'--clock'"),
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
    "sparse rate of a generation, in short": (own_gpu(generation="ada", tensor_fp16_flop_per_s=130e12), OWN,
                                              "without sparsity"),
    "sparse rate of no generation": (own_gpu(tensor_fp16_flop_per_s=130e12), OWN, "the most similar known"),
    "sparse peak of no generation": (own_gpu(peak_fp16_flop_per_s=130e12), OWN, "the most similar known"),
    "sparse rate of what is needed alone": (
        table("gpu,sm_count,core_count,boost_clock_hz,peak_fp32_flop_per_s,memory_bytes,bandwidth_byte_per_s,"
              "tensor_fp16_flop_per_s", "Own,108,6912,1.41e9,19.5e12,80e9,2e12,624e12"),
        OWN, "the most similar known"),
    "a capability as compilers name it": (own_gpu(compute_capability="sm_75"), OWN, "such as 7.5"),
    "a known GPU, corrected to its sparse rate": (
        table("gpu,peak_fp16_flop_per_s", "A100-SXM4-80GB,624e12"),
        "predict --cnn resnet50 --gpu A100-SXM4-80GB --batch 64 --precision amp --gpu-file file.csv",
        "without sparsity"),
    "sparse TF32": (table("gpu,peak_tf32_flop_per_s", "A100-SXM4-80GB,312e12"),
                    "gpus list --gpu-file file.csv", "without sparsity"),
    "sparse bf16": (table("gpu,peak_bf16_flop_per_s", "H100-SXM5-80GB,1979e12"),
                    "gpus list --gpu-file file.csv", "without sparsity"),
    "algorithm of one GPU": ("", f"{ONE} --algorithm tree", "use several --gpus"),
    "scaling formula of one GPU": ("", f"{ONE} --law textbook", "use several --gpus"),
    "scaling formula as the one of one GPU": ("", f"{ONE} --formula multi", "use several --gpus"),
    "scaling formula of plans on one GPU": ("", "plan --cnn resnet50 --gpu T4 --gpus 1 --law textbook",
                                            "use several --gpus"),
    "scaling formula of a file on one GPU": (table("cnn,gpu,batch_per_gpu", "resnet50,T4,64"),
                                             f"{FROM} --law textbook", "use several --gpus"),
    "buckets of one GPU": ("", f"{ONE} --unbucketed", "use several --gpus"),
    "link of one GPU": ("", f"{ONE} --link pcie3-x16", "use more --gpus"),
    "fabric of one GPU": ("", f"{ONE} --fabric ib-hdr", "use several --nodes"),
    "images without epochs": ("", f"{ONE} --images 1000", "give --epochs too"),
    "shares of a batch that cannot fit": ("", "show --cnn resnet50 --gpu T4 --batch 100000", "cannot fit"),
    "a known GPU, corrected to another bandwidth": (table("gpu,bandwidth_byte_per_s", "T4,640e9"),
                                                    f"{ONE} --gpu-file file.csv", "about 3.2e+11, as T4 has"),
    "a known GPU, corrected to another memory": (table("gpu,memory_bytes", "T4,160e9"),
                                                 f"{ONE} --gpu-file file.csv", "as T4 has"),
    "a known GPU, corrected to two": (table("gpu,sm_count,core_count", "T4,80,5120"),
                                      f"{ONE} --gpu-file file.csv", "as T4 has"),
    "a known GPU in small letters": (own_gpu(gpu="t4"), f"{ONE} --gpu-file file.csv", "T4 to correct it"),
    "a known GPU as its driver names it": (own_gpu(gpu="Tesla T4"), f"{ONE} --gpu-file file.csv",
                                           "T4 to correct it"),
    "another GPU's name as an alias": (own_gpu(aliases="T4"), f"{ONE} --gpu-file file.csv", "another name"),
    "images in thousands": ("", f"{ONE} --images 50 --epochs 90", "one batch of 64 images"),
    "a stack in fp32": ("", f"{ONE} --stack fused", "16 bits alone"),
    "a stack against the layout": ("", f"{ONE} --precision amp --stack eager --layout channels_last", "NCHW"),
    "a stack against the container": ("", f"{ONE} --precision amp --stack eager --tuned", "nothing fused"),
    "fabric within a server": ("", f"{ONE} --gpus 8 --fabric ib-hdr", "use several --nodes"),
    "text in a workbook": ("", f"{ONE} --out x.xlsx", "expected a file .csv, .json or .txt"),
    "two fabrics": (table("cnn,gpu,batch_per_gpu,fabric,network,n_gpus,n_nodes",
                          "resnet50,T4,64,ib-hdr,ethernet-10g,8,2"), FROM, "one link between nodes"),
    "no column to ignore": (table("cnn,gpu,batch_per_gpu", "resnet50,T4,64"), f"{FROM} --ignore time",
                            "not needed"),
    "a needed column ignored": (table("cnn,gpu,batch_per_gpu", "resnet50,T4,64"),
                                f"{FROM} --ignore batch_per_gpu", "not needed"),
    "prices with a discount": (table("gpu,price per hour,discount", "T4,0.35,50%"), PLAN, "as they are paid"),
    "prices without tax": (table("gpu,price per hour,VAT", "T4,0.35,19%"), PLAN, "as they are paid"),
    "sure of no limit": ("", "plan --cnn resnet50 --gpu T4 --gpus 1 --surely", "give --within or --budget"),
    "a workbook without names": ("", "export --out law.xlsx --bare", "is for programs"),
    "times ignored": (RUNS, "data check file.csv --ignore time_s", "leave it out of --ignore"),
    "no column of a table to ignore": (RUNS, "data check file.csv --ignore remark", "out of --ignore"),
    "no row to leave out": (RUNS.replace("85", "0.085"),
                            "data import file.csv --precision fp32 --skip-rows 9", "no row 9"),
    "no cell to give a value": (RUNS.replace("85", "0.085"),
                                "data import file.csv --precision fp32 --value gpu:T5=T4", "no cell is"),
    "suggestion by ms": (RUNS, "suggest --gpu T4 --runs file.csv", "ms read as s"),
    "tf32 on a T4": ("", f"{ONE} --precision tf32", "T4 has no tf32"),
    "plan of tf32 on a T4": ("", "plan --cnn resnet50 --gpu T4 --precision tf32 --gpus 1", "T4 has no tf32"),
    "bf16 on a K80": ("", "predict --cnn resnet50 --gpu K80 --batch 64 --precision bf16", "K80 has no bf16"),
    "NVLink of a T4": ("", f"{ONE} --gpus 2 --link nvlink2", "no link nvlink2"),
    "scaling by NVLink of a T4": ("", "scaling --cnn resnet50 --gpu T4 --batch 64 --link nvlink2",
                                  "no link nvlink2"),
    "all GPUs in a node": ("", f"{ONE} --gpus 100000 --nodes 1", "more than 16 GPUs"),
    "16 bits on a K80": ("", "predict --cnn resnet50 --gpu K80 --batch 64 --precision amp",
                         "no fast 16-bit floats"),
    "16 bits on a K80, as JSON": ("", "predict --cnn resnet50 --gpu K80 --batch 64 --precision amp --json",
                                  "no fast 16-bit floats"),
    "GPUs as in no run": ("", f"{ONE} --gpus 100000", "no measured run has more than 256"),
    "pixels as in no run": ("", f"{ONE} --pixels 8", "px: runs have 32 to 832 px"),
    "pixels as in no run, as JSON": ("", f"{ONE} --pixels 8 --json", "px: runs have 32 to 832 px"),
    "measured tf32 on a T4": (table("gpu,cnn,batch_per_gpu,time_s,precision", "T4,resnet50,32,0.3,tf32"),
                              "data check file.csv", "column precision: expected a precision that the GPU"),
    "measured bf16 on a K80": (table("gpu,cnn,batch_per_gpu,time_s,precision", "K80,resnet50,32,0.3,bf16"),
                               "data check file.csv", "column precision: expected a precision that the GPU"),
    "price of a card": (table(PRICE, "T4,1999"), PLAN, "of one T4 for an hour"),
    "price of a dear card": (table(PRICE, "T4,2999"), PLAN, "of one T4 for an hour"),
    "times of configurations": (RUNS, FROM, "time_s of"),
    "a number of a fault": (table("gpu,cnn,batch_per_gpu,time_s,time_max_s", "T4,resnet50,64,0.54,0.1127"),
                            "data check file.csv", "got 0.1127"),
}  # fmt: skip
LIST = "gpus list --gpu-file file.csv"
RATED = {
    "achieved_matmul_flop_per_s": (4.1, 4100, 4.1e6, 4.1e9, 4.1e15, 4e14, -1, 0, "x", "4.1 TFLOP/s"),
    "achieved_copy_byte_per_s": (0.24, 240, 2.4e5, 2.4e8, 2.4e14, 3.3e12, 0, -1, "x", "320 Gbit/s"),
    "launch_latency_s": (5, 0.005, 1e-9, 0, -1, "5us"),
}  # fmt: skip
#: What a layer of a network has in its column, which does not fit the others or the layers beside it.
LAYERS = {
    "kind": "convolution", "inputs": "7", "in_channels": "6", "out_channels": "12", "in_height": "64",
    "in_width": "16", "out_height": "30", "out_width": "-28", "kernel_height": "55", "kernel_width": "1.5",
    "stride_height": "0", "stride_width": "5", "dilation_height": "-1", "dilation_width": "0", "pad_top": "x",
    "pad_left": "-2", "groups": "4", "vector_parameters": "-6", "learns_weights": "2",
}  # fmt: skip
NO_NVLINK = (
    "T4",
    "L4",
    "A10",
    "K80",
    "M60",
    "P40",
    "RTX 4090",
    "A10G",
    "L40S",
    "GTX 1080 Ti",
    "P100-PCIE-16GB",
)
NO_BF16 = ("K80", "M60", "P40", "GTX 1080 Ti", "P100-PCIE-16GB", "GTX 970")
#: Of the same table, in families: what a file holds or a command line ends with, and what must be said.
GPU_CELLS = {
    "boost_clock_hz": (1590, 1.59, 1.59e12), "peak_fp32_flop_per_s": (8.1, 8100, 8.1e6, 8.1e15, 16e12),
    "memory_bytes": (16, 16e3, 16e6, "128 Gbit"),
    "bandwidth_byte_per_s": (320, 320e3, "320 Gbit/s", 2.56e12),
    "l2_bytes": (4, 4096, 4194304e3, 4194304 * 100), "l1_bytes_per_sm": (64, 65536 * 40, 65536e3),
    "last_level_cache_bytes": (4, 4096, 4e12), "tensor_fp16_flop_per_s": (65, 65e3, 65e15),
    "tdp_w": (0.07, 70e3, -70), "core_count": (64, 2.5, 0), "sm_count": (2560, 0, -40),
    "comparable_fp32_flop_per_s": (8.1, 8100), "compute_capability": ("75", "750"), "year": (22,),
}  # fmt: skip
PRICED = {
    "gpu,price_jpy": "T4,55", "gpu,price in ct per hour": "T4,35", "gpu,purchase price": "T4,2000",
    "gpu,price per node": "T4,3.5", "gpu,price per quarter": "T4,3", "gpu,price per kWh": "T4,0.35",
    "gpu,price per 1000 images": "T4,0.35", "gpu,price per epoch": "T4,1", "gpu,price per week": "T4,5",
    "gpu,price per year": "T4,9", "gpu,price per second": "T4,0.1", "gpu,price per VM": "T4,0.5",
    "gpu,price_per_hour": 'T4,"1.234,50"', "gpu,hourly price": 'T4,"1,234.50"', "gpu,price_usd": "T4,0",
    "gpu,cost": "T4,-0.35", "gpu,usd": "T4,nan", "gpu,eur": "T4,inf", "gpu,rate": "T4,free",
    "gpu,price,host": "T4,0.35,35", "gpu,price,spot": "T4,0.35,0.36", "gpu,price,n_gpus": "T4,0.35,0",
    "gpu,price,gpus": "V100-SXM2-16GB,12.24,4", "gpu,price,date": "T4,0.35,soon",
    "instance,price": "p3.8xlarge,3.06e3", "gpu,list price": "T5,0.35", "name,price,price_usd": "T4,1,1",
}  # fmt: skip
CONFIGURED = {
    "batch_per_gpu": ("64.5", "6e1", "-64", '"1,024"', "0", "", "64 images", "all"),
    "gpu": ("T4,T4", "2x T4", "T4 x4", "T5", "GRID T4-8Q", "A100-SXM4-40GB MIG 1g.5gb", "3080", ""),
    "cnn": ("resnet", "yolov8n", "vit_b_16", "vgg17", "", "bert-base"),
    "precision": ("fp64", "int8", "16", "tf32", "mixed?", "fp8"), "layout": ("nhwc", "ndhwc", "last"),
    "compilation": ("torch.compile", "jit", "yes"), "tuned": ("yes", "2", "-1"), "bucketed": ("no", "25"),
    "host_launch_s": ("40", "40us", "-1", "nan", "1e-9"), "n_gpus": ("0", "1.5", "-8", "eight"),
    "n_nodes": ("0", "2", "x"), "input_size_px": ("0", "224x224", "224.5", "-1", "999999"),
    "n_classes": ("0", "-10", "ten"), "allocation": ("4,0", "x", "4;2"),
    "timed_parts": ("forward", "backward"),
    "algorithm": ("rings", "nccl"), "stack": ("cudnn",), "time": ("0.54",), "global_batch": ("512",),
    "px": ("128",), "amp": ("1",), "classes": ("10",), "image_size": ("128",), "gpus": ("8",),
    "epochs": ("90",), "loss": ("mse",),
}  # fmt: skip
FAMILIES = {
    **{f"{column} {cell}": (own_gpu(**{column: cell}), LIST)
       for column, cells in GPU_CELLS.items() for cell in cells},
    **{f"{header}: {row}": (table(header, row), PLAN) for header, row in PRICED.items()},
    **{f"{column} {cell}": (table(*configured(column, cell)), FROM)
       for column, cells in CONFIGURED.items() for cell in cells},
    **{f"{column} {cell}": (table(*configured(column, cell, {"gpu": "T4"})), STUDY)
       for column, cells in RATED.items() for cell in cells},
    **{f"layer's {column} {cell}": (layer(column, cell), NET) for column, cell in LAYERS.items()},
    **{f"NVLink of {gpu}": ("", f"predict --cnn vgg16 --gpu '{gpu}' --batch 8 --gpus 4 --link nvlink3")
       for gpu in NO_NVLINK},
    **{f"bf16 on {gpu}": ("", f"predict --cnn vgg16 --gpu '{gpu}' --batch 8 --precision bf16")
       for gpu in NO_BF16},
    **{words: ("", words) for words in lines_of("refused-commands.txt")},
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


#: Commands of which all is right.
USUAL = lines_of("usual-commands.txt")
# A doubt that `predict` says of the numbers, not of what they are extended to.
DOUBTS = ("times that of", "is it the price", "cannot fit", "unlike any")


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


@pytest.mark.slow
def test_no_way_of_the_families_is_silent(tmp_path, monkeypatch):
    """Each is refused by one line, or asked about."""
    monkeypatch.chdir(tmp_path)
    answers = {name: said(*way, tmp_path) for name, way in FAMILIES.items()}
    asked = ("warning", "is it the price")
    silent = [name for name, (status, text) in answers.items()
              if status != 2 and not any(word in text for word in asked)]  # fmt: skip
    assert silent == []


def test_there_are_four_hundred_ways_beside_runs():
    assert len(WAYS) + len(PYTHON) + len(FAMILIES) >= 400


@pytest.mark.parametrize("name", PYTHON)
def test_no_wrong_value_of_python_is_silent(name):
    settings, expected = PYTHON[name]
    with pytest.raises(InputError, match=expected):
        trainlaw.predict(**{"cnn": "resnet50", "gpu": "T4", "batch": 64} | settings)


def test_a_column_and_an_argument_of_python_do_not_contradict_each_other():
    frame = pd.DataFrame({"cnn": ["resnet50"], "gpu": ["T4"], "batch": [64], "precision": ["amp"]})
    for further in ({"precision": "fp32"}, {"gpu": "V100-SXM2-16GB"}):
        with pytest.raises(InputError, match="in the frame or as an argument"):
            trainlaw.predict(frame, **further)
    with pytest.raises(InputError, match="batch_per_gpu once"):
        trainlaw.predict(frame.assign(batch_per_gpu=32))
    one = trainlaw.predict("resnet50", "T4", 64)
    assert trainlaw.predict("resnet50", "T4", np.int64(64)).seconds == one.seconds


def test_a_renamed_column_is_not_taken_for_the_one_in_its_place():
    frame = pd.DataFrame(np.random.default_rng(0).uniform(1, 2, (30, 2)), columns=["a", "b"])
    found = trainlaw.FormulaRegressor(evaluations=100, random_seed=0).fit(frame, frame["a"] + frame["b"])
    with pytest.raises(InputError, match="without a"):
        found.predict(frame.rename(columns={"a": "x"}))


@pytest.mark.slow
def test_of_usual_commands_at_most_one_in_twenty_is_asked_about(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = {words: said("", words, tmp_path) for words in USUAL}
    asked = [words for words, (status, text) in answers.items()
             if status or any(doubt in text for doubt in DOUBTS)]  # fmt: skip
    assert len(USUAL) + len(RIGHT) >= 60
    assert len(asked) <= 0.05 * len(USUAL), asked


@pytest.mark.parametrize("name", RIGHT)
def test_right_inputs_are_taken(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, text = said(*RIGHT[name], tmp_path)
    assert status == 0, text
    assert "times that of" not in text
