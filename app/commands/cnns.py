"""`trainlaw cnn`: the known CNNs, and the counts and layers of one."""

from typing import Annotated

import typer

app = typer.Typer(help="Show the known CNNs and their counts.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_cnns(
    search: Annotated[
        str, typer.Argument(help="List the CNNs whose name or family contains this text.")
    ] = "",
    family: Annotated[str, typer.Option(help="List the CNNs of one family.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="List every CNN that matches.")] = False,
    sizes: Annotated[
        bool, typer.Option("--sizes", help="List each input size whose counts are shipped.")
    ] = False,
    sort: Annotated[str, typer.Option(help="Sort by name, macs or params.")] = "name",
) -> None:
    """List the families of known CNNs, or the CNNs that match: input, classes, MACs, parameters.

    Names with the prefix timm/ are those of the package timm, all others those of the built-in zoo; both are
    also found in other spellings (ResNet-50, torchvision.models.resnet50, resnet50.a1_in1k). A CNN is also
    available at other sizes (`trainlaw cnn show NAME --pixels 128`) and from a file
    (`trainlaw cnn show my-cnn.onnx`).

    \b
    Examples:
      trainlaw cnn list
      trainlaw cnn list resnet50
      trainlaw cnn list --family efficientnet --sort macs
    """
    from trainlaw.app.terminal.cnn_list import CnnQuery, cnn_list_text

    print(cnn_list_text(CnnQuery(search, family, everything, sizes, sort)))


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
