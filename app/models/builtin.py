"""Formulas that come with trainlaw, by name."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from trainlaw.app.models.anchor_formulas import laws_of_pairs
from trainlaw.app.models.many_core import many_core_formula
from trainlaw.formulas import Formula, load_formula

_FOLDER = Path(__file__).parents[1] / "builtin"
BUILT_IN = _FOLDER / "formula.json"
LAW_OF_LAYERS = _FOLDER / "layer.json"
LAW_OF_SEVERAL = "multi"

#: name -> how to get it; named wherever a formula.json is.
BUILT_IN_FORMULAS: Mapping[str, Callable[[], Formula]] = {
    "built-in": lambda: load_formula(BUILT_IN),
    "layer": lambda: load_formula(LAW_OF_LAYERS),
    LAW_OF_SEVERAL: lambda: load_formula(_FOLDER / f"{LAW_OF_SEVERAL}.json"),
    **{
        name: partial(load_formula, _FOLDER / f"{name}.json")
        for name in ("anchor", "batch-scaler", "pixels-scaler")
    },
    **{name: partial(load_formula, path) for name, path in laws_of_pairs().items()},
    "xeon-phi-a": lambda: many_core_formula("a"),
    "xeon-phi-b": lambda: many_core_formula("b"),
}


def formula_named(name: str | Path | None) -> Formula | None:
    """Return the built-in formula of that name, None where there is none.

    >>> formula_named("xeon-phi-a").target.meaning
    'time of a whole training'
    """
    found = BUILT_IN_FORMULAS.get(str(name))
    return found() if found is not None else None
