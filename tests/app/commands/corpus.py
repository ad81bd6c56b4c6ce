"""The corpus of spreadsheets: texts that are made files, and imported as a user would."""

import csv
import json
import re
import shlex
import zipfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from xml.sax.saxutils import escape

import numpy as np
import openpyxl
from click.testing import CliRunner
from trainlaw.app.cli import app
from trainlaw.datasets.spreadsheets.units import parse_unit

# A line "#### {...}" with name and kind, the cells, a line "#### [...]" with the runs.
_PARTS = Path(__file__).with_name("corpus.sheets").read_text("utf-8").split("#### ")[1:]
SHEETS = {
    (truth := json.loads(head.partition("\n")[0]))["name"]: (
        head.partition("\n")[2],
        truth | {"runs": json.loads(runs)},
    )
    for head, runs in zip(_PARTS[::2], _PARTS[1::2], strict=True)
}
NAMES = sorted(SHEETS)
COLUMNS = ["gpu", "cnn", "batch_per_gpu", "precision", "n_gpus"]
_ODS = "urn:oasis:names:tc:opendocument:xmlns:"


@dataclass
class Sheet:
    """The cells of a sheet as texts and numbers, and its merged areas such as "A1:C1"."""

    name: str
    rows: list[list[object]]
    merged: list[str]


def load(name: str) -> tuple[list[Sheet], dict[str, object]]:
    """Return the sheets and the truth of a spreadsheet of the corpus."""
    text, truth = SHEETS[name][0], dict(SHEETS[name][1])
    sheets = [Sheet("Sheet1", [], [])]
    for line in text.splitlines():
        if line.startswith("== "):
            title, _, merged = line[3:].partition(" merged ")
            sheets.append(Sheet(title, [], merged.split()))
        else:
            sheets[-1].rows.append([_cell(text, truth) for text in line.split("|")])
    return [sheet for sheet in sheets if sheet.rows], truth


def _cell(text: str, truth: dict[str, object]) -> object:
    text = text.strip()
    if truth["kind"] in ("xlsx", "ods") and re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text) if "." in text else int(text)
    return text or None


def write(sheets: list[Sheet], truth: dict[str, object], folder: Path) -> Path:
    """Write the file that the sheets are."""
    path = folder / f"{truth.get('file', 'runs')}.{truth['kind']}"
    if truth["kind"] == "xlsx":
        book = openpyxl.Workbook()
        book.remove(book.active)
        for sheet in sheets:
            made = book.create_sheet(sheet.name)
            for row in sheet.rows:
                made.append(row)
            for area in sheet.merged:
                made.merge_cells(area)
        book.save(path)
    elif truth["kind"] == "ods":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("content.xml", _content(sheets))
    else:
        separator = str(truth.get("separator", ","))
        lines = [separator.join(_quoted(cell, separator) for cell in row) for row in sheets[0].rows]
        if truth["kind"] == "md":
            lines = [f"| {' | '.join(str(cell or '') for cell in row)} |" for row in sheets[0].rows]
            lines.insert(1, "|" + "---|" * len(sheets[0].rows[0]))
        path.write_bytes(("\n".join(lines) + "\n").encode(str(truth.get("encoding", "utf-8"))))
    return path


def _quoted(cell: object, separator: str) -> str:
    text = "" if cell is None else str(cell)
    return f'"{text}"' if separator in text else text


