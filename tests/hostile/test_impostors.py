"""Attacks by clients that pretend to be a controller or replica, or whose client id forges log lines."""

import pytest
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.wire_client import WireClient
from support.processes.arena import Arena, frame_of, framed, header_of

from .test_frames import AT_REST_MIB

OF_BROKERS = [
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
]


@pytest.mark.parametrize("key", OF_BROKERS, ids=lambda key: key.name.lower())
def test_requests_that_only_brokers_send_are_not_served_to_clients(field: Arena, key: ApiKey) -> None:
    spec = API_SPECS[key]
    for version in range(spec.min_version, spec.max_version + 1):
        request = spec.request_type()()
        for name in ("controller_epoch", "broker_epoch"):
            if hasattr(request, name):
                setattr(request, name, 2**31 - 1)
        for _ in range(20):
            field.is_hung_up(field.throw(frame_of(request, version)))
    field.recovers(lines=1, mib=AT_REST_MIB)
    field.until(lambda: len(field.complaints()) >= 1)
    assert "is not served" in field.complaints()[0]


def test_fetch_as_a_replica_that_does_not_exist_gets_an_error_and_no_records(field: Arena) -> None:
    wanted = FetchPartition(partition=0, fetch_offset=2**40, partition_max_bytes=1_000_000)
    with WireClient(field.servers) as impostor:
        for replica_id in 50 * (0, 1, 7, 2**31 - 1, -2, -(2**31)):
            request = FetchRequest(
                replica_id=replica_id,
                max_wait_ms=0,
                max_bytes=1_000_000,
                session_epoch=-1,
                topics=[FetchTopic(topic="good", partitions=[wanted])],
            )
            (partition,) = impostor.ask(request, 12).responses[0].partitions
            assert partition.error_code != ErrorCode.NONE, replica_id
            assert not partition.records, replica_id
    field.recovers(lines=1, mib=AT_REST_MIB)


def test_client_id_can_neither_forge_log_lines_nor_fill_the_log(field: Arena) -> None:
    forged = "x\n2026-01-01 00:00:00 ERROR pybroker: all is lost\r\x1b[31m" + "y" * 30_000
    for _ in range(200):
        field.is_hung_up(field.throw(framed(header_of(MetadataRequest, 12, client_id=forged) + b"\xff" * 9)))
        field.drop(field.throw(frame_of(MetadataRequest(topics=None), 12, client_id=forged)))
    field.recovers(lines=1, mib=AT_REST_MIB)
    assert not any("all is lost" in line and line.startswith("2026-01-01") for line in field.lines())
    assert max(map(len, field.lines()), default=0) < 5000
