"""Lists and plan files become configurations; what is wrong in them is said in one line."""

from functools import partial

import pytest
from trainlaw.datasets.profiler.configurations import Configuration, configuration_grid, read_plan
from trainlaw.formulas.errors import InputError, UnknownNameError

from ...rows import each_row

PLACES = {"device": "cpu", "threads": [1, 2]}


def test_every_combination_comes_once():
    found = configuration_grid(["ResNet-18", "resnet18", "vgg11"], [8, 2], [64, 32], ["fp32"], **PLACES)
    assert len(found) == len(set(found)) == 2 * 2 * 2 * 2
    assert found == sorted(found)
    assert {c.cnn for c in found} == {"resnet18", "vgg11"}


def test_usual_sizes_where_none_are_given():
    (found,) = configuration_grid(["lenet5"], [4], [], ["amp"], device="cuda", threads=[0])
    assert (found.input_size_px, found.n_classes, found.title) == (32, 10, "lenet5, batch 4, 32 px, amp")


@pytest.fixture
def planned(write):
    """A function that reads a plan of some text."""
    return lambda text, **options: read_plan(write(text, "plan.csv"), **PLACES | options)


def test_stacks_and_forward_passes_are_configurations_of_their_own(planned):
    rows = "lenet5,4,channels_last,forward\nlenet5,4,eager,forward+backward+optimizer\n"
    passes, usual = planned(f"cnn,batch_per_gpu,stack,timed_parts\n{rows}", threads=[1])
    assert passes.title == "lenet5, batch 4, 32 px, fp32, channels_last, forward pass, 1 thread"
    grid, places = partial(configuration_grid, ["lenet5"], [4], [], ["fp32"]), PLACES | {"threads": [1]}
    assert [passes] == grid(stacks=["channels_last"], timed_parts="forward", **places)
    assert usual in grid(stacks=["channels_last", "eager"], **places)
    with pytest.raises(UnknownNameError, match="stack"):
        grid(stacks=["nhwc"], **places)


def test_plan_keeps_its_order_and_fills_gaps(planned):
    found = planned(
        "cnn,batch_per_gpu,input_size_px,n_classes,threads,n_gpus,precision\n"
        "vgg11,4,64,10,2,1,bf16\n"
        "lenet5,8,,,,,fp32\n"
        "vgg11,4,64,10,2,1,bf16\n",
        threads=[1],
    )
    assert found == [
        Configuration("cpu", 2, "bf16", "vgg11", 64, 10, 4),
        Configuration("cpu", 1, "fp32", "lenet5", 32, 10, 8),
    ]


def test_a_plan_may_say_more_than_what_to_measure(planned):
    """As a plan does that says why each configuration was chosen; whole numbers may come as 8.0."""
    found = planned(
        "gpu,cnn,batch_per_gpu,input_size_px,n_classes,precision,threads,n_gpus,disagreement_percent,remark\n"
        'Toy CPU,lenet5,8.0,32.0,10.0,fp32,2.0,1.0,34.5,"a new range, and cheap"\n'
    )
    assert found == [Configuration("cpu", 2, "fp32", "lenet5", 32, 10, 8)]


def test_rows_for_other_devices_are_left_to_those(planned):
    rows = "lenet5,1,1,T4\nlenet5,2,2,Toy 2\nlenet5,3,,\nlenet5,4,,Toy 2\n"
    found = planned(
        f"cnn,batch_per_gpu,threads,gpu\n{rows}", is_here=lambda gpu, threads: gpu == f"Toy {threads}"
    )
    assert [(each.batch, each.threads) for each in found] == [(2, 2), (3, 1), (3, 2), (4, 2)]
    others = "cnn,batch_per_gpu,gpu\nlenet5,1,T4\nlenet5,1,T4\nlenet5,2,Toy 2\n"
    with pytest.raises(InputError, match="got rows only for T4, Toy 2"):
        planned(others, is_here=lambda gpu, threads: False)


def test_plan_needs_no_more_than_cnn_and_batch(planned):
    assert len(planned("cnn,batch_per_gpu\nlenet5,8\n")) == 2


@each_row("name", ["a\nb", "b" * 20_000, "n_gpus\n"])
def test_a_strange_column_is_named_in_one_line(planned, name):
    with pytest.raises(InputError) as caught:
        planned(f'cnn,batch_per_gpu,"{name}"\nlenet5,8,1\n')
    assert len(str(caught.value)) < 500 and str(caught.value).isprintable()
