"""Functions that only compiled functions call are optimised once, in their caller."""

from numba import njit
from trainlaw.evolve.machine.evaluation import PartCompiler, compiled


@compiled
def twice(x):
    return 2.0 * x


@compiled
def three_times(x):
    return twice(x) + x


@njit
def called(x):
    return three_times(x) + twice(x)


def test_parts_compute_in_their_caller_and_make_no_machine_code():
    assert called(1.5) == 7.5
    (made,) = three_times.overloads.values()
    assert three_times._compiler.pipeline_class is PartCompiler and made.library.codegen is made.library
    # LLVM would have put the other part in its place.
    assert "call " in made.library.get_llvm_str()
