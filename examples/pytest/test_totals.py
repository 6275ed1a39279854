"""Tests of `totals.py`. Run them here, in a checkout of pybroker, with `pip install ../.. pytest kafka-python` and
`pytest`.

The fixtures come with pybroker: each test has a broker of its own, and its report shows the broker's state if it fails.
"""

from collections.abc import Iterator

import pytest
from totals import Totals

pytestmark = pytest.mark.kafka(topics={"orders": 2, "totals": 1})


@pytest.fixture
def totals(kafka_broker) -> Iterator[Totals]:
    service = Totals(kafka_broker.bootstrap_servers)
    yield service
    service.close()


def work_on(totals: Totals, orders: int) -> None:
    while orders > 0:
        orders -= totals.work()


def test_each_customer_has_a_total(kafka_broker, totals):
    kafka_broker.append("orders", "3", "4", key="ann")
    kafka_broker.append("orders", "10", key="bob")
    work_on(totals, 3)
    found = {record.key: record.value for record in kafka_broker.wait_records("totals", 3)}
    assert found == {b"ann": b"7", b"bob": b"10"}
    assert kafka_broker.lag("totals") == 0


def test_total_is_written_when_the_broker_refuses_it_twice(kafka_broker, totals):
    kafka_broker.append("orders", "3", key="ann")
    with kafka_broker.faults.error("Produce", "NOT_ENOUGH_REPLICAS", topic="totals", times=2) as fault:
        work_on(totals, 1)
    assert fault.fired == 2
    assert [record.value for record in kafka_broker.records("totals")] == [b"3"]


def test_service_goes_on_behind_its_last_commit(kafka_broker, totals):
    kafka_broker.append("orders", "3", key="ann")
    work_on(totals, 1)
    totals.close()
    kafka_broker.append("orders", "4", key="ann")
    another = Totals(kafka_broker.bootstrap_servers)
    assert kafka_broker.lag("totals") == 1
    work_on(another, 1)
    another.close()
    assert kafka_broker.lag("totals") == 0
