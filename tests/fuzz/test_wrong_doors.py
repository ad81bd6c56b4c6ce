"""Ways to a wrong number beside tables of runs: files and options, as a table; and right ones beside them."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from trainlaw.app.cli import app
from trainlaw.app.models.builtin import BUILT_IN

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
GPU = {
    "gpu": "Own",
    "sm_count": 40,
    "core_count": 2560,
    "boost_clock_hz": 1.59e9,
    "peak_fp32_flop_per_s": 8.1e12,
    "memory_bytes": 16e9,
    "bandwidth_byte_per_s": 320e9,
    "l2_bytes": 4194304,
    "l1_bytes_per_sm": 65536,
    "comparable_fp32_flop_per_s": 8.1e12,
    "last_level_cache_bytes": 4194304,
    "tensor_fp16_flop_per_s": 65e12,
    "tdp_w": 70,
}
RUN = {"cnn": "resnet50", "gpu": "T4", "batch_per_gpu": 64}
COMMANDS = {
    "ONE": "predict --cnn resnet50 --gpu T4 --batch 64",
    "OWN": "predict --cnn resnet50 --gpu Own --batch 64 --gpu-file file.csv",
    "FROM": "predict --from file.csv",
    "NET": "predict --cnn file.csv --gpu T4 --batch 64",
    "PLAN": "plan --cnn resnet50 --gpu T4 --gpus 1 --prices file.csv",
    "STUDY": "study fp32-2026 --rates file.csv --out run",
    "ANCHOR": "predict-from-profile --gpu V100-SXM2-16GB --cnn vgg16 --batch 32 --anchor-gpu",
    "BUILT_IN": BUILT_IN,
}


def table(row):
    """A file of one row."""
    return f"{','.join(row)}\n{','.join(map(str, row.values()))}\n"


def layer(column, cell):
    """The first convolution of a network with another cell."""
    header, *lines = (CORPUS / "net.csv").read_text().splitlines()
    cells = lines[1].split(",")
    cells[header.split(",").index(column)] = cell
    return "\n".join((header, lines[0], ",".join(cells), *lines[2:]))


def content(text):
    """What `wrong-doors.txt` says that a file holds."""
    kind, _, rest = text.partition(" ")
    if kind == "own":
        return table(GPU | dict(cell.replace("~", " ").split("=") for cell in rest.split()))
    if kind == "corpus":
        name, *change = rest.split(" ", 1)
        old, new = change[0].split(" => ") if change else ("", "")
        return (CORPUS / name).read_text().replace(old, new, 1)
    return text.replace(" // ", "\n") + "\n"


def lines_of(name):
    return (HERE / name).read_text().splitlines()


def ways():
    """Names with what a file holds, the command, and what it must say: the wrong ones and the right ones."""
    found = []
    for line in lines_of("wrong-doors.txt"):
        if line.startswith("# "):
            found.append({})
            continue
        name, text, command, *words = line.split(" | ")
        found[-1][name] = (content(text), command.format(**COMMANDS), *words)
    return found


WAYS, RIGHT = ways()


def families():
    """Many cells of each column, each of which must be refused or asked about."""
    subject = ""
    for line in lines_of("wrong-cells.txt")[1:]:
        if line.startswith("=== "):
            subject = line.removeprefix("=== ")
            continue
        column, _, cells = line.partition(": ")
        for cell in cells.split(" | "):
            yield f"{subject}: {column} {cell}", way_of_family(subject, column, cell)
    yield from ((words, ("", words)) for words in lines_of("refused-commands.txt"))


def way_of_family(subject, column, cell):
    """What a file holds, and the command."""
    on_gpu = f"predict --cnn vgg16 --gpu '{cell}' --batch 8"
    return {
        "own GPU": lambda: (table(GPU | {column: cell}), "gpus list --gpu-file file.csv"),
        "rates": lambda: (table({"gpu": "T4", column: cell}), COMMANDS["STUDY"]),
        "configuration": lambda: (table(RUN | {column: cell}), COMMANDS["FROM"]),
        "layer": lambda: (layer(column, cell), COMMANDS["NET"]),
        "prices": lambda: (f"{column}\n{cell}\n", COMMANDS["PLAN"]),
        "NVLink of GPUs without it": lambda: ("", f"{on_gpu} --gpus 4 --link nvlink3"),
        "bf16 of GPUs without it": lambda: ("", f"{on_gpu} --precision bf16"),
    }[subject]()


FAMILIES = dict(families())
#: Commands of which all is right.
USUAL = lines_of("usual-commands.txt")
# A doubt that `predict` says of the numbers, not of what they are extended to.
DOUBTS = ("times that of", "is it the price", "cannot fit", "unlike any")


def said(content, words, folder):
    (folder / "file.csv").write_text(content)
    result = CliRunner().invoke(app, shlex.split(words))
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize("name", WAYS)
def test_no_other_wrong_number_is_silent(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, words, expected = WAYS[name]
    status, text = said(content, words, tmp_path)
    assert expected in text, text[-300:]
    assert status in (0, 2) and "nan" not in text.split("warning")[0]


def test_no_way_of_the_families_is_silent(tmp_path, monkeypatch):
    """Each is refused by one line, or asked about."""
    monkeypatch.chdir(tmp_path)
    answers = {name: said(*way, tmp_path) for name, way in FAMILIES.items()}
    asked = ("warning", "is it the price")
    silent = [
        name
        for name, (status, text) in answers.items()
        if status != 2 and not any(word in text for word in asked)
    ]
    assert silent == []


def test_there_are_almost_four_hundred_ways_beside_runs():
    assert len(WAYS) + len(FAMILIES) >= 385


def test_of_usual_commands_at_most_one_in_twenty_is_asked_about(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = {words: said("", words, tmp_path) for words in USUAL}
    asked = [
        words for words, (status, text) in answers.items() if status or any(doubt in text for doubt in DOUBTS)
    ]
    assert len(USUAL) + len(RIGHT) >= 60
    assert len(asked) <= 0.05 * len(USUAL), asked


@pytest.mark.parametrize("name", RIGHT)
def test_right_inputs_are_taken(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, text = said(*RIGHT[name], tmp_path)
    assert status == 0, text
    assert "times that of" not in text
