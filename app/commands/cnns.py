"""`trainlaw cnn`: the known CNNs, and the counts and layers of one."""

from typing import Annotated

import typer

app = typer.Typer(help="Show the known CNNs and their counts.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_cnns(
    search: Annotated[
        str, typer.Argument(help="Show only CNNs whose name or family contains this text.")
    ] = "",
) -> None:
    """List the CNNs: name, family, input size, classes, multiply-accumulates, parameters.

    A CNN is also available at other sizes (`trainlaw cnn show NAME --pixels 128`) and from a file
    (`trainlaw cnn show my-cnn.onnx`).

    \b
    Examples:
      trainlaw cnn list
      trainlaw cnn list resnet
    """
    from trainlaw.app.terminal.catalog import cnn_rows_matching
    from trainlaw.app.text.tables import text_table

    rows = cnn_rows_matching(search)
    header = ["CNN", "family", "input", "classes", "MACs per image", "parameters"]
    print(text_table(header, rows, indent="") if rows else f"no CNN matches {search!r}")


@app.command("show")
def show_cnn(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the CNN, or a file: .onnx, a table of layers (.csv, .json), a Keras model (.json)."
        ),
    ],
    pixels: Annotated[
        int | None, typer.Option(help="Height and width of an image; default: that of the CNN.", min=1)
    ] = None,
    classes: Annotated[
        int | None, typer.Option(help="Number of classes; default: that of the CNN.", min=1)
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the definition of each count.")] = False,
    restore_batchnorm: Annotated[
        bool,
        typer.Option(
            "--restore-batchnorm", help="Restore batch normalisation that an export to ONNX folded away."
        ),
    ] = False,
) -> None:
    """Show the counts of one CNN, per image and forward pass, with units.

    \b
    Examples:
      trainlaw cnn show resnet50 --pixels 128
      trainlaw cnn show resnet50 --explain
      trainlaw cnn show my-cnn.onnx --restore-batchnorm
    """
    from trainlaw.app.inputs.resolve import named_cnn
    from trainlaw.app.terminal.catalog import counts_text

    print(counts_text(named_cnn(name, pixels, classes, restore_batchnorm), explain))


@app.command("layers")
def show_layers(
    name: Annotated[str, typer.Argument(help="Name of the CNN, or a file as in `trainlaw cnn show`.")],
    pixels: Annotated[
        int | None, typer.Option(help="Height and width of an image; default: that of the CNN.", min=1)
    ] = None,
) -> None:
    """List the layers of one CNN: kind, sizes, kernel, multiply-accumulates, parameters.

    \b
    Examples:
      trainlaw cnn layers lenet5
      trainlaw cnn layers my-cnn.onnx
    """
    from trainlaw.app.inputs.resolve import named_cnn
    from trainlaw.app.terminal.catalog import layers_text

    print(layers_text(named_cnn(name, pixels).graph))
