"""`trainlaw scaling`: speed-up and efficiency from one GPU to many, and where the time goes."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import Fabric, FormulaFile, Law, Link, Out, Pixels
from trainlaw.app.commands.own_files import GpuFile


class Form(StrEnum):
    """How the scaling is printed or written."""

    table = "table"
    csv = "csv"
    json = "json"


def scaling_command(
    cnn: Annotated[str, typer.Option(help="Name of the CNN (`trainlaw cnn list`), or a file.")] = ...,
    gpu: Annotated[str, typer.Option(help="Name of the GPU (`trainlaw gpus list`).")] = ...,
    batch: Annotated[int, typer.Option(help="Images per iteration on each GPU.", min=1)] = ...,
    pixels: Pixels = None,
    precision: Annotated[str, typer.Option(help="fp32, tf32, amp, fp16, ...")] = "fp32",
    link: Link = None,
    fabric: Fabric = None,
    algorithm: Annotated[
        str, typer.Option(help="ring, tree, butterfly, parameter_server, hierarchical_ring, ...")
    ] = "ring",
    gpus_per_node: Annotated[int, typer.Option(help="GPUs of one node.", min=1)] = 8,
    most: Annotated[int, typer.Option("--max-gpus", help="Largest number of GPUs.", min=1)] = 256,
    law: Law = None,
    hidden: Annotated[
        float,
        typer.Option(help="Share of the textbook exchange behind the backward pass.", min=0, max=1),
    ] = 0.0,
    gpu_file: GpuFile = None,
    formula: FormulaFile = None,
    form: Annotated[Form, typer.Option("--format", help="How to print it.")] = Form.table,
    plot: Annotated[Path | None, typer.Option(help="SVG file to write: speed-up and shares.")] = None,
    out: Out = None,
) -> None:
    """Scale a configuration from 1 to many GPUs, each with its own batch; perfect scaling stands beside.

    The times are those of `trainlaw predict`: one GPU's time by the formula, several by a law that was
    evolved on measured runs, or by the textbook's exchange of gradients. Numbers of GPUs are all within a
    node, then whole nodes; the table shows powers of two, CSV and JSON show all.

    \b
    Examples:
      trainlaw scaling --cnn resnet50 --gpu V100-SXM2-16GB --batch 64 --link nvlink2
      trainlaw scaling --cnn vgg16 --gpu A100-SXM4-40GB --batch 32 --fabric ib-hdr --algorithm tree
      trainlaw scaling --cnn vgg16 --gpu T4 --batch 32 --law textbook --hidden 0.5
      trainlaw scaling --cnn resnet50 --gpu T4 --batch 32 --plot scaling.svg --out scaling.csv --format csv
    """
    from trainlaw.app.inputs.resolve import known_gpus, named_cnn
    from trainlaw.app.models.multi_gpu import speaks_for
    from trainlaw.app.predictions.predict import TEXTBOOK, find_laws
    from trainlaw.app.predictions.scaling import scaling_curve
    from trainlaw.app.terminal.scaling import scaling_csv, scaling_json, scaling_svg, scaling_text
    from trainlaw.datasets.hardware.hypothetical import wanted_gpu
    from trainlaw.formulas import InputError
    from trainlaw.formulas.files import write_text_atomically

    for path in filter(None, (out, plot)):
        if path.exists():
            raise InputError(f"{path} exists; choose another name")
    laws = find_laws(formula, law or (TEXTBOOK if hidden else ""), Path.cwd())
    gpus = known_gpus(gpu_file)
    facts, card = named_cnn(cnn, pixels), wanted_gpu(gpu, gpus)
    points = scaling_curve(
        laws.formula, facts, card, batch, most=most, gpus_per_node=gpus_per_node, hidden_share=hidden,
        law=laws.several, gpus=gpus, precision=precision, link=link, network=fabric, algorithm=algorithm,
    )  # fmt: skip
    ways = " and ".join(way for way in (points[-1].link, points[-1].network) if way != "none") or "one GPU"
    title = f"{facts.cnn}, batch {batch} per GPU, {card.gpu}, {gpus_per_node} a node, {algorithm} over {ways}"
    writers = {Form.csv: scaling_csv, Form.json: scaling_json}
    spoken = laws.several_origin if speaks_for(laws.several, algorithm) else ""
    printed = scaling_text(title, points, laws.formula, laws.origin, spoken)
    text = writers[form](points).rstrip("\n") if form in writers else printed
    for path, content in ((out, text + "\n"), (plot, scaling_svg(title, points))):
        if path is not None:
            write_text_atomically(path, content)
            print(f"{path} written")
    if out is None:
        print(text)
