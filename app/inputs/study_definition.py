"""The definition of a study: the entries of study.toml, each an option of `trainlaw study` and of Python."""

from dataclasses import dataclass

from trainlaw.app.inputs.declared import CNN_FILE_HELP, GPU_FILE_HELP, argument, flag, option

BASELINES = ("null_compute", "roofline", "nnls_path", "cf9", "constant")
# Splits that hold out architectures, or families of them; all others hold out GPU groups.
_SPLITS_OF_CNNS = ("cnn-folds", "cnn", "cnn-family")


@dataclass(frozen=True)
class StudyDefinition:
    """Everything that the result of a study depends on, apart from the table's rows.

    A default may differ with the kind of study. held_out, rates, gpu_file, cnn_file : paths, "" or () for
    none.
    """

    table: str = argument(
        "A built-in table (`trainlaw data list`) or a file of runs; default: default.", default="default"
    )
    of: str = option(
        "What to model: runs (default), the law and formulas of few constants; "
        "free-runs, without a law; forward, passes of inference; layers, summed over each CNN; "
        "multi (several GPUs, from the time on one); multi-end-to-end (several GPUs, from specifications "
        "alone); layer-times (layers measured one by one); anchor (one GPU from a profile on another).",
        default="runs",
    )
    seed: int = option(
        "Random seed; the same seed, data and version give the same formula.", default=0, min=0, max=2**32 - 1
    )
    split: str = option(
        "What is held out: gpu-folds (default), cnn-folds, both-folds, gpu (leave-one-gpu-out), gpu-5-fold, "
        "cnn, cnn-family, both, source, harness, generation, threads, newest, or list with --held-out.",
        default="gpu-folds",
    )
    folds: int = option(
        "Number of folds into which the groups are divided; each is held out once.",
        default=5,
        min=2,
        max=1000,
    )
    held_out: str = option(
        "TOML file that lists what is held out; see docs/studies.md.", default="", file="path"
    )
    # About 20 seconds on one core for the built-in table.
    evaluations: int = option(
        "Formulas that each search tries.",
        default=50_000,
        min=100,
        max=10**9,
    )
    max_constants: int = option("Most constants of an evolved formula.", default=24, min=4, max=60)
    against: tuple[str, ...] = option(
        "Baselines on the same splits: all, or names separated by commas.", default=BASELINES
    )
    by: tuple[str, ...] = option(
        "Errors from platform to platform, by harness, framework, precision, vendor, generation, "
        "source or device; several separated by commas.",
        default=(),
    )
    search_by_platform: bool = flag(
        "With --by: also rerun the search on each platform.", "--search-by-platform"
    )
    seeds: int = option(
        "Searches with different seeds in each fold; errors are their means, with their spread.",
        default=1,
        min=1,
        max=20,
    )
    rates: str = option(
        "CSV or JSON file of achieved rates of GPUs, for calibration level 1.", default="", file="path"
    )
    gpu_file: str = option(GPU_FILE_HELP, default="", file="file")
    cnn_file: tuple[str, ...] = option(CNN_FILE_HELP, "--cnn-file", default=(), file="file")

    @property
    def unit(self) -> str:
        """The label column of the groups that the split holds out whole, for intervals."""
        return "cnn_base" if self.split in _SPLITS_OF_CNNS else "gpu_group"

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the user's files but for the table."""
        return tuple(filter(None, (self.held_out, self.rates, self.gpu_file, *self.cnn_file)))
