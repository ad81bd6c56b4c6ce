"""What a CNN is made of, as shares: what models of its architecture, rather than of its size, learn from."""

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from trainlaw.datasets import RunTable
from trainlaw.datasets.cnns.catalog import COUNT_COLUMNS

_MACS = (
    "conv_macs", "grouped_conv_macs", "depthwise_macs", "dense_macs", "conv1x1_macs", "conv3x3_macs",
    "conv5x5_macs",
)  # fmt: skip
_ELEMENTS = tuple(name for name in COUNT_COLUMNS if name.endswith("_elements") and "max_" not in name)
_LAYERS = tuple(
    name for name in COUNT_COLUMNS if name.startswith("n_") and name not in {"n_layers", "n_edges"}
)


def shares(table: RunTable) -> pd.DataFrame:
    """Return shares of MACs, elements and layers by kind, and logarithms of sizes; a row per run."""
    wholes = {"macs": _MACS, "activation_elements": _ELEMENTS, "n_layers": _LAYERS}
    known = table.features([*wholes, *(name for parts in wholes.values() for name in parts), "params"])
    known = known.loc[:, ~known.columns.duplicated()]
    found = {part: known[part] / known[whole] for whole, parts in wholes.items() for part in parts}
    layers, macs, elements = known["n_layers"], known["macs"], known["activation_elements"]
    sizes = {"macs_per_element": macs / elements, "layers": layers, "macs_per_layer": macs / layers,
             "elements_per_layer": elements / layers, "params_per_mac": known["params"] / macs}  # fmt: skip
    return pd.DataFrame(found | {name: np.log(size) for name, size in sizes.items()})


def forest() -> RandomForestRegressor:
    """Return the model of shares."""
    return RandomForestRegressor(150, min_samples_leaf=3, max_features=0.4, n_jobs=1, random_state=0)
