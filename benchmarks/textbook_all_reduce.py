"""Error of the textbook all-reduce of `trainlaw scaling`, given the measured time on one GPU.

python -m benchmarks.textbook_all_reduce
"""

import numpy as np
from trainlaw.datasets import load

_SINGLE = "single_gpu_time_s"


def main() -> None:
    """Print the mean errors of perfect scaling and of the textbook all-reduce; nothing is fitted."""
    runs = load("atlas-multi")
    single = runs.frame[_SINGLE].to_numpy(dtype=float)
    communication = runs.matrix(["communication_s"])[:, 0]
    algorithms = runs.frame["algorithm"].to_numpy(dtype=str)
    groups = runs.labels()["gpu_group"].to_numpy(dtype=str)
    known = np.isfinite(single)
    errors = [100 * np.abs(time / runs.seconds - 1) for time in (single, single + communication)]
    print("| runs | number | perfect scaling, % | textbook all-reduce, % |\n|---|---|---|---|")
    for name in ("all", *sorted(set(algorithms[known]))):
        rows = known & ((algorithms == name) | (name == "all"))
        print(
            f"| {name} | {rows.sum()} | " + " | ".join(f"{error[rows].mean():.1f}" for error in errors) + " |"
        )
    macros = [
        np.mean([error[known & (groups == group)].mean() for group in sorted(set(groups[known]))])
        for error in errors
    ]
    print(
        f"| mean over GPU groups | {known.sum()} | " + " | ".join(f"{macro:.1f}" for macro in macros) + " |"
    )


if __name__ == "__main__":
    main()
