"""List scheduling: the tasks of a graph on several streams of one device, and the makespan.

Critical-path list scheduling, as Jin et al., "TurboDL", IEEE TC 70(4), 2021, put layers of a CNN on the
streams of a GPU; the list rule is that of Graham, SIAM J. Appl. Math. 17(2), 1969, ordered by upward rank
(Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002). Times and demands are inputs.
"""

import math
from bisect import insort
from dataclasses import dataclass

from trainlaw.formulas.errors import InputError

_SLACK = 1e-9  # demands whose sum is one up to rounding fit


@dataclass(frozen=True)
class Tasks:
    """Tasks ordered such that each waits only for earlier ones.

    seconds : of each, alone on the device. demands : the share of the device that each occupies, in (0, 1].
    waits_for : positions of the tasks that must have ended. Raises InputError where these are inconsistent.
    """

    seconds: tuple[float, ...]
    demands: tuple[float, ...]
    waits_for: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not len(self.seconds) == len(self.demands) == len(self.waits_for) or not self.seconds:
            raise InputError("expected at least one task, each with a time, a demand and what it waits for")
        for number, (seconds, demand, waits_for) in enumerate(
            zip(self.seconds, self.demands, self.waits_for, strict=True)
        ):
            if not (0 <= seconds < math.inf and 0 < demand <= 1):
                raise InputError(
                    f"task {number}: expected a time of at least 0 s and a demand above 0 and at most 1, "
                    f"got {seconds} s and {demand}"
                )
            if any(not 0 <= other < number for other in waits_for):
                raise InputError(f"task {number}: expected to wait for earlier tasks only, got {waits_for}")

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def total_s(self) -> float:
        """Sum of times, seconds: the makespan on one stream."""
        return sum(self.seconds)

    @property
    def work_s(self) -> float:
        """Sum of time x demand, seconds: no schedule is shorter."""
        return sum(map(math.prod, zip(self.seconds, self.demands, strict=True)))

    def upward_ranks(self) -> tuple[float, ...]:
        """Return per task the longest time from its start to the end of all that waits for it, seconds.

        >>> Tasks((1.0, 2.0, 3.0), (1.0, 1.0, 1.0), ((), (0,), (0,))).upward_ranks()
        (4.0, 2.0, 3.0)
        """
        below = [0.0] * len(self)
        for task in reversed(range(len(self))):
            for other in self.waits_for[task]:
                below[other] = max(below[other], self.seconds[task] + below[task])
        return tuple(seconds + rest for seconds, rest in zip(self.seconds, below, strict=True))

    def followers(self) -> list[list[int]]:
        """Return the tasks that wait for each task, in order."""
        found: list[list[int]] = [[] for _ in self.seconds]
        for task, waits_for in enumerate(self.waits_for):
            for other in waits_for:
                found[other].append(task)
        return found

    def critical_path(self) -> tuple[int, ...]:
        """Return the tasks of the longest path by time, first to last; of equally long paths the first.

        >>> Tasks((1.0, 2.0, 3.0), (1.0, 1.0, 1.0), ((), (0,), (0,))).critical_path()
        (0, 2)
        """
        ranks, followers = self.upward_ranks(), self.followers()
        starts = [task for task, waits_for in enumerate(self.waits_for) if not waits_for]
        path = [max(starts, key=ranks.__getitem__)]
        while followers[path[-1]]:
            path.append(max(followers[path[-1]], key=ranks.__getitem__))
        return tuple(path)


@dataclass(frozen=True)
class Schedule:
    """When each task runs, and on which stream.

    start_s, stream : per task. events : edges between tasks of different streams. Times in seconds.
    """

    tasks: Tasks
    streams: int
    event_s: float
    start_s: tuple[float, ...]
    stream: tuple[int, ...]

    @property
    def end_s(self) -> tuple[float, ...]:
        """End of each task, seconds."""
        return tuple(start + lasts for start, lasts in zip(self.start_s, self.tasks.seconds, strict=True))

    @property
    def makespan_s(self) -> float:
        """End of the last task, seconds."""
        return max(self.end_s)

    @property
    def events(self) -> int:
        """Number of edges between tasks of different streams; each costs one event."""
        return sum(
            self.stream[task] != self.stream[other]
            for task, waits_for in enumerate(self.tasks.waits_for)
            for other in waits_for
        )

    @property
    def lower_bound_s(self) -> float:
        """max(critical path, sum of time x demand): no schedule is shorter, seconds."""
        return max(*self.tasks.upward_ranks(), self.tasks.work_s)

    @property
    def upper_bound_s(self) -> float:
        """Sum of times + one event per edge between streams: no list schedule is longer, seconds."""
        return self.tasks.total_s + self.events * self.event_s

    @property
    def speed_up(self) -> float:
        """Makespan on one stream over the makespan; 1 where nothing takes any time."""
        return self.tasks.total_s / self.makespan_s if self.makespan_s else 1.0


