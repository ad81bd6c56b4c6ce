"""Formulas of one kind of layer in one pass, from layers that were measured one by one."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.inputs.resolve import known_gpus
from trainlaw.app.studies.front_search import FrontSpace
from trainlaw.app.studies.kinds.kind import FRONT_DEFAULTS, StudyKind, StudyRows
from trainlaw.app.studies.skeleton import LawFit, Skeleton, TrainingRows, stated_brackets
from trainlaw.app.studies.spaces import skeleton_space
from trainlaw.datasets import DATASETS, LAYER_FEATURES, LayerTable, feature_specs, load
from trainlaw.datasets.measurements.importing import import_layers
from trainlaw.evolve.front.space import Amount
from trainlaw.formulas import SECOND, FeatureSpec, InputError, parse_text
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.scopes import MEASURED_LAYER
from trainlaw.validate.baselines import baselines_for

LAYER_TIMES = "layer-times"
LAYER_KINDS = ("conv", "dense")
#: Passes as the user names them, and as the tables do.
PASSES = {"forward": "forward", "train": "forward+backward+optimizer"}
LAYER_TIME = FeatureSpec("time_s", "t", SECOND, "time of one layer", low=0.0)
_WAVES = ("wave_compute_s", "fast_wave_compute_s")
_BYTES = ("input_memory_s", "output_memory_s", "weight_memory_s")
#: What formulas of few constants may have in each part besides the law's amounts, with round weights.
_MORE = {"hole_product": _BYTES, "hole_tiles": _BYTES, "hole_rest": _WAVES}
# What such an amount costs, as a share of the score: as in the wide space of runs.
_COST = 0.005
_LAWS = {kind: stated_brackets(kind) for kind in ("convolution", "dense")}
LAYER_TIME_FEATURES = tuple(
    dict.fromkeys(
        name
        for brackets in _LAWS.values()
        for one in brackets
        for name in (*(name for name, _ in one.terms), *(factor.feature for factor in one.factors))
    )
)
_MOST_ROWS = 2_000  # of a fit; more hardly change it


class LayerTimeFit(LawFit):
    """Fits the law of one kind of layer to its times."""

    def specs(self, names: Iterable[str]) -> tuple[FeatureSpec, ...]:
        """Return the specifications of features of layers."""
        return feature_specs(names, LAYER_FEATURES)

    def training(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None
    ) -> TrainingRows:
        """Return the rows to fit, the same share of each GPU; arguments as of `fit`."""
        rows = drawn_rows(groups, _MOST_ROWS, 0)
        return TrainingRows(X.iloc[rows], y[rows], groups[rows], None)


def skeleton_of(rows: StudyRows) -> Skeleton:
    """Return the law of the layers of a table: what is the same for all of them is left out.

    A convolution takes the faster of two algorithms, a matrix product and tiles; each has its own bytes.
    """
    X = rows.X
    changing = {name for name in LAYER_TIME_FEATURES if np.ptp(X[name]) > 0 or name == "launch_s"}
    found = []
    for one in _LAWS["convolution" if X["is_conv"].max() > 0 else "dense"]:
        terms = tuple(term for term in one.terms if term[0] in changing)
        factors = tuple(factor for factor in one.factors if factor.feature in changing)
        if terms:
            found.append(replace(one, terms=terms, factors=factors))
    holes = [one.hole for one in found]
    alternatives = ("hole_product", "hole_tiles") if "hole_tiles" in holes else ()
    faster = [f"min({', '.join(alternatives)})"] if alternatives else []
    template = " + ".join((*faster, *(hole for hole in holes if hole not in alternatives)))
    return Skeleton(
        tuple(found),
        parse_text(template),
        LAYER_TIME,
        MEASURED_LAYER,
        is_balanced=False,
        alternatives=alternatives,
    )


def _space(rows: StudyRows) -> FrontSpace:
    skeleton = skeleton_of(rows)
    known = {(one.hole, name): weight for one in skeleton.brackets for name, weight in one.terms}
    weights = {name: weight for (_, name), weight in known.items()}
    more = tuple(
        Amount(name, one.hole, name, weight=weights[name], cost=_COST)
        for one in skeleton.brackets
        for name in _MORE[one.hole]
        if name in weights and (one.hole, name) not in known
    )
    return FrontSpace(*skeleton_space(skeleton, more), partial(LayerTimeFit, skeleton))


def drawn_rows(groups: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return at most `most` rows, drawn at random, the same share of each group; int, in their order."""
    if len(groups) <= most:
        return np.arange(len(groups))
    generator, found = np.random.default_rng(seed), []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        found.append(generator.permutation(rows)[: max(1, most * len(rows) // len(groups))])
    return np.sort(np.concatenate(found))


def read_layer_times(text: str, gpu_file: Path | None, cnn_files: Iterable[Path]) -> LayerTable:
    """Return the layers of one kind and pass, named like "cde-layers/conv/train" or "mine.csv/conv/train".

    gpu_file : custom GPUs, for the layers in a file. Raises UnknownNameError for an unknown table, kind
    or pass, InputError for another text, files of CNNs, or of GPUs for a built-in table.
    """
    parts = text.rsplit("/", 2)
    tables = [name for name, dataset in DATASETS.items() if dataset.kind == "layers"]
    if len(parts) != 3:
        raise InputError(
            f"{text}: expected TABLE/KIND/PASS such as cde-layers/conv/train; tables: {', '.join(tables)}, "
            f"or a file; kinds: {', '.join(LAYER_KINDS)}; passes: {', '.join(PASSES)}"
        )
    name, kind, one_pass = parts
    is_own = Path(name).is_file()
    for what, given, known in (
        ("table of layers", name, (name,) if is_own else tables),
        ("kind of layer", kind, LAYER_KINDS),
        ("pass", one_pass, PASSES),
    ):
        if given not in known:
            raise unknown_name(what, given, known)
    if tuple(cnn_files) or (gpu_file is not None and not is_own):
        raise InputError("expected no --cnn-file, and --gpu-file only for layers in a file")
    measured = import_layers(name, known_gpus(gpu_file)) if is_own else load(name, LayerTable)
    table = measured.where(kind=kind, phase=PASSES[one_pass])
    if not len(table):
        words = {passes: word for word, passes in PASSES.items()}
        pairs = sorted({*zip(measured.frame["kind"], measured.frame["phase"], strict=True)})
        listed = ", ".join(f"{name}/{kind}/{words[phase]}" for kind, phase in pairs)
        raise InputError(f"{text}: no such layers were measured; {name} has {listed}")
    return replace(table, name=text)


def layer_time_rows(table: LayerTable) -> StudyRows:
    """Return all features, seconds and labels of measured layers; `cnn_base` is the family of the shape."""
    frame, labels = table.frame, table.labels()
    labels["precision"] = frame["precision"].astype(str).to_numpy()
    kernels = frame["kernel_px"].astype(str) + "x" + frame["kernel_px"].astype(str)
    families = kernels + ", stride " + frame["stride_px"].astype(str)
    sizes = "2^" + np.log2(frame["in_channels"]).round().astype(int).astype(str) + " inputs"
    labels["cnn_base"] = np.where(frame["kind"] == "conv", families, sizes).astype(str)
    labels["cnn"] = labels["cnn_base"]
    labels["gpu_year"] = [str(table.facts.gpus.find(str(name)).year) for name in labels["gpu"]]
    return StudyRows(table.features(), table.seconds, labels)


OF_LAYER_TIMES = StudyKind(
    name=LAYER_TIMES,
    scope=MEASURED_LAYER,
    title="layers of one kind, measured one by one",
    read=read_layer_times,
    rows=layer_time_rows,
    features=LAYER_TIME_FEATURES,
    search=lambda rows, settings: partial(LayerTimeFit, skeleton_of(rows)),
    is_fitted=True,
    space=_space,
    baselines=baselines_for("measured_layer"),
    defaults={
        **FRONT_DEFAULTS,
        "table": "neusight-layers/conv/forward",
        "against": ("layer_roofline", "layer_matrix_product", "gradient_boosting", "constant"),
    },
    splits=("gpu-folds", "list", "gpu", "gpu-5-fold", "cnn", "generation", "newest"),
    has_joint_range=False,
    next_step="trainlaw export {folder} --out layer.html",
)
