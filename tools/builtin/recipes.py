"""How each built-in formula is made: one table, a row for a formula or a family of formulas."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainlaw.app.studies.definition import StudyDefinition, definition_of


@dataclass(frozen=True)
class Recipe:
    """How a built-in formula is made.

    name : asked for by it. kind : how it is made, a key of `KINDS` in `tools/builtin/kinds.py`. file : below
    `app/builtin`; of a family, its folder. options : of `trainlaw study`, where they differ from the defaults
    of its kind; empty for what is no study. members : formulas of few constants that are stored, too, by
    their numbers. is_quick : whether the search on all rows, without errors, takes
    seconds. note : for a reader. differs : why the stored formula is another one than is found now, until the
    next making; "" where it is the same.
    """

    name: str
    kind: str
    file: str
    options: Mapping[str, str | int] = field(default_factory=dict)
    members: tuple[int, ...] = ()
    is_quick: bool = False
    note: str = ""
    differs: str = ""

    @property
    def definition(self) -> StudyDefinition:
        """The study behind the formula, with all defaults filled in."""
        return definition_of(self.options, f"the recipe {self.name}")

    @property
    def command(self) -> str:
        """The words after `trainlaw study`."""
        return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in self.options.items())


RECIPES = (
    Recipe(
        "built-in",
        "study",
        "formula.json",
        {"of": "runs", "seeds": 3},
        members=(4, 6, 8, 12),
        is_quick=True,
    ),
    Recipe("forward", "study", "forward.json", {"of": "forward"}, is_quick=True),
    Recipe(
        "multi",
        "study",
        "multi.json",
        {"of": "multi"},
        is_quick=True,
    ),
    Recipe(
        "anchor",
        "study",
        "anchor.json",
        {"of": "anchor"},
        is_quick=True,
    ),
    Recipe(
        "layer",
        "study",
        "layer.json",
        {"of": "layers"},
        is_quick=True,
    ),
    Recipe("convolution", "study", "convolution.json", {"of": "layer-times"}, is_quick=True),
    Recipe(
        "pairs",
        "pairs",
        "pairs",
        is_quick=True,
        note="two formulas for each of 12 pairs of GPUs",
    ),
    Recipe("xeon-phi-a", "published", "xeon-phi-a.json", note="Viebke et al. 2019, model (a)"),
    Recipe("xeon-phi-b", "published", "xeon-phi-b.json", note="Viebke et al. 2019, model (b)"),
)
