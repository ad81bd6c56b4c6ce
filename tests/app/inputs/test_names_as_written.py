"""Names as people write them: understood, or asked back, and the same in Python as on a command line."""

import csv
import json
import math
from pathlib import Path

from trainlaw.app.inputs.requests import DEFAULT_SETUP, on_instance
from trainlaw.app.inputs.selection import parse_hours
from trainlaw.datasets import built_in_gpus, find_link
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.hardware.instances import instances
from trainlaw.formulas import TrainlawError

from ...commands import invoke

# What is written, and what has to be understood with how many GPUs; behind "?", the names that are asked for;
# behind "??", why it is refused, or the names that are near.
WRITTEN = Path(__file__).with_name("names_as_written.csv")


def written():
    with WRITTEN.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def found(kind, text):
    """Return what a text is understood as and how many GPUs it says, or the error that answers it."""
    try:
        name = built_in_gpus().find(text, counted=True).gpu if kind == "gpu" else cnn_name(text)
    except TrainlawError as error:
        return str(error), ()
    n_gpus = on_instance(DEFAULT_SETUP, text).n_gpus if kind == "gpu" else None
    return name, n_gpus or 1


def is_right(row):
    name, n_gpus = found(row["kind"], row["written"])
    mark, _, wanted = row["meant"].rpartition("? ")
    if not mark and "?" not in row["meant"]:
        return (name, n_gpus) == (row["meant"], int(row["n_gpus"] or 1))
    is_asked = "may mean several" in name if mark == "" else "may mean several" not in name
    return n_gpus == () and is_asked and all(part in name for part in wanted.split(";"))


def test_names_as_people_write_them():
    rows = written()
    assert len(rows) > 300 and not [row for row in rows if not is_right(row)]


def test_families_are_tables_of_their_gpus_on_as_many_as_are_said():
    (first, *others) = predicted("--gpu", "8xA100", "--batch", "8")
    assert first["n_gpus"] == 8 and len(others) == 3
    said = invoke("predict --cnn resnet18 --batch 8 --gpus 4 --gpu", "8x T4")
    assert (said.exit_code, said.stderr.count("'8x T4' says 8 GPUs")) == (2, 1)


def test_instances_are_of_known_gpus_and_fabrics():
    assert len(instances()) >= 60
    for one in instances():
        assert found("gpu", one.instance) == (one.gpu, one.gpus_per_node), one
        assert one.source and not (one.fabric and find_link(one.fabric).scope != "network"), one
        is_priced = one.price_usd_per_hour > 0 and one.date[:2] == "20"
        assert math.isnan(one.price_usd_per_hour) or is_priced, one


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
