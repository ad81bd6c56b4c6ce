"""The rows of the table of answers in the languages of exported programs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from trainlaw.app.answers.answer import Answer
from trainlaw.app.answers.table import Line
from trainlaw.formulas import Expression
from trainlaw.formulas.algebra.expression import variables
from trainlaw.formulas.printers.language import Language


@dataclass(frozen=True)
class PrintedLine:
    """A row in a language: `value` and `when` as its expressions, empty where the row has none."""

    answer: Answer
    value: str
    when: str


def printed_lines(
    lines: Iterable[Line], language: Language, place: Callable[[str], str]
) -> tuple[PrintedLine, ...]:
    """Return rows in a language; `place` gives the text of each quantity."""

    def text(expression: Expression | None) -> str:
        if expression is None:
            return ""
        names = {name: place(name) for name in variables(expression)}
        return language.finite.format(a=language.write(language.known(expression), names))

    return tuple(PrintedLine(line.answer, text(line.value), text(line.when)) for line in lines)


def spoken(lines: Iterable[Line]) -> set[str]:
    """Return the quantities and texts that rows are made of, other than values of rows."""
    needed, defined = set[str](), set[str]()
    for line in lines:
        needed |= line.needs
        defined |= {line.answer.name} if line.value is not None else set()
    return needed - defined


def javascript_rows(rows: Iterable[PrintedLine], literal: Callable[[object], str]) -> str:
    """Return rows as an array, such as ANSWERS, that `answers.js` computes."""
    printed = []
    for row in rows:
        answer = row.answer
        parts: Mapping[str, object] = {
            "name": answer.name,
            "kind": answer.kind,
            "title": answer.title,
            "words": list(answer.words),
            "sentence": answer.sentence,
            "isPublished": answer.is_published,
        }
        fixed = [f"{name}: {literal(value)}" for name, value in parts.items() if value or name == "name"]
        computed = [
            f"{name}: (v) => {text}" for name, text in (("value", row.value), ("when", row.when)) if text
        ]
        printed.append(f"  {{ {', '.join([*fixed, *computed])} }},")
    return "\n".join(["[", *printed, "]"])
