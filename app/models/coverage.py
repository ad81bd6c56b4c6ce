"""What the training runs of a formula cover: its precisions, generations and vendors, as warnings."""

from trainlaw.app.models.calibration import calibration_of
from trainlaw.datasets import Gpu
from trainlaw.formulas import Formula


def untrained_precision(formula: Formula, precision: str) -> list[str]:
    """Return a warning for a precision without training runs; none where the formula does not name any."""
    known = formula.provenance.get("precisions", [precision])
    return [] if precision in known else [f"no training run used {precision}"]


def unseen_generation(formula: Formula, gpu: Gpu) -> list[str]:
    """Return a warning for a GPU of a generation, or a vendor, without training runs; none for others.

    A law that was calibrated to the GPU has measured it.
    """
    seen = formula.provenance.get("generations")
    calibrated = (calibration_of(formula) or {}).get("gpus", [])
    if seen is None or gpu.generation in seen or gpu.gpu in calibrated:
        return []
    if gpu.vendor not in formula.provenance.get("vendors", []):
        return [f"no training run is on a GPU of {gpu.vendor or 'its vendor'}"]
    return [f"no training run is on a GPU of the generation {gpu.generation or 'unknown'}"]
