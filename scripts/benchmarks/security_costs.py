"""A row about the CPU time that the authorizer and quotas add to requests: `scripts/bench --only security`.

One pybroker of each kind runs. They get the same requests in turn, many times, because the difference is smaller than
the noise of one measurement. Two equal brokers may differ by more than these costs, so new ones start again and
again. Half of the requests produce a batch, half fetch one, five in flight. The target is for batches of 64 KiB; what
single records cost is printed as well. Kafka is not measured.
"""

import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from pybroker.base.acls import AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from pybroker.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, produce_request
from support.clients.wire_client import WireClient
from support.clients.wire_frames import request_frame
from support.processes.broker_process import BrokerProcess

from benchmarks.contestants import Contestant, cpu_seconds, lower_quartile
from benchmarks.scenarios import Scenario
from benchmarks.targets import at_most
from benchmarks.wire import receive

__all__ = ["SECURITY_COSTS"]

_TOPIC = "load"
_STARTS = 12
_ROUNDS = 8
"""For each start."""
_REQUESTS_OF_BATCHES = 300
_REQUESTS_OF_RECORDS = 1000
_RECORDS_A_BATCH = 580  # 64 KiB
_BATCH_BYTES = 65_536
_IN_FLIGHT = 5
_ACLS = 10_000
_USERS = 10
"""Each topic that the client does not use has ACLs of so many users."""
_ACLS_A_REQUEST = 1000
_WITHOUT, _ONE_ACL, _MANY_ACLS, _QUOTAS = "without", "1 ACL", "10,000 ACLs", "quotas"
_AUTHORIZER = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",  # for what this client does besides
}
_USER = "User:ANONYMOUS"


def _allow(principal: str, name: str, pattern: PatternType = PatternType.LITERAL) -> AclCreation:
    return AclCreation(
        resource_type=AclResourceType.TOPIC,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=principal,
        host="*",
        operation=AclOperation.ALL,
        permission_type=AclPermission.ALLOW,
    )


def _acls(count: int) -> Iterator[AclCreation]:
    """The one of the client, and many of other users and topics: half of the patterns are prefixes."""
    yield _allow(_USER, _TOPIC)
    for number in range(count - 1):
        resource, user = divmod(number, _USERS)
        pattern = PatternType.PREFIXED if resource % 2 else PatternType.LITERAL
        yield _allow(f"User:user-{user}", f"orders-{resource}", pattern)


def _make_acls(client: WireClient, count: int) -> None:
    creations = list(_acls(count))
    for start in range(0, count, _ACLS_A_REQUEST):
        results = client.ask(CreateAclsRequest(creations=creations[start : start + _ACLS_A_REQUEST]), 3).results
        assert not any(result.error_code for result in results)


def _set_quotas(client: WireClient) -> None:
    """For every user and every client id, far above what they use."""
    limits = (("producer_byte_rate", 1e12), ("consumer_byte_rate", 1e12), ("request_percentage", 1e6))
    ops = [OpData(key=key, value=value, remove=False) for key, value in limits]
    entity = [RequestEntityData(entity_type=kind, entity_name=None) for kind in ("user", "client-id")]
    request = AlterClientQuotasRequest(entries=[RequestEntryData(entity=entity, ops=ops)])
    assert not any(entry.error_code for entry in client.ask(request, 1).entries)


_KINDS: dict[str, tuple[dict[str, str], Callable[[WireClient], None]]] = {
    _WITHOUT: ({}, lambda client: None),
    _ONE_ACL: (_AUTHORIZER, lambda client: _make_acls(client, 1)),
    _MANY_ACLS: (_AUTHORIZER, lambda client: _make_acls(client, _ACLS)),
    _QUOTAS: ({"quota.window.num": "2"}, _set_quotas),
}
_WARM_UP_S = 2.5
"""Longer than the windows of quotas: then the broker knows that no client exceeds its quota."""


def _requests(client: WireClient, records: int, offset: int, fetched_bytes: int) -> Sequence[bytes]:
    """Returns the frames of two requests that work: one produces the records, one fetches from the offset on."""
    made = [Record(offset=number, timestamp_ms=0, key=None, value=bytes(100)) for number in range(records)]
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=fetched_bytes)
    wanted = FetchTopic(topic=_TOPIC, partitions=[partition])
    produce = produce_request(_TOPIC, bytes(build_batch(made)), acks=1)
    fetch = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=fetched_bytes, session_epoch=-1, topics=[wanted])
    produced = client.ask(produce, 9).responses[0].partition_responses[0]
    fetched = client.ask(fetch, 11).responses[0].partitions[0]
    assert not produced.error_code, produced
    assert not fetched.error_code, fetched
    assert fetched.records, "nothing was fetched"
    return request_frame(produce, 9, 1, "benchmark"), request_frame(fetch, 11, 1, "benchmark")