def _content(sheets: list[Sheet]) -> str:
    tables = []
    for sheet in sheets:
        spans, covered = _merged(sheet.merged)
        rows = []
        for y, row in enumerate(sheet.rows):
            cells = []
            for x, cell in enumerate(row):
                attributes, body = spans.get((y, x), ""), ""
                if isinstance(cell, int | float):
                    attributes += f' o:value-type="float" o:value="{cell}"'
                elif cell is not None:
                    attributes += ' o:value-type="string"'
                    body = f"<x:p>{escape(str(cell))}</x:p>"
                tag = "t:covered-table-cell" if (y, x) in covered else "t:table-cell"
                cells.append(f"<{tag}{attributes}>{body}</{tag}>")
            rows.append(f"<t:table-row>{''.join(cells)}</t:table-row>")
        tables.append(f'<t:table t:name="{escape(sheet.name)}">{"".join(rows)}</t:table>')
    names = "".join(
        f' xmlns:{short}="{_ODS}{name}:1.0"'
        for short, name in (("o", "office"), ("t", "table"), ("x", "text"))
    )
    body = f"<o:body>{''.join(tables)}</o:body>"
    return f'<?xml version="1.0"?><o:document-content{names}>{body}</o:document-content>'


def _merged(areas: list[str]) -> tuple[dict[tuple[int, int], str], set[tuple[int, int]]]:
    """Return the attributes of the first cell of each merged area, and the cells that it covers."""
    spans, covered = {}, set()
    for area in areas:
        left, top, right, bottom = openpyxl.utils.range_boundaries(area)
        inside = {(y, x) for y in range(top - 1, bottom) for x in range(left - 1, right)}
        first = (top - 1, left - 1)
        spans[first] = (
            f' t:number-columns-spanned="{right - left + 1}" t:number-rows-spanned="{bottom - top + 1}"'
        )
        covered |= inside - {first}
    return spans, covered


def run(*arguments: object) -> object:
    """Run `trainlaw data import`."""
    return CliRunner().invoke(app, ["data", "import", *map(str, arguments)])


def imported(path: Path, truth: dict[str, object]) -> tuple[str, str]:
    """Import as a user would, who says what headings of columns of times are, with one corrected command.

    Returns "written" or "refused", and what the last command printed.
    """
    out = path.with_name("out.csv")
    out.unlink(missing_ok=True)
    said = ("--columns-are", truth["columns_are"]) if "columns_are" in truth else ()
    done = run(path, "--out", out, *said)
    if done.exit_code == 0:
        return "written", done.output
    assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1, (done.output, done.exception)
    command = done.stderr.partition("trainlaw data import ")[2]
    if not command:
        return "refused", done.output
    words = answered(shlex.split(command), truth)
    again = run(*words)
    assert again.exit_code in (0, 2), (again.output, again.exception)
    # The next command is never the one that was just refused.
    assert shlex.split(again.stderr.partition("trainlaw data import ")[2]) != words, again.stderr
    return ("written" if again.exit_code == 0 else "refused"), done.output + again.output


