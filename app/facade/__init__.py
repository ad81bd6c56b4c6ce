"""Closed-form formulas for the time of a CNN training iteration, fitted to runs within a physical skeleton.

What the search adds to the fitted skeleton is stated in README.md and docs/explanation/law.md.

These names do the whole job; each loads what it needs at its first use, so `import trainlaw` is quick:

>>> import trainlaw
>>> " ".join(sorted(trainlaw.__all__)[1:])
'__version__ calibrate cnns compare export gpus load_formula plan predict predict_many seconds study'

The steps behind them are packages: `trainlaw.formulas`, `trainlaw.datasets`, `trainlaw.evolve` and
`trainlaw.validate`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainlaw.app.api import (
        FormulaRegressor,
        calibrate,
        cnns,
        compare,
        export,
        gpus,
        load_formula,
        plan,
        predict,
        predict_many,
        seconds,
        study,
    )

    __version__: str

__all__ = [
    "FormulaRegressor",
    "__version__",
    "calibrate",
    "cnns",
    "compare",
    "export",
    "gpus",
    "load_formula",
    "plan",
    "predict",
    "predict_many",
    "seconds",
    "study",
]


def __getattr__(name: str) -> object:
    """Return the version or a function of `trainlaw.app.api`, loaded at its first use."""
    # Loading pandas and numba takes a second; someone who only asks for the version should not wait for them.
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("trainlaw")
    if name in __all__:
        from trainlaw.app import api  # noqa: PLC0415

        # Found here from now on: looking it up takes a tenth of the time of `seconds`.
        globals()[name] = getattr(api, name)
        return globals()[name]
    raise AttributeError(f"module 'trainlaw' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return list(__all__)
