"""The options of `trainlaw suggest`, which the command offers and its job reads."""

from dataclasses import dataclass
from pathlib import Path

from trainlaw.app.inputs.declared import CNN_FILE_HELP, GPU_FILE_HELP, TRUST_HELP, flag, option


@dataclass(frozen=True)
class SuggestOptions:
    """What to choose from, by which formula, and how many; lists are texts with commas."""

    number: int = option("Number of configurations to choose.", "-k", default=5, min=1, max=1000)
    pool: Path | None = option(
        "CSV of configurations to choose from: cnn, batch_per_gpu, gpu, optionally input_size_px."
    )
    gpu: list[str] | None = option("GPU to measure on, if --pool has no column gpu: T4,V100 or repeated.")
    cnns: str = option(
        "Without --pool: CNNs, separated by commas; default: all built-in ones.", "--cnn", default=""
    )
    batch: str = option("Without --pool: images per iteration, separated by commas.", default="8,32,128")
    input_px: str = option(
        "Without --pool: sides of an image in pixels; default: that of each CNN.", "--pixels", default=""
    )
    precision: str = option("Without --pool: fp32, tf32, amp, bf16.", default="fp32")
    front: Path | None = option(
        "Run folder or formula.json; default: that of `trainlaw use`, or the built-in one."
    )
    runs: str | None = option("Runs measured so far: a table or a CSV file; default: the runs of the study.")
    gpu_file: Path | None = option(GPU_FILE_HELP, file="file")
    cnn_file: list[Path] | None = option(CNN_FILE_HELP, "--cnn-file", file="file")
    trust: bool = flag(TRUST_HELP, "--trust")
    repeats: int = option(
        "Iterations of one measurement, to estimate its cost.", default=30, min=1, max=10**6
    )
    seed: int = option("Random seed; the same seed gives the same set.", default=0, min=0)
