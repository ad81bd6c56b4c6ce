"""The rows of the table of answers that no formula changes, read from `rows.toml`."""

from functools import cache
from string import Template
from typing import Any

from trainlaw.app.answers.answer import Answer
from trainlaw.app.models.multi_gpu import ASSUMPTION, SCALED, SINGLE_GPU_INTERVAL
from trainlaw.datasets.cnns.memory import CONTEXT_BYTES, MARGIN, MAX_WORKSPACE_BYTES
from trainlaw.datasets.measurements.memory_fit import CANNOT_FIT, FITS, HELD_PER_SOLD, MAY_NOT_FIT
from trainlaw.formulas.files.toml_tables import toml_table
from trainlaw.validate.conformal import LEVEL

#: Said where there is a time but no interval.
NO_INTERVAL = "no interval: too few groups were held out"
#: What the values 0, 1, ... of `fits_in_memory` mean.
FITS_WORDS = (FITS, MAY_NOT_FIT, CANNOT_FIT)
# What `${name}` stands for in the file, but for its own words.
_NAMES = {
    "interval": f"{100 * LEVEL:g} % interval",
    "no_interval": NO_INTERVAL,
    "fits": FITS,
    "may_not_fit": MAY_NOT_FIT,
    "cannot_fit": CANNOT_FIT,
    "held_per_sold": HELD_PER_SOLD,
    "margin": MARGIN,
    "max_workspace": MAX_WORKSPACE_BYTES,
    "context": CONTEXT_BYTES,
    "scaled": SCALED,
    "assumption": ASSUMPTION,
    "single_gpu_interval": SINGLE_GPU_INTERVAL,
}


@cache
def rows(group: str) -> tuple[Answer, ...]:
    """Return the rows of a group of the file, in its order."""
    return tuple(
        Answer(name, **{key: _filled(value) for key, value in row.items()})
        for name, row in _file()[group].items()
    )


@cache
def _file() -> dict[str, dict[str, Any]]:
    return toml_table(__file__, "rows.toml")


def _filled(value: Any) -> Any:
    """Return a value of the file with names filled in; a list as a tuple."""
    if isinstance(value, list):
        return tuple(map(_filled, value))
    return Template(value).substitute(_NAMES, **_file()["words"]) if isinstance(value, str) else value
