"""The workbook, recalculated by force in LibreOffice: it equals `trainlaw predict` and follows changes."""

import math
import random
import re
from dataclasses import replace
from functools import cache
from io import BytesIO

import openpyxl
import pandas as pd
import pytest
from trainlaw.app.models.builtin import BUILT_IN, SCALING_FORMULA, formula_named
from trainlaw.app.models.lookup_tables import cnn_label, cnn_rows
from trainlaw.app.models.multi_gpu import exchange_seconds
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.models.terms import with_named_constants
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.sheets.plan import BookPlan, SheetWriter
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.book import workbook_bytes, workbook_plan
from trainlaw.app.workbook.compare import FIRST_GPUS
from trainlaw.app.workbook.model import FAULTS, FIRST, first_choice, workbook_model
from trainlaw.app.workbook.predict import INSIDE
from trainlaw.app.workbook.tables import (
    HEADING,
    MEASURED,
    NEVER_MEASURED,
    PROCESSORS,
    gpu_table_rows,
    listed_price,
)
from trainlaw.datasets import (
    TARGET,
    RunTable,
    built_in_gpus,
    cnn_table,
    configuration,
    feature_specs,
    find_gpu,
    link_table,
)
from trainlaw.datasets.hardware.collectives import ALGORITHMS
from trainlaw.datasets.measurements.memory_fit import memory_needs
from trainlaw.formulas import (
    Formula,
    GroupedConstant,
    InputError,
    UnknownNameError,
    load_formula,
    parse_text,
)
from trainlaw.formulas.algebra.expression import with_constants
from trainlaw.formulas.scopes import MULTI_GPU_RUN

from ...libreoffice import ALWAYS, NEVER, needs_libreoffice, read_book, recalculated

pytestmark = pytest.mark.slow
SCALING = formula_named(SCALING_FORMULA)
SHEETS = [
    "Predict", "Compare", "Formula", "Errors", "GPUs", "CNNs", "Links", "Prices", "Options", "Ranking",
    "All GPUs", "Plan", "All plans", "Names", "Provenance", "Answers", "Measured",
]  # fmt: skip


@cache
def built_in_plan():
    """The workbook of the built-in formula, whose plan takes seconds; nothing may change it."""
    return workbook_plan(load_formula(BUILT_IN))


# What a workbook only looks like, which LibreOffice takes as long for as for its formulas.
BARE = {
    "charts": [],
    "bars": {},
    "drop_downs": {},
    "expected": {},
    "limits": {},
    "heights": {},
    "frozen": (0, 0),
}


@cache
def few_gpus():
    """The GPUs that tests name, of which two tie, those that Compare begins with, and every twelfth one."""
    named = ("B300", "GB200", "Instinct MI50")
    return tuple(name for name in usable_gpus() if name in (*FIRST_GPUS, *named, *usable_gpus()[::12]))


def small_plan(plan, without=("Compare", "Plan", "All plans")):
    """A workbook of few CNNs and GPUs without looks and sheets that no other needs: quick to compute."""
    other_gpus = set(usable_gpus()) - set(few_gpus())
    is_kept = {
        **dict.fromkeys(("GPUs", "All GPUs"), lambda label: label not in other_gpus),
        "Image sizes": {cnn["cnn"] for cnn in few_cnns()}.__contains__,
        "Ranking": lambda label: label in range(1, len(few_gpus()) + 1),
    }
    kept = [replace(sheet, **BARE) for sheet in plan.sheets if sheet.name not in without]
    labels = {cnn_label(**cnn) for cnn in few_cnns()}
    return with_few_cnns(
        replace(plan, sheets=[with_rows(sheet, is_kept.get(sheet.name)) for sheet in kept]), labels
    )


def one_gpu(plan):
    """A workbook without the sheets of all GPUs, which no other needs and which take most of the time."""
    return replace(plan, sheets=[sheet for sheet in plan.sheets if sheet.name not in ("All GPUs", "Ranking")])


