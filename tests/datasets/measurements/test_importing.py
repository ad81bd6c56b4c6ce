import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import GpuCatalog, find_gpu, load
from trainlaw.datasets.files.faults import FaultsError
from trainlaw.datasets.measurements import copies
from trainlaw.datasets.measurements.importing import import_runs

GOOD = "gpu,cnn,batch_per_gpu,time_s\nNVIDIA GeForce RTX 3090,ResNet-50,32,0.1\nTesla T4,vgg16,16,0.2\n"


def found_faults(path, columns=None, **options):
    try:
        import_runs(path, columns, **options)
    except FaultsError as error:
        return list(error.faults)
    return []


def faults(path, **options):
    return [str(fault) for fault in found_faults(path, **options)]


def test_four_columns_are_enough(write):
    runs = import_runs(write(GOOD))
    frame = runs.frame
    assert frame[["gpu", "cnn", "input_size_px", "n_classes"]].to_numpy().tolist() == [
        ["RTX 3090", "resnet50", 224, 1000],
        ["T4", "vgg16", 224, 1000],
    ]
    assert runs.name == "runs.csv"
    assert runs.features(["conv_compute_s"]).notna().all().all()


@pytest.mark.skipif(int(pd.__version__.split(".")[0]) < 3, reason="pandas 2 copies what frames share")
def test_columns_that_a_file_lacks_take_no_memory(write):
    runs = import_runs(write(GOOD))
    assert runs._rows["harness"].to_numpy().strides == (0,)
    frame = runs.frame
    frame.loc[0, "harness"] = "mine"
    assert frame["harness"].tolist() == ["mine", "unknown"]
    assert runs.frame["harness"].tolist() == ["unknown", "unknown"]


def test_copies_of_many_gpus_are_found_without_all_pairs(write, monkeypatch):
    gpus = ["T4", "P4", "V100-SXM2-16GB", "K80"]
    rows = [f"{gpu},resnet50,{batch},0.{batch}\n" for gpu in gpus for batch in (11, 12, 13)]
    path = write("gpu,cnn,batch_per_gpu,time_s\n" + "".join(rows))
    assert len(found_faults(path)) == 6
    monkeypatch.setattr(copies, "_MOST_PAIRS", 10)
    texts = faults(path)
    assert len(texts) == 3 and all("those of T4; remove the copies" in text for text in texts)


def test_many_repeats_in_few_digits_are_equal_by_chance(write):
    random = np.random.default_rng(0)
    rows = [
        f"{gpu},resnet50,{batch},{batch * seconds:.3g}\n"
        for gpu, least in (("T4", 0.010), ("P4", 0.011))
        for batch in (8, 16, 32)
        for seconds in random.uniform(least, 1.2 * least, 200)
    ]
    assert not found_faults(write("gpu,cnn,batch_per_gpu,time_s\n" + "".join(rows)))


