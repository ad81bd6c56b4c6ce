"""Schedules: solved by hand, within bounds on random graphs, and what one stream and a chain must give."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.datasets.cnns.scheduling import Tasks, list_schedule


def chain(times):
    return Tasks(tuple(times), (1.0,) * len(times), tuple((i - 1,) if i else () for i in range(len(times))))


@pytest.mark.parametrize(
    ("seconds", "demands", "waits_for", "streams", "event", "starts", "makespan"),
    [
        # A fork joined again: both arms side by side, the longer first.
        ((1, 2, 3, 1), (0.5,) * 4, ((), (0,), (0,), (1, 2)), 2, 0, (0, 1, 1, 4), 5),
        # The same with an event of 1/2: the short arm begins late, still ends before the long one + event.
        ((1, 2, 3, 1), (0.5,) * 4, ((), (0,), (0,), (1, 2)), 2, 0.5, (0, 1.5, 1, 4), 5),
        # The same where each arm needs more than half of the device: one after the other, the longer first.
        ((1, 2, 3, 1), (0.5, 0.6, 0.6, 1), ((), (0,), (0,), (1, 2)), 2, 0, (0, 4, 1, 6), 7),
        # Three independent tasks of which two fit together; the third waits for the shorter of them.
        ((4, 3, 2), (0.5, 0.5, 0.5), ((), (), ()), 3, 0, (0, 0, 3), 5),
        # Two streams for three tasks that would all fit.
        ((4, 3, 2), (0.3, 0.3, 0.3), ((), (), ()), 2, 0, (0, 0, 3), 5),
        # A long tail makes the short first task the most urgent one.
        ((1, 3, 5), (1, 1, 1), ((), (), (0,)), 2, 0, (0, 6, 1), 9),
        # Work that fits beside a low task may overtake a higher one that does not.
        ((3, 4, 1), (0.6, 0.5, 0.4), ((), (), ()), 3, 0, (4, 0, 0), 7),
    ],
)
def test_solved_by_hand(seconds, demands, waits_for, streams, event, starts, makespan):
    schedule = list_schedule(Tasks(seconds, demands, waits_for), streams, event)
    assert schedule.start_s == starts
    assert schedule.makespan_s == makespan


def random_tasks(seed):
    choose = random.Random(seed)
    count = choose.randint(1, 24)
    waits_for = tuple(
        tuple(sorted(choose.sample(range(i), choose.randint(0, min(i, 3))))) for i in range(count)
    )
    times = tuple(choose.choice([0.0, choose.random(), choose.expovariate(1)]) for _ in range(count))
    return Tasks(times, tuple(choose.uniform(0.01, 1) for _ in range(count)), waits_for)


def assert_valid(schedule):
    tasks = schedule.tasks
    for task, waits_for in enumerate(tasks.waits_for):
        for other in waits_for:
            event = schedule.event_s * (schedule.stream[task] != schedule.stream[other])
            assert schedule.start_s[task] >= schedule.end_s[other] + event
    for moment in schedule.start_s:
        running = [
            task for task in range(len(tasks)) if schedule.start_s[task] <= moment < schedule.end_s[task]
        ]
        assert sum(tasks.demands[task] for task in running) <= 1 + 1e-8
        used = [schedule.stream[task] for task in running]
        assert len(used) == len(set(used))
        assert set(used) <= set(range(schedule.streams))


@pytest.mark.parametrize("block", range(10))
def test_a_thousand_random_graphs_keep_the_bounds(block):
    for seed in range(100 * block, 100 * block + 100):
        tasks, choose = random_tasks(seed), random.Random(-seed)
        schedule = list_schedule(tasks, choose.randint(1, 8), choose.choice([0.0, 0.01, 0.3]))
        assert schedule.lower_bound_s <= schedule.makespan_s * (1 + 1e-8) + 1e-12
        assert schedule.makespan_s <= schedule.upper_bound_s * (1 + 1e-12)
        assert_valid(schedule)


@given(st.integers(0, 10**6), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_one_stream_gives_the_sum(seed, event):
    schedule = list_schedule(random_tasks(seed), 1, event)
    assert schedule.makespan_s == pytest.approx(math.fsum(schedule.tasks.seconds), rel=1e-12, abs=1e-15)
    assert schedule.events == 0


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30), st.integers(1, 8), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_a_chain_gains_nothing(times, streams, event):
    schedule = list_schedule(chain(times), streams, event)
    assert schedule.speed_up == pytest.approx(1.0, rel=1e-12)
    assert set(schedule.stream) == {0}


def test_critical_path_is_the_longest_way():
    tasks = Tasks((1.0, 2.0, 3.0, 1.0, 9.0), (1.0,) * 5, ((), (0,), (0,), (1, 2), ()))
    assert tasks.critical_path() == (4,)
    assert Tasks(tasks.seconds[:4], (1.0,) * 4, tasks.waits_for[:4]).critical_path() == (0, 2, 3)
