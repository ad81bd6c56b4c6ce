from threading import Thread

import numpy as np
import pytest
from numba import njit
from trainlaw.evolve.machine.kernel_calls import Kernel, Packed, flat_from, take_next


def add_up(address, values, n, scale):
    """A kernel: the sum of `n` values times a factor."""
    total = 0.0
    for i in range(n):
        total += scale * values[i]
    return total


KERNEL = Kernel(add_up, "ipif", frozenset())
call_sum = KERNEL.call


@njit
def total_of(address, table, row, first, n):
    return call_sum(address, flat_from(table, row, first), n, 2.0)


@njit
def third_of(packed):
    return packed.values[2] * packed.factor + packed.flags[1] + packed.amount


def test_a_kernel_gives_in_compiled_code_what_it_gives_in_python():
    table = np.arange(12.0).reshape(3, 4)
    expected = call_sum.py_func(0, flat_from.py_func(table, 1, 1), 3, 2.0)
    assert total_of(KERNEL.address(), table, 1, 1, 3) == expected == 2.0 * (5.0 + 6.0 + 7.0)


@pytest.mark.parametrize(("row", "first"), [(0, 0), (0, 3), (2, 1)])
def test_the_numbers_from_a_place_on_are_those_of_the_array(row, first):
    table = np.arange(12.0).reshape(3, 4)
    assert flat_from.py_func(table, row, first)[0] == table[row, first]
    assert np.shares_memory(flat_from.py_func(table, row, first), table)


def test_a_packed_tuple_has_its_arrays_and_numbers():
    values, flags = np.array([1.0, 2.0, 3.5]), np.array([False, True])
    packed = Packed(values=values, factor=2.0, flags=flags, amount=4)
    assert third_of(packed) == 3.5 * 2.0 + 1 + 4


def test_packed_tuples_with_the_same_fields_have_one_type():
    first, second = Packed(values=np.ones((2, 3)), n=3), Packed(values=np.ones((5, 9)), n=9)
    assert first._numba_type_ is second._numba_type_


def test_threads_take_each_number_once():
    @njit(nogil=True)
    def take_all(counter, taken, limit):
        place = take_next(counter)
        while place < limit:
            taken[place] += 1
            place = take_next(counter)

    counter, taken = np.zeros(1, np.int64), np.zeros(300_000, np.int64)
    take_all(counter, taken, 0)
    counter[0] = 0
    threads = [Thread(target=take_all, args=(counter, taken, taken.size)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.all(taken == 1)
    assert take_next.py_func(counter) + 1 == counter[0]
