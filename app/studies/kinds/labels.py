"""What groups of runs in a study are made by: the labels of a table of runs, and some more."""

import pandas as pd
from trainlaw.datasets import RunTable


def study_labels(table: RunTable) -> pd.DataFrame:
    """Return the labels of the runs, text, with `vendor`, `device`, `threads`, `gpu_year` and `batch`.

    device : GPU or CPU. threads : of a CPU, as many as cores in use ("threads 2"); "none" for a GPU.
    """
    labels = table.labels()
    cards = [table.facts.gpus.find(str(name)) for name in labels["gpu"]]
    labels["vendor"] = [str(card.vendor) for card in cards]
    labels["gpu_year"] = [str(card.year) for card in cards]
    labels["device"] = [card.device for card in cards]
    labels["threads"] = [f"threads {card.sm_count:g}" if card.device == "CPU" else "none" for card in cards]
    labels["batch"] = [f"{batch:g}" for batch in table.frame["batch_per_gpu"]]
    return labels
