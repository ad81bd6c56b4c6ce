import copy
import json
from collections import Counter
from pathlib import Path

import pytest
from trainlaw.datasets.cnns import build, counts, read_cnn, read_keras
from trainlaw.formulas.errors import InputError

from ....rows import each_row

# Written by `to_json` of Keras 3.15, which counts 2302 learned elements, those of the shared layer once.
FUNCTIONAL = Path(__file__).with_name("keras_functional.json")


def test_a_functional_model_of_keras_3():
    cnn = read_cnn(FUNCTIONAL)
    found = counts(cnn)
    shared_dense = 18 * 18 + 18
    assert found["params"] == 2302 + shared_dense
    assert "called more than once" in cnn.notes[0]
    kinds = Counter(layer.kind for layer in cnn.layers)
    assert {"conv": 6, "dense": 3, "conv_transpose": 1, "slice": 1}.items() <= kinds.items()
    assert (cnn.input_size_px, cnn.n_classes, cnn.layers[-1].kind) == (32, 10, "softmax")


def kinds_of(cnn):
    return " ".join(layer.kind for layer in cnn.layers)


def layer(kind, name, sources, **config):
    return {"class_name": kind, "name": name, "config": config, "inbound_nodes": [sources] if sources else []}


def keras_2_model(*layers, output="scores"):
    first = layer("InputLayer", "image", [], batch_input_shape=[None, 16, 16, 3])
    config = {
        "layers": [first, *layers],
        "input_layers": [["image", 0, 0]],
        "output_layers": [[output, 0, 0]],
    }
    return {"class_name": "Functional", "config": config}


def source(name):
    return [name, 0, 0, {}]


RESIDUAL = (
    layer("Conv2D", "a", [source("image")], filters=4, kernel_size=[3, 3], strides=[1, 1], padding="same"),
    layer("BatchNormalization", "b", [source("a")], axis=[3]),
    layer("Activation", "c", [source("b")], activation={"class_name": "function", "config": "relu"}),
    layer("Add", "d", [source("a"), source("c")]),
    layer("Flatten", "e", [source("d")]),
    layer("Dense", "scores", [source("e")], units=5, activation="softmax"),
)


def saved(content, folder):
    path = folder / "net.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_functional_model_of_keras_2(tmp_path):
    cnn = read_keras(saved(keras_2_model(*RESIDUAL), tmp_path))
    found = counts(cnn)
    assert found["params"] == 3 * 4 * 9 + 4 + 8 + 1024 * 5 + 5
    assert found["macs"] == 108 * 256 + 5120
    assert kinds_of(cnn) == "input conv batchnorm relu add dense softmax"
    # The order in the file does not matter.
    assert counts(read_keras(saved(keras_2_model(*reversed(RESIDUAL)), tmp_path))) == found


def plain(kind, **config):
    return {"class_name": kind, "config": config}


def sequential(*layers, shape=(None, 28, 28, 1)):
    first = plain("InputLayer", batch_shape=list(shape))
    return {"class_name": "Sequential", "config": {"layers": [first, *layers]}}


def test_models_inside_a_sequential_model(tmp_path):
    inner = {"class_name": "Sequential", "config": {"layers": [plain("MaxPooling2D"), plain("ELU")]}}
    conv = plain("Conv2D", filters=6, kernel_size=5, padding="same", activation="relu")
    cnn = read_keras(saved(sequential(conv, inner, plain("Dense", units=3)), tmp_path))
    assert kinds_of(cnn) == "input conv relu max_pool elu conv softmax"
    assert "1 x 1 convolutions" in cnn.notes[0]


def test_lenet_in_keras_has_the_counts_of_the_zoo(tmp_path):
    body = []
    for filters in (6, 16):
        body += [plain("Conv2D", filters=filters, kernel_size=5, activation="relu"), plain("MaxPooling2D")]
    body.append(plain("Flatten"))
    body += [plain("Dense", units=units, activation="relu") for units in (120, 84)]
    model = sequential(*body, plain("Dense", units=10), shape=(None, 32, 32, 3))
    assert counts(read_keras(saved(model, tmp_path))) == counts(build("lenet5"))


def test_an_open_size_is_asked_for_and_given(tmp_path):
    path = saved(sequential(plain("Conv2D", filters=6, kernel_size=5), shape=(None, None, None, 1)), tmp_path)
    with pytest.raises(InputError, match="give the input size"):
        read_keras(path)
    assert read_keras(path, input_size_px=20).layers[1].out_height == 16


def without_layer(position):
    model = copy.deepcopy(keras_2_model(*RESIDUAL))
    del model["config"]["layers"][position]
    return model


REFUSED = {
    "another JSON": ({"class_name": "Tokenizer"}, "JSON of a Keras model"),
    "an unknown layer": (sequential(plain("LSTM", units=3)), "'LSTM' is not supported"),
    "an unknown activation": (
        sequential(plain("Activation", activation="cosine")),
        "'cosine' is not supported",
    ),
    "no layers": ({"class_name": "Sequential", "config": {"layers": []}}, "at least one layer"),
    "a vector as input": (sequential(plain("ReLU"), shape=(None, 7)), "expected an input of shape"),
    "a missing source": (without_layer(1), "KeyError"),
    "a circle": (keras_2_model(layer("ReLU", "scores", [source("scores")])), "cycle"),
    "a padding of nonsense": (sequential(plain("Conv2D", filters=1, kernel_size=3, padding="x")), "value"),
    "a negative padding": (sequential(plain("ZeroPadding2D", padding=-1)), "padding of 0"),
    "a join along rows": (
        keras_2_model(layer("Concatenate", "scores", [source("image"), source("image")], axis=1)),
        "last axis",
    ),
}


@each_row("case", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_line(case, tmp_path):
    content, message = REFUSED[case]
    with pytest.raises(InputError, match=message) as caught:
        read_keras(saved(content, tmp_path))
    assert "\n" not in str(caught.value)
