"""Each kind of drawing of hand-made figures, whole, as it is kept in the folder `drawings`.

`--overwrite-golden` writes what is drawn now: look at the pictures.
"""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from trainlaw.app.models.front import LAW, SIZED_CONTROLS, FrontRow
from trainlaw.app.predictions.scaling import ScalingPoint
from trainlaw.app.report.front import front_plot, support_plot
from trainlaw.app.report.plots import (
    PointGroup,
    error_dots,
    predicted_against_measured,
    predicted_from_zero,
    residuals,
)
from trainlaw.app.terminal.datasets import coverage_svg
from trainlaw.app.terminal.plan_text import plans_svg
from trainlaw.app.terminal.scaling import scaling_svg
from trainlaw.app.terminal.schedules import gantt_svg
from trainlaw.datasets import TARGET, feature_specs, load
from trainlaw.formulas import Formula, parse_text
from trainlaw.validate.error_table import MACRO
from trainlaw.validate.formula_errors import ErrorLine
from trainlaw.validate.result import OURS
from trainlaw.validate.support import Support

KEPT = Path(__file__).parent / "drawings"
GROUPS = [
    PointGroup("T4", (0.002, 0.03, 0.5), (0.0025, 0.02, 0.45), {"macs": (0.0, 2e9, 5e10)}, 20),
    PointGroup("A40", (0.004, 0.011), (0.004, -1.0), {"macs": (3e8, 4e9)}, 200),
]


def law(text="2 * macs", **errors):
    return Formula(parse_text(text), feature_specs(["macs"]), TARGET, errors=errors)


def front_row(constants, percent, **controls):
    summary = {name: {MACRO: error} for name, error in {OURS: percent, **controls}.items()}
    intervals = {OURS: {MACRO: [percent - 3, percent + 4]}} if controls else {}
    return FrontRow(constants, law(summary=summary, summary_intervals=intervals))


def front():
    known = dict(zip(SIZED_CONTROLS, (30.0, 24.0, 21.0, 28.0), strict=True))
    smaller = {name: 0.9 * error for name, error in known.items()}
    last = replace(front_row(25, 16.0), method=LAW)
    return front_plot([front_row(4, 20.0, **known), front_row(8, 18.5, **smaller), last], "formula-")


def scaling():
    shares = (
        (1, 1, 0.1, 0.0, 0.0),
        (2, 1, 0.1, 0.02, 0.005),
        (6, 2, 0.1, 0.03, 0.01),
        (8, 2, 0.1, 0.05, 0.03),
    )
    points = [
        ScalingPoint(gpus, nodes, 64, sum(parts), *parts, 0.1 * gpus / sum(parts), "nvlink2", "ib-edr")
        for gpus, nodes, *parts in shares
    ]
    return scaling_svg("vgg16, batch 64, T4", points)


def plans():
    names = ["gpu", "n_gpus", "batch_per_gpu", "precision", "training_h", "cost", "energy_kwh", "is_measured"]
    rows = [
        ("T4", 1, 64, "fp32", 40.0, 20.0, 3.0, True),
        ("A40", 8, 128, "amp", 4.0, 45.0, 2.0, True),
        ("A40", 4, 128, "amp", 4.1, 44.0, 2.0, True),
        ("B300", 1, 256, "amp", 9.0, math.nan, 2.0, False),
        ("B300", 2, 256, "amp", 5.0, 90.0, 2.0, False),
    ]
    frame = pd.DataFrame(rows, columns=names)
    return SimpleNamespace(
        frame=frame,
        front=lambda: frame.iloc[[1, 2, 0]],
        second_axis="cost",
        prices=SimpleNamespace(currency="USD"),
        cnn=SimpleNamespace(cnn="vgg16"),
        training=SimpleNamespace(title="90 epochs"),
    )


def schedule():
    layers = [
        SimpleNamespace(name=f"{name} of features", layer=name, kind=name, group=group, backward=backward)
        for name, group, backward in (
            ("conv2d", "convolution", False),
            ("batchnorm2d", "normalization", False),
            ("flatten", "shape", False),
            ("conv2d_back", "convolution", True),
        )
    ]
    tasks = SimpleNamespace(seconds=(0.004, 0.0002, 0.0, 0.005), demands=(0.8, 0.1, 0.0, 0.75))
    chosen = SimpleNamespace(
        streams=2,
        makespan_s=0.0062,
        speed_up=1.48,
        tasks=tasks,
        start_s=(0.0, 0.004, 0.004, 0.0012),
        stream=(0, 0, 0, 1),
    )
    return SimpleNamespace(
        cnn="lenet5", batch=8, phase="training", gpu="T4", chosen=chosen, layers=layers, critical=(3,)
    )


def errors():
    lines = [
        ErrorLine("vgg16", 5, {OURS: 12.0, "roofline": 33.0}, low=9.0, high=17.0),
        ErrorLine("an_architecture_of_a_long_name", 7, {OURS: 4.0, "roofline": 4.1, "null_compute": 4.2}),
        ErrorLine("x" * 22, 4, {OURS: 0.8, "roofline": 0.9}, low=0.6, high=1.1),
        ErrorLine("GV100-80", 9, {OURS: 40.0, "roofline": math.nan}, ("V100-PCIE-16GB", "V100-SXM2-16GB")),
    ]
    return error_dots(lines, [OURS, "roofline", "null_compute"], "errors by name")


def coverage():
    runs = load("fp32-2026")
    names = {"gpu": ["T4", "A40", "K80"], "cnn": ["resnet50", "vgg16", "overfeat"]}
    of_few = np.logical_and(*(runs.frame[column].isin(few) for column, few in names.items()))
    return coverage_svg(runs.where(of_few.to_numpy()), ("cnn", "gpu"))


DRAWINGS = {
    "coverage": coverage,
    "errors": errors,
    "front": front,
    "from-zero": lambda: predicted_from_zero(GROUPS[:1]),
    "measured": lambda: predicted_against_measured(GROUPS),
    "plans": lambda: plans_svg(plans()),
    "residuals": lambda: residuals(GROUPS, "macs", ""),
    "scaling": scaling,
    "schedule": lambda: gantt_svg(schedule()),
    "support": lambda: support_plot(
        [Support("conv3x3_matrix_s", 0.955), Support("b" * 36, 0.5), Support("a" * 37, 0.0)]
    ),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_drawn_as_before(name, overwrite_golden):
    drawn, path = DRAWINGS[name]().replace("><", ">\n<"), KEPT / f"{name}.svg"
    if overwrite_golden:
        path.write_text(drawn, encoding="utf-8")
    assert drawn == path.read_text(encoding="utf-8")
