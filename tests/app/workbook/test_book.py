"""The workbook, recalculated by force in LibreOffice: it equals `trainlaw predict` and follows changes."""

import math
import random
from dataclasses import replace
from functools import cache
from io import BytesIO

import pandas as pd
import pytest
from trainlaw.app.models.builtin import SCALING_FORMULA, formula_named
from trainlaw.app.models.lookup_tables import cnn_label
from trainlaw.app.models.multi_gpu import exchange_seconds
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.models.terms import with_named_constants
from trainlaw.app.models.user_formula import with_groups
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.app.workbook.lookup_sheets import MEASURED
from trainlaw.app.workbook.model import FAULTS, FIRST, LAYOUTS, first_choice
from trainlaw.app.workbook.prediction_sheet import AFTER_ENTRIES
from trainlaw.datasets import (
    TARGET,
    RunTable,
    configuration,
    feature_specs,
    find_cnn_counts,
    find_gpu,
    link_table,
)
from trainlaw.datasets.hardware.collectives import ALGORITHMS
from trainlaw.datasets.hardware.instances import instances
from trainlaw.datasets.hardware.possible import has_link
from trainlaw.datasets.measurements.memory_fit import largest_batch, memory_needs
from trainlaw.formulas import Formula, GroupedConstant, parse_text, variables
from trainlaw.formulas.algebra.expression import with_constants
from trainlaw.formulas.scopes import FORWARD, MULTI_GPU_RUN
from trainlaw.validate.time_factors import interval_share

from ...libreoffice import ALWAYS, NEVER, needs_libreoffice, read_book, recalculated
from .plans import (
    WIDE,
    all_gpus,
    few_cnns,
    few_gpus,
    find_cell,
    named_value,
    note_of,
    sheet_of,
    small_plan,
    value_of,
    with_values,
)

SCALING = formula_named(SCALING_FORMULA)
FP32 = {"tl_precision_choice": "fp32"}
GPU_FACTS = ("bandwidth_byte_per_s", "peak_fp32_flop_per_s", "base_clock_hz", "core_count")


@pytest.fixture(scope="module")
def plan(formula):
    return workbook_plan(formula)


@pytest.fixture(scope="module")
def forward():
    # With the sheet of own runs, whose count the interval asks.
    return small_plan(workbook_plan(formula_named(FORWARD)), ("All GPUs", "Ranking"))


@pytest.fixture(scope="module")
def small(plan):
    return small_plan(plan)


