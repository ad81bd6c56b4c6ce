"""`trainlaw suggest`: what to measure next."""

from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import CnnFiles, GpuFile, Trust


def suggest_command(
    number: Annotated[
        int, typer.Option("-k", help="Number of configurations to choose.", min=1, max=1000)
    ] = 5,
    pool: Annotated[
        Path | None,
        typer.Option(
            help="CSV of configurations to choose from: cnn, batch_per_gpu, gpu, optionally input_size_px."
        ),
    ] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option(help="GPU to measure on, if --pool has no column gpu; may be repeated."),
    ] = None,
    cnns: Annotated[
        str,
        typer.Option("--cnn", help="Without --pool: CNNs, separated by commas; default: all built-in ones."),
    ] = "",
    batch: Annotated[
        str, typer.Option(help="Without --pool: images per iteration, separated by commas.")
    ] = "8,32,128",
    input_px: Annotated[
        str,
        typer.Option(
            "--pixels", help="Without --pool: sides of an image in pixels; default: that of each CNN."
        ),
    ] = "",
    precision: Annotated[str, typer.Option(help="Without --pool: fp32, tf32, amp, bf16.")] = "fp32",
    front: Annotated[
        Path | None,
        typer.Option(
            help="Run folder or formula.json; default: that of `trainlaw use`, or the built-in one."
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option(help="Runs measured so far: a table or a CSV file; default: the runs of the study."),
    ] = None,
    gpu_file: GpuFile = None,
    cnn_file: CnnFiles = None,
    trust: Trust = False,
    repeats: Annotated[
        int, typer.Option(help="Iterations of one measurement, to estimate its cost.", min=1, max=10**6)
    ] = 30,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same set.", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="CSV to write for `trainlaw profile --plan`; never replaces a file.")
    ] = None,
) -> None:
    """Choose what to measure next to reduce the uncertainty of the formula's predictions.

    The command evolves a set of configurations that represents the pool, reduces the variance of the
    predicted times and is cheap to measure. The table states the reason for each configuration, and
    `trainlaw profile` reads the plan.

    \b
    Examples:
      trainlaw suggest --pool configs.csv -k 5 --front trainlaw-run --out plan.csv
      trainlaw suggest --gpu T4 --batch 16,64 -k 10
      trainlaw suggest --gpu "AMD EPYC, 2 threads" --gpu-file runs-machine.csv --runs runs.csv --out plan.csv
      trainlaw profile --plan plan.csv --out runs.csv
    """
    from trainlaw.app.suggest.jobs import SuggestOptions, run_suggest
    from trainlaw.app.terminal.progress import shown_steps
    from trainlaw.formulas import InputError
    from trainlaw.formulas.files.text_files import write_text_atomically

    if out is not None and out.exists():
        raise InputError(f"{out} exists; choose another name for --out")
    options = SuggestOptions(
        number=number, pool=pool, gpus=tuple(gpu or ()), cnns=cnns, batch=batch, input_px=input_px,
        precision=precision, front=front, runs=runs, gpu_file=gpu_file, cnn_files=tuple(cnn_file or ()),
        repeats=repeats, seed=seed, trust=trust,
    )  # fmt: skip
    with shown_steps() as on_step:
        text, csv = run_suggest(options, on_step)
    print(text)
    if out is not None:
        write_text_atomically(out, csv)
        print(f"\n{out} written; next: trainlaw profile --plan {out}")
