"""Acts on logs: compaction and retention at once, and a session that expires, on a single broker."""

from collections.abc import Iterator

import pytest
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.test_kit.act_error import ActError
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from support.clients.wire_client import WireClient
from support.load.request_of_each_api import plain_request

DAY_MS = 24 * 3_600_000
LAZY = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1", "min.compaction.lag.ms": str(100 * DAY_MS)}
TOPICS: dict[str, dict[str, str]] = {
    "kept": LAZY,
    "open": LAZY,
    "other": LAZY,
    "aged": {"retention.ms": str(DAY_MS)},
    "sized": {"retention.bytes": "1", "segment.bytes": "1000"},
}


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    settings = {"transaction.state.log.num.partitions": "1", "log.cleaner.backoff.ms": str(DAY_MS)}
    with Broker(settings) as broker, WireClient(broker.bootstrap_servers) as client:
        topics = [
            {
                "name": name,
                "num_partitions": 1,
                "replication_factor": 1,
                "configs": [{"name": each, "value": value} for each, value in configs.items()],
            }
            for name, configs in TOPICS.items()
        ]
        response = client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=topics, timeout_ms=60_000), 5)
        assert {topic.error_code for topic in response.topics} == {0}
        yield broker


def append(broker: BlockingBroker, topic: str, *values: bytes, key: bytes | None = b"key") -> None:
    """Each value in a batch of its own."""
    with WireClient(broker.bootstrap_servers, 20) as client:
        for value in values:
            records = build_batch([Record(0, broker.clock.clock_ms(), key, value)])
            data = [{"name": topic, "partition_data": [{"index": 0, "records": bytearray(records)}]}]
            response = client.ask(plain_request(ApiKey.PRODUCE, acks=-1, timeout_ms=10_000, topic_data=data), 7)
            assert response.responses[0].partition_responses[0].error_code == 0


def values_in(broker: BlockingBroker, topic: str) -> list[bytes | None]:
    return [record.value for record in broker.records(topic)]


def test_compaction_keeps_the_last_value_of_each_key_whatever_ratio_lag_and_segments_say(
    broker: BlockingBroker,
) -> None:
    append(broker, "kept", b"1", b"2", b"3")
    append(broker, "other", b"1", b"2")
    broker.acts.compact("kept")
    assert values_in(broker, "kept") == [b"3"]
    assert values_in(broker, "other") == [b"1", b"2"]
    append(broker, "kept", b"4")
    broker.acts.compact()
    assert values_in(broker, "kept") == [b"4"]
    assert values_in(broker, "other") == [b"2"]
    broker.acts.compact()
    assert values_in(broker, "kept") == [b"4"], "nothing is left to do"


def test_compaction_stops_before_an_open_transaction(broker: BlockingBroker) -> None:
    append(broker, "open", b"1", b"2")
    broker.acts.leave_open("open-1", "open")
    append(broker, "open", b"3")
    broker.acts.compact("open")
    everything = broker.records("open", committed_only=False)
    assert [record.value for record in everything] == [b"1", b"2", b"left open by a test", b"3"]
    broker.acts.fence("open-1")
    broker.acts.compact("open")
    assert values_in(broker, "open") == [b"3"]


def test_compaction_of_a_topic_that_has_none_is_refused(broker: BlockingBroker) -> None:
    with pytest.raises(ValueError, match=r"topic 'aged' has no cleanup\.policy=compact"):
        broker.acts.compact("aged")
    with pytest.raises(ActError, match="there is no topic"):
        broker.acts.compact("missing")


def test_retention_deletes_old_records_of_the_active_segment_too(broker: BlockingBroker) -> None:
    append(broker, "aged", b"old")
    broker.acts.apply_retention()
    assert values_in(broker, "aged") == [b"old"]
    broker.clock.freeze()
    broker.clock.advance(days=2)
    append(broker, "aged", b"new")
    broker.acts.apply_retention()
    broker.clock.unfreeze()
    assert values_in(broker, "aged") == [b"new"]


def test_retention_by_size_deletes_the_oldest_segments(broker: BlockingBroker) -> None:
    append(broker, "sized", *(bytes([number]) * 600 for number in range(4)))
    assert len(values_in(broker, "sized")) == 4
    broker.acts.apply_retention()
    assert values_in(broker, "sized") == [bytes([3]) * 600]


def test_broker_without_a_cleaner_or_a_session_says_so(broker: BlockingBroker) -> None:
    with pytest.raises(ActError, match="the embedded metadata store has no session that expires"):
        broker.acts.expire_session()
    with (
        Broker({"log.cleaner.enable": False}) as lazy,
        pytest.raises(ActError, match=r"log\.cleaner\.enable is false"),
    ):
        lazy.acts.compact()
