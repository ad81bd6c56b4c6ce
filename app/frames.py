"""Data frames of what the commands list and rank: GPUs, CNNs, plans of a training, compared studies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from inspect import signature
from math import inf
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from trainlaw.app.inputs.prices import read_prices
from trainlaw.app.inputs.requests import SHORT_COLUMNS, frame_blocks
from trainlaw.app.inputs.resolve import known_gpus, named_cnn
from trainlaw.app.inputs.selection import parse_hours, rated_gpus, rented_instances, selection_of
from trainlaw.app.models.user_formula import find_formulas
from trainlaw.app.predictions.training import asked_training
from trainlaw.app.predictions.training_plans import PlanOptions, plan_training, usual_counts
from trainlaw.app.terminal.comparison import compare_runs, read_run
from trainlaw.app.text.python_names import naming_arguments
from trainlaw.datasets import RunTable
from trainlaw.datasets.cnns.catalog import keyed_cnn_counts
from trainlaw.datasets.cnns.names import cnn_names
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.datasets.tables.joins import numbered
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.scopes import FORWARD

_SHORT = {column: name for name, column in SHORT_COLUMNS.items()} | {"network": "fabric"}
_SETTINGS = ("pixels", "classes", *(item.name for item in fields(Setup)))
_SINGLE = str | Real
_COUNTS = ("macs", "params", "n_layers", "activation_elements")


@naming_arguments
def gpus(pattern: str = "*") -> pd.DataFrame:
    """Return the known GPUs whose name matches a pattern, with their specifications.

    Parameters
    ----------
    pattern : str
        Name of a GPU or an alias, * for any text, case does not matter.

    Returns
    -------
    DataFrame
        A row per GPU in SI units, columns as the fields of `trainlaw.datasets.Gpu`; empty without a match.

    Examples
    --------
    >>> len(gpus("rtx 30*"))
    11
    """
    frame = known_gpus().frame()
    names = frame["gpu"] + ";" + frame["aliases"]
    return frame[[_matches(pattern, text.split(";")) for text in names]].reset_index(drop=True)


@naming_arguments
def cnns(pattern: str = "*") -> pd.DataFrame:
    """Return the known CNNs whose name matches a pattern, with their counts per image at their usual size.

    Parameters
    ----------
    pattern : str
        Name with or without its package, * for any text, case does not matter.

    Returns
    -------
    DataFrame
        A row per CNN: `cnn`, `cnn_family`, `input_size_px`, `n_classes`, `macs`, `params`, `n_layers`,
        `activation_elements`; empty without a match.

    Examples
    --------
    >>> cnns("resnet18")["cnn"].tolist()
    ['resnet18', 'timm/resnet18']
    """
    found = [
        keyed_cnn_counts(name) for name in cnn_names() if _matches(pattern, [name, name.rpartition("/")[2]])
    ]
    rows = [
        [cnn.cnn, cnn.cnn_family, cnn.input_size_px, cnn.n_classes, *(cnn.counts[name] for name in _COUNTS)]
        for cnn in found
    ]
    return pd.DataFrame(rows, columns=["cnn", "cnn_family", "input_size_px", "n_classes", *_COUNTS])


def are_single(settings: Mapping[str, object]) -> bool:
    """Return whether every setting is one value, not a sequence; raises UnknownNameError for another one."""
    for name in settings:
        check_name("setting", setting_name(name), _SETTINGS)
    return all(value is None or isinstance(value, _SINGLE) for value in settings.values())


def setting_name(name: str) -> str:
    """Return the name of a setting, which may also be called as the column of it.

    >>> setting_name("n_classes")
    'classes'
    """
    return _SHORT.get(name, name)


def asked_runs(
    cnn: pd.DataFrame | str | Sequence[str],
    gpu: object,
    batch: object,
    settings: Mapping[str, object],
    usual: Mapping[str, str],
) -> tuple[Iterator[RunTable], NDArray[np.intp], pd.Index]:
    """Return the different configurations of a frame or of sequences in blocks.

    Also returns which of them each row is, (n_rows,), and the index of the rows. usual : by column what rows
    have that do not state it. Raises InputError for sequences of different lengths, and as `runs_of_csv`.
    """
    named = {"gpu": gpu, "batch": batch, **{setting_name(name): value for name, value in settings.items()}}
    given: dict[str, Any] = {
        SHORT_COLUMNS.get(name, name): value for name, value in named.items() if value is not None
    }
    if isinstance(cnn, pd.DataFrame):
        frame = cnn.rename(columns=SHORT_COLUMNS)
        twice = [*frame.columns[frame.columns.duplicated()]]
        twice += [name for name in given if name in frame and not (frame[name] == given[name]).all()]
        if twice:
            raise InputError(f"expected {twice[0]} once, in the frame or as an argument, got both")
        frame = frame.assign(**{name: value for name, value in given.items() if name not in frame})
    else:
        frame = _broadcast({"cnn": cnn, **given})
    rows, first = numbered(frame[name] for name in frame)
    return frame_blocks(frame.iloc[first], usual, first + 1), rows, frame.index


def _broadcast(given: Mapping[str, Any]) -> pd.DataFrame:
    """Return values and sequences as a frame; a single value, or a sequence of one, goes for all rows."""
    listed = {name: [value] if isinstance(value, _SINGLE) else [*value] for name, value in given.items()}
    most = max(map(len, listed.values()))
    lengths = {name: len(values) for name, values in listed.items() if len(values) != 1}
    if set(lengths.values()) - {most}:
        said = ", ".join(f"{length} of {setting_name(name)}" for name, length in lengths.items())
        raise InputError(f"expected sequences of one length, got {said}")
    return pd.DataFrame(
        {name: values * most if len(values) == 1 else values for name, values in listed.items()}
    )


def _matches(pattern: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for name in names)


@naming_arguments
def plan(
    cnn: str,
    *,
    images: int | None = None,
    epochs: float | None = None,
    gpu: str | Sequence[str] = "*",
    n_gpus: int | Sequence[int] = (),
    batch: int | Sequence[int] = (),
    precision: str | Sequence[str] = (),
    within: str | float | None = None,
    budget: float | None = None,
    prices: str | Path | None = None,
    by: str = "",
    surely: bool = False,
    pixels: int | None = None,
    classes: int | None = None,
    formula: str | Path | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Rank GPU, number of GPUs, batch and precision for a training, as `trainlaw plan` does.

    Parameters
    ----------
    cnn : str
        Name of a CNN or a file with one.
    images, epochs : int, float, optional
        Images per epoch, and epochs; None for those of ImageNet, 90 times.
    gpu : str or sequence of str
        Names of GPUs, * for any text.
    n_gpus : int or sequence of int
        Numbers of GPUs; empty for 1, 2, 4 and 8.
    batch : int or sequence of int
        Batches per GPU; empty for 32, 64, 128 and 256 where they fit.
    precision : str or sequence of str
        Empty for PyTorch's default, and amp where the GPU gains by it.
    within : str or float, optional
        Maximum time of the training: hours, or a text such as "2d".
    budget : float, optional
        Maximum cost, in the currency of the prices.
    prices : str or Path, optional
        CSV file of prices; "example" is shipped.
    by : str
        "cost", "hours" or "energy"; empty for cost, or hours without prices.
    surely : bool
        Whether limits hold for the upper end of the 90 % interval.
    pixels, classes : int, optional
        Side of the square input image, and number of classes; None for the CNN's usual ones.
    formula : str or Path, optional
        As for `trainlaw.load_formula`.
    **settings : object
        Such as layout="channels_last" or fabric="infiniband-hdr"; timed_parts="forward" for inference of a
        million images (or `images`) on one GPU.

    Returns
    -------
    DataFrame
        A row per plan within the limits, the best first: `gpu`, `n_gpus`, `n_nodes`, `batch_per_gpu`,
        `precision`, `time_s` of an iteration, `training_h` with the ends of its interval, `cost`,
        `energy_kwh`, `largest_batch` and more. `attrs` has the currency and the origin of the prices.

    Raises
    ------
    InputError
        If nothing fits into memory or keeps the limits, or an argument is faulty.

    Examples
    --------
    >>> table = plan("resnet50", gpu="V100*", n_gpus=[1, 8], within="48h")
    >>> bool((table["training_h"] <= 48).all())
    True
    """
    for name in settings:
        check_name("setting", name, list(dict.fromkeys((*signature(plan).parameters, *_SETTINGS))))
    catalog = known_gpus()
    hours = parse_hours(within, "within") if isinstance(within, str) else within
    forward = settings.get("timed_parts") == FORWARD
    training = asked_training(images, epochs, forward)
    options = PlanOptions(
        tuple(sorted(_listed(n_gpus))) or usual_counts(training),
        batches=_listed(batch),
        precisions=_listed(precision),
        setup=Setup(**settings),
        within_h=inf if hours is None else hours,
        budget=inf if budget is None else budget,
        surely=surely,
        rented=rented_instances(_names(gpu)),
    )
    choice = find_formulas(None if formula is None else Path(formula), "", Path.cwd(), forward)
    listed = read_prices(Path(prices), catalog) if prices else None
    plans = plan_training(
        choice.formula,
        choice.scaling,
        named_cnn(cnn, pixels, classes),
        training,
        gpus=selection_of(_names(gpu)).of(catalog),
        catalog=catalog,
        options=options,
        prices=listed,
        ranked_by=by,
    )
    frame = plans.frame.reset_index(drop=True)
    frame.attrs = {"currency": listed.currency, "prices": listed.origin} if listed else {}
    return frame


