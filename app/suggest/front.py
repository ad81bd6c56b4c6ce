"""What a suggestion starts from: a study's formula, others of its front, and the runs behind them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trainlaw.app.inputs.run_folder import newest_formula
from trainlaw.app.inputs.tables import find_table
from trainlaw.app.models.scopes import check_scope, feature_specs_for
from trainlaw.app.models.user_formula import find_formula
from trainlaw.app.studies.definition import definition_of, read_definition
from trainlaw.datasets import DATASETS, RunTable
from trainlaw.formulas import Formula, InputError, parse_text, variables
from trainlaw.formulas.files import read_csv
from trainlaw.formulas.scopes import LAYER, MULTI_GPU_RUN, RUN

# Formulas of the front whose loss on held-out groups is near the best one's, and at most how many of them.
_NEAR, _MOST = 1.25, 6


@dataclass(frozen=True, eq=False)
class StudiedFront:
    """A chosen formula, others of its front that are about as good, the measured runs, and their origin."""

    chosen: Formula
    others: tuple[Formula, ...]
    measured: RunTable
    origin: str


def find_front(
    given: Path | None,
    folder: Path,
    runs: str | None = None,
    gpu_file: Path | None = None,
    cnn_files: Iterable[Path] | None = None,
) -> StudiedFront:
    """Return the front of a run folder or a formula.json: the given one, else the newest here, else built in.

    runs : a built-in table or a file of runs in place of those of the study. gpu_file, cnn_files : GPUs and
    CNNs for that file. InputError for a formula without runs on one GPU, or whose runs are not known.
    """
    chosen, origin = find_formula(given, folder)
    check_scope(chosen, RUN, LAYER, MULTI_GPU_RUN, origin=origin)
    place = _run_folder(given, folder)
    others = _near_best(place / "front.csv", chosen) if place else ()
    if runs is not None:
        return StudiedFront(chosen, others, find_table(runs, gpu_file, cnn_files), origin)
    return StudiedFront(chosen, others, _runs_of_study(place, chosen, origin), origin)


def _run_folder(given: Path | None, folder: Path) -> Path | None:
    """The run folder that a formula lies in, None where it lies elsewhere."""
    if given is None:
        newest = newest_formula(folder)
        return newest.parent if newest else None
    place = given if given.is_dir() else given.parent
    return place if (place / "provenance.json").is_file() else None


def _near_best(path: Path, chosen: Formula) -> tuple[Formula, ...]:
    """The formulas of a front.csv whose held-out loss is near the best one's, the best first."""
    if not path.is_file():
        return ()
    _, rows = read_csv(path)
    try:
        held_out = {row["formula"].lstrip("'"): float(row["validation_loss"] or "inf") for row in rows}
    except (KeyError, ValueError, AttributeError):
        raise InputError(f"{path}: expected the front.csv of a study, got another table") from None
    nearest = sorted(held_out, key=lambda text: held_out[text])[:_MOST]
    good = [text for text in nearest if held_out[text] <= _NEAR * held_out[nearest[0]]]
    return tuple(_like(chosen, text) for text in good)


def _like(chosen: Formula, text: str) -> Formula:
    """The formula of a text, with units, target and scope of `chosen`."""
    expression = parse_text(text)
    specs = feature_specs_for(chosen.scope, variables(expression))
    return Formula(expression, specs, chosen.target, scope=chosen.scope)


def _runs_of_study(place: Path | None, chosen: Formula, origin: str) -> RunTable:
    definition = place / "study.toml" if place else None
    if definition is not None and definition.is_file():
        study = definition_of(read_definition(definition), str(definition))
        gpus, cnns = study.gpu_file, map(Path, study.cnn_file)
        return find_table(study.table, None if not gpus else Path(gpus), cnns)
    table = str(chosen.provenance.get("table", ""))
    if table not in DATASETS:
        raise InputError(f"{origin}: its runs are not known; name what is measured with --runs")
    return find_table(table)