@pytest.fixture(scope="module")
def narrow(plan):
    """A workbook without the sheets of many rows, which take most of the time."""
    return small_plan(plan, WIDE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("libreoffice")


@pytest.fixture(scope="module")
def books(formula, plan, forward, small, narrow, folder):
    """The whole workbook and those of all tests, as LibreOffice computes them in one start."""
    plans = {
        "plain": plan,
        "forward": forward,
        "added": with_added_rows(small, plan),
        "gpus": with_values(small, {**FP32, **changed_cards(small)[0]}),
        "runs": with_runs(small, formula),
        "time": small,
        "cost": with_values(small, {**prices_in(small), "tl_order": "cost per epoch"}),
        "grouped": with_values(
            small_plan(workbook_plan(with_groups(grouped_formula(), ["harness=tf"]))), CELLS_OF_GPUS
        ),
        "long": small_plan(workbook_plan(long_law())),
        "nasty": nasty_book(),
        **{name: with_values(small, cells) for name, (cells, _) in choices().items()},
        **{name: with_values(narrow, cells) for name, cells in WARNED.items()},
        **{name: with_values(narrow, cells) for name, (cells, _) in changed_constants(formula).items()},
    }
    settings = small_plan(workbook_plan(law_of_settings()), WIDE)
    plans |= {f"setting{n}": with_values(settings, cells) for n, (cells, _) in enumerate(SETTINGS)}
    found = recalculated({f"{name}.xlsx": xlsx_bytes(item) for name, item in plans.items()}, folder)
    return {name.removesuffix(".xlsx"): book for name, book in found.items()}


def differing(stored, computed):
    """Whether a stored value is not the computed one."""
    if isinstance(stored, int | float) and isinstance(computed, int | float):
        return abs(stored - computed) > 1e-9 * abs(stored)
    return (stored or "") != (computed or "")  # an empty text comes back as nothing


@needs_libreoffice
@pytest.mark.parametrize("name", ["plain", "forward"])
def test_no_cell_shows_an_error_and_stored_values_are_right(name, plan, forward, books):
    faults, checked = [], 0
    for sheet in (forward if name == "forward" else plan).sheets:
        computed = books[name][sheet.name]
        for (row, column), cell in sheet.cells.items():
            if cell.formula:
                shown = computed.cell(row + 1, column + 1).value
                checked += 1
                if str(shown).startswith(("#", "Err")) or differing(cell.value, shown):
                    faults.append(f"{sheet.name} {row + 1} {column + 1}: {cell.value} {shown} {cell.formula}")
    assert faults == [] and checked > (12_000 if name == "plain" else 300)


@needs_libreoffice
def test_a_planted_wrong_value_is_corrected_only_by_force(folder):
    """The test of the test: without force the wrong stored value stays, with force it goes."""
    book = BookPlan("", "")
    SheetWriter(book, "Prediction", (20,)).formula(0, 0, "2+3", 123.5)
    planted = {"planted.xlsx": xlsx_bytes(book)}
    for mode, shown in ((NEVER, 123.5), (ALWAYS, 5.0)):
        found = recalculated(planted, folder, mode)["planted.xlsx"]
        assert found["Prediction"].cell(1, 1).value == shown


def random_choice(choose):
    """The choices of sheet Prediction and the arguments of `configuration`, for one random set-up."""
    cnn = choose.choice(few_cnns())
    gpu, batch = choose.choice(few_gpus()), choose.choice([1, 3, 8, 32, 100, 512])
    nodes = choose.choice([1, 1, 2, 3, 8])
    n_gpus = nodes * choose.choice([1, 2, 3, 4, 8])
    scopes = link_table().groupby("scope")["link"].apply(list)
    link = choose.choice([None, *(name for name in scopes["node"] if has_link(find_gpu(gpu), name))])
    network, algorithm = choose.choice(scopes["network"]), choose.choice(ALGORITHMS[1:])
    precision = choose.choice(["fp32", "amp"])
    numbers = {"tl_batch_per_gpu": float(batch), "tl_n_gpus": float(n_gpus), "tl_nodes": float(nodes)}
    cells = numbers | {
        "tl_cnn_choice": cnn_label(**cnn),
        "tl_gpu_choice": gpu,
        "tl_precision_choice": precision,
        "tl_link": link or "the GPU's own link",
        "tl_network": network,
        "tl_algorithm": algorithm,
    }
    asked = {
        **cnn,
        "gpu": gpu,
        "batch_per_gpu": batch,
        "precision": precision,
        "n_gpus": n_gpus,
        "n_nodes": nodes,
        "link": link,
        "network": network,
        "algorithm": algorithm,
    }
    return cells, asked


@cache
def choices():
    """Two random set-ups, by the name of their workbook; `test_same_answers.py` asks hundreds of one GPU."""
    choose = random.Random(11)
    return {f"choice{number}": random_choice(choose) for number in range(2)}


@needs_libreoffice
def test_prediction_equals_the_command_for_random_choices_of_several_gpus(formula, small, books):
    for name, (_, asked) in choices().items():
        book = books[name]
        expected = predict_runs(formula, configuration(**asked), SCALING)[0]
        assert named_value(book, small, "tl_time_s") == pytest.approx(expected.time_s, rel=1e-9), asked
        assert named_value(book, small, "tl_all_reduce_s") == pytest.approx(expected.exchange_s, rel=1e-9)
        single = [configuration(**{**asked, "gpu": gpu}) for gpu in few_gpus()]
        slowest = max(find_gpu(gpu).usual_launch_s for gpu in few_gpus())
        one_host = replace(single[0].facts, usual_launch_s=slowest)
        runs = RunTable("gpus", pd.concat([run.frame for run in single], ignore_index=True), one_host)
        alone = formula_rows(formula, runs).predict(formula)
        truths = alone + exchange_seconds(formula, runs, SCALING, alone)
        if asked["link"] and asked["n_gpus"] > asked["n_nodes"]:
            truths[[not has_link(find_gpu(gpu), asked["link"]) for gpu in few_gpus()]] = math.nan
        for gpu, truth, fit in zip(few_gpus(), truths, memory_needs(runs)["fits"], strict=True):
            row = all_gpus(book)[gpu]
            shown = row["iteration time"]
            assert (shown or math.nan) == pytest.approx(truth, rel=1e-9, nan_ok=True), (asked, gpu)
            assert row["fits in memory"] == fit, (asked, gpu)
        for cell, held in (("least", expected.memory_least_bytes), ("usual", expected.memory_usual_bytes)):
            shown = named_value(book, small, f"tl_memory_{cell}")
            assert shown == pytest.approx(held / 1e9, rel=1e-12), asked
        run, gpu = single[0].frame.iloc[0], find_gpu(asked["gpu"])
        counts = find_cnn_counts(run.cnn, int(run.input_size_px), int(run.n_classes))
        most = largest_batch(counts, gpu.memory_bytes, run.precision)
        assert named_value(book, small, "tl_largest_batch") == most, asked
        assert value_of(book, "fits in memory") == expected.fits_in_memory
        assert value_of(book, "self-check: same result as trainlaw") is True


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
    times = {name: named_value(books[name], small, "tl_time_s") for name in changed}
    for name, (_, law) in changed.items():
        assert times[name] == pytest.approx(predict_runs(law, first_choice())[0].time_s, rel=1e-9), name
    # A constant of the smaller argument of a maximum changes nothing.
    assert any(time != predict_runs(formula, first_choice())[0].time_s for time in times.values())
    rows = all_gpus(books["gpus"])
    for card in changed_cards(small)[1]:
        truth = predict_runs(formula, configuration(**few_cnns()[0], gpu=card, batch_per_gpu=64))[0].time_s
        assert rows[card.gpu]["iteration time"] == pytest.approx(truth, rel=1e-9), card.gpu


WARNED = {
    "far": {"tl_batch_per_gpu": 1e7},
    "half": {"tl_precision_choice": "fp16"},
    "broken": {"tl_n_gpus": 4.0, "tl_nodes": 3.0},
    "heading": {"tl_gpu_choice": MEASURED},
    "lacking": {"tl_gpu_choice": "K80", "tl_precision_choice": "tf32"},
    "family": {"tl_gpu_choice": "nvidia v100"},
    "written": {"tl_gpu_choice": "NVIDIA GeForce rtx2080ti", "tl_cnn_choice": "ResNet-50"},
    "counted": {"tl_gpu_choice": "8x Tesla T4"},
    "instance": {"tl_gpu_choice": "p3.8xlarge", "tl_cnn_choice": "rn50"},
    "unlinked": {"tl_n_gpus": 4.0, "tl_link": "nvlink4-x18"},
    "crowded": {"tl_n_gpus": 34.0, "tl_nodes": 2.0},
}


@needs_libreoffice
def test_warnings_where_they_belong(books):
    assert value_of(books["time"], "fits in memory") == "fits"
    assert value_of(books["far"], "fits in memory") == "cannot fit"
    # The gravest stands beside the label, the others below it.
    assert value_of(books["far"], "warnings").startswith("cannot fit")
    said = [str(cell) for row in books["far"]["Prediction"].iter_rows(values_only=True) for cell in row]
    assert any("work per iteration than in any training run" in text for text in said)
    assert value_of(books["half"], "warnings") == "no training run used fp16"
    # A heading of the list of GPUs is no GPU.
    for name in ("heading", "broken", "lacking", "family", "unlinked", "crowded"):
        assert value_of(books[name], "entries") == FAULTS
        assert value_of(books[name], "time") == value_of(books[name], "fits in memory") == "not known"
        assert value_of(books[name], "warnings") == AFTER_ENTRIES
    for name in ("broken", "crowded"):
        assert "share the GPUs evenly, at most 16" in note_of(books[name], "number of nodes")
    assert "one that this GPU has" in note_of(books["lacking"], "precision")


@needs_libreoffice
def test_names_are_taken_as_other_software_writes_them(formula, books):
    shown = books["written"]
    assert value_of(shown, "GPU in use") == "RTX 2080 Ti" and value_of(shown, "CNN in use") == cnn_label(
        *FIRST.cnn
    )
    assert note_of(books["family"], "GPU").startswith("did you mean V100-")
    for name, gpu, n_gpus in (("counted", "T4", 8), ("instance", "V100-SXM2-16GB", 4)):
        assert (value_of(books[name], "GPU in use"), value_of(books[name], "number of GPUs")) == (gpu, n_gpus)
    (rented,) = (one for one in instances() if one.instance == "p3.8xlarge")
    assert value_of(books["instance"], "GPU price") == pytest.approx(rented.price_usd_per_hour / 4)


def with_added_rows(small, plan):
    """The workbook with a GPU below the last one of the plan, like another but for its name, chosen."""
    changed = with_values(small, {"tl_gpu_choice": "My card", "tl_n_gpus": 4.0})
    cells = sheet_of(changed, "GPUs").cells
    last = max(row for row, column in sheet_of(plan, "GPUs").cells if column == 0)
    row = find_cell(changed, "GPUs", "T4")[1]
    cells.update({(last + 1, column): cell for (at, column), cell in [*cells.items()] if at == row})
    cells[last + 1, 0] = cells[row, 0]._replace(value="My card")
    return changed


@needs_libreoffice
def test_rows_that_a_person_adds_are_used_everywhere(formula, books):
    run = configuration(**few_cnns()[0], gpu="T4", batch_per_gpu=64, n_gpus=4)
    truth = predict_runs(formula, run, SCALING)[0].time_s
    assert value_of(books["added"], "time") == pytest.approx(truth, rel=1e-9)
    assert all_gpus(books["added"])["My card"]["iteration time"] == pytest.approx(truth, rel=1e-9)


RUNS = [
    ("V100-SXM2-16GB", "ResNet-50", 32, None, 1.2),
    ("Tesla T4", cnn_label(*FIRST.cnn), 64, "amp", 3.0),
    ("V100-SXM2-16GB", cnn_label(**few_cnns()[1]), 16, "amp", 1.1),
    ("no such GPU", "resnet50", 64, None, 1.0),
]


def known_runs():
    """The runs that the sheet knows, by their places, and the measured ratio."""
    cnns = {1: few_cnns()[0], 2: few_cnns()[0], 3: few_cnns()[1]}
    gpus = ("V100-SXM2-16GB", "T4", "V100-SXM2-16GB")
    for place, gpu in enumerate(gpus):
        *_, batch, precision, ratio = RUNS[place]
        yield (
            place,
            configuration(**cnns[place + 1], gpu=gpu, batch_per_gpu=batch, precision=precision),
            ratio,
        )


def with_runs(plan, law):
    """The workbook with runs pasted that took longer than predicted, used by sheet Prediction."""
    times = {place: 1000 * ratio * predict_runs(law, run)[0].time_s for place, run, ratio in known_runs()}
    cells = {"tl_own_runs": "yes"}
    for place, (gpu, cnn, batch, precision, _) in enumerate(RUNS):
        entered = (gpu, cnn, float(batch), times.get(place, 1.0), precision)
        cells |= {("My runs", 8 + place, column): value for column, value in enumerate(entered)}
    return with_values(plan, cells)


@needs_libreoffice
def test_pasted_runs_give_a_factor_and_an_interval(formula, small, books):
    book = books["runs"]
    rows = list(book["My runs"].iter_rows(min_row=9, max_row=12, values_only=True))
    for place, run, ratio in known_runs():
        assert rows[place][5] == pytest.approx(1000 * predict_runs(formula, run)[0].time_s, rel=1e-9)
        assert rows[place][6] == pytest.approx(ratio, rel=1e-9)
    assert rows[3][5:7] == (None, None)
    # Two of the runs are on the chosen GPU.
    factor = math.exp((math.log(1.2) + math.log(1.1)) / 2.7)
    assert named_value(book, small, "tl_own_factor") == pytest.approx(factor, rel=1e-9)
    plain = books["time"]
    for name in ("tl_time_s", "tl_cost"):
        before = named_value(plain, small, name)
        assert named_value(book, small, name) == pytest.approx(factor * before, rel=1e-9)
    usual = named_value(plain, small, "tl_interval_factor")
    spread = max(abs(math.log(ratio / factor)) for ratio in (1.2, 1.1))
    narrowed = math.exp(max(interval_share(2) * math.log(usual), spread))
    assert named_value(book, small, "tl_interval_factor") == pytest.approx(narrowed, rel=1e-6)
    assert narrowed < usual
    assert value_of(book, "your runs") == f"time x {factor:.3f} by 2 on V100-SXM2-16GB"


def prices_in(plan):
    entered = {"T4": 9.0, "K80": 1.0, "P100-PCIE-16GB": -3.0}
    return {find_cell(plan, "GPUs", name, "price_usd_per_hour"): usd for name, usd in entered.items()}


@needs_libreoffice
@pytest.mark.parametrize("name", ["time", "cost"])
def test_gpus_are_ranked_by_time_unless_by_cost(name, books):
    rows = [row for row in books[name]["Ranking"].iter_rows(min_row=4, values_only=True) if row[1]]
    ranked = sum(row["rank"] is not None for row in all_gpus(books[name]).values())
    assert len({row[1] for row in rows}) == len(rows) == ranked
    times = [row[3] for row in rows]
    if name == "cost":
        costs = [row[8] for row in rows if row[8] is not None]
        assert costs == sorted(costs) and len(costs) > 3
        used = {row[1]: row[9] for row in rows}
        assert used["T4"] == 9.0 and used["K80"] == 1.0
        # A price below 0 is not used.
        assert used["P100-PCIE-16GB"] is None
        times = times[len(costs) :]  # those without a price follow, by time
    assert times == sorted(times) and len(set(times)) < len(times)  # B300 and GB200 tie
    assert all(row[4] < row[3] < row[5] for row in rows)


def grouped_formula():
    text = "C[harness] * conv3x3_compute_s + 0.002 + communication_s"
    constant = GroupedConstant("C[harness]", "harness", {"tf": 2.0, "mx": 3.0}, 1.5)
    specs = feature_specs(["conv3x3_compute_s", "communication_s"])
    return Formula(parse_text(text), specs, TARGET, grouped=(constant,), scope=MULTI_GPU_RUN)


def grouped_as_tf():
    return with_groups(grouped_formula(), ["harness=tf"])


CELLS_OF_GPUS = {"tl_n_gpus": 8.0, "tl_nodes": 2.0, "tl_algorithm": "tree"}


@needs_libreoffice
def test_grouped_constants_and_features_of_several_gpus(books):
    formula, book = grouped_formula(), books["grouped"]
    run = configuration(
        **few_cnns()[0], gpu=FIRST.gpu, batch_per_gpu=64, n_gpus=8, n_nodes=2, algorithm="tree"
    )
    names = ["conv3x3_compute_s", "communication_s"]
    columns = dict(zip(names, run.matrix(names).T, strict=True))
    truth = formula.predict(columns, {"harness": ["tf"]})[0]
    assert value_of(book, "time") == pytest.approx(truth, rel=1e-9)
    assert all_gpus(book)[FIRST.gpu]["iteration time"] == pytest.approx(truth, rel=1e-9)


@cache
def long_law():
    parts = " + ".join(
        f"{n}.123456789 * clock_ratio^0.{n} / (2 + exp(-clock_ratio * {n}))" for n in range(1, 130)
    )
    text = f"conv3x3_compute_s * max({parts}, 0.5)"
    return Formula(parse_text(text), feature_specs(["clock_ratio", "conv3x3_compute_s"]), TARGET)


@needs_libreoffice
def test_a_term_that_no_cell_holds_is_split(books):
    plan, book = workbook_plan(long_law()), books["long"]
    assert any("step" in name for name in plan.names)
    assert all(len(cell.formula) <= 8192 for sheet in plan.sheets for cell in sheet.cells.values())
    truth = predict_runs(long_law(), first_choice())[0].time_s
    assert value_of(book, "time") == pytest.approx(truth, rel=1e-9)
    assert all_gpus(book)[FIRST.gpu]["iteration time"] == pytest.approx(truth, rel=1e-9)
    assert value_of(book, "equal", "Notes") is True


def law_of_settings():
    expression = parse_text(
        "max(2 * other_matrix_s * (1 - 0.1 * is_tuned) + 3 * grouped_channels_last_simt_s, 1.5 * host_s)"
        " + 4 * conv_output_cached_s * exp(0.5 * is_amd)"
    )
    return Formula(expression, feature_specs(variables(expression)), TARGET)


# Settings that only some formulas use; those of the built-in one are asked in `test_same_answers.py`.
SETTINGS = [
    ({"tl_layout_choice": LAYOUTS[1], "tl_is_tuned": 1.0}, {"layout": "channels_last", "tuned": True}),
    (
        {"tl_host_launch_us": 40.0, "tl_gpu_choice": "Instinct MI50"},
        {"host_launch_s": 4e-5, "gpu": "Instinct MI50"},
    ),
    (
        {"tl_n_gpus": 16.0, "tl_nodes": 2.0, "tl_is_bucketed": 0.0},
        {"n_gpus": 16, "n_nodes": 2, "bucketed": False},
    ),
]


@needs_libreoffice
def test_every_setting_is_computed_as_predict_does(books):
    base = {"cnn": "resnet50", "gpu": "V100-SXM2-16GB", "batch_per_gpu": 64}
    for number, (_, settings) in enumerate(SETTINGS):
        (expected,) = predict_runs(law_of_settings(), configuration(**(base | settings)), SCALING)
        book = books[f"setting{number}"]
        assert value_of(book, "time") == pytest.approx(expected.time_s, rel=1e-9), settings
        assert value_of(book, "warnings") == (*expected.warnings, "no warning")[0]


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
    sheet = SheetWriter(book, "Prediction", (20,))
    for row, text in enumerate(NASTY):
        sheet.text(row, 0, text)
        sheet.formula(row, 1, f"A{row + 1}", text)
    return book


@needs_libreoffice
def test_texts_of_users_stay_texts(books):
    written = read_book(BytesIO(xlsx_bytes(nasty_book())), values=False)
    assert all(cell.data_type == "s" for cell in written["Prediction"]["A"])
    for row, text in enumerate(NASTY, start=1):
        assert books["nasty"]["Prediction"].cell(row, 1).value == text
        assert books["nasty"]["Prediction"].cell(row, 1).data_type == "s"
