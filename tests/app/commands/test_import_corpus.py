"""Tables as people publish them: imported right by one corrected command, or refused, and never wrong."""

import math
import re
from random import Random

import pytest
from trainlaw.app.inputs.run_tables import read_runs

from . import corpus

pytest.importorskip("openpyxl")

#: Not tidy, or with a question that the truth does not answer.
REFUSED = frozenset(
    """
    approx-rates batch-row-below-models blog-it-per-s carnet-sections chat-lines
    durchsatz-und-zeit epoch-imagenet-min epoch-imagenet-title epoch-minsec footnote-amp footnote-two-gpus
    fwd-bwd-total gpu-over-precision groups-merged-title groups-of-four hf-trainer hours-per-epoch
    imagenet-epochs inference-training labbook-key-values lightning-hparams mean-ci
    median-and-mean merged-gpu-groups n-mean-stdev ngc-8x no-header nvidia-vendor-page ods-sheets-merged
    offset-table pandas-pivot per-gpu-and-total pivot-oom precision-over-batch run-labels run-names-hf
    section-precision section-rows settings-block-above sheet-per-precision
    side-by-side side-by-side-2 sloppy-names speed-up-columns stacked-tables
    summary-and-raw-sheets three-level-merged-units three-levels title-100-iterations
    training-yes-no transponiert two-tables-batch-title two-tables-one-sheet unit-in-corner
    unit-in-own-row unit-row us-thousands wandb-config wandb-export wandb-keys wandb-runs-2
    numbers-above watts-and-memory
    """.split()
)
# What is asked or assumed is said.
SAID = {
    "bilder-tausender": "--precision fp32 | --precision tf32",
    "mlperf-style": "throughput of all together or of each GPU",
    "oom-and-dashes": "--skip-unmeasured",
    "scaling-gpus": "how many GPUs has a node?",
    "sheet-per-gpu": "--sheets-are gpu",
    "average-rows-and-column": "--value gpu:Average=skip",
    "german-thousands": "not read: ",
}
# A quarter of them is a first answer.
EACH = [
    name if number % 4 == 0 else pytest.param(name, marks=pytest.mark.slow)
    for number, name in enumerate(corpus.NAMES)
]


@pytest.mark.parametrize("name", EACH)
def test_a_table_is_imported_with_one_corrected_command_or_refused(name, tmp_path):
    sheets, truth = corpus.load(name)
    path = corpus.write(sheets, truth, tmp_path)
    how, said = corpus.imported(path, truth)
    text = " ".join(said.split())
    assert how == ("refused" if name in REFUSED else "written"), said
    # Of several tables the first is read, and a cell with the mark of a footnote left out.
    whole = "part" if name in ("footnote-harmless", "footnote-marks", "log-comments") else ""
    assert how == "refused" or corpus.differences(path, truth) == whole
    assert SAID.get(name, "") in text, said


EXPORTED = """GPU Name\tModel\tBatch\tFP16\tThroughput
Tesla T4\tResNet-50\t64\tYes\t280,5
NVIDIA GeForce RTX 3090\tResNet-50\t64\tNo\t331,5
NVIDIA GeForce RTX 3090\tVGG 16\t64\tYes\t446,6
"""
DETAILED = """# started Mon 3 May 10:00:01
GPU,CNN,batch/GPU,# GPUs,precision,s/it,img_size,Date
"GPU 0: Tesla T4, 15360 MiB",ResNet-50,64,1,16-mixed,0.2286,224x224,2022-05-03
"GPU 0: NVIDIA GeForce RTX 3090, 24576 MiB",VGG 16,64,1,16-mixed,0.1433,224x224,2022-05-03
"""
AMP = [["T4", "resnet50", 64, "amp", 1, 0.2283], ["RTX 3090", "vgg16", 64, "amp", 1, 0.1433]]


@pytest.mark.parametrize(
    ("text", "encoding", "runs"),
    [
        # Without mixed precision PyTorch uses its default.
        (EXPORTED, "utf-16", [*AMP, ["RTX 3090", "resnet50", 64, "default", 1, 0.19306]]),
        (DETAILED, "utf-8", AMP),
    ],
)
def test_an_export_in_utf_16_and_names_as_drivers_print_them(text, encoding, runs, tmp_path):
    path = tmp_path / "export.txt"
    path.write_bytes(text.encode(encoding))
    truth = {"runs": runs, "choices": ["amp"]}
    how, said = corpus.imported(path, truth)
    assert how == "written", said
    assert corpus.differences(path, truth) == ""
    years = read_runs(tmp_path / "out.csv").frame["bench_year"].dropna()
    assert set(years) == ({2022} if "Date" in text else set())


@pytest.mark.parametrize("part", range(2))
def test_no_mutation_of_a_spreadsheet_is_imported_wrong(part, tmp_path):
    found = []
    for seed in range(12 * part, 12 * part + 12):
        random = Random(seed)
        name = random.choice(corpus.NAMES)
        sheets, truth = corpus.load(name)
        kind, sheets = corpus.mutated(sheets, truth, random)
        path = corpus.write(sheets, truth, tmp_path)
        how, said = corpus.imported(path, truth)
        # What only the formula speaks for is a remark, and it must be made.
        remarks = ("fit the formula once they are exchanged", "off the formula by more than the others")
        if kind == "swapped headers" and any(text in " ".join(said.split()) for text in remarks):
            continue
        # Exchanged headers of the mean and the median say another number, a hundredth apart.
        different = corpus.differences(path, truth, 0.02) if how == "written" else ""
        off = re.search(r"times off by ([\d.]+)", different)
        # Times of two networks that differ by less than 1.4 look alike under each other's heading.
        if kind == "swapped headers" and off and float(off[1]) < math.log(1.4):
            continue
        found += [f"{seed} {name} {kind}: {different}"] * (different not in ("", "part"))
        path.unlink()
    assert found == []
