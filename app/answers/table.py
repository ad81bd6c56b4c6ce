"""The table of everything that a prediction, plan or comparison says: one row per figure, warning and note.

A row is text of our own expression language, so that Python, JavaScript, C and cells of a workbook compute it
from the same line. To add a row: write it into `rows.toml`; functions of `figure_rows`, `error_rows` and
`warning_rows` yield the rows that depend on the formula. Terminal, CSV, JSON, page, workbook and exported
programs have it.

A definition may use base columns, features of the formula, earlier rows, and the facts of
`trainlaw.app.answers.facts`. A row whose quantities an output does not have is left out there.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache

from trainlaw.app.answers import warning_rows
from trainlaw.app.answers.answer import Answer, places_of
from trainlaw.app.answers.error_rows import errors
from trainlaw.app.answers.figure_rows import figures
from trainlaw.app.answers.fixed_rows import rows
from trainlaw.app.models.scopes import Held, handling
from trainlaw.app.models.settings import SETTING_COLUMNS, used_base_columns
from trainlaw.formulas import Apply, Constant, Expression, Formula, parse_text, variables
from trainlaw.formulas.algebra.expression import rebuilt
from trainlaw.formulas.algebra.tidying import folded
from trainlaw.formulas.scopes import MULTI_GPU

_Rows = tuple[Answer, ...] | Callable[[Formula], Iterable[Answer]]
#: All rows; a function yields those of one formula. They are said in this order, warnings by gravity.
ANSWERS: tuple[_Rows, ...] = (
    rows("of_measured_time"),
    warning_rows.setup,
    figures,
    errors,
    rows("of_stack"),
    warning_rows.outside,
    warning_rows.coverage,
    warning_rows.jointly,
    rows("of_cnn"),
    warning_rows.unknown,
    rows("others"),
    warning_rows.calibration,
    warning_rows.host,
    rows("last"),
)


def answers_of(formula: Formula) -> tuple[Answer, ...]:
    """Return the rows that a formula has, in the order in which they are said."""
    found = (row for part in ANSWERS for row in (part(formula) if callable(part) else part))
    return tuple(sorted(found, key=lambda row: row.rank))


@dataclass(frozen=True)
class Line:
    """A row with its expressions, in which what is the same for every prediction is a number.

    value : None for a row without a definition. when : None where the sentence is always said.
    """

    answer: Answer
    value: Expression | None
    when: Expression | None

    @cached_property
    def needs(self) -> frozenset[str]:
        """The quantities and texts without which the row has no value and says nothing."""
        parts = (part for part in (self.value, self.when) if part is not None)
        said = (name for names, _ in places_of(self.answer.sentence) for name in names)
        return frozenset([*(name for part in parts for name in variables(part)), *said])


def lines_of(formula: Formula, known: Mapping[str, float | str] | None = None) -> tuple[Line, ...]:
    """Return the rows that a formula may say.

    known : quantities that have one value in all predictions. Rows that these silence are left out.
    """
    return _lines_of(Held(formula)) if known is None else _lines(formula, known)


# A service predicts with few formulas.
@lru_cache(maxsize=16)
def _lines_of(held: Held) -> tuple[Line, ...]:
    return _lines(held.formula, {})


def _lines(formula: Formula, known: Mapping[str, float | str]) -> tuple[Line, ...]:
    fixed = {**_constants(formula), **known}
    numbers: dict[str, Expression] = {
        name: Constant(value) for name, value in fixed.items() if not isinstance(value, str)
    }
    found = []
    for row in answers_of(formula):
        answer = replace(row, sentence=_with_texts(row.sentence, fixed))
        value, when = (filled_in(text, numbers) for text in (answer.definition, answer.when))
        if isinstance(value, Constant):
            numbers[answer.name] = value
        elif not (isinstance(when, Constant) and not when.value > 0):
            found.append(Line(answer, value, None if isinstance(when, Constant) else when))
    return tuple(found)


def _with_texts(sentence: str, fixed: Mapping[str, float | str]) -> str:
    """Return a sentence with the texts filled in that are the same in all predictions."""
    for name, text in fixed.items():
        if isinstance(text, str):
            sentence = sentence.replace(f"{{{name}}}", text)
    return sentence


def within_reach(lines: Iterable[Line], available: Iterable[str]) -> tuple[Line, ...]:
    """Return the lines whose quantities are available or values of lines before them."""
    reached, found = set(available), []
    for line in lines:
        if line.needs <= reached:
            found.append(line)
            if line.value is not None:
                reached.add(line.answer.name)
    return tuple(found)


def _constants(formula: Formula) -> dict[str, float]:
    """Return which settings a formula uses, and whether an all-reduce is added to its time."""
    used = used_base_columns(formula)
    # What a scaling formula extends, a measured time on one GPU, depends on every setting.
    every = formula.scope == MULTI_GPU
    uses = {
        f"uses_{name}": float(every or not used.isdisjoint(base)) for name, base in SETTING_COLUMNS.items()
    }
    return {"is_split": float(not handling(formula).covers_multi_gpu), **uses}


# A formula's rows are the same in every prediction.
_parsed = cache(parse_text)


def filled_in(text: str, numbers: Mapping[str, Expression]) -> Expression | None:
    """Return a text as an expression with numbers filled in and folded, None for an empty text."""
    if not text:
        return None
    return rebuilt(_parsed(text), variable=lambda node: numbers.get(node.name, node), apply=_simplified)


def _simplified(node: Apply, arguments: tuple[Expression, ...]) -> Expression:
    """Return a node folded; a product with 0 is 0, so that what never holds is never said."""
    neutral = {"mul": Constant(1.0), "add": Constant(0.0)}.get(node.operator)
    if node.operator == "mul" and Constant(0.0) in arguments:
        return Constant(0.0)
    if neutral in arguments:
        return arguments[0] if arguments[1] == neutral else arguments[1]
    return folded(node.operator, arguments)
