"""The warnings of `trainlaw predict` as live cells of sheet Predict, and the joint range."""

from typing import NamedTuple

import numpy as np
from trainlaw.app.answers.table import JOINTLY
from trainlaw.app.models.calibration import calibration_of
from trainlaw.app.models.multi_gpu import ASSUMPTION, SCALED, SINGLE_GPU_INTERVAL
from trainlaw.app.models.settings import host_margin
from trainlaw.app.sheets.plan import BookPlan, SheetWriter, quoted
from trainlaw.app.workbook.model import (
    PREFIX,
    Model,
    cell_name,
    cell_names,
    kind_of,
    values_of,
)
from trainlaw.app.workbook.tables import is_known_generation
from trainlaw.formulas import variables
from trainlaw.formulas.printers import split_for_excel
from trainlaw.validate.applicability import stored_joint_range
from xlsxwriter.utility import xl_range_abs

INSIDE = "inside the range of the training runs"
OUTSIDE = " features outside the training range (sheet Formula): this time is unreliable"
ALIKE = "like those of the training runs"
USED = "training runs used it"
MEASURED_KIND = "training runs are on such GPUs"
SPECIFIED, UNSPECIFIED = "all that the formula needs are known", "not known, enter on sheet GPUs: "
ONE_GPU = "one GPU"
HOST_DECIDES, GPU_DECIDES = "the host's launches decide", "the GPU's work decides"
UNCLEAR = "not known"
JOINT_SHEET = "Joint range"
_JOINT_WIDTHS = (32, 18, 16, 16, 16, 4)


class WarningLine(NamedTuple):
    """One line: its cell formula, what it shows for the first choice, and what it shows where all is well."""

    title: str
    formula: str
    value: str
    expected: str


def of_chosen_gpu(column: str) -> str:
    """Return the cell formula of a column of sheet GPUs for the chosen GPU."""
    row, place = f"MATCH({PREFIX}gpu,{PREFIX}gpus,0)", f'MATCH("{column}",{PREFIX}gpu_columns,0)'
    return f"INDEX({PREFIX}gpu_table,{row},{place})"


def warnings_of(model: Model) -> list[WarningLine]:
    """Return the lines on range, precision, kind of GPU, specifications, several GPUs, and the host."""
    lines = [_range(model), *_joint(model), _precision(model), _kind(model), _specifications(model)]
    lines += [*_calibration(model), *_several(model), *_host(model)]
    return [line._replace(formula=f'IFERROR({line.formula},"{UNCLEAR}")') for line in lines]


def _range(model: Model) -> WarningLine:
    count = f"SUM({PREFIX}outside)"
    first = f"{model.outside_first}{OUTSIDE}" if model.outside_first else INSIDE
    text = f'IF({count}=0,"{INSIDE}",{count}&"{OUTSIDE}")'
    return WarningLine("range of each feature", text, first, INSIDE)


def _joint(model: Model) -> list[WarningLine]:
    if not model.features or stored_joint_range(model.formula) is None:
        return []
    text = f'IF({PREFIX}joint_distance<={PREFIX}joint_limit,"{ALIKE}","{JOINTLY}")'
    return [WarningLine("combination of features", text, JOINTLY if _is_unlike(model) else ALIKE, ALIKE)]


def _is_unlike(model: Model) -> bool:
    found = stored_joint_range(model.formula)
    return found is not None and bool(found.outside({name: [model.values[name]] for name in found.names})[0])


def _precision(model: Model) -> WarningLine:
    trained = f"INDEX({PREFIX}options_trained,MATCH({PREFIX}precision,{PREFIX}options_precision,0))"
    text = f'IF({trained}=1,"{USED}","no training run used "&{PREFIX}precision)'
    trained_first = "fp32" in model.formula.provenance.get("precisions", ["fp32"])
    return WarningLine(
        "precision of training runs", text, USED if trained_first else "no training run used fp32", USED
    )


def _kind(model: Model) -> WarningLine:
    """Return the line on a GPU of a vendor or generation without training runs."""
    formula, vendor, generation = model.formula, of_chosen_gpu("vendor"), of_chosen_gpu("generation")
    if formula.provenance.get("generations") is None:
        return WarningLine("kind of GPU", f'"{MEASURED_KIND}"', MEASURED_KIND, MEASURED_KIND)
    known = f"{is_known_generation(formula, generation)}=1"
    for gpu in (calibration_of(formula) or {}).get("gpus", []):
        known = f'OR({known},{PREFIX}gpu="{_inside_text(gpu)}")'
    made = (
        f"ISNUMBER(MATCH({vendor},{PREFIX}options_vendor,0))"
        if formula.provenance.get("vendors")
        else "FALSE"
    )
    of_vendor = f'"no training run is on a GPU of "&IF({vendor}="","its vendor",{vendor})'
    named = f'IF({generation}="","unknown",{generation})'
    of_kind = f'IF({made},"no training run is on a GPU of the generation "&{named},{of_vendor})'
    first = MEASURED_KIND if "Volta" in formula.provenance["generations"] else UNCLEAR
    return WarningLine("kind of GPU", f'IF({known},"{MEASURED_KIND}",{of_kind})', first, MEASURED_KIND)


