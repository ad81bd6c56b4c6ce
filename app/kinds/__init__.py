"""Kinds of study, one file and one row each: what `trainlaw study --of` can be asked for.

To add a kind:

1. Write `app/kinds/of_<name>.py` with one `StudyKind` (see `kind.py` for its parts; `of_runs.py` is the
   shortest example, and `dataclasses.replace` of another kind keeps what is the same).
   `read` may be any function that gives a `MeasuredTable`; `rows` makes its features, seconds and labels.
   Labels need the columns `gpu_group` (groups that weigh the same), `gpu` and `cnn_base` (what errors are
   told by); those of `trainlaw.app.error_tables.ALSO_BY` get tables of their own where they are present.
   The features of the law should be columns of `X`. A `search` of features of one's own passes its own specs
   to `trainlaw.app.search.evolved`; `SeededSearch` there starts from formulas whose constants it finds on the
   training rows.
2. Add it to the tuple below, and its name to the help of `--of` in `app/commands/study.py`.

Nothing else knows the kinds: `study_definition` takes names, defaults, splits and rivals from here, `study`
all else. A formula whose features are those of runs (`trainlaw features`) has workbook, page and report as it
is; one of other features gets those of formulas with features of their own (`own_features`).
"""

from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.app.kinds.kind import CNN_FOLDS, GPU_FOLDS, OWN_LIST, SPLITS, Evolution, StudyKind, StudyRows
from trainlaw.app.kinds.of_layers import OF_LAYERS
from trainlaw.app.kinds.of_runs import OF_RUNS

STUDY_KINDS: Mapping[str, StudyKind] = MappingProxyType({kind.name: kind for kind in (OF_RUNS, OF_LAYERS)})

__all__ = [
    "CNN_FOLDS",
    "GPU_FOLDS",
    "OWN_LIST",
    "SPLITS",
    "STUDY_KINDS",
    "Evolution",
    "StudyKind",
    "StudyRows",
]
