"""The law of mean power and its errors on held-out GPUs: `python -m benchmarks.power FOLDER/energy.csv.gz`.

The file has measurements of Zeus (github.com/ml-energy/zeus, Apache-2.0) and of milabench
(github.com/mila-iqia/milabench, MIT): watts and seconds of an iteration under several power limits. Each GPU
is held out in turn; errors are of runs on images of usual size. Runs on 32 px wait for the host, and only
train.
"""

import sys

import numpy as np
import pandas as pd
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.predictions.power import busy_share, mean_power_w
from trainlaw.datasets import RunTable
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.hardware.gpus import find_gpu
from trainlaw.datasets.measurements.runs import with_defaults
from trainlaw.formulas import load_formula

# The constants a, b, k, e and c where a fit begins.
START = (0.3, 0.6, 6.0, 1.0, 1.0)
# Standard deviations of the constants around `START`; a GPU counts as one.
_SPREAD = np.array([0.2, 0.3, 4.0, 0.5, 0.1])


def measured(path: str) -> pd.DataFrame:
    """Return the measurements with time by the formula, busy share and data-sheet limit of each."""
    rows = pd.read_csv(path)
    rows = rows[rows["kind"] == "cnn"].reset_index(drop=True)
    rows["cnn"] = [cnn_name(name.removesuffix("(cifar)")) for name in rows["cnn"]]
    columns = ["gpu", "cnn", "input_size_px", "precision", "layout", "time_s"]
    runs = RunTable(
        "energy",
        with_defaults(
            rows[columns].assign(
                n_classes=np.where(rows["input_size_px"] == 32, 100, 1000),
                batch_per_gpu=rows["batch"],
                n_gpus=1,
                n_nodes=1,
                precision_stated=rows["precision"],
                framework="pytorch",
                timed_parts="forward+backward+optimizer",
            )
        ),
    )
    law = load_formula(BUILT_IN)
    rows["formula_s"] = formula_rows(law, runs).predict(law)
    rows["busy"] = busy_share(law, runs, rows["formula_s"].to_numpy())
    rows["tdp_w"] = [find_gpu(name).tdp_w for name in rows["gpu"]]
    return rows


def fitted(rows: pd.DataFrame) -> np.ndarray:
    """Return the constants of the law that fit measurements, by Gauss-Newton steps from `START`."""
    sizes = rows.groupby("gpu")["power_w"].transform("size").to_numpy()
    constants = np.array(START)

    def residuals(values: np.ndarray) -> np.ndarray:
        power = mean_power_w(rows["tdp_w"], rows["busy"], rows["gpu_power_limit_w"], values)
        return np.r_[np.log(power / rows["power_w"]) / np.sqrt(sizes), 0.05 * (values - START) / _SPREAD]

    for _ in range(60):
        now = residuals(constants)
        slopes = np.column_stack([(residuals(constants + 1e-5 * axis) - now) / 1e-5 for axis in np.eye(5)])
        step = np.linalg.solve(slopes.T @ slopes + 1e-6 * np.eye(5), -slopes.T @ now)
        constants = np.maximum(constants + 0.5 * step, (0.0, 0.0, 1.0, 0.1, 0.8))
    return constants


def main(path: str) -> None:
    """Print the errors of power and energy per image on each held-out GPU, and the constants of all."""
    rows = measured(path)
    usual = rows["input_size_px"] > 32
    errors = []
    for gpu in sorted(set(rows["gpu"])):
        rest, test = rows[rows["gpu"] != gpu], rows[(rows["gpu"] == gpu) & usual]
        power = mean_power_w(test["tdp_w"], test["busy"], test["gpu_power_limit_w"], fitted(rest))
        full = test["gpu_power_limit_w"] >= 0.95 * test["tdp_w"]
        joule = power * test["formula_s"] / (test["power_w"] * test["time_s"])
        error = 100 * np.array([np.abs(power / test["power_w"] - 1).mean(), np.abs(joule[full] - 1).mean()])
        errors.append(error)
        print(f"{gpu:18s} power {error[0]:5.1f} %, J per image {error[1]:5.1f} %, {len(test)} runs")
    print("mean of GPUs       power {:5.1f} %, J per image {:5.1f} %".format(*np.mean(errors, axis=0)))
    print("constants", fitted(rows).round(3).tolist())


if __name__ == "__main__":
    main(sys.argv[1])