def list_schedule(tasks: Tasks, streams: int, event_s: float = 0.0) -> Schedule:
    """Schedule tasks by upward rank on a number of streams; concurrent ones demand at most the whole device.

    event_s : delay in seconds before a task that waits for a task of another stream. InputError where there
    is no stream, or the delay is negative.

    >>> fork = Tasks((1.0, 2.0, 3.0), (0.5, 0.5, 0.5), ((), (0,), (0,)))
    >>> [list_schedule(fork, streams, 0.25).makespan_s for streams in (1, 2)]
    [6.0, 4.0]
    """
    if streams < 1 or not 0 <= event_s < math.inf:
        raise InputError(
            f"expected at least one stream and an event of at least 0 s, got {streams}, {event_s}"
        )
    state = _Running(tasks, streams, event_s)
    while state.left:
        while state.start_one():
            pass
        state.advance()
    return Schedule(tasks, streams, event_s, tuple(state.start_s), tuple(state.stream))


class _Running:
    """A schedule under construction: the moment `now`, running tasks, ready tasks by decreasing rank."""

    def __init__(self, tasks: Tasks, streams: int, event_s: float) -> None:
        self.tasks, self.streams, self.event_s = tasks, streams, event_s
        count = self.left = len(tasks)
        self.now = 0.0
        self.running: dict[int, int] = {}  # task of each busy stream
        self.start_s, self.stream, self.end_s = [0.0] * count, [0] * count, [math.inf] * count
        self.followers = tasks.followers()
        self.missing = [len(waits_for) for waits_for in tasks.waits_for]
        # Ties go to the task listed first, so that the schedule is deterministic.
        self.order = [(-rank, task) for task, rank in enumerate(tasks.upward_ranks())]
        self.ready = sorted(self.order[task] for task in range(count) if not self.missing[task])

    def _free(self) -> list[int]:
        return [stream for stream in range(self.streams) if stream not in self.running]

    def start_one(self) -> bool:
        """Start the highest-ranked task that may begin now on a free stream; return whether there was one."""
        free = self._free()
        left = 1.0 + _SLACK - sum(self.tasks.demands[task] for task in self.running.values())
        for place, (_, task) in enumerate(self.ready if free else ()):
            if self.tasks.demands[task] <= left:
                arrival, _, stream = min((*self._arrival(task, stream), stream) for stream in free)
                if arrival <= self.now:
                    del self.ready[place]
                    self._start(task, stream)
                    return True
        return False

    def _arrival(self, task: int, stream: int) -> tuple[float, bool]:
        """Return when a ready task may begin on a stream, and whether its last predecessor ran on another."""
        before = self.tasks.waits_for[task]
        times = [self.end_s[other] + self.event_s * (self.stream[other] != stream) for other in before]
        last = max(before, key=self.end_s.__getitem__, default=None)
        return max(times, default=0.0), last is not None and self.stream[last] != stream

    def _start(self, task: int, stream: int) -> None:
        self.start_s[task], self.stream[task] = self.now, stream
        self.end_s[task] = self.now + self.tasks.seconds[task]
        self.running[stream] = task

    def advance(self) -> None:
        """Advance to the next moment at which a task ends or an event has passed, and end finished tasks."""
        ends = [self.end_s[task] for task in self.running.values()]
        arrivals = [self._arrival(task, stream)[0] for _, task in self.ready for stream in self._free()]
        self.now = min([*ends, *(moment for moment in arrivals if moment > self.now)])
        for stream, task in list(self.running.items()):
            if self.end_s[task] <= self.now:
                del self.running[stream]
                self.left -= 1
                for follower in self.followers[task]:
                    self.missing[follower] -= 1
                    if not self.missing[follower]:
                        insort(self.ready, self.order[follower])
