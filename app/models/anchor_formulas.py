"""The laws of anchors that come with trainlaw: of any pair of GPUs, and of each pair that was measured."""

from collections.abc import Mapping
from pathlib import Path

from trainlaw.formulas import Formula, load_formula

_FOLDER = Path(__file__).parents[1] / "builtin"
OF_ANY_PAIR = _FOLDER / "anchor.json"
_PAIRS = _FOLDER / "pairs"
#: GPUs that were both anchor and target: each pair of them has laws of its own.
MEASURED = ("K80", "M60", "T4", "V100-SXM2-16GB")


def pair_law_path(anchor: str, target: str, with_network: bool, folder: Path = _PAIRS) -> Path:
    """Return where the law of a pair lies; with_network : of profile and network, else of the profile alone.

    >>> pair_law_path("T4", "K80", with_network=False).name
    'T4-to-K80-profile.json'
    """
    return folder / f"{anchor}-to-{target}{'' if with_network else '-profile'}.json"


def law_of_pair(anchor: str, target: str, with_network: bool) -> tuple[Formula, str] | None:
    """Return the law of a measured pair and what it is in words; None for a pair without one.

    anchor, target : names of GPUs. with_network : as `pair_law_path`.
    """
    path = pair_law_path(anchor, target, with_network)
    if not path.is_file():
        return None
    what = "profile and network" if with_network else "the profile alone"
    return load_formula(path), f"the built-in law of {anchor} to {target}, from {what}"


def law_of_any_pair() -> tuple[Formula, str]:
    """Return the law of pairs that were not measured, and what it is in words."""
    return load_formula(OF_ANY_PAIR), "the built-in law of any pair, from the anchor's time and the network"


def laws_of_pairs() -> Mapping[str, Path]:
    """Return the file of each built-in law of a measured pair by its name, such as T4-to-K80-profile."""
    return {path.stem: path for path in sorted(_PAIRS.glob("*.json"))}
