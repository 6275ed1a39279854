"""Tests of the pool that runs the steps of a start on the loop, and of the threads of a broker that starts with it."""

import asyncio
import threading

from pybroker.broker.library.start_pool import StartPool
from pybroker.replication.run_in_pool import RunInPool
from pybroker.testkit.kafka_broker import KafkaBroker


async def test_steps_run_on_the_loop_until_the_start_is_over_and_then_in_threads() -> None:
    pool = StartPool(asyncio.get_running_loop(), 2, "pybroker-io")
    pool.resize(3)
    in_pool, long_in_pool = RunInPool(pool), RunInPool(pool, is_long=True)
    loop_thread = threading.get_ident()
    assert await in_pool(threading.get_ident) == loop_thread
    assert await long_in_pool(threading.get_ident) == loop_thread
    pool.start_is_over()
    assert await in_pool(threading.get_ident) != loop_thread
    assert await long_in_pool(threading.get_ident) != loop_thread
    assert pool.thread_count == 3
    pool.close()


def test_a_killed_broker_of_a_test_keeps_its_data_and_leaves_no_thread() -> None:
    broker = KafkaBroker({})
    try:
        broker.append("orders", b"a record")
        broker.kill()
        broker.start()
        assert [record.value for record in broker.records("orders")] == [b"a record"]
    finally:
        broker.close()
    assert not any(broker.thread_mark in thread.name for thread in threading.enumerate())
