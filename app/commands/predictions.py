"""Commands that predict: one configuration, many GPUs, streams, many-core processors, from a profile."""

import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainlaw.app.commands.options import (
    AnyCnn,
    CnnName,
    ExchangeOptions,
    FormulaFile,
    GpuFile,
    GpuName,
    Gpus,
    GpusPerNode,
    KernelOptions,
    Label,
    OutputFormat,
    OutputOptions,
    Pixels,
    RestoreBatchnorm,
    RunOptions,
    ScalingFormula,
    check_new_files,
    note_left_out,
    print_or_write,
    refuse,
    setup_of,
    write_or_print,
)
from trainlaw.app.inputs.declared import flag, option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from trainlaw.app.inputs.requests import RunRequest
    from trainlaw.app.models.user_formula import FormulaChoice
    from trainlaw.app.predictions.predict import Explain
    from trainlaw.app.predictions.training import Training
    from trainlaw.datasets import RunTable
    from trainlaw.formulas import Formula


@dataclass(frozen=True)
class MachineOptions:
    """How many GPUs train together, and how they exchange gradients."""

    n_gpus: int | None = option(
        "Number of GPUs that train together, each with its own batch.", "--gpus", limit="n_gpus"
    )
    n_nodes: int | None = option(
        "Number of nodes that contain the GPUs; default: usual servers.", "--nodes", limit="n_nodes"
    )
    allocation: str | None = option(
        "GPUs of each node where nodes differ, such as 4,2,1; replaces --gpus and --nodes."
    )


@dataclass(frozen=True)
class RankingOptions:
    """Which of all GPUs are predicted, and how many of them are shown."""

    all_gpus: bool = flag("Predict for every known GPU, fastest first.", "--all-gpus")
    vendor: str = option("With --all-gpus: only this vendor, such as NVIDIA.", default="")
    min_memory: str = option("With --all-gpus: GPUs with at least this memory, such as 16GB.", default="")
    top: int | None = option("Largest number of rows; default: all, or 15 in the table of --all-gpus.", min=1)


@dataclass(frozen=True)
class TrainingOptions:
    """The training whose hours are predicted."""

    epochs: float | None = option("Also predict the hours of a training of this many epochs.", limit="epochs")
    images: int | None = option(
        "Images per epoch, default: 1281167, of ImageNet; with --forward those of inference.",
        limit="images",
    )

    def training(self, forward: bool = False) -> "Training | None":
        """Return the training; None without a number of epochs, InputError for images alone.

        forward : whether the images are those of inference, which needs no epochs.
        """
        from trainlaw.app.predictions.training import asked_training

        if not forward and self.epochs is None and self.images is not None:
            refuse("--images are those of an epoch: give --epochs too")
        if (self.images if forward else self.epochs) is None:
            return None
        return asked_training(self.images, self.epochs, forward)


@dataclass(frozen=True)
class FileOptions:
    """Configurations from a file."""

    runs: Path | None = option("CSV of configurations, with the columns cnn, gpu, batch_per_gpu.", "--from")
    ignore: list[str] | None = option("Column of --from that is not read, such as remarks.")


