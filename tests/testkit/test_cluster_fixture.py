"""The fixture ``kafka_cluster``: its faults and clock, and the report on a failed test, in a run of pytest."""

import re

import pytest
from support.plugin_runs import run_inside

TESTS = r"""
import logging
import pytest

@pytest.mark.kafka(topics={"orders": 2})
def test_kill(kafka_cluster, kafka_topic, kafka_faults, kafka_group):
    assert kafka_cluster.broker_ids == [1, 2, 3]
    producer = kafka_cluster.producer(acks="all", retry_backoff_ms=1, client_id="c\n" + "x" * 300)
    with kafka_faults.error("Produce", "NOT_ENOUGH_REPLICAS", topic=kafka_topic, times=2) as fault:
        producer.send(kafka_topic, b"x").get(30)
    assert fault.fired == 2
    consumer = kafka_cluster.consumer("orders", group_id="g\x1b[31m")
    for partition in (0, 1):
        producer.send("orders", b"x", partition=partition).get(30)
    next(consumer)
    consumer.commit()
    consumer.close()
    producer.send("orders", b"y", partition=0).get(30)
    producer.close()
    kafka_cluster.kill(1)
    assert not kafka_cluster.is_running(1)
    kafka_cluster.pause(3)
    assert False

@pytest.mark.kafka(brokers=2, topics={"led-by-each": 2})
def test_clock(kafka_clock, kafka_cluster):
    producer = kafka_cluster.producer(acks="all")
    for partition in (0, 1):
        producer.send("led-by-each", b"old", partition=partition).get(30)
    kafka_clock.advance(days=8)
    for partition in (0, 1):
        producer.send("led-by-each", b"new", partition=partition).get(30)
    consumer = kafka_cluster.consumer("led-by-each")
    assert [next(consumer).value for _ in range(2)] == [b"new", b"new"]
"""
SECTIONS = r"""
-+ kafka_cluster: brokers -+
broker 1 does not run
broker 2 runs
broker 3 is paused
-+ kafka_cluster: topics -+
orders-[01]: (offsets 0 to [12]|led by no broker that answered)
-+ kafka_cluster: last requests of broker [123] -+
TIME Produce v\d+ \d.*, client c\\nx+…
"""
TIME = r"\d\d:\d\d:\d\d\.\d{3}"


def test_cluster_has_faults_a_clock_and_a_report_on_each_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = run_inside(pytester, "-p", "no:logging")
    result.assert_outcomes(failed=1, passed=1)
    text = result.stdout.str()
    for line in SECTIONS.strip().splitlines():
        assert re.search(f"^{line.replace('TIME', TIME)}$", text, re.MULTILINE), f"{line}\n\n{text}"
    assert max(map(len, result.outlines)) < 300
