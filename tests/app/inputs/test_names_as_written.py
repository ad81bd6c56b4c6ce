"""Names as people write them: understood, or asked back with the right offer first."""

import json
import math

from trainlaw.app.inputs.selection import parse_hours
from trainlaw.datasets import find_gpu, find_link
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.hardware.instances import instances
from trainlaw.formulas import TrainlawError

from ...commands import invoke

# What is written, and what has to be understood; or, behind "?", what has to be offered or said first.
GPUS = {
    "a100": "A100-",
    "H100": "H100-",
    "rtx 4090 laptop": "? RTX 4090",
    "nvidia rtx 3090 ti": "RTX 3090 Ti",
    "4090": "RTX 4090",
    "tesla v100 32gb": "V100-",
    "T4 (Colab)": "T4",
    "GTX1080Ti": "GTX 1080 Ti",
    "Radeon 7900 XTX": "RX 7900 XTX",
    "mi300x": "MI300X",
    "MI250": "MI250",
    "A100 80GB SXM": "A100-SXM4-80GB",
    "H100 PCIe": "H100-PCIE-80GB",
    "L40s": "L40S",
    "quadro rtx 6000": "Quadro RTX 6000",
    "K80": "K80",
    "V100 SXM2": "V100-SXM2-",
    "g4dn.xlarge": "T4",
    "p4d.24xlarge": "A100-SXM4-40GB",
    "p5.48xlarge": "H100-SXM5-80GB",
    "a2-highgpu-1g": "A100-SXM4-40GB",
    "g2-standard-4": "L4",
    "Standard_ND96asr_v4": "A100-SXM4-40GB",
    "NC6s v3": "V100-PCIE-16GB",
    "gpu_8x_a100": "A100-SXM4-40GB",
    "TPU v4": "? no GPU",
    "p4d": "? p4d.24xlarge",
    "n1-standard-4 t4": "? T4",
    "h100 sxm": "? H100-SXM5-80GB",
    "jetson orin": "? describe yours with --gpu-file",
}
CNNS = {
    "resnet-50": "resnet50",
    "ResNet 50 v1.5": "resnet50",
    "effnet b0": "efficientnet_b0",
    "efficientnet-b3": "efficientnet_b3",
    "vgg-16": "vgg16",
    "mobilenet v2": "mobilenet_v2",
    "inceptionv3": "inception_v3",
    "densenet 121": "densenet121",
    "convnext tiny": "convnext_tiny",
    "resnext50": "resnext50_32x4d",
    "squeezenet": "? squeezenet1_",
    "yolov8": "? your own network",
    "llama": "? transformers",
    "bert": "? transformers",
}


def answer(find, text):
    """What a text is understood as, or the error that answers it."""
    try:
        return find(text)
    except TrainlawError as error:
        names = getattr(error, "candidates", ())
        return f"? {names[0] if names else error}"


def is_right(text, wanted, found):
    if wanted.startswith("? "):
        return wanted[2:] in found
    return found.removeprefix("? ").removeprefix("Radeon ").removeprefix("Instinct ").startswith(wanted)


def test_names_as_people_write_them():
    asked = [(text, wanted, answer(lambda text: find_gpu(text).gpu, text)) for text, wanted in GPUS.items()]
    asked += [(text, wanted, answer(cnn_name, text)) for text, wanted in CNNS.items()]
    wrong = [one for one in asked if not is_right(*one)]
    assert not wrong


def test_instances_are_of_known_gpus_and_fabrics():
    assert len(instances()) >= 60
    for one in instances():
        assert find_gpu(one.instance).gpu == one.gpu, one
        assert one.source and not (one.fabric and find_link(one.fabric).scope != "network"), one
        assert math.isnan(one.price_usd_per_hour) or (one.price_usd_per_hour > 0 and one.date[:2] == "20"), (
            one
        )


def predicted(*arguments):
    result = invoke("predict --cnn resnet18 --json", *arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_other_numbers_of_classes_cost_memory_and_time():
    asked = ("--gpu", "T4", "--batch", "8")
    (usual,), (many,) = predicted(*asked), predicted(*asked, "--classes", "20000")
    assert many["memory_least_bytes"] > usual["memory_least_bytes"] and many["time_s"] > usual["time_s"]


def test_hours_are_read_as_people_write_them():
    texts = ("1 day", "2 Days", "1w", "90 minutes", "3 hours", "30m")
    assert [parse_hours(text, "--within") for text in texts] == [24, 48, 168, 1.5, 3, 0.5]
