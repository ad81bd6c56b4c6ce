"""Headings, cells and layouts of spreadsheets, without the comparison with the formula."""

import os
import socket
import zipfile

import numpy as np
import pytest
from trainlaw.datasets.spreadsheets.answers import SheetAnswers
from trainlaw.datasets.spreadsheets.conversion import read_spreadsheet
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.units import CANDIDATES, parse_unit
from trainlaw.formulas.errors import InputError

from ...rows import each_row

HEAD = "GPU,Model,Batch,Precision,"
NODE = {"gpus_per_node": "8"}
ROWS = "T4,resnet50,32,fp32,{}\nT4,vgg16,32,fp32,{}\n"


CNNS_AND_BATCHES = {"columns_are": ("cnn", "batch"), "unit": "ms", "constants": {"precision": "fp32"}}


def read(tmp_path, text, name="runs.csv", **answers):
    (tmp_path / name).write_text(text)
    return read_spreadsheet(tmp_path / name, SheetAnswers(**answers))


def options(made):
    return [option for issue in made.issues for option in issue.options]


HEADINGS = {
    "Batch size (per GPU)": ("batch_per_gpu", None),
    "#GPUs": ("n_gpus", None),
    "global_batch": ("global_batch", None),
    "dtype": ("precision", None),
    "use_amp": ("flag:amp", None),
    "img_size": ("input_size_px", None),
    "nodes": ("n_nodes", None),
    "memory_format": ("layout", None),
    "mode": ("mode", None),
    "train_time_per_batch_ms": ("time", "ms"),
    "Zeit pro Iteration [ms]": ("time", "ms"),
    "t_iter (us)": ("time", "us"),
    "step_s": ("time", "s"),
    "sec/batch": ("time", "s"),
    "Time per image (ms)": ("time", "ms/image"),
    "train_samples_per_sec": ("throughput", "images/s"),
    "images/sec per GPU": ("throughput", "images/s/gpu"),
    "Throughput (total, img/s)": ("throughput", "images/s/total"),
    "it/s": ("throughput", "it/s"),
    "Durchsatz (Bilder/s)": ("throughput", "images/s"),
    "fps": ("throughput", "images/s"),
    "Durchsatz (Bilder je Sekunde)": ("throughput", "images/s"),
    "Throughput": ("throughput", None),
    "latency": ("time", None),
    "GPU util %": ("ignored", None),
    "Std (ms)": ("ignored", "ms"),
    "Epoch time (s)": ("time", "s/epoch"),
    "% Perf": ("ignored", None),
    "infer_step_time": ("other time", None),
    "time for 100 iterations (s)": ("", "s"),
    "GPU memory (GB)": ("", None),
    "padding (px)": ("", None),
}


@each_row("text", HEADINGS)
def test_a_heading_has_one_meaning(text):
    meaning = read_heading(text)
    assert (meaning.target, meaning.unit.text if meaning.unit else None) == HEADINGS[text]


@pytest.mark.parametrize("unit", CANDIDATES, ids=lambda unit: unit.text.replace("/", "-"))
def test_a_unit_is_read_back_from_its_text(unit):
    assert parse_unit(unit.text) == unit


