import pytest
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.files.storage import read_data_file
from trainlaw.formulas.errors import InputError

from tools.zoo.recorder import Classes, Recorder
from tools.zoo.write import all_entries, zoo_files

from ..rows import each_row


def test_the_shipped_zoo_is_that_of_the_programs():
    for name, content in zoo_files().items():
        assert read_data_file(name) == content, f"run `python -m tools.zoo.write`: {name}"


def called(entry, size, n_classes):
    """The layers as the program builds them for a size, without the detour over text."""
    cnn = Recorder()
    cnn.softmax(entry.architecture(cnn, cnn.input(entry.input_channels, size), Classes(n_classes)))
    return cnn.layers


def test_lines_give_the_layers_at_every_size():
    def check(place, name):
        _, entry = all_entries()[name]
        # Neighbours in the list, which are mostly of one family, are tried at different sizes.
        sizes = ((33, 7), (224, 7)) if place % 2 else ((75, entry.n_classes), (320, entry.n_classes))
        for size, n_classes in sizes:
            try:
                expected = called(entry, size, n_classes)
            except InputError:
                with pytest.raises(InputError):
                    build(name, size, n_classes)
            else:
                assert build(name, size, n_classes).layers == expected, (size, n_classes)

    square = [name for name, (_, entry) in all_entries().items() if entry.input_width_px is None]
    # Two U-Nets leave out a slice where nothing is cut off; the program always adds it.
    named = enumerate(name for name in square if not name.startswith("unet"))
    each_row(("place", "name"), named)(check)()


def test_a_frozen_builder_adds_products_to_the_same_layers():
    cnn = Recorder()
    x = cnn.frozen().conv_bn(cnn.input(3, 8), 4, 3)
    assert [layer.kind for layer in cnn.layers] == ["input", "conv", "scale", "relu"]
    assert cnn.shape(x) == (4, 8, 8)