def _listed(given: Any) -> tuple[Any, ...]:
    """Return one value, or several, as a tuple."""
    return (given,) if isinstance(given, _SINGLE) else tuple(given)


def _names(gpu: str | Sequence[str]) -> list[str]:
    """Return the names of GPUs that patterns match; none for all of them."""
    wanted = [gpu] if isinstance(gpu, str) else list(gpu)
    rated = {row.gpu for row in rated_gpus(known_gpus())}
    found = list[str]()
    for text in wanted:
        found += [name for name in gpus(text)["gpu"] if name in rated] if "*" in text else [text]
    if not found:
        raise InputError(f"expected names of GPUs, such as 'RTX*', got {gpu!r}")
    return [] if wanted == ["*"] else found


@naming_arguments
def compare(
    first: str | Path,
    second: str | Path,
    estimators: tuple[str, str] = ("trainlaw", "trainlaw"),
    by: str = "gpu_group",
) -> pd.DataFrame:
    """Compare the errors of two studies on the rows that both held out, as `trainlaw compare` does.

    Parameters
    ----------
    first, second : str or Path
        Run folders, which may be the same.
    estimators : tuple of str
        Estimator of each.
    by : str
        Label of the groups, such as "gpu_group" or "cnn_base".

    Returns
    -------
    DataFrame
        A row per group with both errors and their difference in percent; `attrs` has the mean difference over
        groups and the ends of its 90 % interval.

    Raises
    ------
    InputError
        If a folder is no run folder, or the studies are of different tables.
    UnknownNameError
        If an estimator or label does not occur.
    """
    found = compare_runs(read_run(Path(first)), read_run(Path(second)), estimators, by)
    table = found.by_group.reset_index(drop=True)
    table.attrs = {
        name: getattr(found, name)
        for name in ("difference_percent", "low_percent", "high_percent", "is_decided", "n_rows")
    }
    return table