def with_few_cnns(plan, labels):
    """A workbook without the rows of other CNNs than those with these labels; all sizes of each stay."""
    names = {label.split(", ")[0] for label in labels}
    is_kept = {
        "CNNs": lambda label: label.split(", ")[0] in names,
        "Measured": lambda label: label.split("|")[0] in names,
    }
    return replace(plan, sheets=[with_rows(sheet, is_kept.get(sheet.name)) for sheet in plan.sheets])


def with_rows(sheet, is_kept):
    """A sheet without the rows whose label is not kept, and without rows that no label begins."""
    if is_kept is None:
        return sheet
    labels = {row: cell.value for (row, column), cell in sheet.cells.items() if column == 0}
    top = sheet.head_row + 1
    kept = {row for row, label in labels.items() if row < top or is_kept(label)}
    # What ranks are made from must be a text, not empty, where there is none.
    key = max(column for _, column in sheet.cells) - 1 if sheet.name == "All GPUs" else None
    cells = {at: cell for at, cell in sheet.cells.items() if at[0] < top or at[0] in kept or at[1] == key}
    return replace(sheet, cells=cells, shared={})  # what rows share stands in their first, which may go


def cnn_keys():
    return [
        {name: row[name] for name in ("cnn", "input_size_px", "n_classes")} for row in cnn_rows().values()
    ]


def few_cnns():
    first = dict(zip(("cnn", "input_size_px", "n_classes"), FIRST.cnn, strict=True))
    return [first, *random.Random(2).sample(cnn_keys(), 15)]


def with_values(plan, values):
    """The plan with other values in cells: (sheet, row, column) or defined name -> value."""
    sheets = {sheet.name: replace(sheet, cells=dict(sheet.cells)) for sheet in plan.sheets}
    for place, value in values.items():
        sheet, row, column = located(plan, place) if isinstance(place, str) else place
        cell = sheets[sheet].cells[row, column]
        assert not cell.formula, place
        sheets[sheet].cells[row, column] = cell._replace(value=value)
    return replace(plan, sheets=list(sheets.values()))


def located(plan, name):
    sheet, cell = plan.names[name].split("!")
    row, column = openpyxl.utils.cell.coordinate_to_tuple(cell.replace("$", ""))
    return sheet.strip("'"), row - 1, column - 1


def named_value(book, plan, name):
    sheet, row, column = located(plan, name)
    return book[sheet].cell(row + 1, column + 1).value


def value_of(book, label, sheet="Predict"):
    """What stands next to a label; of two lines with one label the last, which has no other unit."""
    found = [
        row[column + 1]
        for row in book[sheet].iter_rows(values_only=True)
        for column in (0, 5)
        if row[column : column + 1] == (label,)
    ]
    assert found, f"no line {label!r} in sheet {sheet}"
    return found[-1]


def note_of(book, label):
    rows = [row for row in book["Predict"].iter_rows(values_only=True) if label in row]
    return next(row[row.index(label) + 3] for row in rows)


