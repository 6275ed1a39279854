"""Tests that look into a running broker: records, waits for events, lags, files of records, copies of its data."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata
from pybroker import Broker
from pybroker.base.topic_partition import TopicPartition as At
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata as Committed
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.library.inspection.stored_record import StoredRecord
from pybroker.controller.topics.permit import permit_all
from pybroker.protocol.errors import TopicExistsError
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from support.clients.wire_client import WireClient
from support.clients.wire_member import wait_for_coordinator

SETTINGS = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "1"}


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS, keep_requests=20) as broker:
        yield broker


@pytest.fixture
def topic(broker: BlockingBroker, request: pytest.FixtureRequest) -> str:
    """A topic of two partitions."""
    name = str(request.node.name)[:100].replace("[", "-").replace("]", "")
    broker.create_topic(name, 2)
    return name


@pytest.fixture
def meanwhile() -> Iterator[Callable[..., "Future[Any]"]]:
    """Calls a function on another thread."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit


def values(records: list[StoredRecord]) -> list[bytes | None]:
    return [each.value for each in records]


def test_appended_records_are_read_with_all_their_fields(broker: BlockingBroker, topic: str) -> None:
    (first,) = broker.append(topic, "één", key="k", partition=1, headers=[("h", b"1")], timestamp_ms=1_700_000_000_000)
    assert first == (topic, 1, 0, 1_700_000_000_000, b"k", "één".encode(), (("h", b"1"),))
    broker.append(topic, None, key=b"k", partition=1)
    found = broker.records(topic)
    assert [(each.offset, each.key, each.value) for each in found] == [(0, b"k", "één".encode()), (1, b"k", None)]
    assert list(found[0].headers) == [("h", b"1")]
    assert broker.records(topic, 0) == []


def test_records_without_a_key_go_to_the_partitions_in_turn(broker: BlockingBroker, topic: str) -> None:
    broker.append(topic, b"a", b"b", b"c")
    assert values(broker.records(topic, 0)) == [b"a", b"c"]
    assert values(broker.records(topic, 1)) == [b"b"]


def test_a_key_goes_to_the_partition_that_clients_choose(broker: BlockingBroker, topic: str) -> None:
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap_servers)) as producer:
        chosen = [producer.send(topic, b"", key=key).get(30).partition for key in (b"a", b"b", b"c")]
    assert [broker.append(topic, b"", key=key)[0].partition for key in (b"a", b"b", b"c")] == chosen


def test_a_missing_topic_is_created_by_an_append_and_an_error_elsewhere(broker: BlockingBroker) -> None:
    broker.append("made-by-append", b"x")
    assert values(broker.records("made-by-append")) == [b"x"]
    with pytest.raises(LookupError, match=r"no topic 'no-such'; topics: .*made-by-append"):
        broker.records("no-such")
    with pytest.raises(LookupError, match="has no partition 7; it has 1"):
        broker.append("made-by-append", b"x", partition=7)
    with pytest.raises(TopicExistsError):
        broker.create_topic("made-by-append")


def test_aborted_and_open_transactions_are_left_out_unless_asked_for(broker: BlockingBroker, topic: str) -> None:
    options = {"bootstrap_servers": broker.bootstrap_servers, "transactional_id": topic}
    with closing(KafkaProducer(**options)) as producer:
        producer.init_transactions()
        for value, end in ((b"kept", producer.commit_transaction), (b"dropped", producer.abort_transaction)):
            producer.begin_transaction()
            producer.send(topic, value, partition=0).get(30)
            end()
        broker.append(topic, b"plain", partition=0)
        producer.begin_transaction()
        producer.send(topic, b"open", partition=0).get(30)
        assert values(broker.records(topic)) == [b"kept", b"plain"]
        assert values(broker.records(topic, committed_only=False)) == [b"kept", b"dropped", b"plain", b"open"]
        producer.abort_transaction()


def test_wait_for_records_ends_with_the_append_that_brings_them(
    broker: BlockingBroker, topic: str, meanwhile: Callable[..., "Future[Any]"]
) -> None:
    waiting = meanwhile(broker.wait_records, topic, 3, timeout=60)
    for value in (b"a", b"b", b"c"):
        assert not waiting.done()
        broker.append(topic, value, partition=0)
    assert values(waiting.result(60)) == [b"a", b"b", b"c"]