def _specifications(model: Model) -> WarningLine:
    names = [name for name in model.feature_base_columns if kind_of(name) == "gpu" and "link_" not in name]
    known = [name for name in names if name != "peak_flop_per_s"]
    missing = "&".join(f'IF({of_chosen_gpu(name)}="","{name} ","")' for name in known) or '""'
    text = f'IF({missing}="","{SPECIFIED}","{UNSPECIFIED}"&{missing})'
    return WarningLine("specifications of the GPU", text, SPECIFIED, SPECIFIED)


def _calibration(model: Model) -> list[WarningLine]:
    found = calibration_of(model.formula)
    if found is None:
        return []
    lines = []
    texts = (("gpu", "gpus", "the formula is calibrated to {}, not to this GPU"),
             ("precision", "precisions", "the formula is calibrated by runs in {} only"))  # fmt: skip
    for name, key, text in texts:
        known = [_inside_text(item) for item in found.get(key, [])]
        said, well = text.format(", ".join(known)), f"that of the calibration, {name}"
        same = ",".join(f'{PREFIX}{name}="{item}"' for item in known) or "FALSE"
        first = {"gpu": "V100-SXM2-16GB", "precision": "fp32"}[name]
        shown = (well if first in known else said).replace('""', '"')
        lines.append(WarningLine(f"calibration, {name}", f'IF(OR({same}),"{well}","{said}")', shown, well))
    return lines


def _inside_text(value: object) -> str:
    """Return a name as it stands inside the quotes of a cell formula."""
    return str(value).replace('"', '""')


def _several(model: Model) -> list[WarningLine]:
    if model.scaling is None:
        return []
    scaled, textbook = (f"{said}; {SINGLE_GPU_INTERVAL}" for said in (SCALED, ASSUMPTION))
    by = f'IF({PREFIX}is_scaled=1,"{scaled}","{textbook}")'
    return [WarningLine("several GPUs", f'IF({PREFIX}n_gpus=1,"{ONE_GPU}",{by})', ONE_GPU, "")]


def _host(model: Model) -> list[WarningLine]:
    """Return the line on who decides, the host or the GPU; none where the formula does not compare them."""
    margin = host_margin(model.formula, model.expression)
    if margin is None:
        return []
    text = split_for_excel(margin, cell_names(variables(margin)), str)
    if text.helpers:
        return []
    value = float(values_of(margin, {name: np.array([value]) for name, value in model.values.items()})[0])
    formula = f'IF({text.formula}>0,"{HOST_DECIDES}","{GPU_DECIDES}")'
    first = HOST_DECIDES if value > 0 else GPU_DECIDES
    return [WarningLine("host or GPU", formula, first, GPU_DECIDES)]


def write_joint_range(book: BookPlan, model: Model) -> None:
    """Write the sheet with the distance of the chosen configuration from the training runs.

    Nothing is written for a formula without a joint range, or one whose features are those of layers.
    """
    found = stored_joint_range(model.formula)
    if found is None or not model.features:
        return
    sheet, size = SheetWriter(book, JOINT_SHEET, (*_JOINT_WIDTHS, *[10] * len(found.names))), len(found.names)
    sheet.title(
        "Distance from the training runs, all features together",
        "The root mean square of the numbers above the matrix; beyond the limit the combination is new.",
    )
    first, left = 6, len(_JOINT_WIDTHS)
    sheet.heads(first - 1, ["feature", "value now", "floor", "centre", "deviation"])
    sheet.text(first - 1, left, "whitening, a column for each number above it", "section")
    for row, name in enumerate(found.names, start=first):
        place, value = row - first, model.values[name]
        floor, centre = float(found.floors[place]), float(found.centre[place])
        sheet.text(row, 0, name)
        sheet.formula(row, 1, f'IFERROR({cell_name(name)}+0,"{UNCLEAR}")', value, "seconds")
        sheet.number(row, 2, floor)
        sheet.number(row, 3, centre)
        here = row + 1
        sheet.formula(row, 4, f"LN($B{here}+$C{here})-$D{here}", float(np.log(value + floor)) - centre)
        for column in range(size):
            sheet.number(row, left + column, float(found.whitening[column, place]))
    last = first + size - 1
    matrix = xl_range_abs(first, left, last, left + size - 1)
    book.names[f"{PREFIX}joint_whitening"] = f"{quoted(JOINT_SHEET)}!{matrix}"
    deviations = xl_range_abs(first, 4, last, 4)
    columns = {name: [model.values[name]] for name in found.names}
    values = np.array([columns[name][0] for name in found.names])
    whitened = found.whitening @ (np.log(values + found.floors) - found.centre)
    for column, value in enumerate(whitened.tolist()):
        text = f"SUMPRODUCT(INDEX({PREFIX}joint_whitening,0,{column + 1}),{deviations})"
        sheet.formula(first - 2, left + column, text, value, "factor")
    sheet.text(2, 0, "distance")
    squares = f"SUMSQ({xl_range_abs(first - 2, left, first - 2, left + size - 1)})"
    sheet.formula(2, 1, f"SQRT({squares}/{size})", float(found.distance(columns)[0]), "factor")
    sheet.define(f"{PREFIX}joint_distance", 2, 1)
    sheet.text(3, 0, "limit, within which nine tenths of the runs on a new GPU lie")
    sheet.number(3, 1, found.limit, "factor")
    sheet.define(f"{PREFIX}joint_limit", 3, 1)
    sheet.plan.frozen, sheet.plan.head_row, sheet.plan.many_pages = (first, 1), first - 1, True