def predict_command(
    *,
    cnn: AnyCnn = None,
    gpu: Gpus = None,
    batch: list[str] | None = option("Images per iteration on each GPU; several: 32,64,128."),
    run: RunOptions,
    kernels: KernelOptions,
    machine: MachineOptions,
    exchange: ExchangeOptions,
    scaling_formula: ScalingFormula = None,
    single_gpu_seconds: float | None = option(
        "Measured iteration time on one GPU, to which the scaling formula is applied.", min=1e-9
    ),
    ranking: RankingOptions,
    whole: TrainingOptions,
    file: FileOptions,
    forward: bool = flag(
        "Predict the forward pass alone: inference at large batches. The precision is amp unless "
        "another one is given, since forward passes were measured in amp alone.",
        "--forward",
    ),
    gpu_file: GpuFile = None,
    formula: FormulaFile = None,
    label: Label = None,
    restore_batchnorm: RestoreBatchnorm = None,
    explain: bool = flag("Say what the time is made of, and what limits it.", "--explain"),
    output: OutputOptions,
) -> None:
    """Predict the time of a training iteration, or (--forward) of inference, with an interval and warnings.

    For several GPUs, the formula gives the time on one GPU, and a scaling formula evolved on measured runs
    extends it to several. Collective algorithms without training runs, such as tree, are computed by the
    textbook formula.
    """
    from trainlaw.app.inputs.requests import RunRequest, check_request, run_blocks
    from trainlaw.app.inputs.selection import selection_of, whole_numbers
    from trainlaw.app.models.settings import setup_for
    from trainlaw.app.models.user_formula import find_formulas, with_groups
    from trainlaw.formulas.scopes import FORWARD

    check_new_files([output.out])
    choice = find_formulas(formula, scaling_formula or "", Path.cwd(), forward)
    _check_forward(forward, choice, machine, whole)
    forward = choice.formula.scope == FORWARD
    timed = FORWARD if forward else None
    setup = setup_of(run, kernels, exchange, machine, timed_parts=timed)
    request = RunRequest(
        cnn,
        gpu,
        whole_numbers(",".join(batch or ()), "--batch"),
        run.pixels,
        run.classes,
        ranking.all_gpus,
        file.runs,
        tuple(file.ignore or ()),
        gpu_file,
        setup_for(choice.formula, setup),
        selection_of(vendor=ranking.vendor, min_memory=ranking.min_memory),
        restore_batchnorm,
    )
    check_request(request, single_gpu_seconds)
    choice = replace(choice, formula=with_groups(choice.formula, label))
    asked: dict[str, Any] = {"measured_s": single_gpu_seconds, "training": whole.training(forward)}
    asked |= _explained(single_gpu_seconds, output.chosen) if explain else {}
    said = choice.said(machine.n_gpus, single_gpu_seconds is not None)
    numbers: list[int] = []
    with run_blocks(request) as (header, blocks):
        if {"n_gpus", "allocation"}.isdisjoint(header):
            choice.check_counts(1)
        _print_notes(request, header)
        parts = _texts(choice, blocks, asked, ranking, output, said=said, counted=numbers.append)
        print_or_write(parts, output.out)
    _print_written(output.out, sum(numbers), said[1])


def _explained(measured_s: float | None, form: OutputFormat) -> "dict[str, Explain]":
    """Return the argument that explains predictions; InputError for an output that has no place for it."""
    from trainlaw.app.explain.shares import explanations

    if measured_s is not None or form is OutputFormat.csv:
        refuse("--explain: expected a time by a formula as a table or JSON, got CSV or --single-gpu-seconds")
    return {"explain": explanations}


def _print_written(out: Path | None, number: int, origin: str) -> None:
    if out is not None:
        print(f"{out}: {number} prediction{'' if number == 1 else 's'} by {origin}")


def _check_forward(
    forward: bool, choice: "FormulaChoice", machine: MachineOptions, training: TrainingOptions
) -> None:
    """Raise InputError for what only a training has, next to --forward."""
    from trainlaw.formulas.scopes import FORWARD

    is_of_passes = choice.formula.scope == FORWARD
    if forward and not is_of_passes:
        refuse(f"--forward: expected a formula of forward passes, got {choice.origin}; leave one of them out")
    several = any(value is not None for value in vars(machine).values())
    if is_of_passes and (several or training.epochs is not None):
        refuse(
            "--forward: expected one GPU and no epochs, since a forward pass is inference; leave out "
            "--gpus, --nodes, --allocation and --epochs"
        )


def _print_notes(request: "RunRequest", header: "Iterable[str]") -> None:
    """Say on standard error which GPUs and columns are left out, and that a long file takes a while."""
    from trainlaw.app.inputs.requests import left_out

    note_left_out(left_out(request))
    path = request.file
    if path is None:
        return
    if "time_s" in header:
        print(f"note: time_s of {path} is not read; `trainlaw validate` compares times", file=sys.stderr)
    if str(path) != "-" and path.stat().st_size > _LONG_BYTES:
        print(f"predicting the rows of {path}: this may take minutes", file=sys.stderr)