def test_wait_for_records_of_a_topic_that_does_not_exist_yet(
    broker: BlockingBroker, meanwhile: Callable[..., "Future[Any]"]
) -> None:
    waiting = meanwhile(broker.wait_records, "comes-later", 1, timeout=60)
    broker.append("comes-later", b"x")
    assert values(waiting.result(60)) == [b"x"]


def test_wait_for_records_counts_no_markers_of_transactions(broker: BlockingBroker, topic: str) -> None:
    options = {"bootstrap_servers": broker.bootstrap_servers, "transactional_id": topic}
    with closing(KafkaProducer(**options)) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"one", partition=0)
        producer.commit_transaction()
    with pytest.raises(TimeoutError, match=r"has not 2 records within 0\.05 s: offsets of partition 0: 0 to 2, part"):
        broker.wait_records(topic, 2, timeout=0.05)


def test_waits_for_a_group_end_when_its_members_have_partitions_and_commit(
    broker: BlockingBroker, topic: str, meanwhile: Callable[..., "Future[Any]"]
) -> None:
    """The wait begins before the group exists; the first group also creates ``__consumer_offsets``."""
    broker.append(topic, b"a", b"b")
    assigned = meanwhile(broker.wait_assigned, topic, 1, timeout=60)
    options = {"bootstrap_servers": broker.bootstrap_servers, "group_id": topic, "auto_offset_reset": "earliest"}
    with closing(KafkaConsumer(topic, **options, enable_auto_commit=False)) as consumer:
        next(consumer)
        assigned.result(60)
        with pytest.raises(LookupError, match="has committed no offsets"):
            broker.lag(topic)
        committed = meanwhile(broker.wait_committed, topic, topic, 0, 1, timeout=60)
        consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(0, "", -1)})
        assert not committed.done()
        consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(1, "", -1)})
        committed.result(60)
        broker.append(topic, b"c", b"d", partition=0)
        assert broker.lag(topic) == broker.lag(topic, topic) == 2
        lines = "\n".join(broker.group_lines())
        assert re.search(rf"^{topic}: Stable, generation \d, 1 members$", lines, re.MULTILINE)
        assert f"    {topic}-0: committed 1, lag 2\n" in lines
    assert any("OffsetCommit" in text for text in broker.request_lines())


def test_offsets_committed_in_a_transaction_end_the_wait_when_it_is_committed(
    broker: BlockingBroker, topic: str, meanwhile: Callable[..., "Future[Any]"]
) -> None:
    committed = meanwhile(broker.wait_committed, topic, topic, 0, 5, timeout=60)
    options = {"bootstrap_servers": broker.bootstrap_servers, "transactional_id": topic}
    with closing(KafkaProducer(**options)) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): OffsetAndMetadata(5, "", -1)}, topic)
        assert not committed.done()
        producer.commit_transaction()
    committed.result(60)


def test_a_wait_that_ends_in_vain_says_what_was_there(broker: BlockingBroker) -> None:
    with pytest.raises(TimeoutError, match=r"'none' has not assigned partitions to 2 members within 0\.05 s: there"):
        broker.wait_assigned("none", 2, timeout=0.05)
    with pytest.raises(TimeoutError, match=r"'no-topic' has not 1 records within 0\.05 s: there is no such topic"):
        broker.wait_records("no-topic", 1, timeout=0.05)


def test_wait_for_members_of_a_share_group_ends_when_they_have_partitions(broker: BlockingBroker, topic: str) -> None:
    wait_for_coordinator(broker.bootstrap_servers, topic)
    broker.append(topic, b"a")
    with WireClient(broker.bootstrap_servers) as client:

        def beat(epoch: int, name: str) -> ShareGroupHeartbeatResponse:
            request = ShareGroupHeartbeatRequest(group_id=topic, member_id="m", member_epoch=epoch)
            request.subscribed_topic_names = [name]
            response: ShareGroupHeartbeatResponse = client.ask(request, 1)
            return response

        answer = beat(0, "no-topic")
        with pytest.raises(TimeoutError, match="has not assigned partitions to 1 members"):
            broker.wait_assigned(topic, 1, timeout=0.05)
        while not (answer.assignment and answer.assignment.topic_partitions):
            answer = beat(answer.member_epoch, topic)
        broker.wait_assigned(topic, 1, timeout=60)


