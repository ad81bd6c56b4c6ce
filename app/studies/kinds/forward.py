"""Formulas of forward passes on one GPU: inference at large batches, within the skeleton of such a pass."""

from dataclasses import replace

from trainlaw.app.studies.forward_skeleton import FORWARD_NAMES, ForwardSearch
from trainlaw.app.studies.kinds.kind import StudyRows, study_labels
from trainlaw.app.studies.kinds.whole_runs import OF_RUNS
from trainlaw.app.studies.search import skeleton_of, with_settings
from trainlaw.datasets import RunTable
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.baselines import named_baselines


def _rows(table: RunTable) -> StudyRows:
    """Return features, seconds and labels; the stack is one of them, since software decides most."""
    labels = study_labels(table).assign(stack=table.frame["stack"].to_numpy(dtype=str))
    return StudyRows(table.features(), table.seconds, labels)


_BASELINES = named_baselines("null_compute", "roofline", "hand_form", "constant")
OF_FORWARD = replace(
    OF_RUNS,
    name="forward",
    scope=FORWARD,
    title="forward passes on one GPU",
    rows=_rows,
    features=FORWARD_NAMES,
    search=with_settings(ForwardSearch),
    no_search=skeleton_of(ForwardSearch),
    baselines=_BASELINES,
    defaults={
        **OF_RUNS.defaults,
        "table": "forward",
        "split": "gpu",
        "seeds": 1,
        "against": tuple(_BASELINES),
    },
    is_proved=False,
    has_levels=False,
    platform_baselines=(),
    fits=None,
    otherwise="",
    next_step='trainlaw predict --forward --cnn resnet50 --gpu "RTX 4090" --batch 256 --formula {folder}',
)
