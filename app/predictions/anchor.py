"""Predictions of an iteration on one GPU from a profile of it on another: formula, interval, warnings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from trainlaw.app.answers.answer import WARNING
from trainlaw.app.answers.said import evaluated
from trainlaw.app.answers.table import lines_of, within_reach
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.models.builtin import MEASURED_PAIR_GPUS, pair_formula
from trainlaw.app.models.doubts import time_doubt
from trainlaw.app.models.scopes import check_scope
from trainlaw.app.text.numbers import show_percent
from trainlaw.datasets import FEATURES, GpuCatalog, RunTable
from trainlaw.datasets.features.pair_features import (
    ANCHOR,
    OPERATION_FEATURES,
    PROFILE_FEATURES,
    grouped_seconds,
)
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.datasets.profiles.operations import operation_group
from trainlaw.datasets.profiles.profile_files import OperationProfile, read_profile
from trainlaw.formulas import Constant, Formula, InputError, load_formula
from trainlaw.formulas.scopes import GPU_PAIR
from trainlaw.validate.formula_errors import overall_error
from trainlaw.validate.formula_intervals import interval_of
from trainlaw.validate.result import OURS

_UNKNOWN_SHARE = 0.02  # of a profile's time; less is not worth a warning


@dataclass(frozen=True)
class Workload:
    """The profiled CNN, batch and side of an image in pixels; None where the user does not say."""

    cnn: str | None = None
    batch: int | None = None
    pixels: int | None = None

    def run_on(self, gpu: str, gpus: GpuCatalog | None) -> RunTable | None:
        """Return the iteration on a GPU, in fp32; None where CNN or batch is not known."""
        if self.cnn is None or self.batch is None:
            return None
        return one_run(self.cnn, gpu, self.batch, self.pixels, Setup("fp32"), gpus=gpus)


UNKNOWN_WORKLOAD = Workload()


@dataclass(frozen=True)
class AnchorPrediction:
    """An iteration on the target GPU predicted from one on the anchor GPU, in seconds.

    step : origin of the anchor's time: measured, or the sum of its operations. formula : origin of the
    formula. low_s, high_s : interval, None without one. error_percent : of the formula on held-out
    architectures or GPUs; nan where it is not known.
    """

    workload: Workload
    anchor: str
    gpu: str
    anchor_time_s: float
    step: str
    profile: str
    time_s: float
    low_s: float | None
    high_s: float | None
    formula: str
    error_percent: float
    warnings: tuple[str, ...]


def predict_from_profile(
    file: Path,
    pair: tuple[str, str],
    workload: Workload = UNKNOWN_WORKLOAD,
    *,
    anchor_s: float | None = None,
    steps: int = 1,
    formula: Path | None = None,
    gpus: GpuCatalog | None = None,
) -> AnchorPrediction:
    """Return the predicted iteration on the target GPU.

    file : a profile on the anchor (see `read_profile`), `steps` as there. pair : names of anchor and target.
    anchor_s : seconds of the anchor's iteration without the profiler; None: by the profile. formula : a file
    or run folder, None for the built-in formula of the pair, or of any pair. gpus : known GPUs, None for the
    built-in ones. Raises InputError where profile, GPUs or workload do not determine a prediction.
    """
    profile = read_profile(file, steps)
    anchor, target = (measured_gpu(name) or wanted_gpu(name, gpus).gpu for name in pair)
    on_anchor = workload.run_on(anchor, gpus)
    chosen, origin = _formula(anchor, target, on_anchor is not None, formula)
    step_s, step = _step(profile, anchor_s)
    columns = _columns(chosen, profile, step_s, (anchor, target), workload, gpus=gpus)
    time_s = float(np.ravel(chosen.predict(columns))[0])
    factor = interval_of(chosen)
    doubt = "" if on_anchor is None else time_doubt(on_anchor, step_s)
    # The table of answers warns of features outside training and of a time that is not defined.
    known = {**columns, "is_undefined": np.array([0.0 if math.isfinite(time_s) else 1.0])}
    (said,) = evaluated(within_reach(lines_of(chosen), known), known, 1).sentences(WARNING)
    return AnchorPrediction(
        workload=workload,
        anchor=anchor,
        gpu=target,
        anchor_time_s=step_s,
        step=step,
        profile=profile.kind,
        time_s=time_s,
        low_s=time_s / factor if factor else None,
        high_s=time_s * factor if factor else None,
        formula=origin,
        error_percent=overall_error(chosen, OURS, "mape_percent"),
        warnings=(*_warnings(profile, step, chosen), *([doubt] if doubt else []), *said),
    )


def measured_gpu(text: str) -> str | None:
    """Return the only measured GPU that a short name fits, None where it fits none or several.

    >>> measured_gpu("V100"), measured_gpu("A100")
    ('V100-SXM2-16GB', None)
    """
    found = [name for name in MEASURED_PAIR_GPUS if name == text or name.startswith(f"{text}-")]
    return found[0] if len(found) == 1 else None


def _formula(anchor: str, target: str, known: bool, file: Path | None) -> tuple[Formula, str]:
    if anchor == target:
        raise InputError(f"expected two GPUs, got {anchor} as anchor and target: its time is the profile's")
    if file is not None:
        path = file / "formula.json" if file.is_dir() else file
        found = load_formula(path)
        check_scope(found, GPU_PAIR, origin=str(path), advice="`trainlaw study --of anchor` finds one")
        return found, str(path)
    pair = pair_formula(anchor, target, with_cnn=known)
    if pair is None:
        raise InputError(
            f"{anchor} to {target} was not measured ({', '.join(MEASURED_PAIR_GPUS)} were): "
            "name --cnn and --batch"
        )
    return pair


def _step(profile: OperationProfile, given_s: float | None) -> tuple[float, str]:
    if given_s is not None:
        return given_s, "as given"
    if math.isfinite(profile.step_s):
        return profile.step_s, "of the profile"
    return profile.total_s, "sum of its operations"


def _columns(
    formula: Formula,
    profile: OperationProfile,
    step_s: float,
    pair: Sequence[str],
    workload: Workload,
    *,
    gpus: GpuCatalog | None,
) -> dict[str, np.ndarray]:
    named = {f"device_{name}_s": np.array([value]) for name, value in profile.device.items()}
    named |= {f"host_{name}_s": np.array([value]) for name, value in profile.host.items()}
    of_profile = grouped_seconds(named, np.array([step_s]))
    names = [spec.name for spec in formula.used_features]
    stated = [name for name in names if name in PROFILE_FEATURES]
    columns = {name: of_profile[name].to_numpy() for name in stated}
    # What is the same for every run, such as its overhead, needs no CNN.
    fixed = {name: FEATURES[name].expression for name in names if name in FEATURES and name not in stated}
    columns |= {name: np.array([form.value]) for name, form in fixed.items() if isinstance(form, Constant)}
    if len(columns) == len(names):
        return columns
    anchors = [name for name in names if name not in columns and name.startswith(ANCHOR)]
    targets = [name for name in names if name not in columns and name not in anchors]
    for gpu, wanted, prefix in ((pair[1], targets, ""), (pair[0], anchors, ANCHOR)):
        run = workload.run_on(gpu, gpus)
        if run is None:
            raise InputError("this formula needs the CNN: name --cnn and --batch")
        values = run.features([name.removeprefix(prefix) for name in wanted])
        columns |= {name: values[name.removeprefix(prefix)].to_numpy() for name in wanted}
    return columns


def _warnings(profile: OperationProfile, step: str, formula: Formula) -> list[str]:
    found = []
    unknown = {
        name: value
        for name, value in profile.device.items()
        if name != "IDLE" and operation_group(name) is None
    }
    share = math.fsum(unknown.values()) / profile.total_s
    if share > _UNKNOWN_SHARE:
        largest = sorted(unknown, key=lambda name: -unknown[name])[:3]
        names = ", ".join(name[:40] for name in largest)
        found.append(
            f"{show_percent(100 * share)} % of the profile is of no known operation, such as {names}"
        )
    uses_operations = any(spec.name in OPERATION_FEATURES for spec in formula.used_features)
    if uses_operations and any(word in profile.kind for word in ("PyTorch", "operators", "kernels")):
        found.append("the formulas of measured pairs were trained on profiles of TensorFlow")
    if step == "sum of its operations":
        found.append("the profile has no time of an iteration: give it with --anchor-seconds")
    return found
