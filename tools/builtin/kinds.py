"""The ways to make built-in formulas: by a study, by pairs of GPUs, and as published."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trainlaw.app.inputs.run_folder import FRONT_FOLDER
from trainlaw.app.studies.definition import read_study_table
from trainlaw.app.studies.fits import estimator_of, fit_all_rows, whole_fit
from trainlaw.app.studies.found import readable_formulas
from trainlaw.app.studies.material import searched_material
from trainlaw.formulas import Formula, load_formula

from tools.builtin import pairs
from tools.builtin.formula_files import FOLDER, write_formula
from tools.builtin.recipes import Recipe

Formulas = Mapping[str, Formula]


@dataclass(frozen=True)
class Kind:
    """A way to make formulas.

    make : from a recipe, its folder of work, which keeps what was finished, and the number of worker
    processes to the formulas with their errors, by file below `app/builtin`. search : to the formulas alone,
    from the search on all rows.
    """

    make: Callable[[Recipe, Path, int], Formulas]
    search: Callable[[Recipe], Formulas]


def _make_study(recipe: Recipe, folder: Path, workers: int) -> Formulas:
    """Run the study as a user does: an interrupted one continues with its finished searches.

    Raises SystemExit with the status of a study that fails or is interrupted.
    """
    run = folder / "run"
    if not (run / "formula.json").is_file() or any(folder.glob(".run.*.journal")):
        folder.mkdir(parents=True, exist_ok=True)
        words = [*recipe.command.split(), "--out", str(run), "--workers", str(workers)]
        command = [sys.executable, "-P", "-m", "trainlaw", "study", *words]
        with (folder / "study.txt").open("w", encoding="utf-8") as printed:
            status = subprocess.run(command, stdout=printed, check=False).returncode
        if status:
            raise SystemExit(status)
    front = run / FRONT_FOLDER
    # The law is built in, whichever formula the study delivers: its search on all rows finds it again.
    members = {f"{size}.json": load_formula(front / f"{size}.json") for size in recipe.members}
    return {recipe.file: load_formula(front / "law.json"), **members}


def _search_study(recipe: Recipe) -> Formulas:
    definition = recipe.definition
    material = searched_material(read_study_table(definition), definition)
    rows, labels = material.rows, material.rows.labels.astype(str)
    make = estimator_of(material, definition.seed)
    found = whole_fit(fit_all_rows(make, rows.X, rows.seconds, rows.groups, labels))
    return {recipe.file: readable_formulas([found.formula], material)[0]}


def _make_pairs(recipe: Recipe, folder: Path, workers: int) -> Formulas:
    return dict(_each_pair(recipe, folder))


def _each_pair(recipe: Recipe, folder: Path) -> Iterator[tuple[str, Formula]]:
    for table in pairs.pairs():
        paths = [folder / pairs.pair_file(table, with_cnn) for with_cnn in (True, False)]
        if not all(path.is_file() for path in paths):
            for name, formula in pairs.pair_formulas(table).items():
                write_formula(formula, folder / name)
        yield from ((f"{recipe.file}/{path.name}", load_formula(path)) for path in paths)


def _search_pairs(recipe: Recipe) -> Formulas:
    return {
        f"{recipe.file}/{pairs.pair_file(table, with_cnn)}": pairs.found_formula(table, with_cnn)
        for table in pairs.pairs()
        for with_cnn in (True, False)
    }


def _published(recipe: Recipe) -> Formulas:
    """Return the formula as it is stored: it was published, and nothing is fitted."""
    return {recipe.file: load_formula(FOLDER / recipe.file)}


KINDS: Mapping[str, Kind] = {
    "study": Kind(_make_study, _search_study),
    "pairs": Kind(_make_pairs, _search_pairs),
    "published": Kind(lambda recipe, folder, workers: _published(recipe), _published),
}
