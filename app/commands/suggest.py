"""`trainlaw suggest`: what to measure next, and a replay of the strategy on existing measurements."""

from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import Cluster, CnnFiles, GpuFile, Trust


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
    simulate: Annotated[
        bool,
        typer.Option("--simulate", help="Replay on built-in runs: compare suggested with random choice."),
    ] = False,
    source: Annotated[str, typer.Option(help="With --simulate: source whose runs are the pool.")] = "profet",
    held_out: Annotated[
        str, typer.Option(help="With --simulate: what is held out, configuration or cnn.")
    ] = "configuration",
    start: Annotated[
        int, typer.Option(help="With --simulate: number of runs measured at the start.", min=2, max=1000)
    ] = 10,
    seeds: Annotated[int, typer.Option(help="With --simulate: number of repetitions.", min=2, max=1000)] = 20,
    cluster: Cluster = "",
) -> None:
    """Choose what to measure next to reduce the uncertainty of the formula's predictions.

    The command evolves a set of configurations that represents the pool, reduces the variance of the
    predicted times and is cheap to measure. The table states the reason for each configuration, and
    `trainlaw profile` reads the plan. --simulate replays the choice on built-in runs and measures the error
    on held-out runs.

    \b
    Examples:
      trainlaw suggest --pool configs.csv -k 5 --front trainlaw-run --out plan.csv
      trainlaw suggest --gpu T4 --batch 16,64 -k 10
      trainlaw suggest --gpu "AMD EPYC, 2 threads" --gpu-file runs-machine.csv --runs runs.csv --out plan.csv
      trainlaw profile --plan plan.csv --out runs.csv
      trainlaw suggest --simulate
      trainlaw suggest --simulate --seeds 200 --cluster tcp://node1:8786
    """
    from trainlaw.app.suggest.jobs import SuggestOptions, run_replay, run_suggest
    from trainlaw.app.suggest.replay import ReplaySettings
    from trainlaw.app.terminal.progress import shown_steps
    from trainlaw.formulas import InputError
    from trainlaw.formulas.files.text_files import write_text_atomically

    if out is not None and out.exists():
        raise InputError(f"{out} exists; choose another name for --out")
    if cluster and not simulate:
        raise InputError("--cluster goes with --simulate: a suggestion alone takes seconds")
    if simulate:
        if pool or gpu or front or runs or cnns:
            raise InputError("--simulate uses built-in runs: omit --pool, --gpu, --cnn, --front, --runs")
        with shown_steps() as on_step:
            replay = ReplaySettings(seeds=seeds, held_out=held_out, start=start)
            text, csv = run_replay(source, replay, on_step, cluster)
    else:
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
        print(f"\n{out} written" + ("" if simulate else f"; next: trainlaw profile --plan {out}"))
