"""`trainlaw plan`: which GPUs, how many, which batch and precision for a whole training."""

from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainlaw.app.commands.options import (
    AnyCnn,
    Classes,
    FormulaFile,
    GpuFile,
    Gpus,
    GpusPerNode,
    KernelOptions,
    LinkOptions,
    OutputOptions,
    Pixels,
    ScalingFormula,
    check_new_files,
    note_left_out,
    refuse,
    setup_of,
    write_or_print,
)
from trainlaw.app.inputs.declared import flag, option

if TYPE_CHECKING:
    from trainlaw.app.predictions.training import Training


@dataclass(frozen=True)
class LimitOptions:
    """The limits of a plan, and what they are measured by."""

    within: str | None = option("Maximum time of the training: 24h, 2 days, 90min.")
    budget: float | None = option("Maximum cost, in the currency of the prices.", min=0)
    surely: bool = flag("Apply the limits to the upper end of the 90 % interval.", "--surely")
    least_gain: float = option(
        "Least share of the hours that a doubling of the GPUs must save to pay.", default=0.2, min=0, max=0.5
    )
    power_share: float | None = option(
        "Share of the power limit that a GPU draws; default: by a law of measured power.", min=0.01, max=1
    )

    def given(self) -> dict[str, Any]:
        """Return them as `PlanOptions` has them."""
        from trainlaw.app.inputs.selection import parse_hours

        return {
            "within_h": parse_hours(self.within, "--within") if self.within else inf,
            "budget": inf if self.budget is None else self.budget,
            "surely": self.surely,
            "least_gain": self.least_gain,
            "power_share": self.power_share,
        }


@dataclass(frozen=True)
class ChoiceOptions:
    """What a plan chooses from, besides GPUs."""

    gpus: str = option("Numbers of GPUs; default: 1,2,4,8.", default="")
    batch: str = option("Batches per GPU, such as 64,128; default: 32,64,128,256 where they fit.", default="")
    precision: str = option(
        "Precisions, such as fp32,amp; default: PyTorch's, and amp where it is faster.", default=""
    )

    def given(self, training: "Training") -> dict[str, Any]:
        """Return them as `PlanOptions` has them."""
        from trainlaw.app.inputs.selection import parse_names, whole_numbers
        from trainlaw.app.predictions.training_plans import usual_counts
        from trainlaw.datasets.hardware.precisions import precision_name

        return {
            "counts": whole_numbers(self.gpus, "--gpus") or usual_counts(training),
            "batches": whole_numbers(self.batch, "--batch"),
            "precisions": tuple(map(precision_name, parse_names(self.precision))),
        }


def plan_command(
    *,
    cnn: AnyCnn = None,
    images: int | None = option(
        "Images per epoch; default: 1281167, with --forward 1000000.", limit="images"
    ),
    epochs: float | None = option("Number of epochs; default: 90.", limit="epochs"),
    forward: bool = flag(
        "Plan inference on one GPU instead: images/s, and hours, cost and energy of the images.", "--forward"
    ),
    limits: LimitOptions,
    prices: Path | None = option(
        "CSV of prices per GPU (or instance) and hour; `example`: those of clouds; `template`: "
        "print a file to fill in."
    ),
    gpu: Gpus = None,
    choices: ChoiceOptions,
    vendor: str = option("Only GPUs of this vendor, such as NVIDIA.", default=""),
    min_memory: str = option("Minimum memory of a GPU, such as 16GB.", default=""),
    max_memory: str = option("Maximum memory of a GPU, such as 16GB.", default=""),
    max_power: float | None = option("Maximum power limit of a GPU, W.", min=1),
    by: str = option(
        "Rank by cost, spot (cost at spot prices), hours or energy; default: cost, or hours without prices.",
        default="",
    ),
    pixels: Pixels = None,
    classes: Classes = None,
    kernels: KernelOptions,
    links: LinkOptions,
    gpus_per_node: GpusPerNode = None,
    scaling_formula: ScalingFormula = None,
    formula: FormulaFile = None,
    gpu_file: GpuFile = None,
    top: int = option("Number of plans in the table.", default=5, min=1),
    plot: Path | None = option("SVG file to write: hours against cost."),
    output: OutputOptions,
) -> None:
    """Rank GPU, number of GPUs, batch and precision for a training or inference by cost, hours or energy.

    Every plan fits into memory. The batch is per GPU, so the global batch grows with the number of GPUs;
    whether the training then needs the same epochs is not modelled. The 90 % interval is the one for a single
    GPU. The table shows the best batch and precision per GPU and number of GPUs; CSV and JSON contain all
    plans.
    """
    from trainlaw.app.inputs.prices import TEMPLATE, read_prices, template
    from trainlaw.app.inputs.resolve import known_gpus, named_cnn
    from trainlaw.app.inputs.selection import rented_instances, selection_of
    from trainlaw.app.models.user_formula import find_formulas
    from trainlaw.app.predictions.training import asked_training
    from trainlaw.app.predictions.training_plans import PlanOptions, plan_training
    from trainlaw.app.terminal.plan_text import plans_csv, plans_json, plans_svg, plans_text
    from trainlaw.app.terminal.predictions import formula_line

    check_new_files([output.out, plot])
    if str(prices) == TEMPLATE:
        return write_or_print(output, (template, template, template))
    if cnn is None:
        refuse("expected --cnn, a name or a file, got none")
    catalog, training = known_gpus(gpu_file), asked_training(images, epochs, forward)
    setup, rented = setup_of(kernels, links), rented_instances(gpu or ())
    given = {**choices.given(training), **limits.given()}
    options = PlanOptions(gpus_per_node=gpus_per_node, setup=setup, rented=rented, **given)
    choice = find_formulas(formula, scaling_formula or "", Path.cwd(), forward)
    choice.check_counts(max(options.counts))
    chosen = selection_of(gpu or (), vendor, min_memory, max_memory, max_power).of(catalog)
    plans = plan_training(
        choice.formula,
        choice.scaling,
        named_cnn(cnn, pixels, classes),
        training,
        gpus=chosen,
        catalog=catalog,
        options=options,
        prices=read_prices(prices, catalog) if prices else None,
        ranked_by=by,
    )
    if choices.precision:
        planned = {*plans.considered["gpu"]}
        absent = [one.gpu for one in chosen if one.device == "GPU" and one.gpu not in planned]
        note_left_out({name: f"{name} lacks the precision or the memory" for name in absent})
    said = formula_line(*choice.said(max(options.counts)))
    table = partial(plans_text, said, plans, top, output.every_warning)
    forms = (table, lambda: plans_csv(plans), lambda: plans_json(said, plans))
    write_or_print(output, forms, plot, lambda: plans_svg(plans))
