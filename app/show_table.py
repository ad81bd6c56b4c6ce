"""What a built-in table of runs holds, as text."""

from trainlaw.app.plain_tables import text_table, wrapped_list
from trainlaw.app.quantities import show_seconds
from trainlaw.datasets import DATASETS, load


def table_text(name: str) -> str:
    """Return coverage, sources, GPUs, CNNs and warnings of the registered table `name`.

    Raises UnknownNameError for an unknown name.
    """
    table = load(name)
    dataset, labels = DATASETS[name], table.labels()
    shortest, longest = (show_seconds(float(value)) for value in (table.seconds.min(), table.seconds.max()))
    parts = [
        f"{name}: {dataset.title}",
        f"  {dataset.coverage}",
        f"  {len(table):,} runs, {shortest} to {longest}",
        f"  sha256 {table.sha256}",
        f"  licence: {dataset.licence}",
        f"  noise: {dataset.noise_floor}",
    ]
    parts += [f"  beware: {anomaly}" for anomaly in dataset.anomalies]
    counts = labels["source"].value_counts()
    parts += ["", text_table(["source", "runs"], [[source, count] for source, count in counts.items()])]
    for title, column in (("GPUs", "gpu"), ("CNNs", "cnn")):
        names = sorted(labels[column].unique())
        parts += ["", f"{len(names)} {title}:", wrapped_list(names)]
    return "\n".join(parts)
