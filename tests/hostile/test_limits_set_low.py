"""Tests of limits on a running broker whose settings make them low."""

import contextlib
import socket
import struct

import psutil
import pytest
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pybroker.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from pybroker.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, produce_request
from support.clients.wire_client import WireClient
from support.processes.arena import Arena, frame_of

from .conftest import OpenArena
from .test_batches import answer_to, good_batch
from .test_frames import AT_REST_MIB

IN_FLIGHT = "pybroker.max.in.flight.requests.per.connection"


def end_of(client: WireClient, topic: str) -> int:
    """Return the latest offset of partition 0: one more than the offset of its last record."""
    latest = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=[latest])])
    offset: int = client.ask(request, 7).topics[0].partitions[0].offset
    return offset


def waiting_fetch(topic: str) -> Message:
    wanted = FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])
    return FetchRequest(max_wait_ms=2**31 - 1, min_bytes=1, max_bytes=1000, session_epoch=-1, topics=[wanted])


def test_connection_is_not_read_at_its_limit_of_requests_in_flight(open_arena: OpenArena) -> None:
    field = open_arena({IN_FLIGHT: "2"})
    fetch, produce = frame_of(waiting_fetch("empty"), 12), frame_of(produce_request("written", bytes(good_batch(1))), 9)
    with WireClient(field.servers) as others:
        for topic in ("empty", "written"):
            create_topic(others, topic)
        busy = field.throw(fetch * 2 + produce)
        field.throw(fetch + produce)
        field.until(lambda: end_of(others, "written") > 0)
        field.good.is_served(50)
        assert end_of(others, "written") == 1, "the third request of a connection was started"
        assert answer_to(others, "empty", bytes(good_batch(1))) is ErrorCode.NONE  # the fetches wait for these records
        for _ in range(3):
            (size,) = struct.unpack(">i", busy.recv(4, socket.MSG_WAITALL))
            assert len(busy.recv(size, socket.MSG_WAITALL)) == size
        assert end_of(others, "written") == 2
    field.recovers(lines=0, mib=AT_REST_MIB, files=8)


def test_creation_or_growth_over_partitions_max_per_creation_is_refused(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.partitions.max.per.creation": "50"})
    with WireClient(field.servers) as client:

        def created(name: str, partition_count: int) -> ErrorCode:
            topic = CreatableTopic(name=name, num_partitions=partition_count, replication_factor=1)
            return ErrorCode(client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 7).topics[0].error_code)

        def grown(name: str, partition_count: int) -> ErrorCode:
            topic = CreatePartitionsTopic(name=name, count=partition_count, assignments=None)
            request = CreatePartitionsRequest(topics=[topic], timeout_ms=60_000)
            return ErrorCode(client.ask(request, 3).results[0].error_code)

        assert [created("wide", count) for count in (2**31 - 1, 51, 50)] == [
            ErrorCode.INVALID_PARTITIONS,
            ErrorCode.INVALID_PARTITIONS,
            ErrorCode.NONE,
        ]
        assert [grown("wide", count) for count in (2**31 - 1, 101, 100)] == [
            ErrorCode.INVALID_PARTITIONS,
            ErrorCode.INVALID_PARTITIONS,
            ErrorCode.NONE,
        ]
    field.recovers(lines=0, mib=AT_REST_MIB, files=400)


def test_refusal_names_at_most_as_many_records_as_batch_max_record_errors(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.batch.max.record.errors": "3"})
    keyless = build_batch([Record(number, 0, None, b"v") for number in range(10)])
    with WireClient(field.servers) as client:
        create_topic(client, "compacted", {"cleanup.policy": "compact"})
        (answer,) = client.ask(produce_request("compacted", keyless), 9).responses[0].partition_responses
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [0, 1, 2]
    assert "10 record errors" in (answer.error_message or "")
    field.recovers(lines=0, mib=AT_REST_MIB, files=8)


def big_batch_process_runs(field: Arena) -> bool:
    """Return whether the process that reads large batches runs; it stays for ten seconds after a batch."""
    for child in psutil.Process(field.broker.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            if "big_batch_process" in " ".join(child.cmdline()):
                return True
    return False


@pytest.mark.parametrize(
    "settings", [{"pybroker.batch.inline.max.bytes": "10000"}, {"pybroker.batch.inline.max.records": "100"}], ids=str
)
def test_batch_over_an_inline_limit_is_read_by_another_process(open_arena: OpenArena, settings: dict[str, str]) -> None:
    field = open_arena(settings)
    with WireClient(field.servers) as client:
        create_topic(client, "compacted", {"cleanup.policy": "compact"})

        def stored(count: int) -> bool:
            records = [Record(number, 0, b"key", bytes(100)) for number in range(count)]
            return answer_to(client, "compacted", build_batch(records, codec=Codec.GZIP)) is ErrorCode.NONE

        assert stored(50)
        assert not big_batch_process_runs(field)
        field.until(lambda: stored(150) and big_batch_process_runs(field))
        assert (end_of(client, "compacted") - 50) % 150 == 0
    field.recovers(lines=0, mib=AT_REST_MIB, files=16)


def test_describe_topic_partitions_response_is_limited_and_has_a_cursor_to_the_rest(open_arena: OpenArena) -> None:
    field = open_arena({"max.request.partition.size.limit": "3", "num.partitions": "5"})
    with WireClient(field.servers) as client:
        topic = CreatableTopic(name="wide", num_partitions=5, replication_factor=1)
        assert client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 7).topics[0].error_code == 0
        request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="wide")], response_partition_limit=2000)
        pages = []
        while True:
            answer = client.ask(request, 0)
            pages.append([partition.partition_index for partition in answer.topics[0].partitions])
            if answer.next_cursor is None:
                break
            request.cursor = answer.next_cursor
    assert pages == [[0, 1, 2], [3, 4]]
    field.recovers(lines=0, mib=AT_REST_MIB, files=20)