@pytest.mark.parametrize("text", ["GB", "images", "Tesla T4", "image ms", ""])
def test_other_texts_are_no_units(text):
    assert parse_unit(text) is None


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        (HEAD + "Time,unit\n" + "T4,resnet50,32,fp32,250,ms\nT4,vgg16,32,fp32,0.5,s\n", {}),
        (HEAD + "Time\n" + ROWS.format("250 ms", "0.5 s"), {}),
        (HEAD + "Time\n" + ROWS.format("0:00:00.25", "0:00:00.5"), {}),
        (HEAD + "Time\n" + ROWS.format("250 ± 3 ms", "500 +/- 4 ms"), {}),
        ("My runs\n\n" + HEAD + "ms\n" + ROWS.format(250, 500) + "\nwith driver 470\n", {}),
        ("GPU,Model,Batch,fp32 (ms)\nT4,resnet50,32,250\nT4,vgg16,32,500\n", {"columns_are": ("precision",)}),
        ("GPU,ResNet50 (bs 32),VGG16 bs=32\nT4,250,500\n", CNNS_AND_BATCHES),
        (HEAD + "ms,cards\n" + ROWS.format("250,1", "500,1"), {}),
        (HEAD + "images/s\n" + ROWS.format(128, 64), {}),
        (HEAD + "it/s\n" + ROWS.format(4, 2), {}),
        ("GPU,Model,Batch,ms\nT4,resnet50,32,250\nT4,vgg16,32,500\n", {"constants": {"precision": "fp32"}}),
        (HEAD + "ms,mode\n" + "T4,resnet50,32,fp32,250,train\nT4,vgg16,32,fp32,500,training\n", {}),
    ],
)
def test_layouts_and_cells_are_read_without_a_question(tmp_path, text, answers):
    made = read(tmp_path, text, **answers)
    assert made.issues == ()
    np.testing.assert_allclose(made.seconds(), [0.25, 0.5], rtol=1e-12)
    assert made.frame[["gpu", "cnn", "batch_per_gpu", "precision"]].to_numpy().tolist() == [
        ["T4", "resnet50", 32, "fp32"],
        ["T4", "vgg16", 32, "fp32"],
    ]


def test_faults_of_a_kind_are_one_issue_with_their_rows(tmp_path):
    rows = "T4,resnet50,soon,fp32,250\n" * 30 + "T5000,resnet50,32,fp32,-1\n" * 2
    made = read(tmp_path, HEAD + "ms\n" + rows)
    assert [(issue.text.partition(":")[0], len(issue.rows)) for issue in made.issues] == [
        ("Batch", 30),
        ("GPU 'T5000' is not known", 2),
        ("ms", 2),
    ]
    assert made.issues[0].rows[:2] == (2, 3) and "and 22 more" in made.issues[0].where


def test_a_board_or_number_in_a_name_is_counted(tmp_path):
    made = read(
        tmp_path,
        HEAD.replace("Batch", "Batch per GPU") + "ms\n" + ROWS.format(250, 500).replace("T4,v", "4x T4,v"),
        constants=NODE,
    )
    assert made.issues == () and made.frame["n_gpus"].tolist() == [1, 4]


def test_an_instance_of_several_gpus_counts_them(tmp_path):
    text = HEAD.replace("Batch", "Batch per GPU") + "ms\n" + ROWS.format(250, 500).replace("T4", "p3.8xlarge")
    made = read(tmp_path, text, constants=NODE)
    assert made.issues == () and made.frame["n_gpus"].tolist() == [4, 4]


def test_the_gpus_of_a_node_are_times_the_nodes(tmp_path):
    head = HEAD.replace("Batch", "Batch per GPU") + "ms,"
    made = read(tmp_path, head + "Nodes,GPUs per node\n" + ROWS.format("250,1,8", "300,4,8"))
    assert made.frame["n_gpus"].tolist() == [8, 32]
    made = read(tmp_path, head + "GPUs\n" + ROWS.format("250,4", "300,16"), constants={"gpus_per_node": "4"})
    assert made.issues == () and made.frame["n_nodes"].tolist() == [1, 4]
    asked = read(tmp_path, head + "GPUs\n" + ROWS.format("250,4", "300,16"))
    assert ("--set", "gpus_per_node=4") in options(asked)