class _Subject:
    """A running broker and a connection that loads it."""

    def __init__(self, broker: BrokerProcess, prepare: Callable[[WireClient], None]) -> None:
        self._pid = broker.pid
        with WireClient(broker.bootstrap_servers) as client:
            create_topic(client, _TOPIC)
            prepare(client)
            self._batches = _requests(client, _RECORDS_A_BATCH, 0, _BATCH_BYTES)
            self._records = _requests(client, 1, _RECORDS_A_BATCH, 1)
        self._connection = socket.create_connection(("127.0.0.1", broker.port))
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def cpu_of_batches(self, scale: float) -> float:
        """Produces and fetches batches of 64 KiB; returns the broker's CPU seconds."""
        return self._cpu_of(self._batches, int(_REQUESTS_OF_BATCHES * scale))

    def cpu_of_records(self, scale: float) -> float:
        """Produces and fetches single records; returns the broker's CPU seconds."""
        return self._cpu_of(self._records, int(_REQUESTS_OF_RECORDS * scale))

    def _cpu_of(self, frames: Sequence[bytes], requests: int) -> float:
        before = cpu_seconds(self._pid)
        sent = 0
        while sent < requests:
            count = min(_IN_FLIGHT, requests - sent)
            self._connection.sendall(b"".join(frames[(sent + each) % 2] for each in range(count)))
            for _ in range(count):
                receive(self._connection, int.from_bytes(receive(self._connection, 4)))
            sent += count
        return cpu_seconds(self._pid) - before

    def close(self) -> None:
        self._connection.close()


def added_cpu(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Returns the percentage of CPU time that each kind takes over a broker without it."""
    scale = min(scale, 1.0)
    of_batches, of_records = [], []
    for _ in range(max(int(_STARTS * scale), 1)):
        with ExitStack() as stack:
            subjects = {kind: _start(stack, settings, prepare) for kind, (settings, prepare) in _KINDS.items()}
            _warm_up(subjects.values(), scale)
            of_batches.append(_percent_more(subjects, lambda subject: subject.cpu_of_batches(scale)))
            of_records.append(_percent_more(subjects, lambda subject: subject.cpu_of_records(scale)))
    batches, records = _medians(of_batches), _medians(of_records)
    figures = {f"{kind}: CPU % more": percent for kind, percent in batches.items()}
    figures |= {f"{kind}: CPU % more for one record a request": percent for kind, percent in records.items()}
    return {"pybroker": figures}


def _start(stack: ExitStack, settings: dict[str, str], prepare: Callable[[WireClient], None]) -> _Subject:
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
    broker = stack.enter_context(BrokerProcess(directory / "pybroker", settings))
    subject = _Subject(broker, prepare)
    stack.callback(subject.close)
    return subject


def _warm_up(subjects: Iterable[_Subject], scale: float) -> None:
    until_s = time.monotonic() + _WARM_UP_S
    while time.monotonic() < until_s:
        for subject in subjects:
            subject.cpu_of_records(scale)


def _percent_more(subjects: dict[str, _Subject], cpu_of: Callable[[_Subject], float]) -> dict[str, float]:
    """Returns how much more CPU time each kind takes than one without."""
    used: dict[str, list[float]] = {kind: [] for kind in subjects}
    kinds = list(subjects)
    for _ in range(_ROUNDS):
        kinds.append(kinds.pop(0))
        for kind in kinds:
            used[kind].append(cpu_of(subjects[kind]))
    lower = {kind: lower_quartile(found) for kind, found in used.items()}
    return {kind: 100 * (lower[kind] / lower[_WITHOUT] - 1) for kind in kinds if kind != _WITHOUT}


def _medians(found: Sequence[dict[str, float]]) -> dict[str, float]:
    return {kind: median(each[kind] for each in found) for kind in found[0]}


SECURITY_COSTS = (
    Scenario(
        "security: cost of the authorizer and of quotas that are not reached",
        tuple(at_most(f"{kind}: CPU % more", 2) for kind in (_ONE_ACL, _MANY_ACLS, _QUOTAS)),
        added_cpu,
    ),
)
