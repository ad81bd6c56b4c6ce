from itertools import product

from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.readers import read_cnn
from trainlaw.datasets.cnns.readers.layer_table import cnn_from_records, layer_records
from trainlaw.datasets.cnns.zoo import build

from ....layer_tables import write_layer_table
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
