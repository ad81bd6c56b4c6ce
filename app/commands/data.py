"""`trainlaw data`: built-in tables of measured runs, and your own."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from trainlaw.app.commands.options import CnnFiles, GpuFile, Json, Trust, refuse, shared
from trainlaw.app.commands.parsing import CommandGroup
from trainlaw.app.inputs.declared import argument, flag, option

data_app = CommandGroup("Show built-in tables of measured runs; check, compare and import your own.")


@data_app.takes("list")
def list_tables(as_json: Json = False) -> None:
    """List the built-in tables: size, coverage, licences, noise and caveats."""
    from trainlaw.app.terminal.as_json import datasets_json
    from trainlaw.app.terminal.datasets import list_text

    print(datasets_json() if as_json else list_text())


@data_app.takes("show")
def show_table(
    name: str = argument("Name of a built-in table.", default=...),
    gpu: str | None = option("Show the runs on this GPU: every CNN, image size and batch."),
    show_all: bool = flag("With --gpu: all lines, not only the first 60.", "--all"),
    as_json: Json = False,
) -> None:
    """Show the contents of a built-in table: sources, and the runs by GPU and CNN with their batches."""
    from trainlaw.app.inputs.run_tables import any_table
    from trainlaw.app.terminal.as_json import dataset_json, records_of
    from trainlaw.app.terminal.datasets import gpu_runs, gpu_runs_text, table_text
    from trainlaw.app.text.tables import finite_json

    if gpu is None:
        print(dataset_json(name) if as_json else table_text(name))
        return
    table = any_table(name)
    runs = gpu_runs(table, gpu)
    print(finite_json(records_of(runs)) if as_json else gpu_runs_text(runs, table.name, show_all))


@data_app.takes("coverage")
def show_coverage(
    table: str = argument("Name of a built-in table of runs, or a file of measured runs.", default="atlas"),
    by: str = option(
        "Dimensions: the first one for the rows, the combinations of the others for the columns.",
        default="gpu,precision,layout",
    ),
    out: Path | None = option("Write a heat map: a file ending in .svg or .html."),
) -> None:
    """Show how many runs a table has by GPU, precision, layout or other dimensions; a dot means none.

    Dimensions are gpu, gpu_group, generation, cnn, cnn_base, cnn_family, precision, layout, compilation,
    data, source, harness, framework, bench_year, n_gpus, input_size_px and batch_per_gpu. Each row ends
    with its CNNs, sources, the noise between sources and the years of measurement.
    """
    from trainlaw.app.inputs.run_tables import any_table
    from trainlaw.app.terminal.datasets import coverage_text, write_coverage

    runs, names = any_table(table), [name.strip() for name in by.split(",") if name.strip()]
    if out is None:
        print(coverage_text(runs, names))
        return
    write_coverage(runs, names, out)
    print(f"{out}: coverage of {table} by {', '.join(names)}")


@data_app.takes("noise")
def show_noise(
    table: str = argument("Name of a built-in table of runs, or a file of measured runs.", default="atlas"),
    least: int = option("Omit pairs with fewer common runs.", default=1, min=1),
) -> None:
    """Show how much sources differ on the same GPU, CNN, batch, precision and layout: a floor of
    any error.
    """
    from trainlaw.app.inputs.run_tables import any_table
    from trainlaw.app.terminal.datasets import noise_text

    print(noise_text(any_table(table), least))


Columns = Annotated[
    list[str] | None,
    shared("Column with another name in your file: OURS=YOURS, such as time_s=latency_ms.", "--column"),
]
Ignored = Annotated[
    list[str] | None, shared("Column of your file that is not read, such as remarks.", "--ignore")
]


@data_app.takes("check")
def check_file(
    table: str = argument(
        "CSV, Excel or Parquet file of measured runs, or the name of a built-in table.", default=...
    ),
    column: Columns = None,
    ignore: Ignored = None,
    gpu_file: GpuFile = None,
    cnn_file: CnnFiles = None,
    trust: Trust = False,
) -> None:
    """Check a file of runs: one line per fault, with row, column, value and what was expected.

    Required columns are gpu, cnn, batch_per_gpu and time_s (median iteration time, s). A column that is not
    known is a fault; `trainlaw data import` reads any spreadsheet. Times are compared with the built-in
    formula and with each other, which reveals wrong units, placeholders and contradictory repeats.
    """
    from trainlaw.app.inputs.run_tables import built_in_file, file_options, named_file, run_faults
    from trainlaw.app.inputs.selection import pairs_of
    from trainlaw.app.models.doubts import remarks, run_doubts, trusted
    from trainlaw.app.models.law_times import is_training
    from trainlaw.datasets import DATASETS

    shipped, columns = table in DATASETS, pairs_of("--column", column, "OURS=YOURS")
    with built_in_file(table) if shipped else nullcontext(named_file(table)) as file:
        faults, runs = run_faults(file, columns, gpu_file, cnn_file, ignore or ())
    for fault in faults:
        print(fault)
    if faults:
        number = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        refuse(f"{table}: {number}; correct the file and check again")
    if shipped and runs is not None:
        for doubt in run_doubts(runs, but=("forward", "batches")):
            print(f"measured so, and doubtful: {doubt.text}")
    elif runs is not None:
        trusted(runs, trust, any_parts=True)
        for text in remarks(runs):
            print(f"doubtful: {text}")
        if passes := int((~is_training(runs)).sum()):
            said = "times are of the forward pass alone: study --of forward reads them"
            print(f"{passes} of {len(runs)} {said}")
    if ignore:
        print(f"not read: {', '.join(ignore)}")
    print(f"{table}: no fault; next: trainlaw data outliers {table}{file_options(gpu_file, cnn_file)}")


@data_app.takes("outliers")
def show_outliers(
    table: str = argument("A file of measured runs, or the name of a built-in table.", default=...),
    column: Columns = None,
    ignore: Ignored = None,
    gpu_file: GpuFile = None,
    cnn_file: CnnFiles = None,
    show_all: bool = flag("Show all findings, not only the first 40.", "--all"),
) -> None:
    """Find runs that deserve a second look; a hint, not a verdict.

    The command lists repeats of one configuration that differ by more than 20 %, times that imply more than
    2.25 or less than 0.0001 of the GPU's peak rate, and batches that take less time than a smaller one.
    """
    from trainlaw.app.inputs.run_tables import any_table
    from trainlaw.app.inputs.selection import pairs_of
    from trainlaw.app.models.doubts import remarks, run_doubts
    from trainlaw.app.terminal.datasets import outliers_text
    from trainlaw.datasets import DATASETS, outliers

    mapping = pairs_of("--column", column, "OURS=YOURS")
    runs = any_table(table, mapping, gpu_file=gpu_file, cnn_files=cnn_file, ignored=ignore or ())
    doubts = () if table in DATASETS else run_doubts(runs)
    for text in (*(doubt.text for doubt in doubts), *remarks(runs)):
        print(f"doubtful: {text}")
    print(outliers_text(runs, outliers(runs), show_all))


@data_app.takes("import")
def import_file(
    file: Path = argument(
        "CSV, text, Excel or Parquet file of measured runs, or a training log.", default=...
    ),
    to: Path | None = option("CSV file to write; default: the name of FILE with -imported.csv.", "--out"),
    unit: str | None = option("Unit of the time or throughput: ms, s, us, min, images/s, it/s, ..."),
    precision: str | None = option(
        "Precision of all runs: fp32, tf32, amp, fp16, bf16, or default for PyTorch's."
    ),
    batch_is: str | None = option("Batch on several GPUs: global or per-gpu.", metavar="global|per-gpu"),
    column: Columns = None,
    value: list[str] | None = option("Meaning of a cell: COLUMN:YOURS=OURS, such as precision:yes=amp."),
    constant: list[str] | None = option(
        "Value of a column for all rows: OURS=VALUE, such as gpu=T4.", "--set"
    ),
    only: list[str] | None = option("Rows to keep: YOURS=VALUE, such as mode=train."),
    columns_are: str | None = option(
        "What headings of columns of times name: gpu, batch, precision, cnn, or several: cnn,precision.",
        metavar="KINDS",
    ),
    sheets_are: str | None = option("What the names of the sheets are: gpu, cnn, ...", metavar="KIND"),
    table_number: int | None = option("Table of a sheet that has several, from above.", "--table", min=1),
    area: str | None = option("Cells of the table, such as B4:H20.", "--range", metavar="CELLS"),
    ignore: Ignored = None,
    sheet: str | None = option("Sheet of a workbook."),
    decimal: str | None = option("Decimal mark of numbers: comma or point.", metavar="comma|point"),
    skip_unmeasured: bool = flag("Omit rows without a time (empty, OOM, n/a).", "--skip-unmeasured"),
    skip_rows: str | None = option("Rows to omit, by their numbers: 3,7,12.", metavar="ROWS"),
    fill_down: bool = flag("Take an empty GPU or CNN from the row above.", "--fill-down"),
    trust: Trust = False,
    gpu_file: GpuFile = None,
    cnn_file: CnnFiles = None,
    merge_with: str | None = option("A built-in table or another file to append; repeats are kept."),
) -> None:
    """Read runs from your table or training log, and write them in trainlaw's columns and units.

    A table has one line of headings and one row per run; --columns-are and --sheets-are say what else names
    the runs. What is not understood is asked, all at once, with the command that answers it. Times more than
    twice off the built-in formula are not written without --trust.

    Logs are recognised by their content: those of torchvision's reference training, timm, PyTorch's
    imagenet/main.py, MMEngine, Keras, Lightning, Hugging Face, dllogger, Ultralytics, mllog,
    tf_cnn_benchmarks and Horovod. --set answers what a log does not say.
    """
    from trainlaw.app.inputs.run_tables import any_table, file_options, merged_text, write_table
    from trainlaw.app.inputs.spreadsheets import chosen_pairs, one_of, values_of, words_of
    from trainlaw.app.terminal.spreadsheets import imported_runs
    from trainlaw.datasets.spreadsheets.answers import SheetAnswers

    constants = chosen_pairs("--set", constant, "OURS=VALUE")
    constants |= {"precision": precision} if precision else {}
    answers = SheetAnswers(
        columns=chosen_pairs("--column", column, "OURS=YOURS"),
        values=values_of(value),
        constants=constants,
        only=tuple(chosen_pairs("--only", only, "YOURS=VALUE").items()),
        unit=unit or "",
        batch_is=one_of("--batch-is", batch_is, ("global", "per-gpu")),
        decimal=one_of("--decimal", decimal, ("comma", "point")),
        sheet=sheet or "",
        skipped_rows=tuple((skip_rows or "").replace(" ", "").split(",")) if skip_rows else (),
        skip_unmeasured=skip_unmeasured,
        fill_down=fill_down,
        trust=trust,
        ignored=tuple(ignore or ()),
        columns_are=words_of(columns_are),
        sheets_are=sheets_are or "",
        table=table_number or 0,
        area=area or "",
    )
    runs = imported_runs(file, answers, gpu_file, cnn_file)
    target = to or file.with_name(f"{file.stem}-imported.csv")
    contents = "1 run" if len(runs) == 1 else f"{len(runs):,} runs"
    if merge_with is not None:
        table = any_table(merge_with, gpu_file=gpu_file, cnn_files=cnn_file)
        contents, runs = merged_text(runs, table), runs.merged(table)
    write_table(runs, target)
    several = "add a run on one GPU, since only those calibrate; then "
    first = several if (runs.frame["n_gpus"] > 1).all() else ""
    files = file_options(gpu_file, cnn_file)
    print(f"{target}: {contents}; next: {first}trainlaw calibrate {target}{files}")