def test_a_number_in_a_name_of_several_gpus_is_kept(tmp_path):
    text = (
        HEAD.replace("Batch", "Batch per GPU") + "ms\n" + ROWS.format(250, 500).replace("T4,v", "8x A100,v")
    )
    answer = next(option for option in options(read(tmp_path, text)) if "A100-SXM4-40GB" in option[1])
    assert answer == ("--value", "gpu:8x A100=8x A100-SXM4-40GB")
    made = read(tmp_path, text, values={("gpu", "8x A100"): "8x A100-SXM4-40GB"}, constants=NODE)
    assert made.issues == () and made.frame["n_gpus"].tolist() == [1, 8]


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("columns", {"gpu": "Modle"}),
        ("constants", {"cnn": "resnet"}),
        *(("constants", {name: "many"}) for name in ("iterations", "images_per_epoch", "n_gpus", "batch")),
    ],
)
def test_answers_that_do_not_fit_are_refused_in_one_line(tmp_path, option, text):
    with pytest.raises((InputError, LookupError)) as caught:
        read(tmp_path, HEAD.replace("Model", "nr") + "ms\n" + ROWS.format(250, 500), **{option: text})
    assert "\n" not in str(caught.value)


RATIO = ("T4 vs RTX 3090",)
PIVOT = "GPU,T4,RTX 3090,T4 vs RTX 3090\nresnet50,250,90,2.8x\n"
SHAPES = [
    (HEAD + "ms\n" + ROWS.format(250, 500) + "\n" + HEAD + "ms\nT4,resnet18,32,fp32,90\n", ("--table", "2")),
    (HEAD + "ms\n" + ROWS.format(250, 500) + HEAD + "ms\nT4,resnet18,32,fp32,90\n", ("--table", "2")),
    ("Model,ms,,Model,ms\nresnet50,250,,resnet50,90\n", ("--range", "D1:E2")),
    ("Model,batch,ms,Model,batch,ms\nresnet50,8,250,vgg16,8,90\n", ("--range", "A1:C2")),
    ("Model,T4,RTX 3090\nresnet50,250,90\n", ("--columns-are", "gpu")),
    ("GPU,16,32\nT4,250,490\n", ("--columns-are", "batch")),
    ("GPU,ResNet50 fp32,ResNet50 amp\nT4,250,190\n", ("--columns-are", "cnn,precision")),
    ("Model,T4,T4\n,fp32,amp\nresnet50,250,190\n", ("--columns-are", "gpu,precision")),
    ("GPU,T4,T4\nModel,resnet50,vgg16\nBatch,32,32\nms,250,500\n", ("--columns-are", "run")),
    ("GPU,network,batch,PyTorch,MXNet\nT4,vgg16,8,90,95\n", ("--columns-are", "framework")),
    ("GPU,network,batch,224 px,448 px\nT4,vgg16,8,90,360\n", ("--columns-are", "input_size_px")),
    ("Model,FP32 (ms),TF32 (ms)\nresnet50,250,190\n", ("--columns-are", "precision")),
    ('GPU,network,label,batch,ms\nT4,vgg16,"DDP, fp16",32,250\n', ("--column", "precision=label")),
    ('GPU,network,label,batch,ms\nT4,vgg16,"DDP, fp16",32,250\n', ("--value", "precision:DDP, fp16=fp16")),
    ("4 GPUs,,\n,,\nGPU,network,batch,ms\nT4,vgg16,32,250\n", ("--set", "gpus_per_node=8")),
    ("GPU,network,batch,Epoch time\nT4,vgg16,32,0:10:00\n", ("--set", "images_per_epoch=CHOICE")),
    (HEAD + "ms\n" + ROWS.format(250, 500) + "Average,,,,375\n", ("--value", "gpu:Average=skip")),
    (HEAD + "ms\nT4,,,,\n" + ROWS.format(250, 500).replace("T4", ""), ("--skip-unmeasured",)),
    (HEAD + "ms\nT4,,,,\n" + ROWS.format(250, 500).replace("T4", ""), ("--fill-down",)),
    (
        HEAD + "ms,host\n" + ROWS.format("250,a", "500,a") + ROWS.format("150,b", "400,b"),
        ("--only", "host=a"),
    ),
]


