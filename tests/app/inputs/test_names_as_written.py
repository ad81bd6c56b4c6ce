"""Names as people write them: understood, or asked back with the right offer first."""

import csv
import json
import math
from pathlib import Path

from trainlaw.app.inputs.selection import parse_hours
from trainlaw.datasets import find_gpu, find_link
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.hardware.instances import instances
from trainlaw.formulas import TrainlawError

from ...commands import invoke

# What is written, and what has to be understood; or, behind "?", what has to be offered or said first.
WRITTEN = Path(__file__).with_name("names_as_written.csv")


def answer(find, text):
    """What a text is understood as, or the error that answers it."""
    try:
        return find(text)
    except TrainlawError as error:
        names = getattr(error, "candidates", ())
        return f"? {names[0] if names else error}"


def is_right(wanted, found):
    if wanted.startswith("? "):
        return wanted[2:] in found
    return found.removeprefix("? ").removeprefix("Radeon ").removeprefix("Instinct ").startswith(wanted)


def test_names_as_people_write_them():
    find = {"gpu": lambda text: find_gpu(text).gpu, "cnn": cnn_name}
    with WRITTEN.open(encoding="utf-8") as file:
        rows = [(row["written"], row["meant"], find[row["kind"]]) for row in csv.DictReader(file)]
    wrong = [(text, wanted) for text, wanted, found in rows if not is_right(wanted, answer(found, text))]
    assert len(rows) > 40 and not wrong


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
