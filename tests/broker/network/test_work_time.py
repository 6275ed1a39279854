"""What work costs is counted, and what comes about beside it is not."""

import gc
import threading
import time

from pybroker.broker.network.work_time import work_time_s


def test_work_counts_and_waiting_does_not() -> None:
    wall_s, cpu_s, began_s = time.perf_counter(), time.thread_time(), work_time_s()
    threading.Event().wait(0.05)
    while work_time_s() < began_s + 0.02:
        pass
    took_s = work_time_s() - began_s
    assert took_s <= time.thread_time() - cpu_s < time.perf_counter() - wall_s


def test_collections_of_garbage_in_this_thread_do_not_count() -> None:
    many = [[] for _ in range(200_000)]  # type: ignore[var-annotated]
    began_s, cpu_s = work_time_s(), time.thread_time()
    for _ in range(5):
        gc.collect()
    collected_s = time.thread_time() - cpu_s
    assert work_time_s() - began_s < collected_s / 2
    assert len(many) == 200_000


def test_collections_in_other_threads_are_not_taken_off() -> None:
    began_s, cpu_s = work_time_s(), time.thread_time()
    thread = threading.Thread(target=gc.collect)
    thread.start()
    thread.join()
    while time.thread_time() < cpu_s + 0.01:
        pass
    assert work_time_s() - began_s >= 0.01
