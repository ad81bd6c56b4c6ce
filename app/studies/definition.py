"""The definition of a study: table, splits, budget, baselines, platforms; as options or as a TOML file."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomli_w
from trainlaw.app.inputs.declared import check_limits
from trainlaw.app.inputs.retired import check_retired
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.doubts import trusted
from trainlaw.app.models.law_times import check_timed_parts
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.kinds.kind import OWN_LIST, RUNS, StudyKind
from trainlaw.datasets import DATASETS, RunTable
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.files.text_files import file_sha256, read_toml
from trainlaw.formulas.scopes import FORWARD, RUN

#: Label columns whose values are platforms, for `by`.
PLATFORMS = ("harness", "framework", "precision", "vendor", "generation", "source", "device")
# Longer names of splits, as papers and older study files have them.
_SPLIT_ALIASES = {
    "leave-one-gpu-out": "gpu",
    "leave-one-cnn-out": "cnn",
    "both-new": "both",
    "leave-one-source-out": "source",
    "leave-one-generation-out": "generation",
    "newest-gpus-out": "newest",
}
#: Libraries whose versions the result may depend on.
LIBRARIES = ("numpy", "pandas", "numba", "deap", "sympy")
#: Entries that are paths of files.
PATHS = ("table", "held_out", "rates", "gpu_file", "cnn_file")


def definition_of(values: Mapping[str, object], where: str) -> StudyDefinition:
    """Return the study that `values` define by the names of its fields; a missing field has its default.

    Some defaults depend on the kind of study, such as the table. where : for messages, such as the name of a
    file. UnknownNameError with suggestions for an unknown field, kind, split, baseline or platform;
    InputError for a value of another type or out of range.
    """
    types = {field.name: type(field.default) for field in fields(StudyDefinition)}
    taken: dict[str, object] = {}
    for name, value in values.items():
        if name not in types:
            raise unknown_name(f"entry of {where}", name, types)
        taken[name] = _checked(f"{where}: {name}", value, types[name])
    of = str(taken.get("of", RUNS))
    check_retired("study", of)
    if of not in STUDY_KINDS:
        raise unknown_name(f"kind of study of {where}", of, STUDY_KINDS)
    kind = STUDY_KINDS[of]
    definition = replace(StudyDefinition(), **{**kind.defaults, **taken})  # type: ignore[arg-type]
    check_limits(definition, where)
    return _with_known_names(definition, kind, where)


def _with_known_names(definition: StudyDefinition, kind: StudyKind[Any], where: str) -> StudyDefinition:
    """The definition with aliases of splits and `all` baselines replaced; raises as `definition_of`."""
    split = _SPLIT_ALIASES.get(definition.split, definition.split)
    against = tuple(kind.baselines) if "all" in definition.against else definition.against
    for what, given, known in (
        ("split", (split,), kind.splits),
        ("baseline", against, kind.baselines),
        ("platform", definition.by, PLATFORMS),
    ):
        for name in given:
            if name not in known:
                raise unknown_name(
                    f"{what} of {where}", name, [*known, *(("all",) if what == "baseline" else ())]
                )
    if definition.by and not kind.platform_baselines:
        raise InputError(f"{where}: a study by platforms needs whole runs, got the kind {kind.name}")
    if (split == OWN_LIST) != bool(definition.held_out):
        raise InputError(
            f"{where}: the split {OWN_LIST!r} and a file held_out belong together; got only one of them"
        )
    return replace(definition, split=split, against=tuple(dict.fromkeys(against)))


def _checked(where: str, value: object, kind: type) -> object:
    if kind is tuple and isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if kind is tuple and isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    # True is an int for Python, but not for a user.
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) and kind is not tuple:
        return value
    words = {str: "a text", int: "a whole number", bool: "true or false", tuple: "a list of texts"}
    raise InputError(f"{where}: expected {words[kind]}, got {str(value)[:40]!r}")


def read_definition(path: Path) -> Mapping[str, object]:
    """Return the entries of a TOML file; InputError where it is none. `definition_of` checks them.

    Paths inside are taken from the file's own folder, or from here where a file is only here.
    """
    values = read_toml(path)
    return {name: _next_to(path, value, name) if name in PATHS else value for name, value in values.items()}


def _next_to(path: Path, value: object, name: str) -> object:
    """Return a path, or each of a list, relative to the folder of `path`, unless a file is only here."""
    if isinstance(value, list):
        return [_next_to(path, part, name) for part in value]
    if not isinstance(value, str) or not value:
        return value
    neighbour = path.parent / value
    # A table that is no file is a built-in one.
    elsewhere = name == "table" or Path(value).is_file()
    return value if elsewhere and not neighbour.is_file() else str(neighbour)


def asked_definition(
    path: Path | None, options: Mapping[str, object], where: str = "trainlaw study"
) -> StudyDefinition:
    """Return the study of a TOML file (None: the default) and of options, which take precedence.

    where : names the command. Raises as `definition_of`.
    """
    given = {name: _plain(value) for name, value in options.items()}
    if "held_out" in given and "split" not in given:
        given["split"] = OWN_LIST
    return definition_of({**(read_definition(path) if path else {}), **given}, str(path or where))


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, Path) else value


def definition_text(definition: StudyDefinition) -> str:
    """Return the definition as TOML, one entry per field; `read_definition` reads it back."""
    return tomli_w.dumps(asdict(definition))


def read_study_table(definition: StudyDefinition, trust: bool = False) -> MeasuredTable:
    """Return the table that a definition names; raises as the `read` of its kind.

    trust : take the times of runs in a file as they are, whatever speaks against them.
    InputError also where files of GPUs or CNNs are given for a built-in table, which has its own.
    """
    gpu_file, cnn_files = definition.gpu_file, definition.cnn_file
    if definition.table in DATASETS and (gpu_file or cnn_files):
        raise InputError(
            f"--gpu-file and --cnn-file are for runs in a file; the built-in table {definition.table!r} has "
            "its own GPUs and CNNs"
        )
    kind = STUDY_KINDS[definition.of]
    table: MeasuredTable = kind.read(
        definition.table, Path(gpu_file) if gpu_file else None, map(Path, cnn_files)
    )
    of_file = definition.table not in DATASETS
    if isinstance(table, RunTable) and (of_file or kind.scope in (RUN, FORWARD)):
        check_timed_parts(table, kind.scope == FORWARD)
    return trusted(table, trust, any_parts=True) if of_file else table


def study_identity(definition: StudyDefinition, table: MeasuredTable) -> str:
    """Return the sha256 of all that the result of a study depends on: definition, rows, files, versions."""
    depends_on = {
        "definition": asdict(definition),
        "table_sha256": table.sha256,
        "files": [file_sha256(path) for path in definition.files],
        "versions": {name: version(name) for name in ("trainlaw", *LIBRARIES)},
    }
    return hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()
