"""How each built-in formula is made: one table, a row for a formula or a family of formulas."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.studies.definition import definition_of, read_study_table
from trainlaw.app.studies.study import searched_formula
from trainlaw.formulas import Formula, load_formula

from tools.builtin import layer, pairs
from tools.builtin.formula_files import FOLDER, write_formula


@dataclass(frozen=True)
class Recipe:
    """How a built-in formula is made.

    name : asked for by it. kind : how it is made, one of `KINDS`. file : below `app/builtin`; of a family,
    its folder. options : of `trainlaw study`, where they differ from the defaults of its kind; empty for
    what is no study. is_quick : whether the search on all rows, without errors, takes seconds. note : for a
    reader. differs : why the stored formula is another one than is found now, until the next making; "" where
    it is the same.
    """

    name: str
    kind: str
    file: str
    options: Mapping[str, str | int] = field(default_factory=dict)
    is_quick: bool = False
    note: str = ""
    differs: str = ""

    @property
    def definition(self) -> StudyDefinition:
        """The study behind the formula, with all defaults filled in."""
        return definition_of(self.options, f"the recipe {self.name}")

    @property
    def command(self) -> str:
        """The words after `trainlaw study`."""
        return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in self.options.items())


RECIPES = (
    Recipe("built-in", "study", "formula.json", {"of": "runs"}, is_quick=True),
    Recipe(
        "short",
        "study",
        "short.json",
        {"of": "short-runs", "seeds": 3, "against": "null_compute,roofline,constant"},
    ),
    Recipe("forward", "study", "forward.json", {"of": "forward"}, is_quick=True),
    Recipe("multi", "study", "multi.json", {"of": "multi"}, is_quick=True),
    Recipe("anchor", "study", "anchor.json", {"of": "anchor"}, is_quick=True),
    Recipe(
        "layer",
        "layer",
        "layer.json",
        note="single layers, then times of whole CNNs",
        differs="found by an earlier version of the search",
    ),
    Recipe(
        "pairs",
        "pairs",
        "pairs",
        is_quick=True,
        note="two formulas for each of 12 pairs of GPUs",
        differs="11 of the 24 were found by an earlier version of the search",
    ),
    Recipe("xeon-phi-a", "published", "xeon-phi-a.json", note="Viebke et al. 2019, model (a)"),
    Recipe("xeon-phi-b", "published", "xeon-phi-b.json", note="Viebke et al. 2019, model (b)"),
)

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
    return {recipe.file: load_formula(run / "formula.json")}


def _search_study(recipe: Recipe) -> Formulas:
    definition = recipe.definition
    return {recipe.file: searched_formula(read_study_table(definition), definition)}


def _make_layer(recipe: Recipe, folder: Path, workers: int) -> Formulas:
    path = folder / recipe.file
    if not path.is_file():
        write_formula(layer.layer_formula(), path)
    return {recipe.file: load_formula(path)}


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
    "layer": Kind(_make_layer, lambda recipe: {recipe.file: layer.found_formula()}),
    "pairs": Kind(_make_pairs, _search_pairs),
    "published": Kind(lambda recipe, folder, workers: _published(recipe), _published),
}
