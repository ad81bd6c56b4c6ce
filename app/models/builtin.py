"""Formulas that come with trainlaw, by name, and which of them serves a pair of GPUs."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

from trainlaw.formulas import Formula, load_formula
from trainlaw.formulas.scopes import FORWARD

_FOLDER = Path(__file__).parents[1] / "builtin"
_PAIRS = _FOLDER / "pairs"
BUILT_IN = _FOLDER / "formula.json"
LAYER_FORMULA = _FOLDER / "layer.json"
SCALING_FORMULA = "multi"
#: Evolved formulas of the same time, named by the most constants that each may have, the smallest first.
FRONT = tuple(sorted((path.stem for path in _FOLDER.glob("[0-9]*.json")), key=int))
#: GPUs that were both anchor and target: each pair of them has its own formulas.
MEASURED_PAIR_GPUS = ("K80", "M60", "T4", "V100-SXM2-16GB")


_NAMES = ("layer", "convolution", SCALING_FORMULA, "anchor", FORWARD, *FRONT, "xeon-phi-a", "xeon-phi-b")
_PATHS = {
    "built-in": BUILT_IN,
    "law": BUILT_IN,
    "short": _FOLDER / "6.json",
    **{name: _FOLDER / f"{name}.json" for name in _NAMES},
    # Those of measured pairs, such as T4-to-K80-profile.
    **{path.stem: path for path in sorted(_PAIRS.glob("*.json"))},
}
#: name -> how to get it, which reads it once; named wherever a formula.json is.
BUILT_IN_FORMULAS: Mapping[str, Callable[[], Formula]] = {
    name: cache(partial(load_formula, path)) for name, path in _PATHS.items()
}


def formula_named(name: str | Path | None) -> Formula | None:
    """Return the built-in formula of that name, None where there is none.

    >>> formula_named("xeon-phi-a").target.meaning
    'time of a whole training'
    """
    found = BUILT_IN_FORMULAS.get(str(name))
    return found() if found is not None else None


def offered_formulas(formula: Formula) -> dict[str, Formula]:
    """Return the built-in formulas that the page offers next to a formula, by name.

    Next to the law these are the evolved ones and that of forward passes; none next to any other.
    """
    if formula.expression != BUILT_IN_FORMULAS["law"]().expression:
        return {}
    return {name: BUILT_IN_FORMULAS[name]() for name in (*FRONT, FORWARD)}


def pair_formula_path(anchor: str, target: str, with_cnn: bool) -> Path:
    """Return the file of the formula of a pair; with_cnn : of profile and CNN, else of the profile alone.

    >>> pair_formula_path("T4", "K80", with_cnn=False).name
    'T4-to-K80-profile.json'
    """
    return _PAIRS / f"{anchor}-to-{target}{'' if with_cnn else '-profile'}.json"


def pair_formula(anchor: str, target: str, with_cnn: bool) -> tuple[Formula, str] | None:
    """Return the formula of a pair of GPUs and its description; None where it needs the CNN.

    anchor, target : names of GPUs. with_cnn : as `pair_formula_path`; pairs that were not measured share a
    formula, which does need it.
    """
    path = pair_formula_path(anchor, target, with_cnn)
    if path.is_file():
        inputs = "profile and CNN" if with_cnn else "the profile alone"
        return load_formula(path), f"the built-in formula of {anchor} to {target}, from {inputs}"
    if not with_cnn:
        return None
    said = "the built-in formula of any pair, from the anchor's time and the CNN"
    return BUILT_IN_FORMULAS["anchor"](), said
