"""The queue of long work gives each source of long work its share of time, over any schedule."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from pybroker.storage.workers.long_work_queue import LongWorkQueue, LongWorkSource


def nothing() -> None:
    pass


@given(st.lists(st.lists(st.floats(0.001, 1.0), min_size=30, max_size=30), min_size=2, max_size=5))
def test_sources_with_queued_steps_get_equal_time(costs: list[list[float]]) -> None:
    """The difference is at most three of the longest steps: a running one of each source, and one longer than
    estimated.
    """
    queue = LongWorkQueue()
    sources = {LongWorkSource(): iter(each) for each in costs}
    longest_s = max(map(max, costs))
    had_s: dict[LongWorkSource, float] = defaultdict(float)
    for source in sources:
        queue.put(nothing, source)
    while True:
        due = queue.take()
        took_s = next(sources[due.source], None)
        if took_s is None:
            return
        had_s[due.source] += took_s
        queue.note(due, took_s)
        queue.put(nothing, due.source)
        assert max(had_s[each] for each in sources) - min(had_s[each] for each in sources) <= 3 * longest_s


@given(st.integers(1, 50), st.integers(1, 50))
def test_steps_of_one_source_do_not_run_in_a_row_while_others_wait(many: int, others: int) -> None:
    queue, busy = LongWorkQueue(), LongWorkSource()
    for _ in range(many):
        queue.put(nothing, busy)
    first = queue.take()
    queue.note(first, 1.0)
    new = [LongWorkSource() for _ in range(others)]
    for source in new:
        queue.put(nothing, source)
    order = [queue.take().source for _ in range(many - 1 + others)]
    assert sum(source is busy for source in order[: others + 1]) <= 1
    assert sorted(map(id, order)) == sorted([id(busy)] * (many - 1) + [id(source) for source in new])
    assert not queue


def test_idle_source_saves_up_no_time() -> None:
    queue, early, late = LongWorkQueue(), LongWorkSource(), LongWorkSource()
    for _ in range(10):
        queue.put(nothing, early)
        queue.note(queue.take(), 1.0)
    order = []
    for source in (late, early):
        queue.put(nothing, source)
    for _ in range(4):
        due = queue.take()
        order.append(due.source)
        queue.note(due, 1.0)
        queue.put(nothing, due.source)
    assert order == [late, early, late, early]


def test_short_step_overtakes_long_ones_and_a_long_step_does_not_starve() -> None:
    queue, short = LongWorkQueue(), LongWorkSource(0.1)
    for _ in range(100):
        queue.put(nothing, LongWorkSource(1.0))
    order = []
    for _ in range(20):
        queue.put(nothing, short)
        due = queue.take()
        order.append(due.source is short)
        queue.note(due, 0.1 if due.source is short else 1.0)
    assert order[:9] == [True] * 9
    assert not all(order)


def test_cleared_queue_runs_no_step() -> None:
    queue, source = LongWorkQueue(), LongWorkSource()
    queue.put(nothing, source)
    queue.put(nothing, source)
    queue.clear()
    assert not queue
    assert not source.steps