UNCLEAR = [
    (HEAD + "ms,task\nT4,vgg16,8,fp32,250,train\nT4,vgg16,8,fp32,90,infer\n", ("--only", "task=train")),
    (HEAD + "ms,accum\n" + "T4,resnet50,32,fp32,250,1\nT4,vgg16,32,fp32,90,4\n", ("--only", "accum=1")),
    (HEAD + "ms\n" + ROWS.format(250, "OOM"), ("--skip-unmeasured",)),
    (HEAD + "ms\n" + ROWS.format(250, "#NV"), ("--skip-unmeasured",)),
    (HEAD + "ms\n" + ROWS.format(250, "51 %"), ("--skip-unmeasured",)),
    (HEAD + "ms,by\n" + ROWS.format("250,PyTorch", "500,Keras/PlaidML"), ("--column", "framework=by")),
    (HEAD + "ms\n,vgg16,8,fp32,250\n" + ROWS.format(250, 500), ("--skip-rows", "2")),
    (HEAD + "ms\n" + ROWS.format(250, 500).replace("fp32", "yes"), ("--value", "precision:yes=amp")),
    (HEAD + "ms\n" + ROWS.format(250, 500).replace("T4,v", ",v"), ("--fill-down",)),
    ("GPU,Model,Batch,FP16,ms\nT4,vgg16,32,yes,250\n", ("--value", "fp16:yes=amp")),
    ("GPU,Application,Batch,AMP,ms\nT4,vgg16,32,yes,250\n", ("--column", "cnn=Application")),
    (HEAD + "ms,foo\n" + ROWS.format("250,on", "500,on"), ("--column", "tf32=foo")),
    (HEAD + "Total (ms)\n" + ROWS.format(250, 500), ("--column", "time_s=Total (ms)")),
    (HEAD.replace("GPU", "nr") + "ms\n" + ROWS.format(1, 2).replace("T4", "1"), ("--set", "gpu=CHOICE")),
    (HEAD + "ms,img/s\n" + "T4,resnet50,32,fp32,250,64\n", ("--column", "time_s=img/s")),
    (HEAD + "a (ms),b (ms)\n" + "T4,resnet50,32,fp32,250,64\n", ("--column", "time_s=a (ms)")),
    (HEAD + "median ms,p50 (s)\n" + "T4,resnet50,32,fp32,250,64\n", ("--column", "time_s=median ms")),
    (HEAD.replace(",", ";") + "ms\nT4;resnet50;32;fp32;1,250\n", ("--decimal", "comma")),
    (HEAD + "ms,n_gpus\n" + "T4,resnet50,32,fp32,250,2\n", ("--batch-is", "global")),
    (HEAD + "ms\n" + ROWS.format(250, 500).replace("T4,r", "K80,r"), ("--value", "gpu:K80=2x K80")),
]


@pytest.mark.parametrize(("text", "option"), UNCLEAR + SHAPES)
def test_what_is_not_clear_is_asked_with_the_option_that_answers_it(tmp_path, text, option):
    assert option in options(read(tmp_path, text))


def test_the_options_of_shapes_read_them(tmp_path):
    said = {"constants": {"batch_per_gpu": "8", "precision": "fp32"}, "unit": "ms"}
    # The title of the sheet is that of each part of it.
    made = read(
        tmp_path,
        "in fp32,,,,\nModel,ms,,Model,ms\nresnet50,250,,vgg16,90\n",
        area="D2:E3",
        constants={"gpu": "T4", "batch_per_gpu": "8", "precision": "fp32"},
    )
    assert made.issues == () and made.frame["cnn"].tolist() == ["vgg16"]
    assert "not read: 'in fp32'" in made.notes
    made = read(tmp_path, PIVOT.replace("GPU", "Model"), columns_are=("gpu",), ignored=RATIO, **said)
    assert made.issues == () and made.frame["gpu"].tolist() == ["T4", "RTX 3090"]
    two = "Model,T4,,RTX 3090,\n,fp32,amp,fp32,amp\nresnet50,250,150,90,60\n"
    answers = {"columns_are": ("gpu", "precision"), "constants": {"batch_per_gpu": "8"}, "unit": "ms"}
    made = read(tmp_path, two, **answers)
    assert made.issues == () and made.frame["precision"].tolist() == ["fp32", "amp"] * 2
    assert made.frame["gpu"].tolist() == ["T4", "T4", "RTX 3090", "RTX 3090"]


