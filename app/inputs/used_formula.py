"""The formulas that `trainlaw use` made the default: a small file in the current folder names them."""

import json
from pathlib import Path

from trainlaw.formulas import InputError
from trainlaw.formulas.files.text_files import read_json, write_text_atomically

USE_FILE = ".trainlaw.json"
#: What a used formula is for: the time on one GPU, or that on several from the time on one.
ONE_GPU, SEVERAL_GPUS = "one GPU", "several GPUs"


def used_formulas(folder: Path) -> dict[str, Path]:
    """Return the formula files that `trainlaw use` chose in a folder, by `ONE_GPU` and `SEVERAL_GPUS`.

    Empty where none was chosen. Raises InputError for a faulty file, or one that names what does not exist.
    """
    place = folder / USE_FILE
    if not place.is_file():
        return {}
    undo = "`trainlaw use --built-in` undoes it"
    try:
        chosen = read_json(place)
    except InputError:
        chosen = None
    named = chosen if isinstance(chosen, dict) else {"": None}
    if not set(named) <= {ONE_GPU, SEVERAL_GPUS} or not all(isinstance(path, str) for path in named.values()):
        raise InputError(f"{place}: expected what `trainlaw use` writes, got another text; {undo}")
    found = {purpose: Path(str(path)) for purpose, path in named.items()}
    for path in found.values():
        if not (folder / path).is_file():
            raise InputError(f"{place} names {path}, which does not exist; {undo}")
    return found


def use_formula(path: Path, purpose: str, folder: Path) -> None:
    """Make a formula file the default for a purpose in a folder."""
    place = folder / USE_FILE
    chosen = used_formulas(folder) | {purpose: path}
    named = {purpose: str(path) for purpose, path in sorted(chosen.items())}
    write_text_atomically(place, json.dumps(named, indent=1) + "\n")


def use_built_in(folder: Path) -> None:
    """Make the built-in formulas the default in a folder."""
    (folder / USE_FILE).unlink(missing_ok=True)
