"""Kinds of study: what `trainlaw study --of` can be asked for.

To add a kind, write a `StudyKind` in the file of its subject (see `kind.py` for its fields;
`dataclasses.replace` of another kind keeps what is the same), and add it to the tuple below and its name to
the help of `--of` in `app/inputs/study_definition.py`.

`read` may be any function that returns a `MeasuredTable`; `rows` makes its features, seconds and labels.
Labels need the columns `gpu_group` (groups that weigh the same), `gpu` and `cnn_base` (errors are reported by
them); those of `FURTHER_LEVELS` in `trainlaw.validate.error_table` get tables of errors where they are
present. The features exclude what the formula must not know. `fitted_by` gives the fields of a kind that fits
a law; `search` of any other gives `evolved` of `trainlaw.app.studies.estimators` its specs, target and scope.

Nothing else knows the kinds: `definition.py` takes names, defaults, splits and baselines from here, and
`study.py` everything else. The scope decides what becomes of the formula (`trainlaw.app.models.scopes`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from trainlaw.app.studies.kinds.anchor import OF_PAIRS
from trainlaw.app.studies.kinds.kind import StudyKind
from trainlaw.app.studies.kinds.layer_times import OF_LAYER_TIMES
from trainlaw.app.studies.kinds.multi_gpu import END_TO_END, OF_MANY_GPUS
from trainlaw.app.studies.kinds.one_gpu import OF_FORWARD, OF_FREE_RUNS, OF_LAYERS, OF_RUNS

_KINDS = (
    OF_RUNS,
    OF_FREE_RUNS,
    OF_FORWARD,
    OF_LAYERS,
    OF_MANY_GPUS,
    END_TO_END,
    OF_LAYER_TIMES,
    OF_PAIRS,
)
STUDY_KINDS: Mapping[str, StudyKind[Any]] = MappingProxyType({kind.name: kind for kind in _KINDS})
