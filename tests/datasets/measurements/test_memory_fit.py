from dataclasses import replace

import numpy as np
import pytest
from trainlaw.datasets import configuration, find_cnn_counts, find_gpu
from trainlaw.datasets.cnns.memory import MARGIN, step_memory
from trainlaw.datasets.measurements import memory_fit
from trainlaw.datasets.measurements.memory_fit import HELD_PER_SOLD, gigabytes, largest_batch, memory_needs


def needs_of(batch, **options):
    run = configuration(cnn="vgg16", gpu="T4", batch_per_gpu=batch, **options)
    (row,) = memory_needs(run).to_dict("records")
    return row


def test_more_images_need_more_memory_until_they_cannot_fit():
    rows = [needs_of(batch) for batch in (1, 32, 160, 512)]
    assert [row["fits"] for row in rows][:: len(rows) - 1] == [memory_fit.FITS, memory_fit.CANNOT_FIT]
    least = [row["least_bytes"] for row in rows]
    assert least == sorted(least) and all(row["usual_bytes"] > row["least_bytes"] for row in rows)
    # Outputs scale with the batch, parameters do not.
    assert (least[3] - least[1]) / (least[1] - least[0]) == pytest.approx(480 / 31, rel=1e-3)


HELD = 16 * 2**30  # a T4, sold as 16 GB


@pytest.mark.parametrize(
    ("least", "usual", "answer"),
    [
        (10, HELD, "FITS"),
        (10, HELD + 1, "MAY_NOT_FIT"),
        (HELD * MARGIN - 1, HELD + 1, "MAY_NOT_FIT"),
        (HELD * MARGIN + 1, HELD + 1, "CANNOT_FIT"),
    ],
)
def test_the_answer_changes_at_the_size_of_the_device(monkeypatch, least, usual, answer):
    monkeypatch.setattr(memory_fit, "_needs", lambda facts, batch, precision: (least, usual))
    row = needs_of(1)
    assert (row["held_bytes"], row["fits"]) == (HELD, getattr(memory_fit, answer))


def test_nothing_is_known_about_a_device_of_unknown_memory():
    table = configuration(cnn="vgg16", gpu="T4", batch_per_gpu=1)
    gpu = replace(find_gpu("T4"), memory_bytes=np.nan)
    unknown = replace(table, facts=replace(table.facts, gpus=table.facts.gpus.with_gpus([gpu])))
    assert memory_needs(unknown)["fits"].tolist() == [memory_fit.NOT_KNOWN]


def test_the_largest_batch_of_forward_passes_leaves_room_for_weights_and_workspace():
    facts = find_cnn_counts("vgg16")

    def needed(batch):
        step = step_memory(facts.counts["params"], facts.memory, batch, "fp32", momentum=False)
        return 4 * facts.counts["params"] + step.working + step.workspace + step.context

    most = largest_batch(facts, 16e9, "fp32", forward=True)
    assert needed(most) <= 16e9 * HELD_PER_SOLD < needed(most + 1)


def test_sizes_are_shown_with_three_digits():
    assert [gigabytes(size) for size in (0.0, 1e9, 1.2345e9, 99.96e9, 2e12)] == [
        "0",
        "1",
        "1.23",
        "100",
        "2000",
    ]
