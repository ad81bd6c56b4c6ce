import csv
import json
from itertools import product

import pytest
from trainlaw.datasets.cnns import build, cnn_from_records, counts, layer_records, read_cnn, write_layer_table
from trainlaw.formulas.errors import InputError

from ....rows import each_row

CNNS = ("lenet5", "resnet18", "googlenet", "mobilenet_v3_small", "inception_v3_auxiliary")


@each_row(("name", "ending"), list(product(CNNS, ["csv", "json"])))
def test_a_written_table_reads_as_the_same_layers(name, ending, tmp_path):
    cnn, path = build(name), tmp_path / f"net.{ending}"
    write_layer_table(cnn, path)
    again = read_cnn(path)
    assert again.layers == cnn.layers
    assert (again.name, again.base) == ((cnn.name, cnn.base) if ending == "json" else ("net", "net"))


def test_most_columns_may_be_left_out(tmp_path):
    path = tmp_path / "tiny net.csv"
    path.write_text(
        "kind,in_channels,in_height,in_width,out_channels,out_height,out_width,kernel_height,kernel_width\n"
        "input,3,8,8,3,8,8,,\n"
        "conv,3,8,8,4,6,6,3,3\n"
        "relu,4,6,6,4,6,6,,\n"
        "dense,144,1,1,10,1,1,,\n",
        encoding="utf-8",
    )
    cnn = read_cnn(path)
    assert (cnn.name, cnn.n_classes, counts(cnn)["macs"]) == ("tiny_net", 10, 108 * 36 + 1440)


def test_layers_are_read_by_name_too():
    rows = layer_records(build("resnet18", 64, 10))
    for row in rows:
        row["inputs"] = " ".join(rows[i]["name"] for i in row["inputs"])
    assert cnn_from_records(rows, "again").layers == build("resnet18", 64, 10).layers


HEAD = "name,kind,inputs,in_channels,in_height,in_width,out_channels,out_height,out_width\n"
INPUT = "x,input,,3,8,8,3,8,8\n"
REFUSED = {
    "an empty file": ("", "empty file"),
    "a heading only": (HEAD, "at least one layer"),
    "an unknown column": ("kind,colour\ninput,red\n", "unknown: .'colour'"),
    "a missing value": (HEAD + "x,input,,3,8,8,3,8,\n", "empty: .'out_width'"),
    "a number that is none": (HEAD + "x,input,,three,8,8,3,8,8\n", "whole number"),
    "a negative number": (HEAD + "x,input,,-3,8,8,3,8,8\n", "whole number"),
    "a formula as a name": (HEAD + "=cmd|' /C calc'!A0,input,,3,8,8,3,8,8\n", "expected a name"),
    "a name twice": (HEAD + INPUT + "x,relu,,3,8,8,3,8,8\n", "twice"),
    "a source of no one": (HEAD + INPUT + "y,relu,z,3,8,8,3,8,8\n", "inputs"),
    "a source that comes later": (HEAD + INPUT + "y,relu,7,3,8,8,3,8,8\n", "predecessors"),
    "a layer that does not fit": (HEAD + INPUT + "y,relu,x,3,9,9,3,9,9\n", "to match"),
    "too many values": (HEAD + "x,input,,3,8,8,3,8,8,9\n", "line 2"),
    "an open quote": (HEAD + 'x,"input\n', "CSV"),
}


@each_row("case", REFUSED)
def test_a_wrong_csv_is_refused_in_one_line(case, tmp_path):
    text, message = REFUSED[case]
    path = tmp_path / "net.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_cnn(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "expected JSON"),
        ("7", "list of layers"),
        ("[7]", "list of layers"),
        ("{}", "list of layers"),
        ('{"layers": [], "name": "x"}', "at least one layer"),
        ("[" * 100_000, "nested too deeply|lists and objects"),
        ('[{"kind": "input", "in_channels": 1e400}]', "expected columns|whole number|finite numbers"),
        ('{"name": "../../x", "layers": [{"kind": "input"}]}', "empty"),
    ],
)
def test_a_wrong_json_is_refused_in_one_line(content, message, tmp_path):
    path = tmp_path / "net.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_cnn(path)
    assert "\n" not in str(caught.value)


def test_names_of_networks_are_checked():
    rows = layer_records(build("lenet5"))
    with pytest.raises(InputError, match="expected a name"):
        cnn_from_records(rows, "net", {"name": "=1+1"})
    with pytest.raises(InputError, match="expected a name"):
        cnn_from_records(rows, "net", {"base": 7})


def test_other_endings_and_absent_files(tmp_path):
    with pytest.raises(InputError, match=r"\.onnx, \.csv or \.json"):
        read_cnn(tmp_path / "net.pt")
    for name in ("net.csv", "net.json", "net.onnx"):
        with pytest.raises(InputError, match="cannot read"):
            read_cnn(tmp_path / name)


def test_files_are_plain_rows(tmp_path):
    table, content = tmp_path / "net.csv", tmp_path / "net.json"
    for path in (table, content):
        write_layer_table(build("lenet5"), path)
    assert json.loads(content.read_text(encoding="utf-8"))["layers"][1]["kind"] == "conv"
    with table.open(encoding="utf-8", newline="") as file:
        assert next(csv.DictReader(file))["kind"] == "input"


def test_a_keras_model_is_refused_with_its_way_to_onnx(tmp_path):
    path = tmp_path / "net.json"
    path.write_text('{"class_name": "Functional", "config": {}}')
    with pytest.raises(InputError, match=r'model\.export\("net\.onnx", format="onnx"\)'):
        read_cnn(path)
