"""The formula that the user means: written as text, a file, a run folder, a built-in name, or that in use."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trainlaw.app.inputs.retired import check_retired
from trainlaw.app.inputs.run_folder import FRONT_FOLDER
from trainlaw.app.inputs.selection import pairs_of
from trainlaw.app.inputs.used_formula import ONE_GPU, SEVERAL_GPUS, used_formulas
from trainlaw.app.models.builtin import (
    BUILT_IN,
    BUILT_IN_FORMULAS,
    FRONT,
    LAYER_FORMULA,
    SCALING_FORMULA,
    formula_named,
)
from trainlaw.app.models.scopes import SCOPE_HANDLING, check_scope, feature_specs_for, handling
from trainlaw.datasets import FEATURES, TARGET
from trainlaw.datasets.features.feature import Feature
from trainlaw.formulas import (
    SCOPES,
    Expression,
    Formula,
    InputError,
    UnitError,
    UnknownNameError,
    Variable,
    constants,
    load_formula,
    parse_text,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.unit_inference import constant_units
from trainlaw.formulas.errors import check_name, shown, unknown_name
from trainlaw.formulas.files.toml_tables import toml_table
from trainlaw.formulas.scopes import FORWARD, LAYER, MULTI_GPU, RUN

TEXTBOOK = "textbook"  # in place of a scaling formula: the all-reduce in closed form
#: Short names for the features that formulas are usually written in.
ALIASES: Mapping[str, str] = toml_table(__file__, "aliases.toml")


def read_formula(text: str, scope: str = RUN) -> Formula:
    """Return the formula of a text such as "6 * macs * batch / peak + 0.01", of a formula.json or of a name.

    scope : what the text models; its names are those of the features of that scope, such as
    `trainlaw features` lists, or of `ALIASES` for features of runs. The text is parsed, never executed.
    Raises InputError that points at the place, UnknownNameError with near names and the place.
    """
    if text.endswith(".json"):
        return load_formula(text)
    named = formula_named(text)
    if named is not None:
        return named
    expression = _with_feature_names(parse_text(text), text, SCOPE_HANDLING[scope].features)
    specs = feature_specs_for(scope, variables(expression))
    return Formula(expression, specs, TARGET, provenance={"written": text}, scope=scope)


def _with_feature_names(expression: Expression, text: str, features: Mapping[str, Feature]) -> Expression:
    """The expression with aliases replaced by the names of features; `text` is for messages."""
    aliases = ALIASES if features is FEATURES else {}
    for name in variables(expression):
        if name not in features and name not in aliases:
            error = unknown_name("feature", name, [*aliases, *features])
            place = f"at character {_place(name, text)} of {shown(text)}"
            raise UnknownNameError(f"{error} ({place}; `trainlaw features` lists all)")
    return substitute(expression, {short: Variable(name) for short, name in aliases.items()})


def _place(name: str, text: str) -> int:
    """Where a name stands for the first time, counted from 1."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return found.start() + 1 if found else 1


def unit_fault(formula: Formula) -> str:
    """Return what is wrong with a formula's units, in one line; empty where they give seconds.

    A constant takes the unit that its place demands, so only sums and functions can be wrong.
    """
    units = {spec.name: spec.unit for spec in formula.features}
    units |= {constant.name: formula.target.unit for constant in formula.grouped}
    try:
        constant_units(formula.expression, units, formula.target.unit)
    except UnitError as error:
        return " ".join(str(error).split())
    return ""


def find_formula(given: Path | None, folder: Path) -> tuple[Formula, str]:
    """Return the formula to use and its origin: given, in use in `folder`, or built in.

    given : a `formula.json`, a run folder, or the name of a built-in formula (`BUILT_IN_FORMULAS`).
    Raises InputError where the file is faulty.
    """
    if given is None:
        return _used(ONE_GPU, folder) or (load_formula(BUILT_IN), "the built-in formula")
    if not given.exists():
        check_retired("formula", str(given))
        if (named := formula_named(given)) is not None:
            return named, f"the built-in formula {given}"
    path = formula_file(given)
    return load_formula(path), str(path)


def formula_of_size(given: Path | None, folder: Path, most: int) -> tuple[Formula, str]:
    """Return the most accurate formula of a front with at most `most` constants, and its origin.

    given : a run folder, or None for the formula in use in `folder`, by default the built-in ones; the law
    is on the front, too. Raises InputError where there is no front, or none of its formulas is that small.
    """
    run = given if given is not None else used_formulas(folder).get(ONE_GPU)
    if run is None or formula_named(run) is not None:
        files = {int(name): (BUILT_IN_FORMULAS[name](), f"the built-in formula {name}") for name in FRONT}
        law = load_formula(BUILT_IN), "the built-in formula law"
    else:
        place = formula_file(folder / run).parent
        paths = sorted((place / FRONT_FOLDER).glob("[0-9]*.json"))
        files = {int(path.stem): (load_formula(path), str(path)) for path in paths}
        law = load_formula(place / "formula.json"), str(place / "formula.json")
        if not files:
            raise InputError(
                f"{place}: expected a run folder with {FRONT_FOLDER}/, as `trainlaw study` writes it"
            )
    files[max(max(files) + 1, len(constants(law[0].expression)))] = law
    within = [size for size in files if size <= most]
    if not within:
        raise InputError(f"expected at least {min(files)} constants, the smallest formula there; got {most}")
    return files[max(within)]