def test_many_steps_are_their_median_with_the_least_and_most(tmp_path):
    rows = "".join(f"{200 + step},{90 + step % 2}\n" for step in range(9))
    said = {"gpu": "T4", "batch_per_gpu": "8", "precision": "fp32"}
    made = read(tmp_path, "resnet50,vgg16\n" + rows, columns_are=("cnn",), constants=said, unit="ms")
    assert made.issues == () and made.times["number"].tolist() == [204, 90]
    np.testing.assert_allclose(made.frame["time_max_s"], [0.208, 0.091])
    assert "steps of 2" in " ".join(made.notes)
    head = "model,step 1,step 2,step 3,step 4,step 5,step 6,step 7,step 8\n"
    made = read(
        tmp_path, head + "vgg16,90,91,92,93,94,95,96,999\n", columns_are=("step",), constants=said, unit="ms"
    )
    assert made.issues == () and made.times["number"].tolist() == [93.5]
    rows = "".join(f"{epoch},{90 * epoch}\n" for epoch in range(1, 9))
    made = read(tmp_path, "epoch,ms\n" + rows, constants=said | {"cnn": "vgg16"})
    assert [issue.text[:35] for issue in made.issues] == ["the times of these steps only rise:"]
    assert "not read: epoch" in made.notes


PRECISIONS = {
    **dict.fromkeys(
        ("AMP off", "not amp", "no-amp", "w/o amp", "ohne AMP", "sans AMP", "AMP disabled"), "fp32"
    ),
    **dict.fromkeys(
        ("fp16 off", "!amp", "AMP \u274c", "no autocast", "mixed precision: no", "\u2717 amp"), "fp32"
    ),
    **dict.fromkeys(("AMP", "fp16 (AMP)", "mixed", "AMP on", "torch amp"), "amp"),
}


@pytest.mark.parametrize("text", PRECISIONS)
def test_a_negated_precision_is_the_default_one(tmp_path, text):
    made = read(tmp_path, HEAD + "ms\n" + ROWS.format(250, 500).replace("fp32", text))
    found = made.frame["precision"].unique().tolist() if not made.issues else "asked"
    assert found in ([PRECISIONS[text]], "asked"), (found, made.issues)


def test_mixed_precision_in_a_column_of_its_own_has_16_bits(tmp_path):
    head = "GPU,Model,Batch,bits,mixed_float16,ms\n"
    rows = "T4,resnet50,32,16,yes,250\nT4,vgg16,32,32,no,500\nT4,vgg16,64,16,no,500\n"
    made = read(tmp_path, head + rows)
    assert made.issues == () and made.frame["precision"].tolist() == ["amp", "fp32", "fp16"]


UNREAD = [
    *("cards", "np", "iter_size", "update_freq", "subdivisions", "power_limit_w", "sm clock", "MIG slice"),
    *("fwd_only", "width_mult", "strategy", "zero_stage", "tensor parallel", "GPUs used for DDP"),
]


@pytest.mark.parametrize("heading", UNREAD)
def test_a_column_that_may_change_the_times_is_asked_about(tmp_path, heading):
    text = HEAD + f"ms,{heading}\n" + ROWS.format("250,1", "500,2" if heading != "fwd_only" else "500,1")
    asked = read(tmp_path, text)
    assert asked.issues and any(
        option[0] in ("--ignore", "--column", "--batch-is", "--only") for option in options(asked)
    )
    if ("--ignore", heading) in options(asked):
        assert read(tmp_path, text, ignored=(heading,)).issues == ()


