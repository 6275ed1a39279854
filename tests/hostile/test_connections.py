"""Attacks that open and drop thousands of connections."""

import resource

import pytest
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.good_client import create_topic
from support.clients.wire_client import WireClient
from support.processes.arena import Arena, frame_of

AT_REST_MIB = 64
WAVE = 500
"""With more at a time the system would delay some for a second, because socket.listen.backlog.size is 1,024."""


@pytest.mark.parametrize("count", [2000, pytest.param(10_000, marks=pytest.mark.long)])
def test_connections_opened_and_dropped_leave_nothing_behind(field: Arena, count: int) -> None:
    for number in range(count):
        field.drop(field.connect())
        if not number % WAVE:
            field.good.is_served(1)
    field.recovers(lines=0, mib=AT_REST_MIB)


@pytest.mark.parametrize("count", [2000, pytest.param(10_000, marks=pytest.mark.long)])
def test_connections_held_open_cost_at_most_six_kib_each(field: Arena, count: int) -> None:
    for number in range(count):
        field.connect()
        if not number % WAVE:
            field.good.is_served(1)
    field.until(lambda: field.sockets_of_attackers == count)
    field.recovers(lines=0, mib=AT_REST_MIB + count * 6 / 1024)


def test_connections_dropped_with_unread_responses_leave_nothing_behind(field: Arena) -> None:
    for _ in range(1000):
        field.drop(field.throw(frame_of(MetadataRequest(topics=None), 12) * 20))
    field.recovers(lines=0, mib=AT_REST_MIB)


def test_connections_leave_file_descriptors_for_the_logs(field: Arena) -> None:
    resource.prlimit(field.broker.pid, resource.RLIMIT_NOFILE, (200, 200))
    for _ in range(400):
        field.connect()
    field.until(lambda: len(field.complaints()) >= 1)
    assert "ulimit -n" in field.complaints()[0]
    with WireClient(field.servers) as newcomer, pytest.raises((AssertionError, ConnectionError)):
        newcomer.ask(MetadataRequest(topics=[]), 12)
    field.drop_all()
    field.until(lambda: field.sockets_of_attackers <= 0)
    with WireClient(field.servers) as newcomer:
        create_topic(newcomer, "made-afterwards")
    field.recovers(lines=1, mib=AT_REST_MIB, files=8)
