"""`trainlaw suggest`: what to measure next."""

from pathlib import Path

from trainlaw.app.commands.options import CnnFiles, GpuFile, Trust
from trainlaw.app.inputs.declared import option


def suggest_command(
    number: int = option("Number of configurations to choose.", "-k", default=5, min=1, max=1000),
    pool: Path | None = option(
        "CSV of configurations to choose from: cnn, batch_per_gpu, gpu, optionally input_size_px."
    ),
    gpu: list[str] | None = option("GPU to measure on, if --pool has no column gpu: T4,V100 or repeated."),
    cnns: str = option(
        "Without --pool: CNNs, separated by commas; default: all built-in ones.", "--cnn", default=""
    ),
    batch: str = option("Without --pool: images per iteration, separated by commas.", default="8,32,128"),
    input_px: str = option(
        "Without --pool: sides of an image in pixels; default: that of each CNN.", "--pixels", default=""
    ),
    precision: str = option("Without --pool: fp32, tf32, amp, bf16.", default="fp32"),
    front: Path | None = option(
        "Run folder or formula.json; default: that of `trainlaw use`, or the built-in one."
    ),
    runs: str | None = option("Runs measured so far: a table or a CSV file; default: the runs of the study."),
    gpu_file: GpuFile = None,
    cnn_file: CnnFiles = None,
    trust: Trust = False,
    repeats: int = option(
        "Iterations of one measurement, to estimate its cost.", default=30, min=1, max=10**6
    ),
    seed: int = option("Random seed; the same seed gives the same set.", default=0, min=0),
    out: Path | None = option("CSV to write for `trainlaw profile --plan`; never replaces a file."),
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