def all_gpus(book):
    """The rows of the sheet All GPUs by card, each by the titles of its columns."""
    rows = book["All GPUs"].iter_rows(min_row=3, values_only=True)
    titles = next(rows)
    return {row[0]: dict(zip(titles, row, strict=True)) for row in rows if row[0]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("libreoffice")


@pytest.fixture(scope="module")
def plan(formula):
    return workbook_plan(formula)


@pytest.fixture(scope="module")
def small(plan):
    return small_plan(plan)


@pytest.fixture(scope="module")
def data(plan):
    return xlsx_bytes(plan)


@pytest.fixture(scope="module")
def books(formula, plan, data, small, grouped_plan, long_plan, folder):
    """The whole workbook and those of most tests, as LibreOffice computes them in one start."""
    files = {"plain.xlsx": data}
    plans = {
        "added": with_added_rows(plan),
        "gpus": with_values(small, {**FP32, **changed_cards(small)[0]}),
        **{
            name: with_values(one_gpu(small), cells)
            for name, (cells, _) in changed_constants(formula).items()
        },
        **{name: with_values(small, cells) for name, (cells, _) in choices().items()},
        **plans_with_warnings(small),
        **plans_with_prices(small),
        **{
            f"grouped-{label}": with_values(grouped_plan, cells) for label, cells in cells_of_groups().items()
        },
        "long": long_plan,
        "nasty": nasty_book(),
    }
    return recalculated(files | {f"{name}.xlsx": xlsx_bytes(item) for name, item in plans.items()}, folder)


def usable_gpus():
    return [
        gpu.gpu
        for gpu in built_in_gpus().gpus
        if gpu.peak_fp32_flop_per_s > 0 and gpu.bandwidth_byte_per_s > 0
    ]


def random_choice(choose):
    """The choices of sheet Predict and the arguments of `configuration`, for one random set-up."""
    cnn = choose.choice(few_cnns())
    gpu, batch = choose.choice(few_gpus()), choose.choice([1, 3, 8, 32, 100, 512])
    nodes = choose.choice([1, 1, 2, 3, 8])
    n_gpus = nodes * choose.choice([1, 2, 3, 4, 8])
    scopes = link_table().groupby("scope")["link"].apply(list)
    link = choose.choice([None, *scopes["node"]])
    network, algorithm = choose.choice(scopes["network"]), choose.choice(ALGORITHMS[1:])
    precision = choose.choice(["fp32", "tf32", "amp"])
    numbers = {"tl_batch_per_gpu": float(batch), "tl_n_gpus": float(n_gpus), "tl_nodes": float(nodes)}
    cells = numbers | {
        "tl_cnn_choice": cnn_label(**cnn), "tl_gpu_choice": gpu, "tl_precision_choice": precision,
        "tl_link": link or "the GPU's own link", "tl_network": network, "tl_algorithm": algorithm,
    }  # fmt: skip
    asked = {
        **cnn, "gpu": gpu, "batch_per_gpu": batch, "precision": precision, "n_gpus": n_gpus, "n_nodes": nodes,
        "link": link, "network": network, "algorithm": algorithm,
    }  # fmt: skip
    return cells, asked


@cache
def choices():
    """Two random set-ups, by the name of their workbook; `test_same_answers.py` asks hundreds of one GPU."""
    choose = random.Random(11)
    return {f"choice{number}": random_choice(choose) for number in range(2)}


def on_gpus(asked, gpus):
    """The runs of a configuration on several GPUs, one row each."""
    runs = [configuration(**{**asked, "gpu": gpu}) for gpu in gpus]
    return RunTable("gpus", pd.concat([run.frame for run in runs], ignore_index=True), runs[0].facts)


@needs_libreoffice
def test_prediction_equals_the_command_for_random_choices_of_several_gpus(formula, small, books):
    plan = small
    for name, (_, asked) in choices().items():
        book = books[f"{name}.xlsx"]
        expected = predict_runs(formula, configuration(**asked), SCALING)[0]
        assert named_value(book, plan, "tl_time_s") == pytest.approx(expected.time_s, rel=1e-9), asked
        assert named_value(book, plan, "tl_all_reduce_s") == pytest.approx(expected.exchange_s, rel=1e-9)
        rows = all_gpus(book)
        gpus = few_gpus()
        runs = on_gpus(asked, gpus)
        single = formula_rows(formula, runs).predict(formula)
        truths = single + exchange_seconds(formula, runs, SCALING, single)
        fits = memory_needs(runs)["fits"]
        for gpu, truth, fit in zip(gpus, truths, fits, strict=True):
            shown = rows[gpu]["iteration time"]
            assert (shown or math.nan) == pytest.approx(truth, rel=1e-9, nan_ok=True), (asked, gpu)
            assert rows[gpu]["fits in memory"] == fit, (asked, gpu)
        for cell, held in (("least", expected.memory_least_bytes), ("usual", expected.memory_usual_bytes)):
            shown = named_value(book, plan, f"tl_memory_{cell}")
            assert shown == pytest.approx(held / 1e9, rel=1e-12), asked
        assert value_of(book, "fits in memory") == expected.fits_in_memory
        assert value_of(book, "self-check: same result as trainlaw") is True


@needs_libreoffice
def test_a_planted_wrong_value_is_corrected_only_by_force(folder):
    """The test of the test: without force the wrong stored value stays, with force it goes."""
    book = BookPlan("", "")
    SheetWriter(book, "Predict", (20,)).formula(0, 0, "2+3", 123.5)
    planted = {"planted.xlsx": xlsx_bytes(book)}
    for mode, shown in ((NEVER, 123.5), (ALWAYS, 5.0)):
        found = recalculated(planted, folder, mode)["planted.xlsx"]
        assert found["Predict"].cell(1, 1).value == shown


GPU_FACTS = ("bandwidth_byte_per_s", "peak_fp32_flop_per_s", "base_clock_hz", "core_count")


FP32 = {"tl_precision_choice": "fp32"}


def changed_constants(formula):
    """The yellow cells of one changed constant, and the formula with it, by the name of the workbook."""
    choose, found = random.Random(5), {}
    constants = [constant.value for constant in with_named_constants(formula)[1]]
    for number in range(2):
        changed, factor = choose.randrange(len(constants)), choose.uniform(0.5, 2.0)
        values = [value * (factor if index == changed else 1.0) for index, value in enumerate(constants)]
        law = replace(formula, expression=with_constants(formula.expression, values))
        found[f"constant{number}"] = FP32 | {f"tl_constant_{changed + 1}": values[changed]}, law
    return found


def changed_cards(plan):
    """Cells of sheet GPUs with one fact of different cards changed, and those cards."""
    choose, values, cards = random.Random(6), {}, []
    for name in few_gpus():
        card, fact = find_gpu(name), choose.choice(GPU_FACTS)
        value = getattr(card, fact) * choose.uniform(0.5, 2.0)
        if not math.isfinite(value):
            fact, value = "bandwidth_byte_per_s", card.bandwidth_byte_per_s * 1.5
        values[find_cell(plan, "GPUs", name, fact)] = value
        cards.append(replace(card, **{fact: value}))
    return values, cards


@needs_libreoffice
def test_changes_of_constants_and_gpus_change_the_prediction_as_in_python(formula, small, books):
    changed = changed_constants(formula)
    times = {name: named_value(books[f"{name}.xlsx"], small, "tl_time_s") for name in changed}
    for name, (_, law) in changed.items():
        assert times[name] == pytest.approx(predict_runs(law, first_choice())[0].time_s, rel=1e-9), name
    # A constant of the smaller argument of a maximum changes nothing.
    assert any(time != predict_runs(formula, first_choice())[0].time_s for time in times.values())
    rows = all_gpus(books["gpus.xlsx"])
    cnn, size, classes = FIRST.cnn
    for card in changed_cards(small)[1]:
        run = configuration(cnn=cnn, gpu=card, batch_per_gpu=64, input_size_px=size, n_classes=classes)
        truth = predict_runs(formula, run)[0].time_s
        assert rows[card.gpu]["iteration time"] == pytest.approx(truth, rel=1e-9), card.gpu


def differing(stored, computed):
    """Cells whose stored value is not the computed one."""
    if isinstance(stored, int | float) and isinstance(computed, int | float):
        return abs(stored - computed) > 1e-9 * abs(stored)
    return (stored or "") != (computed or "")  # an empty text comes back as nothing


@needs_libreoffice
def test_no_cell_shows_an_error_and_stored_values_are_right(plan, books):
    faults, checked = [], 0
    for sheet in plan.sheets:
        computed = books["plain.xlsx"][sheet.name]
        for (row, column), cell in sheet.cells.items():
            if cell.formula:
                shown = computed.cell(row + 1, column + 1).value
                checked += 1
                if str(shown).startswith(("#", "Err")) or differing(cell.value, shown):
                    faults.append(f"{sheet.name} {row + 1} {column + 1}: {cell.value} {shown} {cell.formula}")
    assert faults == [] and checked > 9_000


def test_what_is_computed_is_a_formula_and_its_names_exist(plan):
    """No constant stands where a formula belongs: only tables and yellow cells hold numbers."""
    live = {"Predict": {"input_count", "input_share", "input_money", "input"}, "All GPUs": set()}
    live["Compare"] = {"input"}
    live["Formula"] = {"constant", "seconds", "amount"}  # the ends of the training ranges
    for sheet in plan.sheets:
        for place, cell in sheet.cells.items():
            for name in re.findall(r"\btl_\w+", cell.formula):
                assert name in plan.names, (sheet.name, place, name)
            if sheet.name in live and isinstance(cell.value, float) and not cell.formula:
                assert cell.style in live[sheet.name], (sheet.name, place, cell)


def plans_with_warnings(plan):
    changes = {
        "far": {"tl_batch_per_gpu": 1e7},
        "half": {"tl_precision_choice": "fp16"},
        "broken": {"tl_n_gpus": 4.0, "tl_nodes": 3.0},
        "heading": {"tl_gpu_choice": MEASURED},
    }
    bare = one_gpu(plan)
    unknown = {"tl_gpu_choice": "B300", find_cell(plan, "GPUs", "B300", "bandwidth_byte_per_s"): None}
    return {
        **{name: with_values(bare, change) for name, change in changes.items()},
        "unknown": with_values(plan, unknown),
    }


@needs_libreoffice
def test_warnings_where_they_belong(books):
    assert value_of(books["none.xlsx"], "range of each feature") == INSIDE
    assert value_of(books["none.xlsx"], "fits in memory") == "fits"
    assert value_of(books["far.xlsx"], "fits in memory") == "cannot fit"
    assert "unreliable" in value_of(books["far.xlsx"], "range of each feature")
    assert value_of(books["half.xlsx"], "warnings") == "no training run used fp16"
    # A heading of the list of GPUs is no GPU.
    assert value_of(books["heading.xlsx"], "entries") == value_of(books["broken.xlsx"], "entries") == FAULTS
    assert "multiple" in note_of(books["broken.xlsx"], "number of nodes")
    assert value_of(books["broken.xlsx"], "iteration time") == "not known"
    assert value_of(books["broken.xlsx"], "fits in memory") == "not known"
    assert value_of(books["unknown.xlsx"], "iteration time") == "not known"
    assert all_gpus(books["unknown.xlsx"])["B300"]["iteration time"] is None


def sheet_of(plan, name):
    return next(sheet for sheet in plan.sheets if sheet.name == name)


def find_cell(plan, sheet, label, column=None):
    """The place of the cell in the row that a label begins and, below row 4, the column of that head."""
    cells = sheet_of(plan, sheet).cells
    row = next(place[0] for place, cell in cells.items() if place[1] == 0 and cell.value == label)
    heads = {cell.value: place[1] for place, cell in cells.items() if place[0] == 3}
    return sheet, row, heads[column] if column else 0


def with_added_rows(plan):
    """The workbook with a GPU and a link below the last ones, like others but for their names, chosen."""
    kept = small_plan(plan, without=("Plan", "All plans"))
    choice = {"tl_gpu_choice": "My card", "tl_link": "My link", "tl_n_gpus": 4.0}
    heads = sheet_of(plan, "Compare").cells
    compared = next(at for at, cell in heads.items() if at[0] == 9 and cell.value == FIRST_GPUS[3])
    changed = with_values(kept, {**choice, ("Compare", *compared): "My card"})
    for name, like, own in (("GPUs", "T4", "My card"), ("Links", "pcie4-x16", "My link")):
        last = max(row for row, column in sheet_of(plan, name).cells if column == 0)
        cells = sheet_of(changed, name).cells
        row = find_cell(changed, name, like)[1]
        cells.update({(last + 1, column): cell for (at, column), cell in [*cells.items()] if at == row})
        cells[last + 1, 0] = cells[row, 0]._replace(value=own)
    return changed


@needs_libreoffice
def test_rows_that_a_person_adds_are_used_everywhere(formula, books):
    shown = books["added.xlsx"]
    cnn, size, classes = FIRST.cnn
    run = configuration(
        cnn=cnn, gpu="T4", batch_per_gpu=64, input_size_px=size, n_classes=classes, n_gpus=4, link="pcie4-x16"
    )
    truth = predict_runs(formula, run, SCALING)[0].time_s
    assert value_of(shown, "iteration time") == pytest.approx(truth, rel=1e-9)
    assert all_gpus(shown)["My card"]["iteration time"] == pytest.approx(truth, rel=1e-9)
    header = [cell.value for cell in shown["Compare"][10]]
    line = next(
        row for row in shown["Compare"].iter_rows(values_only=True) if row[0] == cnn_label(*FIRST.cnn)
    )
    one = predict_runs(formula, configuration(cnn=cnn, gpu="T4", batch_per_gpu=64))[0].time_s
    assert line[header.index("My card")] == pytest.approx(1000 * one, rel=1e-9)


def plans_with_prices(plan):
    entered = {"T4": 9.0, "K80": 1.0, "P100-PCIE-16GB": -3.0}
    prices = {find_cell(plan, "GPUs", name, "price_usd_per_hour"): usd for name, usd in entered.items()}
    return {
        "none": plan,
        "cost": with_values(plan, prices),
        "time": with_values(plan, {**prices, "tl_order": "iteration time"}),
    }


@needs_libreoffice
@pytest.mark.parametrize("name", ["none", "cost", "time"])
def test_gpus_are_ranked_by_time_until_prices_are_entered(name, books):
    book = books[f"{name}.xlsx"]
    rows = [row for row in book["Ranking"].iter_rows(min_row=4, values_only=True) if row[1]]
    ranked = sum(row["rank"] is not None for row in all_gpus(book).values())
    assert len({row[1] for row in rows}) == len(rows) == ranked
    times = [row[3] for row in rows]
    if name == "cost":
        costs = [row[8] for row in rows if row[8] is not None]
        assert costs == sorted(costs) and len(costs) > 10
        # A price below 0 is not used, and the listed one comes after the user's.
        used = {row[1]: row[9] for row in rows}
        assert used["T4"] == 9.0 and used["K80"] == 1.0
        assert used["P100-PCIE-16GB"] == listed_price("P100-PCIE-16GB") > 0
        times = times[len(costs) :]  # those without a price follow, by time
    assert times == sorted(times) and len(set(times)) < len(times)  # B300 and GB200 tie
    assert all(row[4] < row[3] < row[5] for row in rows)


@needs_libreoffice
def test_every_pair_of_compare_is_what_python_says(formula, books):
    sheet = books["plain.xlsx"]["Compare"]
    header = [cell.value for cell in sheet[10]]
    lines = {row[0]: row for row in sheet.iter_rows(min_row=11, values_only=True) if row[0]}
    pairs = [(cnn, gpu) for cnn in cnn_keys() for gpu in FIRST_GPUS if cnn_label(**cnn) in lines]
    assert len(pairs) >= 400
    for cnn, gpu in pairs[::7]:
        truth = predict_runs(formula, configuration(**cnn, gpu=gpu, batch_per_gpu=64))[0].time_s
        shown = lines[cnn_label(**cnn)][header.index(gpu)]
        assert (shown or math.nan) == pytest.approx(1000 * truth, rel=1e-9, nan_ok=True), (cnn, gpu)


def test_the_workbook_is_light(plan, data):
    formulas = {sheet.name: sum(bool(cell.formula) for cell in sheet.cells.values()) for sheet in plan.sheets}
    assert formulas["Compare"] < 5000 and len(data) < 800_000


def test_gpus_are_listed_in_groups_that_the_training_runs_make():
    law, group, groups = load_formula(BUILT_IN), "", {}
    for name in gpu_table_rows(law):
        group = name if name.startswith(HEADING) else group
        groups.setdefault(group, []).extend([name] * (name != group))
    measured, unmeasured, processors = (groups[title] for title in (MEASURED, NEVER_MEASURED, PROCESSORS))
    seen = law.provenance["generations"]
    assert measured.index("RTX 2080") < measured.index("RTX 3090") < measured.index("RTX 4060 Ti 16GB")
    assert all(find_gpu(name).generation in seen for name in measured)
    assert "RTX 5090" in unmeasured and not any(find_gpu(name).generation in seen for name in unmeasured)
    assert {"EPYC 7742", "Xeon Phi 7210"} <= set(processors)
    assert {*measured, *unmeasured, *processors} == set(usable_gpus())


def grouped_formula():
    text = "C[harness] * conv3x3_compute_s + 0.002 + communication_s"
    constant = GroupedConstant("C[harness]", "harness", {"tf=1": 2.0, "mx": 3.0}, 1.5)
    names = ["conv3x3_compute_s", "communication_s"]
    specs = feature_specs(names)
    return Formula(parse_text(text), specs, TARGET, grouped=(constant,), scope=MULTI_GPU_RUN)


@pytest.fixture(scope="module")
def grouped_plan():
    return small_plan(workbook_plan(grouped_formula()))


def cells_of_groups():
    """The yellow cells of each group, by the label that a formula knows it by."""
    several = {"tl_n_gpus": 8.0, "tl_nodes": 2.0, "tl_algorithm": "tree"}
    shown = {"tf=1": "tf=1", "other": "(any other)"}
    return {label: {**several, "tl_label_harness": text} for label, text in shown.items()}


@needs_libreoffice
def test_grouped_constants_and_features_of_several_gpus(grouped_plan, books):
    formula, plan = grouped_formula(), grouped_plan
    cnn, size, classes = FIRST.cnn
    run = configuration(
        cnn=cnn, gpu=FIRST.gpu, batch_per_gpu=64, input_size_px=size, n_classes=classes,
        n_gpus=8, n_nodes=2, algorithm="tree",
    )  # fmt: skip
    columns = dict(
        zip(
            ["conv3x3_compute_s", "communication_s"],
            run.matrix(["conv3x3_compute_s", "communication_s"]).T,
            strict=True,
        )
    )
    for label in cells_of_groups():
        book = books[f"grouped-{label}.xlsx"]
        truth = formula.predict(columns, {"harness": [label]})[0]
        assert named_value(book, plan, "tl_time_s") == pytest.approx(truth, rel=1e-9)
        assert named_value(book, plan, "tl_all_reduce_s") == 0
        assert all_gpus(book)[FIRST.gpu]["iteration time"] == pytest.approx(truth, rel=1e-9)


@cache
def long_law():
    parts = " + ".join(
        f"{n}.123456789 * clock_ratio^0.{n} / (2 + exp(-clock_ratio * {n}))" for n in range(1, 130)
    )
    return Formula(
        parse_text(f"conv3x3_compute_s * max({parts}, 0.5)"),
        feature_specs(["clock_ratio", "conv3x3_compute_s"]),
        TARGET,
    )


@pytest.fixture(scope="module")
def long_plan():
    return small_plan(workbook_plan(long_law()))


@needs_libreoffice
def test_a_term_that_no_cell_holds_is_split(long_plan, books):
    plan, book = long_plan, books["long.xlsx"]
    assert any("step" in name for name in plan.names)
    assert all(len(cell.formula) <= 8192 for sheet in plan.sheets for cell in sheet.cells.values())
    truth = predict_runs(long_law(), first_choice())[0].time_s
    assert named_value(book, plan, "tl_time_s") == pytest.approx(truth, rel=1e-9)
    assert all_gpus(book)[FIRST.gpu]["iteration time"] == pytest.approx(truth, rel=1e-9)
    assert value_of(book, "equal", "Provenance") is True


NASTY = (
    "=cmd|' /C calc'!A0",
    "+1",
    "-1+cmd",
    "@SUM(A1)",
    "quote\"'",
    "</script><script>",
    "v2_x1_0",
    "&amp;<b>",
)


def nasty_book():
    book = BookPlan("=title", "@comment")
    sheet = SheetWriter(book, "Predict", (20,))
    for row, text in enumerate(NASTY):
        sheet.text(row, 0, text)
        sheet.formula(row, 1, f"A{row + 1}", text)
    return book


@needs_libreoffice
def test_texts_of_users_stay_texts(books):
    written = read_book(BytesIO(xlsx_bytes(nasty_book())), values=False)
    assert all(cell.data_type == "s" for cell in written["Predict"]["A"])
    shown = books["nasty.xlsx"]
    for row, text in enumerate(NASTY, start=1):
        assert shown["Predict"].cell(row, 1).value == text
        assert shown["Predict"].cell(row, 1).data_type == "s"


@pytest.mark.usefixtures("few_networks")
def test_names_of_cells_are_no_addresses_and_texts_are_no_formulas(formula):
    hostile = replace(
        formula,
        provenance={
            "table": "=cmd|' /C calc'!A0",
            "=key": "@SUM(A1)",
            "list": ["+1", "-1"],
            "precisions": ["fp32"],
        },
    )
    book = read_book(BytesIO(workbook_bytes(hostile)), values=False)
    assert all(name.startswith("tl_") for name in book.defined_names)
    for row in book["Provenance"].iter_rows(max_row=8):
        assert all(cell.data_type != "f" for cell in row)
    assert book["Provenance"]["B4"].value == "=cmd|' /C calc'!A0"


def test_every_sheet_and_its_choices_are_there(plan):
    assert [sheet.name for sheet in plan.sheets] == SHEETS
    labels = [
        cell.value for (row, column), cell in sheet_of(plan, "CNNs").cells.items() if row > 3 and not column
    ]
    assert len(set(labels)) == len(labels) == len(cnn_table())
    two = replace(plan, sheets=[sheet_of(plan, name) for name in ("Predict", "Ranking")])
    book = read_book(BytesIO(xlsx_bytes(two)), values=False)
    found = book["Predict"].data_validations.dataValidation
    assert {rule.formula1 for rule in found if rule.type == "list"} == {
        "tl_gpus_listed", "tl_cnns_listed", "tl_links_listed", "tl_networks_listed",
        "tl_options_precision_choice", "tl_options_algorithm", "tl_options_order",
    }  # fmt: skip
    whole = {(rule.formula1, rule.formula2) for rule in found if rule.type == "whole"}
    assert ("1", "10000000") in whole and len(book["Ranking"]._charts) == 1


@pytest.mark.usefixtures("few_networks")
def test_formula_without_errors_or_inputs_still_makes_a_workbook():
    bare = Formula(parse_text("conv3x3_compute_s + 0.002"), feature_specs(["conv3x3_compute_s"]), TARGET)
    book = read_book(BytesIO(workbook_bytes(bare)))
    truth = predict_runs(bare, first_choice())[0].time_s
    assert value_of(book, "iteration time") == pytest.approx(truth)
    constant = Formula(parse_text("0.002"), (), TARGET)
    assert workbook_model(constant).seconds == 0.002
    assert value_of(read_book(BytesIO(workbook_bytes(constant))), "iteration time") == 0.002


def test_what_the_workbook_cannot_hold_is_refused_with_a_way_out(formula):
    with pytest.raises(UnknownNameError, match="feature of layers"):
        workbook_bytes(replace(formula, scope="layer"))
    two = (GroupedConstant("C[a]", "a", {}, 1.0), GroupedConstant("C_a_", "a", {}, 1.0))
    specs = feature_specs(["conv3x3_compute_s"])
    twin = Formula(parse_text("C[a] * C_a_ * conv3x3_compute_s"), specs, TARGET, grouped=two)
    with pytest.raises(InputError, match="rename"):
        workbook_bytes(twin)