def test_nothing_stays_parked_when_a_wait_is_over(broker: BlockingBroker, topic: str) -> None:
    parts = broker._broker._parts
    with pytest.raises(TimeoutError):
        broker.wait_records(topic, 1, timeout=0.01)
    broker.append(topic, b"a", b"b")
    assert len(parts.partitions.wakeups.appends) == 0


def test_a_dumped_topic_is_loaded_as_it_was(broker: BlockingBroker, topic: str, tmp_path: Path) -> None:
    broker.append(topic, b"\xff\x00", key="k", headers=[("h", None)], partition=1)
    broker.append(topic, None, "text", partition=0)
    file = tmp_path / "x.ndjson"
    assert broker.dump(file, topic) == 3
    assert json.loads(file.read_text().splitlines()[2])["partition"] == 1
    before = [each[1:] for each in broker.records(topic)]
    assert broker.load(file, f"{topic}-again") == 3
    assert [each[1:] for each in broker.records(f"{topic}-again")] == before


def test_a_line_that_is_no_record_is_named(broker: BlockingBroker, tmp_path: Path) -> None:
    file = tmp_path / "x.ndjson"
    for text, why in (("nonsense", "not JSON"), ('{"value":"x"}', "there is no topic")):
        file.write_text(f'\n{{"topic":"t","value":"x"}}\n{text}\n')
        with pytest.raises(ValueError, match=rf"x\.ndjson:3: {why}"):
            broker.load(file)
    file.write_text('{"topic":"t","value":"x","partition":-1}')
    with pytest.raises(ValueError, match="partition must be a number"):
        broker.load(file)


async def test_helpers_are_awaited_on_the_brokers_own_loop() -> None:
    async with Broker(SETTINGS) as broker:
        waiting = asyncio.create_task(broker.wait_records("t", 2))
        await asyncio.sleep(0)
        await broker.append("t", b"a", b"b")
        assert values(await waiting) == [b"a", b"b"]
        assert broker.topics() == ["t"]
    with pytest.raises(RuntimeError, match="not running"):
        broker.topics()


async def test_a_commit_that_a_worker_thread_writes_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The offset is in force a turn of the loop after the high watermark has moved."""
    monkeypatch.setattr("pybroker.storage.log.strand.is_quick_append", lambda append, config: False)
    async with Broker(SETTINGS) as broker:
        parts = broker._parts
        await parts.coordinator_topic("__consumer_offsets").ensure_topic(permit_all)
        waiting = asyncio.create_task(broker.wait_committed("g", "t", 0, 1, timeout=20))
        while not len(parts.partitions.wakeups.appends):  # noqa: ASYNC110 (it waits for turns of this loop)
            await asyncio.sleep(0)
        offsets = {At("t", 0): Committed(1, -1, "", 0)}
        parts.coordinators.groups.commits.commit(CommitRequest("g", offsets), lambda _codes: None)
        await waiting


def test_a_snapshot_is_restored_with_topics_records_and_groups() -> None:
    with Broker(SETTINGS) as broker:
        address = broker.bootstrap_servers
        broker.append("t", b"kept")
        with closing(KafkaConsumer("t", bootstrap_servers=address, group_id="g", auto_offset_reset="earliest")) as one:
            next(one)
            one.commit()
        kept = broker.snapshot()
        broker.append("t", b"dropped")
        broker.append("u", b"dropped")
        broker.restore(kept)
        assert broker.topics() == ["t"]
        assert values(broker.records("t")) == [b"kept"]
        broker.wait_committed("g", "t", 0, 1, timeout=60)  # offsets are loaded after the start
        broker.reset()
        assert broker.topics() == []
        assert broker.bootstrap_servers == address
        broker.restore(kept)
        assert values(broker.records("t")) == [b"kept"]
    with Broker(SETTINGS) as other, pytest.raises(ValueError, match="not a copy of this broker"):
        other.restore(kept)


def test_data_that_the_program_has_named_is_not_reset(tmp_path: Path) -> None:
    with Broker({**SETTINGS, "log.dirs": tmp_path / "data"}) as broker:
        broker.append("t", b"kept")
        with pytest.raises(RuntimeError, match="needs a broker with a temporary directory"):
            broker.reset()
        assert values(broker.records("t")) == [b"kept"]