_LONG_BYTES = 16 * 2**20  # of a file of configurations: half a minute
_TOP = 15  # rows of a table of all GPUs: with header and notes it fits a screen


def _texts(
    choice: "FormulaChoice",
    blocks: "Iterator[RunTable]",
    asked: "Mapping[str, Any]",
    ranking: RankingOptions,
    output: OutputOptions,
    *,
    said: "tuple[Formula, str, str]",
    counted: "Callable[[int], None]",
) -> "Iterable[str]":
    """Return the text of predictions in parts.

    asked : further arguments of `predict_runs`. said : of the first line of a table. counted : gets the
    number of predictions of each part.
    """
    from trainlaw.app.predictions.predict import fastest_first, predict_runs, predicted_blocks
    from trainlaw.app.terminal.predictions import formula_line, predictions_text, written_blocks

    formula, scaling, form = choice.formula, choice.scaling, output.chosen
    if form is not OutputFormat.table:
        columns = predicted_blocks(
            formula, blocks, scaling, **asked, most=ranking.top, by_speed=ranking.all_gpus
        )
        return written_blocks(columns, form is OutputFormat.json, counted)
    predictions = predict_runs(formula, next(blocks), scaling, **asked)
    if next(blocks, None) is not None:
        refuse(f"expected at most {len(predictions)} rows for a table; use --format csv")
    if len(predictions) > 1 and predictions[0].explanation:
        refuse(f"--explain: expected one configuration, got {len(predictions)}; use --json")
    counted(len(predictions))
    if ranking.all_gpus:
        rates = [row.images_per_second for row in predictions]
        predictions = [predictions[row] for row in fastest_first(rates)]
    most = ranking.top or (_TOP if ranking.all_gpus else None)
    line = formula_line(*said)
    text = predictions_text(line, predictions, asked["training"], most, output.every_warning)
    return [text, "\n"]


def predict_from_profile_command(
    *,
    anchor_profile: Path | None = option(
        "Profile of an iteration on the anchor GPU: PyTorch's table, op statistics.",
        "--anchor-profile",
        "--profile",
    ),
    anchor_gpu: str | None = option("Anchor GPU: the GPU on which the profile was measured."),
    gpu: str | None = option("Target GPU: the GPU to predict for."),
    cnn: str | None = option("Name of the profiled CNN, or its file."),
    batch: int | None = option("Images per iteration in the profile.", min=1),
    pixels: Pixels = None,
    anchor_seconds: float | None = option(
        "Iteration time on the anchor GPU without the profiler; default: that in the profile.", min=1e-9
    ),
    anchor_steps: int = option(
        "Number of iterations in the profile, if it does not state it.", default=1, min=1
    ),
    formula: FormulaFile = None,
    gpu_file: GpuFile = None,
    output: OutputOptions,
) -> None:
    """Predict the iteration time on one GPU from a profile on another.

    Measured pairs of GPUs have separate formulas; all other pairs share one, which needs --cnn and --batch.
    """
    from trainlaw.app.inputs.resolve import known_gpus
    from trainlaw.app.predictions.anchor import Workload, predict_from_profile
    from trainlaw.app.terminal.predictions import anchor_json, anchor_text

    check_new_files([output.out])
    if anchor_profile is None or anchor_gpu is None or gpu is None:
        refuse("expected --anchor-profile, --anchor-gpu and --gpu together, got only some of them")
    if output.chosen is OutputFormat.csv:
        refuse("--format csv: one prediction from a profile is printed as table or json")
    prediction = predict_from_profile(
        anchor_profile,
        (anchor_gpu, gpu),
        Workload(cnn, batch, pixels),
        anchor_s=anchor_seconds,
        steps=anchor_steps,
        formula=formula,
        gpus=known_gpus(gpu_file),
    )
    is_json = output.chosen is OutputFormat.json
    text = anchor_json(prediction) if is_json else anchor_text(prediction, output.every_warning)
    print_or_write([text, "\n"], output.out)
    _print_written(output.out, 1, prediction.formula)