LINES = [
    "two V100 in one box, power capped",
    "forward pass only",
    "per two steps",
    "on MIG slices",
    "gradient accumulation 4",
]


@pytest.mark.parametrize("line", LINES)
def test_a_title_or_note_that_may_change_the_times_is_asked_about(tmp_path, line):
    table = HEAD + "ms\n" + ROWS.format(250, 500)
    for text, row in ((f'"{line}"\n\n{table}', 1), (f'{table}\n"{line}"\n', 5)):
        (issue,) = read(tmp_path, text).issues
        assert issue.answer == ("--ignore", "CHOICE") and ("--ignore", f"row {row}") in issue.options
        assert read(tmp_path, text, ignored=(f"row {row}",)).issues == ()


def test_a_hidden_row_is_asked_about(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in (HEAD + "ms\n" + ROWS.format(250, 500)).splitlines():
        book.active.append([float(cell) if cell.isdigit() else cell for cell in line.split(",")])
    book.active.row_dimensions[3].hidden = True
    book.save(tmp_path / "runs.xlsx")
    (issue,) = read_spreadsheet(tmp_path / "runs.xlsx").issues
    assert issue.rows == (3,) and issue.options[0] == ("--skip-rows", "3")
    assert read_spreadsheet(tmp_path / "runs.xlsx", SheetAnswers(ignored=("hidden",))).issues == ()


def test_a_pipe_a_device_and_a_socket_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.csv"))
        os.symlink("/dev/zero", tmp_path / "zero.csv")
        for name in ("pipe.csv", "s.csv", "zero.csv"):
            with pytest.raises(InputError, match="is not a file"):
                read_spreadsheet(tmp_path / name)


@pytest.mark.parametrize("name", ["old.xls", "paper.pdf", "table.numbers", "notes.docx"])
def test_other_formats_are_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"save the table as|expected a table"):
        read(tmp_path, "x", name)


def test_a_cell_of_brackets_is_no_unit():
    # Without a limit of length this takes minutes.
    assert parse_unit("---" + "[" * 200_000) is None


OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
CELL = '<t:table-cell t:number-columns-repeated="300" o:value-type="{}" o:value="{}"/>'


@pytest.mark.parametrize(
    ("rows", "cell", "start"),
    [
        (190_000, CELL.format("float", 1), ""),
        ("x", CELL.format("float", "one"), ""),
        (1, "", "<!DOCTYPE a []>"),
    ],
)
def test_an_open_document_that_unfolds_or_is_broken_is_refused(tmp_path, rows, cell, start):
    names = " ".join(
        f'xmlns:{short}="{OFFICE}{name}:1.0"' for short, name in (("o", "office"), ("t", "table"))
    )
    row = f'<t:table-row t:number-rows-repeated="{rows}">{cell}</t:table-row>'
    with zipfile.ZipFile(tmp_path / "runs.ods", "w") as archive:
        archive.writestr("content.xml", f'{start}<o:d {names}><t:table t:name="A">{row}</t:table></o:d>')
    with pytest.raises(InputError, match=r"OpenDocument table|expected at most"):
        read_spreadsheet(tmp_path / "runs.ods")


def test_what_may_say_another_measurement_is_asked_about(tmp_path):
    switches = "GPU,Model,Batch,AMP,xyz,ms\nT4,resnet50,32,yes,no,150\nT4,vgg16,32,no,yes,300\n"
    assert ("--column", "tf32=xyz") in options(read(tmp_path, switches))
    assert options(read(tmp_path, switches, columns={"ignored": "xyz"})) == []
    noted = HEAD + "ms*\n" + ROWS.format(100, 200) + "* with AMP,,,,\n"
    (issue,) = read(tmp_path, noted).issues
    assert "with AMP" in issue.text
    assert options(read(tmp_path, noted.replace("with AMP", "measured twice"))) == []
