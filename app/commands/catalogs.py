"""`trainlaw gpus`, `trainlaw cnn` and `trainlaw features`: known GPUs, links, CNNs and features."""

from pathlib import Path

from trainlaw.app.commands.options import GpuFile, Json, RestoreBatchnorm
from trainlaw.app.commands.parsing import CommandGroup
from trainlaw.app.inputs.declared import argument, flag, option

gpus_app = CommandGroup("Show the known GPUs and links, and their specifications.")


@gpus_app.takes("list")
def list_gpus(
    search: str = argument("Show only GPUs whose name, chip or generation contains this text.", default=""),
    gpu_file: GpuFile = None,
    as_json: Json = False,
) -> None:
    """List the GPUs: name, chip, generation, memory, peak rate, bandwidth."""
    from trainlaw.app.inputs.resolve import known_gpus
    from trainlaw.app.inputs.selection import contains
    from trainlaw.app.terminal.as_json import gpus_json
    from trainlaw.app.terminal.catalog import gpus_text

    found = [
        gpu
        for gpu in known_gpus(gpu_file).gpus
        if contains(search, (gpu.gpu, gpu.chip, gpu.generation, *gpu.aliases))
    ]
    print(gpus_json(found) if as_json else gpus_text(found) if found else f"no GPU matches {search!r}")


@gpus_app.takes("show")
def show_gpu(
    name: str = argument(
        "Name of the GPU, as torch, nvidia-smi or its data sheet print it; or a hypothetical GPU.",
        default=...,
    ),
    gpu_file: GpuFile = None,
    as_json: Json = False,
) -> None:
    """Show all specifications of one GPU, each with its unit and source.

    Hypothetical GPUs are written in one line: "GPU with 2x SPEC, SPEC=NUMBER". SPEC is a name of this table
    or the beginning of one; "2x peak" doubles all peak rates. A file of custom GPUs needs the columns gpu,
    sm_count, core_count, boost_clock_hz, peak_fp32_flop_per_s, memory_bytes and bandwidth_byte_per_s for a
    new GPU, and only the name and what differs for a known one.
    """
    from trainlaw.app.inputs.resolve import known_gpus
    from trainlaw.app.terminal.as_json import gpu_json
    from trainlaw.app.terminal.catalog import gpu_text
    from trainlaw.datasets.hardware.hypothetical import wanted_gpu

    gpu = wanted_gpu(name, known_gpus(gpu_file))
    print(gpu_json(gpu) if as_json else gpu_text(gpu))


@gpus_app.takes("instances")
def gpu_instances(gpu: str = option("Only instances with this GPU.", default="")) -> None:
    """List instances of clouds: their GPUs, fabric, and price of an hour on a date.

    --gpu of other commands takes their names. A date of 1 January means that the source states the year.
    """
    from math import isnan

    from trainlaw.app.text.tables import Table
    from trainlaw.datasets import built_in_gpus
    from trainlaw.datasets.hardware.instances import instances
    from trainlaw.datasets.hardware.servers import usual_server

    wanted = built_in_gpus().find(gpu).gpu if gpu else ""
    rows = [
        [
            one.instance,
            one.provider,
            f"{one.gpus_per_node} x {one.gpu}",
            one.fabric or usual_server(one.gpu).fabric,
            "-" if isnan(one.price_usd_per_hour) else f"{one.price_usd_per_hour:.2f}",
            one.date or "-",
        ]
        for one in instances()
        if wanted in ("", one.gpu)
    ]
    print(Table.of(["instance", "provider", "GPUs", "fabric", "USD/h", "date"], rows).text())


@gpus_app.takes("template")
def gpu_template(
    like: str | None = option("Fill the row with the specifications of this GPU, as a start."),
    out: Path | None = option("CSV file to write; the columns are then explained."),
) -> None:
    """Print a file of custom GPUs to fill in, for --gpu-file.

    The columns that a new GPU needs come first, then those that the built-in formula uses. Numbers may
    have a unit: 150 TFLOP/s, 24 GB, 900 GB/s, 1.7 GHz.
    """
    from trainlaw.app.commands.options import check_new_files
    from trainlaw.app.terminal.catalog import gpu_template_text, template_guide
    from trainlaw.datasets import find_gpu
    from trainlaw.formulas.files.text_files import write_text_atomically

    text = gpu_template_text(None if like is None else find_gpu(like))
    if out is None:
        print(text, end="")
        return
    check_new_files([out])
    write_text_atomically(out, text)
    print(f"{template_guide()}\n{out}: fill in the row, then use --gpu-file {out}")


