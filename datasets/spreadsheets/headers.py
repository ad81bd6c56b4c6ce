"""What the header of a column means with the lines above it, and which GPU, batch and so on it says."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from trainlaw.datasets.spreadsheets import our
from trainlaw.datasets.spreadsheets.blocks import MARK, Block
from trainlaw.datasets.spreadsheets.headings import Meaning, of_statistics, read_heading
from trainlaw.datasets.spreadsheets.phrases import Names

_LEAST_GPU = 500  # "3090" next to other GPUs is one


def header_meaning(block: Block, place: int, names: Names) -> tuple[Meaning, Mapping[str, str]]:
    """Return what a header means, with its upper lines, and which GPU, batch and so on it says.

    place : of the column in the block.
    """
    path = tuple(MARK.sub("", text).strip() or text for text in block.paths[place])
    if not path:
        return Meaning(""), {}
    leaf = path[-1]
    meaning = read_heading(leaf)
    if leaf == "#" and place and read_heading((block.paths[place - 1] or ("",))[-1]).target == "gpu":
        # MLPerf's tables have the number of accelerators next to their name.
        return Meaning("n_gpus"), {}
    leaves = [own[-1] for own in block.paths if own]
    statistic = of_statistics(leaf, leaves)
    if statistic and (len(path) == 1 or statistic.target == our.IGNORED):
        meaning = statistic
    said: dict[str, str] = {}
    unit, iterations, phases = meaning.unit, 1.0, set()
    for text in path:
        phrase = names.phrase(text)
        phases.add(phrase.phase)
        iterations = max(iterations, phrase.iterations)
        unit = unit or phrase.unit
        conflicting = phrase.several or (phrase.is_negated and phrase.said)
        said = {**said, **phrase.said, **({our.IGNORED: text} if conflicting else {})}
        if [word for word in phrase.rest if read_heading(word).target == our.IGNORED]:
            said[our.IGNORED] = text
    label = leaf if leaf.isdecimal() else ""
    if label:
        said |= {_label_kind(path, block, names): label}
    if meaning.target in ("", our.TIME) and iterations > 1 and (unit is None or not unit.is_rate):
        meaning = Meaning(our.TIME, unit)
    if len(path) > 1 and not meaning.target:
        meaning = _of_path(path, said) or meaning
    if unit is not None and meaning.unit is None:
        meaning = replace(meaning, unit=unit)
    if "inference" in phases:
        meaning = Meaning(our.OTHER_TIME, meaning.unit)
    if iterations > 1 and meaning.unit is not None and not meaning.unit.is_rate:
        meaning = replace(meaning, unit=replace(meaning.unit, number=iterations))
    return meaning, said


def _label_kind(path: Sequence[str], block: Block, names: Names) -> str:
    """Return what a number that heads a column is: a batch size, unless its group or the corner says else."""
    corner = (block.paths[0] or ("",))[-1]
    if int(path[-1]) > _LEAST_GPU and any(
        "gpu" in names.phrase(other[-1]).said for other in block.paths if other
    ):
        return "gpu"
    for text in (*reversed(path[:-1]), *re.split(r"[\\/|]", corner)):
        if (target := read_heading(text).target) in our.COUNTS:
            return target
        if target == "gpu" and re.search(r"gpus|number|anzahl|#", text, re.IGNORECASE):
            return "n_gpus"
    return our.BATCH


def _of_path(path: Sequence[str], said: Mapping[str, str]) -> Meaning | None:
    """Return what the lines of a header mean together, None where nothing is known."""
    together = [" ".join((text, path[-1])) for text in path[:-1]]
    for text in (*together, *path[:-1]):
        meaning = read_heading(text)
        if meaning.target and (
            not said or meaning.target in (*our.MEASURES, our.EPOCH_TIME, our.OTHER_TIME, our.IGNORED)
        ):
            return meaning
    return None