def test_fetch_response_has_no_more_bytes_of_records_than_the_brokers_fetch_max_bytes(open_arena: OpenArena) -> None:
    field = open_arena({"fetch.max.bytes": "2048"})
    with WireClient(field.servers) as client:
        create_topic(client, "long")
        for _ in range(10):
            assert answer_to(client, "long", build_batch([Record(0, 0, b"key", bytes(500))])) is ErrorCode.NONE
        topic = FetchTopic(topic="long", partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])
        fetch = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=[topic])
        (partition,) = client.ask(fetch, 12).responses[0].partitions
        assert 500 < len(partition.records) <= 2048
    field.recovers(lines=0, mib=AT_REST_MIB, files=8)


def settings_of(size: int) -> dict[str, str]:
    """Return settings of a topic with about ``size`` characters."""
    return {"leader.replication.throttled.replicas": ",".join(["0:1"] * (size // 4))}


def altered(client: WireClient, topic: str, settings: dict[str, str]) -> ErrorCode:
    configs = [AlterableConfig(name=name, config_operation=0, value=value) for name, value in settings.items()]
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=configs)
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    return ErrorCode(answer.responses[0].error_code)


def test_topic_settings_over_pybroker_topic_settings_max_bytes_are_refused(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.topic.settings.max.bytes": "50000"})
    names = [f"topic-{number}" for number in range(8)]
    with WireClient(field.servers) as client:

        def created(name: str, size: int) -> ErrorCode:
            configs = [CreatableTopicConfig(name=key, value=value) for key, value in settings_of(size).items()]
            topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=configs)
            return ErrorCode(client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 7).topics[0].error_code)

        codes = [created(name, 10_000) for name in names]
        assert codes == [ErrorCode.NONE] * 4 + [ErrorCode.POLICY_VIOLATION] * 4
        create_topic(client, "plain")
        assert altered(client, "plain", settings_of(10_000)) is ErrorCode.POLICY_VIOLATION
        assert altered(client, "plain", settings_of(1000)) is ErrorCode.NONE
        assert altered(client, names[0], settings_of(5000)) is ErrorCode.NONE  # less than it had
        # The settings of deleted topics no longer count.
        gone = DeleteTopicsRequest(topic_names=names[:4], timeout_ms=60_000)
        assert {topic.error_code for topic in client.ask(gone, 5).responses} == {ErrorCode.NONE}
        field.until(lambda: created("another", 30_000) is ErrorCode.NONE)
    field.recovers(lines=0, mib=AT_REST_MIB + 8, files=40)


def test_index_stays_within_the_brokers_limit_whatever_its_topic_allows(open_arena: OpenArena) -> None:
    field = open_arena({"log.index.size.max.bytes": "80"})
    wishes = {"index.interval.bytes": "0", "segment.index.bytes": str(2**31 - 1)}  # an entry for each batch
    with WireClient(field.servers) as client:
        create_topic(client, "greedy", wishes)
        for _ in range(30):
            assert answer_to(client, "greedy", bytes(good_batch(1))) is ErrorCode.NONE
    directory = field.broker.log_directory / "greedy-0"
    assert len(list(directory.glob("*.log"))) > 2, "an index of eighty bytes has ten entries"
    assert all(index.stat().st_size <= 80 for index in directory.glob("*index"))
    field.recovers(lines=0, mib=AT_REST_MIB, files=40)
