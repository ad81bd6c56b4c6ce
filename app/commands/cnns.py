"""`trainlaw cnn`: the networks that are known, and the counts of one."""

from typing import Annotated

import typer

app = typer.Typer(
    help="Show the CNNs that are known and their counts.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list")
def list_cnns(
    search: Annotated[
        str, typer.Argument(help="Show only CNNs whose name or family contains this text.")
    ] = "",
) -> None:
    """List the CNNs: name, family, input size, multiply-accumulates, parameters.

    \b
    Examples:
      trainlaw cnn list
      trainlaw cnn list resnet
    """
    from trainlaw.app.plain_tables import text_table
    from trainlaw.app.quantities import show_with_prefix
    from trainlaw.datasets import cnn_table

    table = cnn_table()
    named = [
        search.lower() in f"{name} {family}".lower()
        for name, family in zip(table["cnn"], table["cnn_family"], strict=True)
    ]
    rows = [
        [
            row["cnn"], row["cnn_family"], f"{row['input_size_px']} px", row["n_classes"],
            show_with_prefix(float(row["macs"]), ""), show_with_prefix(float(row["params"]), ""),
        ]
        for row in table[named].to_dict("records")
    ]  # fmt: skip
    header = ["CNN", "family", "input", "classes", "MACs per image", "parameters"]
    print(text_table(header, rows, indent="") if rows else f"no CNN matches {search!r}")


@app.command("show")
def show_cnn(
    name: Annotated[str, typer.Argument(help="Name of the CNN.")],
    pixels: Annotated[
        int | None, typer.Option(help="Height and width of an image; default: the CNN's own.", min=1)
    ] = None,
) -> None:
    """Show the counts of one CNN, per image and forward pass, with units.

    \b
    Example:
      trainlaw cnn show resnet50 --pixels 128
    """
    from trainlaw.app.show_facts import counts_text
    from trainlaw.datasets import find_cnn_facts

    print(counts_text(find_cnn_facts(name, pixels)))