@gpus_app.takes("links")
def list_links(
    search: str = argument("Show only links whose name or kind contains this text.", default=""),
    as_json: Json = False,
) -> None:
    """List the links between GPUs and between nodes: rate, latency, and the source of each figure."""
    from trainlaw.app.terminal.as_json import links_json
    from trainlaw.app.terminal.catalog import links_text
    from trainlaw.datasets.hardware.links import links

    known = [link for link in links().values() if link.link != "none"]
    chosen = [link for link in known if search.lower() in f"{link.link} {link.kind}".lower()]
    print(links_json(chosen) if as_json else links_text(chosen) if chosen else f"no link matches {search!r}")


def features_command(
    search: str = argument(
        "Show only features whose name, meaning or definition contains this text.", default=""
    ),
    layers: bool = flag("Features of single layers instead of whole CNNs.", "--layers"),
    brief: bool = flag("Omit the definitions.", "--brief"),
    as_json: Json = False,
) -> None:
    """List the features: name, symbol, unit, meaning and definition.

    A star marks those that `trainlaw study` (with --layers: --of layer-times) searches over; the others
    are available to other studies, to baselines and to your formulas. Python, workbook, page and exported
    code compute a feature from the definition printed here; one without a definition is a column of the
    runs, of the GPU, of the CNN or of the links.
    """
    from trainlaw.app.studies.kinds.layer_times import LAYER_TIME_FEATURES
    from trainlaw.app.studies.skeleton import RUN_SKELETON
    from trainlaw.app.terminal.as_json import features_json
    from trainlaw.app.terminal.catalog import features_text

    searched = LAYER_TIME_FEATURES if layers else RUN_SKELETON.names
    shown = (
        features_json(search, layers, searched) if as_json else features_text(search, layers, searched, brief)
    )
    print(shown)


cnn_app = CommandGroup("Show the known CNNs and their counts.")


@cnn_app.takes("list")
def list_cnns(
    search: str = argument("List the CNNs whose name or family contains this text.", default=""),
    family: str = option("List the CNNs of one family.", default=""),
    everything: bool = flag("List every CNN that matches.", "--all"),
    sizes: bool = flag("List each input size whose counts are shipped.", "--sizes"),
    sort: str = option("Sort by name, macs or params.", default="name"),
    as_json: Json = False,
) -> None:
    """List the families of known CNNs, or the CNNs that match: input, classes, MACs, parameters.

    Names with the prefix timm/ are those of the package timm, all others those of the built-in zoo; both are
    also found in other spellings (ResNet-50, torchvision.models.resnet50, resnet50.a1_in1k). A CNN is also
    available at other sizes (`trainlaw cnn show NAME --pixels 128`) and from a file
    (`trainlaw cnn show my-cnn.onnx`).
    """
    from trainlaw.app.terminal.as_json import records_of
    from trainlaw.app.terminal.catalog import CnnQuery, cnn_list_text, listed_cnns
    from trainlaw.app.text.tables import finite_json

    query = CnnQuery(search, family, everything, sizes, sort)
    found = listed_cnns(query)
    print(finite_json(records_of(found)) if as_json else cnn_list_text(found, query))


@cnn_app.takes("show")
def show_cnn(
    name: str = argument(
        "Name of the CNN, or a file: .onnx, or a table of layers (.csv, .json).", default=...
    ),
    pixels: int | None = option("Height and width of an image; default: that of the CNN.", limit="pixels"),
    classes: int | None = option("Number of classes; default: that of the CNN.", limit="classes"),
    explain: bool = flag("Print the definition of each count.", "--explain"),
    restore_batchnorm: RestoreBatchnorm = None,
    row: bool = flag("Print a line to paste as a row of the workbook's sheet CNNs.", "--row"),
    as_json: Json = False,
) -> None:
    """Show the counts of one CNN, per image and forward pass, with units."""
    from trainlaw.app.inputs.resolve import named_cnn
    from trainlaw.app.terminal.as_json import cnn_json
    from trainlaw.app.terminal.catalog import counts_text

    facts = named_cnn(name, pixels, classes, restore_batchnorm)
    if row:
        from trainlaw.app.workbook.lookup_sheets import cnn_line

        print(cnn_line(facts))
        return
    print(cnn_json(facts) if as_json else counts_text(facts, explain))


@cnn_app.takes("layers")
def show_layers(
    name: str = argument("Name of the CNN, or a file as in `trainlaw cnn show`.", default=...),
    pixels: int | None = option("Height and width of an image; default: that of the CNN.", limit="pixels"),
    as_json: Json = False,
) -> None:
    """List the layers of one CNN: kind, sizes, kernel, multiply-accumulates, parameters."""
    from trainlaw.app.inputs.resolve import named_cnn
    from trainlaw.app.terminal.catalog import layers_text
    from trainlaw.app.text.tables import finite_json
    from trainlaw.datasets.cnns.readers.layer_table import layer_records

    cnn = named_cnn(name, pixels).graph
    print(finite_json(layer_records(cnn)) if as_json else layers_text(cnn))