def scaling_command(
    *,
    cnn: CnnName,
    gpu: Gpus,
    batch: int = option("Images per iteration on each GPU.", default=..., limit="batch"),
    run: RunOptions,
    kernels: KernelOptions,
    exchange: ExchangeOptions,
    gpus_per_node: GpusPerNode = None,
    most: int = option("Largest number of GPUs.", "--max-gpus", default=256, min=1),
    scaling_formula: ScalingFormula = None,
    hidden: float = option(
        "Share of the textbook all-reduce that overlaps with the backward pass.", default=0.0, min=0, max=1
    ),
    gpu_file: GpuFile = None,
    formula: FormulaFile = None,
    plot: Path | None = option("SVG file to write: speed-up and shares."),
    output: OutputOptions,
) -> None:
    """Predict weak scaling: time, speed-up and efficiency on 1 to many GPUs, with the same batch on each.

    The times are those of `trainlaw predict`: on one GPU by the formula, on several by the scaling formula
    or the textbook all-reduce. The numbers of GPUs are all those within a node, then whole nodes; the
    table shows powers of two, CSV and JSON show all.
    """
    from trainlaw.app.inputs.resolve import known_gpus, named_cnn
    from trainlaw.app.inputs.selection import named_gpus
    from trainlaw.app.models.multi_gpu import covers_algorithm
    from trainlaw.app.models.user_formula import TEXTBOOK, find_formulas
    from trainlaw.app.predictions.scaling import scaling_curve
    from trainlaw.app.terminal.scaling import (
        curve_title,
        scaling_csv,
        scaling_json,
        scaling_svg,
        scaling_text,
    )

    check_new_files([output.out, plot])
    choice = find_formulas(formula, scaling_formula or (TEXTBOOK if hidden else ""), Path.cwd())
    gpus = known_gpus(gpu_file)
    counts, targets = named_cnn(cnn, run.pixels, run.classes), named_gpus(gpu or (), gpus)
    setup, algorithm = setup_of(run, kernels, exchange), exchange.algorithm or "ring"
    if len(targets) != 1 and (plot or output.chosen != OutputFormat.table):
        refuse("expected one --gpu for a file, CSV or JSON; several are printed as tables")
    covering = choice.scaling_origin if covers_algorithm(choice.scaling, algorithm) else ""
    curve_on = partial(
        scaling_curve, choice.formula, counts, most=most, gpus_per_node=gpus_per_node, hidden_share=hidden
    )
    curves = [curve_on(target, batch, scaling=choice.scaling, setup=setup, gpus=gpus) for target in targets]
    titles = [
        f"{counts.cnn}, {curve_title(target, points, algorithm, setup)}"
        for target, points in zip(targets, curves, strict=True)
    ]
    text_of = partial(
        scaling_text,
        formula=choice.formula,
        origin=choice.origin,
        scaling_origin=covering,
        every_warning=output.every_warning,
    )
    table = partial("\n\n".join, map(text_of, titles, curves))
    forms = (table, lambda: scaling_csv(curves[0]), lambda: scaling_json(curves[0]))
    write_or_print(output, forms, plot, lambda: scaling_svg(titles[0], curves[0]))


class Phase(StrEnum):
    """The part of an iteration that is scheduled."""

    training = "training"
    forward = "forward"


