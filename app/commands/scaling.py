"""`trainlaw scaling`: speed-up and efficiency from one GPU to many, and where the time goes."""

from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import (
    Fabric,
    Format,
    FormulaFile,
    GpuFile,
    Link,
    Out,
    OutputFormat,
    Pixels,
    ScalingFormula,
    check_new_files,
)


def scaling_command(
    cnn: Annotated[str, typer.Option(help="Name of the CNN (`trainlaw cnn list`), or a file.")],
    gpu: Annotated[str, typer.Option(help="Name of the GPU (`trainlaw gpus list`).")],
    batch: Annotated[int, typer.Option(help="Images per iteration on each GPU.", min=1)],
    pixels: Pixels = None,
    precision: Annotated[str, typer.Option(help="fp32, tf32, amp, fp16, ...")] = "fp32",
    link: Link = None,
    fabric: Fabric = None,
    algorithm: Annotated[
        str, typer.Option(help="ring, tree, butterfly, parameter_server, hierarchical_ring, ...")
    ] = "ring",
    gpus_per_node: Annotated[int, typer.Option(help="GPUs of one node.", min=1)] = 8,
    most: Annotated[int, typer.Option("--max-gpus", help="Largest number of GPUs.", min=1)] = 256,
    scaling_formula: ScalingFormula = None,
    hidden: Annotated[
        float,
        typer.Option(
            help="Share of the textbook all-reduce that overlaps with the backward pass.", min=0, max=1
        ),
    ] = 0.0,
    gpu_file: GpuFile = None,
    formula: FormulaFile = None,
    form: Format = OutputFormat.table,
    plot: Annotated[Path | None, typer.Option(help="SVG file to write: speed-up and shares.")] = None,
    out: Out = None,
) -> None:
    """Scale a configuration from 1 to many GPUs, each with its own batch, and compare with perfect scaling.

    The times are those of `trainlaw predict`: on one GPU by the formula, on several by the scaling formula,
    or by the textbook all-reduce. The numbers of GPUs are all those within a node, then whole nodes; the
    table shows powers of two, CSV and JSON show all.

    \b
    Examples:
      trainlaw scaling --cnn resnet50 --gpu V100-SXM2-16GB --batch 64 --link nvlink2
      trainlaw scaling --cnn vgg16 --gpu A100-SXM4-40GB --batch 32 --fabric ib-hdr --algorithm tree
      trainlaw scaling --cnn vgg16 --gpu T4 --batch 32 --scaling-formula textbook --hidden 0.5
      trainlaw scaling --cnn resnet50 --gpu T4 --batch 32 --plot scaling.svg --out scaling.csv --format csv
    """
    from trainlaw.app.inputs.requests import Setup
    from trainlaw.app.inputs.resolve import known_gpus, named_cnn
    from trainlaw.app.models.multi_gpu import covers_algorithm
    from trainlaw.app.models.user_formula import TEXTBOOK, find_formulas
    from trainlaw.app.predictions.scaling import scaling_curve
    from trainlaw.app.terminal.scaling import scaling_csv, scaling_json, scaling_svg, scaling_text
    from trainlaw.datasets.hardware.hypothetical import wanted_gpu
    from trainlaw.formulas.files import write_text_atomically

    check_new_files([out, plot])
    choice = find_formulas(formula, scaling_formula or (TEXTBOOK if hidden else ""), Path.cwd())
    gpus = known_gpus(gpu_file)
    counts, target = named_cnn(cnn, pixels), wanted_gpu(gpu, gpus)
    points = scaling_curve(
        choice.formula, counts, target, batch, most=most, gpus_per_node=gpus_per_node, hidden_share=hidden,
        scaling=choice.scaling, setup=Setup(precision, link=link, fabric=fabric, algorithm=algorithm),
        gpus=gpus,
    )  # fmt: skip
    ways = " and ".join(way for way in (points[-1].link, points[-1].network) if way != "none") or "one GPU"
    title = (
        f"{counts.cnn}, batch {batch} per GPU, {target.gpu}, {gpus_per_node} per node, "
        f"{algorithm} over {ways}"
    )
    covering = choice.scaling_origin if covers_algorithm(choice.scaling, algorithm) else ""
    text = {
        OutputFormat.table: lambda: scaling_text(title, points, choice.formula, choice.origin, covering),
        OutputFormat.csv: lambda: scaling_csv(points),
        OutputFormat.json: lambda: scaling_json(points),
    }[form]().rstrip("\n")
    for path, content in ((out, text + "\n"), (plot, scaling_svg(title, points))):
        if path is not None:
            write_text_atomically(path, content)
            print(f"{path} written")
    if out is None:
        print(text)
