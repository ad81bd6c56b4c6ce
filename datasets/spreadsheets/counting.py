"""How many GPUs, nodes and images per GPU a run has, from whichever of them a table states."""

from collections.abc import Mapping, Sequence

import numpy as np
from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import choices
from trainlaw.datasets.spreadsheets.rows import SheetRows
from trainlaw.formulas.errors import InputError, shown

_MOST_DIGITS = 9
_MOST_OF_NODE = 8  # GPUs of the usual servers
_COUNTS = ("n_gpus", "n_nodes", "batch_per_gpu", fields.BATCH, fields.GLOBAL_BATCH, fields.GPUS_PER_NODE)


def says_gpus(rows: SheetRows, constants: Mapping[str, object]) -> bool:
    """Return whether a table or the user says how many GPUs ran."""
    said = {*rows.cells, *constants}
    return (
        bool({"n_gpus", fields.GPUS_PER_NODE} & said)
        or len({fields.BATCH, "batch_per_gpu", fields.GLOBAL_BATCH} & said) > 1
    )


def counted(
    rows: SheetRows,
    numbers: Mapping[str, np.ndarray],
    constants: Mapping[str, object],
    said: Sequence[int | None],
) -> dict[str, object]:
    """Return GPUs, nodes and images per GPU of each row; ask about what is open or contradicts.

    numbers, constants : of the table and of the user. said : GPUs by the text of their name.
    """
    known = {name: constant_count(name, constants[name], len(rows)) for name in _COUNTS if name in constants}
    known |= numbers
    per_gpu, whole = _batches(known)
    nodes = known.get("n_nodes", np.ones(len(rows)))
    own = np.array([np.nan if number is None else number for number in said], dtype=np.float64)
    if "n_gpus" in known:
        n_gpus = known["n_gpus"]
        wrong = np.isfinite(own) & (own != n_gpus)
        rows.fault("the name of the GPU says another number of GPUs", wrong)
        if fields.GPUS_PER_NODE in known and "n_nodes" not in known:
            nodes = np.ceil(n_gpus / known[fields.GPUS_PER_NODE])
        elif "n_nodes" not in known:
            text = "more than 8 GPUs: how many are in a node?"
            rows.fault(
                text, n_gpus > _MOST_OF_NODE, choices("--set", ("4", "8"), "gpus_per_node="), "question"
            )
    elif fields.GPUS_PER_NODE in known:
        n_gpus = known[fields.GPUS_PER_NODE] * nodes
    elif per_gpu is not None and whole is not None:
        n_gpus = whole / per_gpu
    else:
        n_gpus = np.where(np.isfinite(own), own, nodes)
    if per_gpu is not None and whole is not None:
        rows.fault("the batch per GPU times the GPUs is not the global batch", per_gpu * n_gpus != whole)
    batch = per_gpu if per_gpu is not None else _shared_batch(rows, known, whole, n_gpus)
    return {"n_gpus": n_gpus, "n_nodes": nodes, **({} if batch is None else {"batch_per_gpu": batch})}


def constant_count(name: str, text: object, size: int) -> np.ndarray:
    """Return a count that the user states for all rows, (size,); InputError where it is no whole number."""
    # More digits than a count has are not even converted: Python refuses to at some length.
    if not str(text).isdecimal() or len(str(text)) > _MOST_DIGITS or not int(str(text)):
        raise InputError(f"--set {name}: expected a whole number of at least 1, got {shown(text)}")
    return np.full(size, float(str(text)))


def _batches(known: Mapping[str, np.ndarray]) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the batch of each GPU and that of all where the table says which is which."""
    per_gpu, whole, either = (
        known.get(name) for name in ("batch_per_gpu", fields.GLOBAL_BATCH, fields.BATCH)
    )
    # Next to a column of one of them, a plain batch is the other.
    if per_gpu is None and whole is not None:
        per_gpu = either
    elif whole is None and per_gpu is not None:
        whole = either
    return per_gpu, whole


def _shared_batch(
    rows: SheetRows, known: Mapping[str, np.ndarray], whole: np.ndarray | None, n_gpus: np.ndarray
) -> np.ndarray | None:
    """Return the images per GPU of a global batch, or of a batch that the user says the kind of."""
    several = n_gpus > 1
    if whole is None:
        batch = known.get(fields.BATCH)
        if batch is None or not several.any() or rows.answers.batch_is == "per-gpu":
            return batch
        if rows.answers.batch_is != "global":
            heading = rows.columns[fields.BATCH].heading if fields.BATCH in rows.columns else fields.BATCH
            text = f"{heading}: with several GPUs, is it the batch of each GPU or of all together?"
            rows.fault(text, several, choices("--batch-is", ("per-gpu", "global")), "question")
            return batch
        whole = batch
    per_gpu: np.ndarray = whole / n_gpus
    uneven = np.isfinite(per_gpu) & (per_gpu != np.floor(per_gpu))
    rows.fault("the global batch is not a multiple of the number of GPUs", uneven)
    return per_gpu
