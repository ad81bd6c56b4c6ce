"""The runs of a study, with a person's own GPUs and networks, and what these files were."""

import hashlib
from pathlib import Path

from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.datasets import DATASETS
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import InputError


def runs_of_study(definition: StudyDefinition) -> MeasuredTable:
    """Return the runs, or whatever its kind is of, that a definition names; raises as the kind's `read`.

    InputError also where GPUs or networks of one's own are given for a built-in table, which has its own.
    """
    gpu_file, cnn_files = definition.gpu_file, definition.cnn_file
    if definition.table in DATASETS and (gpu_file or cnn_files):
        raise InputError(
            f"--gpu-file and --cnn-file are for runs in a file; the built-in table {definition.table!r} has "
            "its own GPUs and CNNs"
        )
    read = STUDY_KINDS[definition.of].read
    return read(definition.table, Path(gpu_file) if gpu_file else None, map(Path, cnn_files))


def own_files_json(definition: StudyDefinition) -> dict[str, object]:
    """Return the sha256 of each file of one's own GPUs and networks by its name; {} where none is given."""
    paths = [Path(text) for text in (definition.gpu_file, *definition.cnn_file) if text]
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    return {"own_files_sha256": sums} if sums else {}
