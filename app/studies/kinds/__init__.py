"""Kinds of study, one file and one row each: what `trainlaw study --of` can be asked for.

To add a kind:

1. Write `app/kinds/of_<name>.py` with one `StudyKind` (see `kind.py` for its parts; `of_runs.py` is the
   shortest example, and `dataclasses.replace` of another kind keeps what is the same).
   `read` may be any function that gives a `MeasuredTable`; `rows` makes its features, seconds and labels.
   Labels need the columns `gpu_group` (groups that weigh the same), `gpu` and `cnn_base` (what errors are
   told by); those of `trainlaw.app.models.errors.ALSO_BY` get tables of their own where they are present.
   The features of the law are columns of `X`; nothing in `X` may be what the law is not to know. A `search`
   gives `trainlaw.app.studies.search.evolved` its own specs and target, and may change the settings: seeds (start
   their constants at round figures, each fold finds its own), operators, required features. `of_many_gpus.py`
   shows all of that, `of_many_gpus_end_to_end.py` an estimator of two searches and rows that only train.
2. Add it to the tuple below, and its name to the help of `--of` in `app/commands/study.py`.

Nothing else knows the kinds: `study_definition` takes names, defaults, splits and rivals from here, `study`
all else. A formula whose features are those of runs (`trainlaw features`) has workbook, page and report as it
is; one of other features gets those of formulas with features of their own (`own_features`).
"""

from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.app.studies.kinds.anchor import OF_PAIRS
from trainlaw.app.studies.kinds.kind import (
    CNN_FOLDS,
    GPU_FOLDS,
    OWN_LIST,
    RUNS,
    SPLITS,
    Evolution,
    StudyKind,
    StudyRows,
)
from trainlaw.app.studies.kinds.layer_times import OF_LAYER_TIMES
from trainlaw.app.studies.kinds.layers import OF_LAYERS
from trainlaw.app.studies.kinds.multi_gpu import OF_MANY_GPUS
from trainlaw.app.studies.kinds.multi_gpu_end_to_end import END_TO_END
from trainlaw.app.studies.kinds.whole_runs import OF_RUNS

_KINDS = (OF_RUNS, OF_LAYERS, OF_MANY_GPUS, END_TO_END, OF_LAYER_TIMES, OF_PAIRS)
STUDY_KINDS: Mapping[str, StudyKind] = MappingProxyType({kind.name: kind for kind in _KINDS})

__all__ = [
    "CNN_FOLDS",
    "GPU_FOLDS",
    "OWN_LIST",
    "RUNS",
    "SPLITS",
    "STUDY_KINDS",
    "Evolution",
    "StudyKind",
    "StudyRows",
]
