"""Formulas of one kind of layer in one pass, from layers that were measured one by one."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.inputs.resolve import known_gpus
from trainlaw.app.studies.estimators import FIT_ONLY, FormulaSearch, evolved
from trainlaw.app.studies.kinds.kind import StudyKind, StudyRows
from trainlaw.datasets import DATASETS, LAYER_FEATURES, LayerTable, feature_specs, load
from trainlaw.datasets.measurements.importing import import_layers
from trainlaw.formulas import SECOND, FeatureSpec, InputError, parse_text
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.scopes import MEASURED_LAYER
from trainlaw.validate.baselines import baselines_for

LAYER_TIMES = "layer-times"
LAYER_KINDS = ("conv", "dense")
#: Passes as the user names them, and as the tables do.
PASSES = {"forward": "forward", "train": "forward+backward+optimizer"}
LAYER_TIME = FeatureSpec("time_s", "t", SECOND, "time of one layer", low=0.0)
#: A matrix product that saturates in its sides: compute, then what each side adds; a convolution in tiles;
#: bytes and launch.
_PRODUCT = ("tiled_compute_s", "output_compute_s", "im2col_compute_s", "wave_compute_s")
_TILES = ("fast_compute_s", "fast_input_compute_s", "weight_compute_s", "fast_wave_compute_s")
_BYTES = ("input_memory_s", "output_memory_s", "weight_memory_s", "epilogue_memory_s", "update_memory_s")
_REST = (*_BYTES, "launch_s")
#: How far a GPU stays below its data sheet: few of them, since few GPUs were measured.
_SLOWDOWNS = ("clock_drop", "wide_sm")
LAYER_TIME_FEATURES = tuple(dict.fromkeys(("compute_s", *_PRODUCT, *_TILES, *_REST, *_SLOWDOWNS)))
_MOST_ROWS = 4_000  # of a search; more find the same terms later


class LayerTimeSearch(FormulaSearch):
    """Evolves the time of one kind of layer: the faster of two algorithms, plus what both have.

    settings : of the search; operators, form, loss and limits are set here.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search; X : features of layers, (n_layers, k). y, seconds, and groups : (n_layers,)."""
        rows = drawn_rows(groups, _MOST_ROWS, self.settings.random_seed)
        X, y, groups = X.iloc[rows], y[rows], groups[rows]
        features = _changing(X)
        form, seed = _form(X, features)
        settings = replace(
            self.settings,
            operators=("add", "mul", "exp", "min" if X["is_conv"].max() > 0 else "max"),
            template=parse_text(form),
            seeds=(parse_text(seed),),
            # Factors only before the holes: a factor per term would fit single GPUs.
            nesting_limits=(("mul", "mul", 0), ("min", "mul", 0), ("max", "mul", 0), ("min", "min", 0)),
            constant_ranges=(("clock_drop", 0.0, 0.5),),
            loss="absolute_percentage",
        )
        search = evolved(feature_specs(features, LAYER_FEATURES), LAYER_TIME, settings, MEASURED_LAYER)
        return self.keep(search.fit(X[list(features)], y, groups))


def drawn_rows(groups: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return at most `most` rows, drawn at random, the same share of each group; int, in their order."""
    if len(groups) <= most:
        return np.arange(len(groups))
    generator, found = np.random.default_rng(seed), []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        found.append(generator.permutation(rows)[: max(1, most * len(rows) // len(groups))])
    return np.sort(np.concatenate(found))


def _changing(X: pd.DataFrame) -> tuple[str, ...]:
    """The features of a formula that vary among these layers, (n_layers, k); tiles for convolutions only."""
    conv = X["is_conv"].max() > 0
    usable = [name for name in LAYER_TIME_FEATURES if conv or not name.startswith("fast_")]
    return tuple(name for name in usable if np.ptp(X[name]) > 0 or name == "launch_s")


def _form(X: pd.DataFrame, features: tuple[str, ...]) -> tuple[str, str]:
    """The form with holes, and the first formula; its constants are round figures, each fit finds its
    own.

    Convolutions take the faster of a matrix product and tiles; the rest has its own slow-down.
    """

    def total(*names: str) -> str:
        return " + ".join(name for name in dict.fromkeys(names) if name in features)

    def slowed(*names: str) -> str:
        chosen = [f"0.1 * {name}" for name in names if name in features]
        return f"exp({' + '.join(chosen)}) * " if chosen else "1 * "

    both, wide = slowed(*_SLOWDOWNS), slowed("wide_sm").removeprefix("1 * ")
    if X["is_conv"].max() > 0:
        return (
            f"{both}min(hole_1, hole_2) + {wide}(hole_3)",
            f"{both}min({total(*_PRODUCT)}, {total(*_TILES)}) + {wide}({total(*_REST)})",
        )
    product = total(*_PRODUCT, "weight_compute_s")
    return f"{both}hole_1 + {wide}(hole_2)", f"{both}({product}) + {wide}({total(*_REST)})"


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
        raise InputError(f"{text}: no such layers were measured; {name} has {_measured(name, measured)}")
    return replace(table, name=text)


def _measured(name: str, table: LayerTable) -> str:
    words = {passes: word for word, passes in PASSES.items()}
    pairs = sorted({*zip(table.frame["kind"], table.frame["phase"], strict=True)})
    return ", ".join(f"{name}/{kind}/{words[phase]}" for kind, phase in pairs)


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
    search=lambda rows, settings: partial(LayerTimeSearch, settings),
    # Its first formula is the form written by hand.
    no_search=lambda rows, settings: partial(LayerTimeSearch, FIT_ONLY),
    baselines=baselines_for("measured_layer"),
    defaults={
        "table": "neusight-layers/conv/forward",
        "split": "gpu",
        "evaluations": 2_000,
        "against": ("layer_roofline", "layer_matrix_product", "gradient_boosting", "constant"),
    },
    splits=("gpu-folds", "list", "gpu", "gpu-5-fold", "cnn", "generation", "newest"),
    has_joint_range=False,
    next_step="trainlaw export {folder} --out layer.html",
)