def schedule_command(
    *,
    cnn: CnnName,
    gpu: GpuName,
    streams: int = option("Number of streams; smaller numbers are shown, too.", default=4, min=1, max=128),
    batch: int = option("Images per iteration.", default=32, min=1),
    pixels: Pixels = None,
    phase: Phase = option("Schedule a training iteration or the forward pass alone.", default=Phase.training),
    event: float = option(
        "Delay in seconds of a task that waits for one on another stream.", default=5e-6, min=0, max=0.01
    ),
    gpu_file: GpuFile = None,
    formula: Path | None = option(
        "Layer formula (formula.json); default: that of `trainlaw use`, or built-in.", "--formula", "--law"
    ),
    gantt: Path | None = option("Write the schedule as a Gantt chart (SVG)."),
    output: OutputOptions,
) -> None:
    """Schedule the layers of a CNN on streams: makespan, speed-up, critical path, Gantt chart.

    The layer formula gives the time of each layer; its thread blocks determine the share of the GPU that it
    occupies. Layers run concurrently if the graph permits it and their shares fit into the GPU; the layer
    with the longest remaining path starts first. At large batches a single layer fills the GPU, so the
    speed-up is small.
    """
    from trainlaw.app.inputs.resolve import known_gpus, named_cnn
    from trainlaw.app.models.user_formula import find_layer_formula
    from trainlaw.app.predictions.streams import plan_streams
    from trainlaw.app.terminal.schedules import gantt_svg, plan_csv, plan_json, plan_text
    from trainlaw.datasets.hardware.hypothetical import wanted_gpu

    check_new_files([output.out, gantt])
    layer_formula, origin = find_layer_formula(formula, Path.cwd())
    target = wanted_gpu(gpu, known_gpus(gpu_file))
    counts = named_cnn(cnn, pixels)
    if streams > _SOON_STREAMS:
        print(f"scheduling {cnn} on {streams} streams: this may take minutes", file=sys.stderr)
    plan = plan_streams(
        counts, target, batch, streams, phase=phase.value, event_s=event, formula=layer_formula
    )
    forms = (
        lambda: plan_text(plan, layer_formula, origin, output.every_warning),
        lambda: plan_csv(plan),
        lambda: plan_json(plan),
    )
    write_or_print(output, forms, gantt, lambda: gantt_svg(plan))


_SOON_STREAMS = 16  # on 128, the largest CNN takes six minutes


class ManyCoreModel(StrEnum):
    """Which closed form."""

    a = "a"
    b = "b"


def many_core_command(
    cnn: str = option("CNN of the paper: small, medium or large.", "--cnn", "--network", default="small"),
    threads: int = option("Number of threads.", default=240, min=1),
    model: ManyCoreModel = option(
        "a counts operations, b uses measured times of one image.", default=ManyCoreModel.a
    ),
    epochs: int | None = option("Number of epochs; default: that of the published runs.", min=1),
    train_images: int = option("Training images per epoch.", default=60_000, min=1),
    test_images: int = option("Test images per epoch.", default=10_000, min=0),
    cores: int = option("Number of cores of the processor.", default=61, min=1),
    clock: float = option("Clock of a core, Hz; model a only.", default=1.238e9, min=1e8, max=1e10),
    published: bool = flag("Print all published predictions next to the computed ones.", "--published"),
) -> None:
    """Predict the time of a training on a many-core processor (Xeon Phi 7120P) by two published formulas.

    The formulas and figures are those of Viebke, Pllana, Memeti and Kolodziej (HPCS 2019), recalled. They
    reproduce the published predictions; no error against measured times is claimed. `trainlaw show` and
    `trainlaw export` accept them as xeon-phi-a and xeon-phi-b.
    """
    from trainlaw.app.models.builtin import BUILT_IN_FORMULAS
    from trainlaw.app.models.custom_inputs import cases_of, cases_text, group_keys
    from trainlaw.app.terminal.output import print_fitted
    from trainlaw.formulas.errors import check_name

    formulas = {each: BUILT_IN_FORMULAS[f"xeon-phi-{each}"]() for each in ManyCoreModel}
    formula = formulas[model]
    if published:
        tables = {each: cases_text(form, cases_of(form)) for each, form in formulas.items()}
        print("\n\n".join(f"model ({each})\n{table}" for each, table in tables.items()))
    else:
        check_name("CNN", cnn, group_keys(formula)["network"])
        case = next(case for case in cases_of(formula) if case["network"] == cnn)
        inputs = {"threads": float(threads), "train_images": float(train_images)}
        inputs |= {"test_images": float(test_images), "epochs": float(epochs or case["epochs"])}
        inputs |= {"core_count": float(cores), "clock_hz": clock}
        print(cases_text(formula, [{"network": cnn, **inputs}]))
        outside = formula.out_of_range({name: [value] for name, value in inputs.items()})
        for name in (name for name, rows in outside.items() if rows.any()):
            print(f"warning: {name} lies outside the table of the paper")
    print_fitted(f"\n{formula.provenance['method']}\n{formula.provenance['caution']}")
