"""Headings, cells and layouts of spreadsheets, without the comparison with the formula."""

import os
import socket
import zipfile

import numpy as np
import pytest
from trainlaw.datasets.spreadsheets import blocks
from trainlaw.datasets.spreadsheets.answers import SheetAnswers
from trainlaw.datasets.spreadsheets.conversion import read_spreadsheet
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.quantities import CANDIDATES, parse_unit
from trainlaw.formulas.errors import InputError

from ...rows import each_row

HEAD = "GPU,Model,Batch,Precision,"
ROWS = "T4,resnet50,32,fp32,{}\nT4,vgg16,32,fp32,{}\n"
KNOWN = SheetAnswers(confirmed=True)


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
    "Epoch time (s)": ("epoch time", "s/epoch"),
    "infer_step_time": ("other time", None),
    "train/samples_per_sec": ("throughput", "images/s"),
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
        (HEAD + ",Time (ms)\n" + "T4,resnet50,32,fp32,x,250\nT4,vgg16,32,fp32,,500\n", {}),
        ("GPU,T4,T4\nModel,resnet50,vgg16\nBatch,32,32\ndtype,fp32,fp32\nms,250,500\n", {}),
        (HEAD + "Time\n,,,,ms\n" + ROWS.format(250, 500), {}),
        ("My runs\n\n" + HEAD + "ms\n" + ROWS.format(250, 500) + "Average,,,,375\n\nwith driver 470\n", {}),
        (HEAD + "images/s\n" + ROWS.format(128, 64), {}),
        (HEAD + "it/s\n" + ROWS.format(4, 2), {}),
        ("GPU,Model,Batch,ms\nT4,resnet50,32,250\nT4,vgg16,32,500\n", {"constants": {"precision": "fp32"}}),
        (HEAD.replace("Prec", "Prc") + "ms\n" + ROWS.format(250, 500), {}),
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


@pytest.mark.parametrize(
    ("text", "option"),
    [
        (HEAD + "ms,task\nT4,vgg16,8,fp32,250,train\nT4,vgg16,8,fp32,90,infer\n", ("--only", "task=train")),
        (HEAD + "ms,accum\n" + "T4,resnet50,32,fp32,250,1\nT4,vgg16,32,fp32,90,4\n", ("--only", "accum=1")),
        (HEAD + "ms\n" + ROWS.format(250, "OOM"), ("--skip-unmeasured",)),
        (HEAD + "ms\n" + ROWS.format(250, "#NV"), ("--skip-unmeasured",)),
        (HEAD + "ms\n" + ROWS.format(250, 500).replace("fp32", "yes"), ("--value", "precision:yes=amp")),
        (HEAD + "ms\n" + ROWS.format(250, 500).replace("T4,v", ",v"), ("--fill-down",)),
        (HEAD + "ms,foo\n" + ROWS.format("250,on", "500,on"), ("--column", "tf32=foo")),
        (
            HEAD.replace("Batch", "Training images")
            + "Batch,Epoch (s)\n"
            + ROWS.format("9469,20", "9469,46"),
            ("--column", "images_per_epoch=Batch", "--column", "batch=Training images"),
        ),
        (HEAD + "Total (ms)\n" + ROWS.format(250, 500), ("--column", "time_s=Total (ms)")),
        (HEAD.replace("GPU", "nr") + "ms\n" + ROWS.format(1, 2).replace("T4", "1"), ("--set", "gpu=CHOICE")),
        (HEAD + "ms,img/s\n" + "T4,resnet50,32,fp32,250,64\n", ("--column", "time_s=img/s")),
        (HEAD + "a (ms),b (ms)\n" + "T4,resnet50,32,fp32,250,64\n", ("--column", "time_s=a (ms)")),
        (HEAD + "median ms,p50 (s)\n" + "T4,resnet50,32,fp32,250,64\n", ("--column", "time_s=median ms")),
        (HEAD.replace(",", ";") + "ms\nT4;resnet50;32;fp32;1,250\n", ("--decimal", "comma")),
        (HEAD + "ms,n_gpus\n" + "T4,resnet50,32,fp32,250,2\n", ("--batch-is", "global")),
        (HEAD + "ms\n" + ROWS.format(250, 500).replace("T4,r", "K80,r"), ("--value", "gpu:K80=2x K80")),
    ],
)
def test_what_is_not_clear_is_asked_with_the_option_that_answers_it(tmp_path, text, option):
    assert option in options(read(tmp_path, text))


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
    )
    assert made.issues == () and made.frame["n_gpus"].tolist() == [1, 4]


