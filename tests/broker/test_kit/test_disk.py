"""A disk that a test makes full, slow or broken: what clients see, and what comes back when it is healed."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of
from support.load.request_of_each_api import plain_request

PARTITIONS = (0, 1)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingBroker]:
    """A broker with two log directories, of which each has a partition of topic ``t``."""
    root = tmp_path_factory.mktemp("disks")
    settings = {"log.dirs": f"{root / 'a'},{root / 'b'}", "metadata.store.path": str(root / "store")}
    with Broker(settings) as broker:
        create(broker)
        yield broker


@pytest.fixture
def client(broker: BlockingBroker) -> Iterator[WireClient]:
    broker.restart()
    with WireClient(broker.bootstrap_servers, 60) as client:
        yield client
    broker.acts.disk.heal()


def create(broker: BlockingBroker) -> None:
    with WireClient(broker.bootstrap_servers, 60) as client:
        topics = [{"name": "t", "num_partitions": len(PARTITIONS), "replication_factor": 1}]
        response = client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=topics, timeout_ms=60_000), 5)
        assert response.topics[0].error_code == 0


def directory_of(broker: BlockingBroker, partition: int) -> Path:
    (found,) = (each for each in broker.data_directory.parent.glob("?") if (each / f"t-{partition}").is_dir())
    return found


def produce(partition: int) -> Any:
    data = [{"name": "t", "partition_data": [{"index": partition, "records": batch_of(b"value")}]}]
    return plain_request(ApiKey.PRODUCE, acks=1, timeout_ms=10_000, topic_data=data)


def code_of(response: Any) -> int:
    return int(response.responses[0].partition_responses[0].error_code)


def produced(client: WireClient, partition: int) -> int:
    return code_of(client.ask(produce(partition), 7))


def offset_after(client: WireClient, partition: int) -> int:
    """The end of the log, by a fetch: the same broker answers it from what it has."""
    partitions = [{"partition_index": partition, "timestamp": -1, "current_leader_epoch": -1}]
    topics = [{"name": "t", "partitions": partitions}]
    response = client.ask(plain_request(ApiKey.LIST_OFFSETS, replica_id=-1, topics=topics), 5)
    return int(response.topics[0].partitions[0].offset)


def leaders(client: WireClient) -> dict[int, int]:
    (topic,) = client.ask(plain_request(ApiKey.METADATA, topics=[{"name": "t"}]), 5).topics
    return {each.partition_index: each.leader_id for each in topic.partitions}


def directory_codes(client: WireClient) -> dict[str, int]:
    response = client.ask(plain_request(ApiKey.DESCRIBE_LOG_DIRS, topics=None), 3)
    return {Path(each.log_dir).name: each.error_code for each in response.results}


def test_full_disk_refuses_records_until_it_is_healed(broker: BlockingBroker, client: WireClient) -> None:
    before = {each: offset_after(client, each) for each in PARTITIONS}
    broker.acts.disk.full()
    assert [produced(client, each) for each in PARTITIONS] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert {each: offset_after(client, each) for each in PARTITIONS} == before
    assert set(directory_codes(client).values()) == {0}, "a full directory stays online"
    broker.acts.disk.heal()
    while produced(client, 0):
        pass
    assert offset_after(client, 0) == before[0] + 1


def test_full_directory_refuses_only_the_records_of_its_own_partitions(
    broker: BlockingBroker, client: WireClient
) -> None:
    broker.acts.disk.full(directory_of(broker, 0))
    assert [produced(client, each) for each in PARTITIONS] == [ErrorCode.KAFKA_STORAGE_ERROR, 0]


def test_slow_disk_holds_neither_other_connections_nor_other_directories(
    broker: BlockingBroker, client: WireClient
) -> None:
    broker.acts.disk.slow(60_000, directory_of(broker, 0))
    with WireClient(broker.bootstrap_servers, 60) as slow:
        slow.send(produce(0), 7)
        for _ in range(3):
            assert produced(client, 1) == 0
            assert set(leaders(client)) == set(PARTITIONS)
        assert not slow.is_answered()
        broker.acts.disk.heal()
        assert code_of(slow.receive()) == 0


def test_slow_disk_stays_off_the_event_loop_after_a_restart(broker: BlockingBroker) -> None:
    directory = directory_of(broker, 0)
    broker.stop()
    broker.acts.disk.slow(1, directory)
    broker.start()
    broker.acts.disk.slow(60_000, directory)
    with WireClient(broker.bootstrap_servers, 60) as slow, WireClient(broker.bootstrap_servers, 60) as other:
        slow.send(produce(0), 7)
        assert produced(other, 1) == 0
        assert not slow.is_answered()
        broker.acts.disk.heal()
        assert code_of(slow.receive()) == 0


def test_failed_directory_is_offline_until_it_is_healed_and_the_broker_restarted(
    broker: BlockingBroker, client: WireClient
) -> None:
    before = {each: offset_after(client, each) for each in PARTITIONS}
    lost = directory_of(broker, 0)
    broker.acts.disk.fail(lost)
    assert produced(client, 0) == ErrorCode.KAFKA_STORAGE_ERROR
    while leaders(client)[0] != -1:
        pass
    assert produced(client, 1) == 0
    broker.acts.disk.heal()
    assert produced(client, 0) == ErrorCode.KAFKA_STORAGE_ERROR, "as in Kafka, only a start brings a directory back"
    codes = directory_codes(client)
    assert codes.pop(lost.name) == ErrorCode.KAFKA_STORAGE_ERROR
    assert set(codes.values()) == {0}
    broker.restart()
    with WireClient(broker.bootstrap_servers, 60) as again:
        assert [produced(again, each) for each in PARTITIONS] == [0, 0]
        assert {each: offset_after(again, each) for each in PARTITIONS} == {0: before[0] + 1, 1: before[1] + 2}


def test_broker_whose_last_directory_failed_ends_and_comes_back_with_its_records() -> None:
    with Broker() as broker:
        create(broker)
        with WireClient(broker.bootstrap_servers, 60) as client:
            assert produced(client, 0) == 0
            broker.acts.disk.fail()
            client.send(produce(0), 7)
            while broker.failure is None:
                pass
        broker.acts.disk.heal()
        broker.restart()
        with WireClient(broker.bootstrap_servers, 60) as client:
            assert offset_after(client, 0) == 1
            assert produced(client, 0) == 0


def test_slowness_of_a_disk_is_bounded(broker: BlockingBroker) -> None:
    with pytest.raises(ValueError, match="ms is a whole number from 0 to 60000, not -1"):
        broker.acts.disk.slow(-1)


def test_directory_that_is_no_log_directory_is_refused_with_one_line(
    broker: BlockingBroker, client: WireClient
) -> None:
    known = broker.data_directory.parent
    disk = broker.acts.disk
    mistakes: tuple[str | Path, ...] = (known / "d", str(known), directory_of(broker, 0) / "t-0", "", "\0", "x" * 5000)
    for mistake in mistakes:
        for act in (disk.full, disk.fail, partial(disk.slow, 60_000)):
            with pytest.raises(ValueError, match="there is no log directory ") as refused:
                act(mistake)
            assert str(refused.value).isprintable()
            assert len(str(refused.value)) < 1000
    with pytest.raises(ValueError, match="directory is a path, not 5"):
        disk.full(5)  # type: ignore[arg-type]
    assert [produced(client, each) for each in PARTITIONS] == [0, 0]


def test_log_directory_may_be_named_by_another_path(broker: BlockingBroker, client: WireClient, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(directory_of(broker, 0))
    broker.acts.disk.full(tmp_path / "link")
    assert [produced(client, each) for each in PARTITIONS] == [ErrorCode.KAFKA_STORAGE_ERROR, 0]
