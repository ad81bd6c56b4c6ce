"""What a study is: table, what is held out, budget, rivals, platforms. One small TOML file says it all."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from trainlaw.app.studies.kinds import GPU_FOLDS, OWN_LIST, RUNS, STUDY_KINDS, StudyKind
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.files import read_toml

EVALUATIONS = 50_000  # per search, about 20 seconds on one core for the built-in table
RIVALS = ("null_compute", "roofline", "random_forest", "cf9")
#: Label columns whose values are platforms, for `by`.
PLATFORMS = ("harness", "framework", "precision", "vendor", "generation", "source", "device")
#: Longer names of splits, as people say them.
_ALSO = {
    "leave-one-gpu-out": "gpu",
    "leave-one-cnn-out": "cnn",
    "both-new": "both",
    "leave-one-source-out": "source",
    "leave-one-generation-out": "generation",
    "newest-gpus-out": "newest",
}
_PATHS = ("table", "held_out", "rates", "gpu_file", "cnn_file")
_LIMITS = {"seed": (0, 2**32 - 1), "folds": (2, 1000), "evaluations": (100, 10**9), "repeats": (0, 100)}


@dataclass(frozen=True)
class StudyDefinition:
    """Everything that the result of a study depends on, apart from the table's rows.

    table : built-in name or a path. of : what the law is of, one of `STUDY_KINDS`. split : one of its splits.
    folds : parts into which the groups are dealt, for the splits `gpu-folds` and `cnn-folds`. held_out : path
    of the own list, for the split `list`. seed. evaluations : formulas tried per search.
    repeats : further searches on all rows with other seeds, to see which terms return. against : rivals by
    name, or `all`. by : platforms for a matrix of train-on x test-on. search_by_platform : search anew on
    each platform, beside fitting the same formula anew. rates : path of achieved rates, for calibration level
    1. gpu_file, cnn_file : paths of GPUs and networks of one's own, for a table of one's own.
    """

    table: str = "default"
    of: str = RUNS
    split: str = GPU_FOLDS
    folds: int = 5
    held_out: str = ""
    seed: int = 0
    evaluations: int = EVALUATIONS
    repeats: int = 0
    against: tuple[str, ...] = RIVALS
    by: tuple[str, ...] = ()
    search_by_platform: bool = False
    rates: str = ""
    gpu_file: str = ""
    cnn_file: tuple[str, ...] = ()


def definition_of(values: Mapping[str, object], where: str) -> StudyDefinition:
    """Return the study that `values` define by the names of its fields; what is left out has its default.

    Some defaults are those of the kind of study, such as its table. where : for messages, such as the name of
    a file. UnknownNameError with suggestions for an unknown field, kind, split, rival or platform; InputError
    for a value of another type or out of range.
    """
    types = {field.name: type(field.default) for field in fields(StudyDefinition)}
    taken: dict[str, object] = {}
    for name, value in values.items():
        if name not in types:
            raise unknown_name(f"entry of {where}", name, types)
        taken[name] = _checked(f"{where}: {name}", value, types[name])
    of = str(taken.get("of", RUNS))
    if of not in STUDY_KINDS:
        raise unknown_name(f"law of {where}", of, STUDY_KINDS)
    kind = STUDY_KINDS[of]
    definition = replace(StudyDefinition(), **{**kind.defaults, **taken})  # type: ignore[arg-type]
    for name, (least, most) in _LIMITS.items():
        if not least <= getattr(definition, name) <= most:
            value = getattr(definition, name)
            raise InputError(f"{where}: {name}: expected {least} to {most}, got {value}")
    return _of_known_names(definition, kind, where)


def _of_known_names(definition: StudyDefinition, kind: StudyKind, where: str) -> StudyDefinition:
    """The definition with long names of splits and `all` rivals replaced; raises as `definition_of`."""
    split = _ALSO.get(definition.split, definition.split)
    against = tuple(kind.rivals) if "all" in definition.against else definition.against
    for what, given, known in (
        ("split", (split,), kind.splits),
        ("rival", against, kind.rivals),
        ("platform", definition.by, PLATFORMS),
    ):
        for name in given:
            if name not in known:
                raise unknown_name(
                    f"{what} of {where}", name, [*known, *(("all",) if what == "rival" else ())]
                )
    if definition.by and not kind.platform_rivals:
        raise InputError(f"{where}: expected a law of runs for a study by platforms, got one of {kind.name}")
    if (split == OWN_LIST) != bool(definition.held_out):
        raise InputError(
            f"{where}: the split {OWN_LIST!r} and a file held_out go together; got only one of them"
        )
    return replace(definition, split=split, against=tuple(dict.fromkeys(against)))


def _checked(where: str, value: object, kind: type) -> object:
    if kind is tuple and isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if kind is tuple and isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    # True is an int for Python, but not for a person.
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) and kind is not tuple:
        return value
    words = {str: "a text", int: "a whole number", bool: "true or false", tuple: "a list of texts"}
    raise InputError(f"{where}: expected {words[kind]}, got {str(value)[:40]!r}")


def read_definition(path: Path) -> Mapping[str, object]:
    """Return the entries of a TOML file; InputError where it is none. `definition_of` checks them.

    Paths inside are taken from the file's own folder, or from here where a file is only here.
    """
    values = read_toml(path)
    return {name: _beside(path, value, name) if name in _PATHS else value for name, value in values.items()}


def _beside(path: Path, value: object, name: str) -> object:
    """Return a path, or each of a list, as one beside `path`, unless a file is only where it says."""
    if isinstance(value, list):
        return [_beside(path, part, name) for part in value]
    if not isinstance(value, str) or not value:
        return value
    beside = path.parent / value
    # A table that is no file is a built-in one.
    elsewhere = name == "table" or Path(value).is_file()
    return value if elsewhere and not beside.is_file() else str(beside)


def asked_definition(path: Path | None, options: Mapping[str, object]) -> StudyDefinition:
    """Return the study of a TOML file (None: the usual one) and of options, which win; None: nothing said.

    Raises as `definition_of`.
    """
    given = {name: _plain(value) for name, value in options.items() if value is not None}
    if "held_out" in given and "split" not in given:
        given["split"] = OWN_LIST
    return definition_of({**(read_definition(path) if path else {}), **given}, str(path or "trainlaw study"))


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, Path) else value


def seen_from(folder: Path, definition: StudyDefinition) -> StudyDefinition:
    """Return the definition with its relative paths as they are seen from a folder, for a file there."""

    def seen(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(seen, value))
        path = Path(str(value))
        return os.path.relpath(path, folder) if path.is_file() and not path.is_absolute() else value

    return replace(definition, **{name: seen(getattr(definition, name)) for name in _PATHS})  # type: ignore[arg-type]


def definition_text(definition: StudyDefinition) -> str:
    """Return the definition as TOML, every field on its line; `read_definition` reads it back."""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in asdict(definition).items())


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return (
            '"'
            + "".join(
                letter if letter >= " " and letter != "\x7f" else f"\\u{ord(letter):04x}"
                for letter in escaped
            )
            + '"'
        )
    return str(value)