@pytest.mark.parametrize("name", ["precisions", "multi"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet"])
def test_built_in_runs_come_back_from_a_file(name, ending, tmp_path):
    runs, path = load(name), tmp_path / f"runs.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        runs.frame.to_parquet(path)
    else:
        runs.frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    assert import_runs(path) == runs


def test_built_in_runs_come_back_from_excel(tmp_path):
    pytest.importorskip("openpyxl")
    runs = load("multi").where(source="pycls")
    runs.frame.to_excel(tmp_path / "runs.xlsx", index=False)
    back = import_runs(tmp_path / "runs.xlsx")
    # Excel keeps 15 digits.
    assert back.seconds == pytest.approx(runs.seconds, rel=1e-14)
    texts = ["gpu", "cnn", "framework", "framework_version", "source_commit"]
    assert (back.frame[texts] == runs.frame[texts]).all().all()


def test_semicolons_a_byte_order_mark_and_repeats_are_read(write):
    assert len(import_runs(write("\ufeff" + GOOD.replace(",", ";")))) == 2
    assert len(import_runs(write(GOOD + GOOD.partition("\n")[2]))) == 4


def test_imported_runs_merge_with_built_in_ones(write):
    merged = load("fp32-2026").merged(import_runs(write(GOOD)))
    assert len(merged) == 1732
    assert merged.features().shape[0] == 1732


def test_own_gpus_are_known_when_given(write):
    own = GpuCatalog((find_gpu("T4"),))
    assert len(import_runs(write(GOOD.replace("NVIDIA GeForce RTX 3090", "Tesla T4")), gpus=own)) == 2
    assert "column gpu" in faults(write(GOOD), gpus=own)[0]


@pytest.mark.parametrize(
    ("ending", "factor"), [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("min", 60), ("h", 3600)]
)
def test_a_wrong_unit_is_recognised_and_the_message_says_what_to_do(write, ending, factor):
    path = write(f"gpu,cnn,batch_per_gpu,time_{ending}\nT4,vgg16,8,200\n")
    assert faults(path) == [
        f"column time_{ending}: expected seconds in time_s; "
        f"map it with time_s=time_{ending}, which converts the unit"
    ]
    assert import_runs(path, {"time_s": f"time_{ending}"}).seconds == pytest.approx([200 * factor])


def test_a_size_that_cannot_be_built_is_a_fault(write):
    path = write("gpu,cnn,batch_per_gpu,time_s,input_size_px\nT4,vgg16,8,0.5,2\n")
    assert faults(path)[0].startswith("row 1, column input_size_px: expected a size at which it can be built")


def test_many_faults_are_listed_in_order_and_cut_short(write):
    rows = "".join(f"T4,vgg16,{-row},{-row}\n" for row in range(1, 1000))
    found = found_faults(write("gpu,cnn,batch_per_gpu,time_s\n" + rows))
    assert len(found) <= 50
    assert found[0].row is None and "more such rows" in str(found[0])
    numbered = [fault.row for fault in found if fault.row]
    assert numbered == sorted(numbered)


def test_thousands_of_sizes_are_refused(write):
    rows = "".join(f"T4,resnet18,8,1,{size}\n" for size in range(32, 2100))
    found = faults(write("gpu,cnn,batch_per_gpu,time_s,input_size_px\n" + rows))
    assert found == ["column cnn: expected at most 2000 different CNNs and sizes, got 2068"]


def test_the_error_tells_the_first_fault_and_how_many(write):
    with pytest.raises(FaultsError) as caught:
        import_runs(write(GOOD.replace("0.1", "-1").replace("0.2", "-2")))
    first = "runs.csv: row 1, column time_s: expected a number from 1e-09 to 1e+07 s, got -1.0"
    assert str(caught.value) == f"{first} (and 1 more faults)"
    assert len(caught.value.faults) == 2


def test_numbers_in_text_columns_stay_text(write):
    path = write("gpu,cnn,batch_per_gpu,time_s,framework_version\nT4,vgg16,8,1,1.10\n")
    assert import_runs(path).frame["framework_version"].item() == "1.10"


@pytest.mark.parametrize(
    ("theirs", "ours", "value"),
    [
        ("image_size", "input_size_px", "64"),
        ("dtype", "precision", "amp"),
        ("num_gpus", "n_gpus", "1"),
        ("precison", "precision", "fp16"),
        ("frame_work", "framework", "x"),
    ],
)
def test_an_optional_column_in_another_spelling_is_not_lost(write, theirs, ours, value):
    path = write(f"gpu,cnn,batch_per_gpu,time_s,{theirs}\nT4,resnet50,8,0.1,{value}\n")
    (fault,) = found_faults(path)
    assert fault.column == theirs and f"map it with {ours}={theirs}" in str(fault)
    assert found_faults(path, {ours: theirs}) == []


def test_optional_columns_take_their_defaults_or_are_read(write):
    names = ["layout", "compilation", "tuned", "memory_bytes"]
    row = import_runs(write("gpu,cnn,batch_per_gpu,time_s\nT4,resnet50,8,0.1\n")).frame.iloc[0]
    assert row[["data", "pool_reason", *names[:3]]].tolist() == ["unknown", "none", "unknown", "unknown", 0]
    head = f"gpu,cnn,batch_per_gpu,time_s,data,{','.join(names)}\nT4,resnet50,8,0.1,synthetic,"
    row = import_runs(write(f"{head}channels_last,inductor,1,3e9\n")).frame.iloc[0]
    assert row[names].tolist() == ["channels_last", "inductor", 1, 3e9]
    (fault,) = found_faults(write(f"{head}nhwc,inductor,1,3e9\n"))
    assert "one of nchw, channels_last, unknown" in str(fault)


def test_only_a_run_outside_the_pool_may_name_a_cnn_without_counts(tmp_path):
    path = tmp_path / "runs.csv"
    head = "gpu,cnn,input_size_px,n_classes,batch_per_gpu,time_s,pool,pool_reason\n"
    path.write_text(head + "T4,unet_of_ours,512,2,8,0.1,0,the CNN has no counts\n")
    runs = import_runs(path)
    assert runs.labels()["cnn_base"].tolist() == ["unet_of_ours"]
    path.write_text(head + "T4,unet_of_ours,512,2,8,0.1,1,none\n")
    (fault,) = found_faults(path)
    assert fault.column == "cnn"


@pytest.mark.parametrize(
    ("gpu", "framework", "version", "precision"),
    [
        ("RTX 3090", "pytorch", "2.4", "default"),
        ("RTX 3090", "pytorch", "1.8.1", "tf32"),
        ("RTX 3090", "pytorch", "1.6", "fp32"),
        ("RTX 3090", "tensorflow", "2.10.0", "tf32"),
        ("RTX 3090", "mine", "unknown", "default"),
        ("T4", "tensorflow", "2.10.0", "fp32"),
    ],
)
def test_the_default_precision_is_that_of_framework_and_version(write, gpu, framework, version, precision):
    columns = "cnn,gpu,batch_per_gpu,time_s,precision,framework,framework_version"
    runs = import_runs(write(f"{columns}\nresnet50,{gpu},32,0.2,default,{framework},{version}\n"))
    assert runs.frame["precision"].tolist() == [precision]