@pytest.mark.parametrize("machine", ["8x T4 per node", "T4, 8 GPUs per node"])
def test_the_gpus_of_a_node_are_times_the_nodes(tmp_path, machine):
    rows = "Nodes,Seconds,Note\n1,0.25,a\n4,0.30,b\n"
    made = read(tmp_path, f'"ResNet-50, fp32, batch 32 per GPU, {machine}"\n{rows}')
    assert made.frame["n_gpus"].tolist() == [8, 32]


def test_a_number_in_a_name_of_several_gpus_is_kept(tmp_path):
    text = (
        HEAD.replace("Batch", "Batch per GPU") + "ms\n" + ROWS.format(250, 500).replace("T4,v", "8x A100,v")
    )
    answer = next(option for option in options(read(tmp_path, text)) if "A100-SXM4-40GB" in option[1])
    assert answer == ("--value", "gpu:8x A100=8x A100-SXM4-40GB")
    made = read(tmp_path, text, values={("gpu", "8x A100"): "8x A100-SXM4-40GB"})
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


def test_a_second_table_on_a_sheet_is_read_with_its_own_columns(tmp_path):
    made = read(
        tmp_path,
        HEAD + "ms\n" + ROWS.format(250, 500) + "\nGPU,Batch,Model,fp32 (ms)\n" + "T4,1,resnet50,9\n",
    )
    assert made.issues == () and made.frame["batch_per_gpu"].tolist() == [32, 32, 1]
    np.testing.assert_allclose(made.seconds(), [0.25, 0.5, 0.009])


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
    assert "with AMP" in issue.text and issue.options == ()
    assert options(read(tmp_path, noted.replace("with AMP", "measured twice"))) == []


def test_many_rows_of_headings_take_time_in_proportion(tmp_path, monkeypatch):
    looked, counts = [], []
    filled = blocks._filled
    monkeypatch.setattr(blocks, "_filled", lambda row: looked.append(row) or filled(row))
    for count in (600, 1200):
        looked.clear()
        with pytest.raises(InputError):
            read(tmp_path, "| GPU | Model | Batch | Precision | Note |\n" * count, "many.md")
        counts.append(len(looked))
    assert counts[0] < counts[1] < 2.1 * counts[0]


def test_a_throughput_without_a_unit_that_contradicts_the_times_is_asked_about(tmp_path):
    head = HEAD + "ms,Throughput\n"
    rows = [("resnet50", 32, 250), ("vgg16", 32, 500), ("resnet18", 64, 160), ("densenet121", 16, 200)]

    def made(factors):
        lines = [
            f"T4,{cnn},{batch},fp32,{ms},{batch / ms * factor:.5g}\n"
            for (cnn, batch, ms), factor in zip(rows, factors, strict=True)
        ]
        return read(tmp_path, head + "".join(lines))

    # In thousands of images per second, or any other unit.
    assert not made((1, 1, 1, 1)).issues and not made((60, 60, 60, 60)).issues
    found = made((1, 2, 5, 9)).issues
    assert ["contradict each other or the batch" in issue.text for issue in found] == [True]
    assert made((1, 1, 1, 3)).issues[0].options == (("--skip-rows", "5"),)


def test_a_column_of_times_without_a_number_is_asked_about(tmp_path):
    made = read(tmp_path, HEAD + "step_ms,driver\n" + ROWS.format("535.1.3,250", "535.1.3,500"))
    assert [issue.options for issue in made.issues] == [(("--column", "time_s=driver"),)]