def differences(path: Path, truth: dict[str, object], precise: float = 2e-3) -> str:
    """Return how the written runs differ from the truth: "" in no way, "part" where some are left out."""
    with path.with_name("out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = sorted((*(row[name] for name in COLUMNS), float(row["time_s"])) for row in rows)
    wanted = sorted((*map(str, row[:5]), row[5]) for row in truth["runs"])  # type: ignore[attr-defined]
    keys, expected = ([row[:-1] for row in rows] for rows in (found, wanted))
    right = {row[:-1]: row[-1] for row in wanted}
    if len(keys) < len(expected) and all(
        abs(np.log(row[-1] / right.get(row[:-1], 1e9))) < precise for row in found
    ):
        return "part"
    if keys != expected:
        return f"{len(found)} runs, expected {len(wanted)}: {sorted(set(keys) ^ set(expected))}"
    off = max((abs(np.log(a[-1] / b[-1])) for a, b in zip(found, wanted, strict=True)), default=0.0)
    return f"times off by {off:.3g}" if off > precise else ""


# What a mutation does to the cells of a sheet; none changes what the numbers are.
_OTHER_UNITS = (
    ("ms", "s"),
    ("(s)", "(ms)"),
    ("img/s", "ms"),
    ("images/sec", "ms"),
    ("/s)", "/min)"),
    ("us", "ms"),
)


def _header(rows: list[list[object]]) -> list[list[object]]:
    """Return the rows above the first one that ends with a number."""
    ends = (next((str(cell) for cell in reversed(row) if cell is not None), "") for row in rows)
    return rows[: next((place for place, text in enumerate(ends) if re.match(r"[\d~]", text)), 1)]


def mutated(sheets: list[Sheet], truth: dict[str, object], random: Random) -> tuple[str, list[Sheet]]:
    """Return a mutation's name and the sheets after it."""
    kind = random.choice(("header", "unit", "swap", "swapped headers", "shift", "locale"))
    sheet = random.choice(sheets)
    rows = [list(row) for row in sheet.rows]
    width = max(map(len, rows))
    rows = [row + [None] * (width - len(row)) for row in rows]
    merged = list(sheet.merged)
    texts = [
        (y, x)
        for y, row in enumerate(_header(rows))
        for x, cell in enumerate(row)
        if isinstance(cell, str) and not re.match(r"[\d.,~-]", cell)
    ]
    if kind == "header" and texts:
        y, x = random.choice(texts)
        rows[y][x] = random.choice(("foo", "Wert X", "col7", "xyz"))
    elif kind == "unit":
        places = [(y, x, a, b) for y, x in texts for a, b in _OTHER_UNITS if a in str(rows[y][x])]
        if places:
            y, x, a, b = random.choice(places)
            rows[y][x] = str(rows[y][x]).replace(a, b)
    elif kind == "swap" and not merged:
        one, other = random.sample(range(width), 2) if width > 1 else (0, 0)
        for row in rows:
            row[one], row[other] = row[other], row[one]
    elif kind == "swapped headers" and not merged:
        y = max((number for number, _ in texts), default=0)
        one, other = random.sample(range(width), 2) if width > 1 else (0, 0)
        rows[y][one], rows[y][other] = rows[y][other], rows[y][one]
    elif kind == "shift" and not merged:
        blank = [None] * width
        rows = [blank] * random.randint(0, 3) + rows
        if random.random() < 0.5:
            rows = [[None, *row] for row in rows]
    elif kind == "locale" and truth["kind"] == "csv":
        truth["separator"] = ";"
        rows = [[_other_locale(cell) for cell in row] for row in rows]
    return kind, [Sheet(own.name, rows, merged) if own is sheet else own for own in sheets]


def _other_locale(cell: object) -> object:
    text = str(cell or "")
    match = re.fullmatch(r"([\d.,]*[.,]\d+)(\D.*)?", text)
    return cell if match is None else match[1].translate(str.maketrans(".,", ",.")) + (match[2] or "")


def answered(words: list[str], truth: dict[str, object]) -> list[str]:
    """Return the words of a command with each CHOICE replaced by what the truth says, where it says it."""
    runs = truth["runs"]
    only = {name: {str(run[place]) for run in runs} for place, name in enumerate(COLUMNS)}
    unit = next((text for text in truth["choices"] if parse_unit(text)), "")
    others = [text for text in truth["choices"] if text != unit]
    for place, word in enumerate(words):
        # The truth says nothing about the decimal mark and columns, and not always of which GPUs a batch is.
        is_open = words[place - 1] in ("--decimal", "--column")
        is_open |= words[place - 1] == "--batch-is" and not {"per-gpu", "global"} & set(others)
        if not word.endswith("CHOICE") or is_open:
            continue
        if word.startswith("gpus_per_node="):
            words[place] = "gpus_per_node=8"
            continue
        name = {"--precision": "precision", "--unit": "unit"}.get(words[place - 1], word.partition("=")[0])
        values = only.get(name, set())
        asked = word.partition(":")[2].lower()[:3]
        likely = [text for text in others if text.lower().startswith(asked)] or [*others, ""]
        value = unit if name == "unit" else "" if len(values) > 1 else values.pop() if values else likely[0]
        words[place] = word.replace("CHOICE", value) if value else word
    return words