def formula_file(given: Path) -> Path:
    """Return the file of a formula that is named by itself or by its run folder."""
    return given / "formula.json" if given.is_dir() else given


def _used(purpose: str, folder: Path) -> tuple[Formula, str] | None:
    path = used_formulas(folder).get(purpose)
    return None if path is None else (load_formula(folder / path), f"{path}, set by `trainlaw use`")


def find_layer_formula(given: Path | None, folder: Path) -> tuple[Formula, str]:
    """Return the formula of single layers and its origin: given, in use, or built in."""
    if given is not None:
        return find_formula(given, folder)
    used = _used(ONE_GPU, folder)
    if used is not None and used[0].scope == LAYER:
        return used
    return load_formula(LAYER_FORMULA), "the built-in formula layer"


def purpose_of(formula: Formula, origin: str) -> str:
    """Return what a formula may be the default for; InputError for a scope without commands."""
    if formula.scope == MULTI_GPU:
        return SEVERAL_GPUS
    if handling(formula).is_predictable:
        return ONE_GPU
    advice = handling(formula).advice
    raise InputError(f"{origin} models {SCOPES[formula.scope].title}, not an iteration of a CNN; {advice}")


@dataclass(frozen=True)
class FormulaChoice:
    """The formula for one GPU and the scaling formula for several (None: textbook), each with its origin.

    is_scaling_asked : whether the user named the scaling formula.
    """

    formula: Formula
    origin: str
    scaling: Formula | None
    scaling_origin: str
    is_scaling_asked: bool

    def said(self, n_gpus: int | None, is_measured: bool = False) -> tuple[Formula, str, str]:
        """Return the formula that predicts, its origin, and that of the scaling formula; "" for one GPU.

        is_measured : whether the time on one GPU is, so that the scaling formula alone predicts.
        """
        if is_measured and self.scaling is not None:
            return self.scaling, self.scaling_origin, ""
        return self.formula, self.origin, "" if n_gpus in (None, 1) else self.scaling_origin

    def check_counts(self, most_gpus: int) -> None:
        """Raise InputError for a scaling formula that is named, but has nothing to extend."""
        if self.is_scaling_asked and most_gpus == 1:
            raise InputError(
                "a scaling formula (--law) extends the time on one GPU to several: use several --gpus, or "
                "name a formula for one GPU with --formula"
            )


def find_formulas(formula: Path | None, scaling: str, folder: Path, forward: bool = False) -> FormulaChoice:
    """Return the formula for one GPU and the scaling formula that the user asks for.

    formula, folder : as `find_formula`. forward : whether the formula is that of forward passes where none is
    given. scaling : `TEXTBOOK`, a built-in name, a file or a run folder; empty
    for that of `trainlaw use`, or else the built-in one. A formula that is itself a scaling formula is used
    as such, with the built-in formula for one GPU. Raises InputError for a scaling formula of another scope.
    """
    found, origin = find_formula(formula or (Path(FORWARD) if forward else None), folder)
    single = (found, origin)
    if found.scope == MULTI_GPU:
        single = load_formula(BUILT_IN), "the built-in formula"
        if not scaling:
            return FormulaChoice(*single, found, origin, is_scaling_asked=True)
    if scaling == TEXTBOOK:
        return FormulaChoice(*single, None, TEXTBOOK, is_scaling_asked=True)
    used = None if scaling else _used(SEVERAL_GPUS, folder)
    several, several_origin = used or find_formula(Path(scaling or SCALING_FORMULA), folder)
    check_scope(several, MULTI_GPU, origin=several_origin, advice="`trainlaw study --of multi` finds one")
    return FormulaChoice(*single, several, several_origin, bool(scaling))


def with_groups(formula: Formula, options: Iterable[str] | None) -> Formula:
    """Return a formula whose grouped constants have the values of groups, from texts as "harness=nvidia".

    Raises InputError for a text of another form, UnknownNameError for a label or a group that no constant of
    the formula has.
    """
    labels = pairs_of("--label", options, "LABEL=GROUP, such as harness=nvidia")
    for label, group in labels.items():
        groups = {name for item in formula.grouped if item.key == label for name in item.values}
        if not groups:
            keys = sorted({item.key for item in formula.grouped})
            if not keys:
                raise InputError(f"--label {label}: this formula has no constants that differ by group")
            raise unknown_name("label of the formula", label, keys)
        check_name(label, group, groups)
    grouped = tuple(
        replace(item, values={}, default=item.values.get(labels[item.key], item.default))
        if item.key in labels
        else item
        for item in formula.grouped
    )
    return replace(formula, grouped=grouped)
