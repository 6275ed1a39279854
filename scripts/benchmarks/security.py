"""Rows of security: throughput over TLS, new connections, and memory of idle ones: `scripts/bench --only security`."""

import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import decode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from pybroker.protocol.messages.produce import ProduceResponse
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import produce_request

from benchmarks.connection_load import TlsClient
from benchmarks.connections import CONNECTION_WORKLOADS
from benchmarks.contestants import Contestant, Running, resident_mib
from benchmarks.scenarios import Scenario, allow_connections, wait_until_quiet
from benchmarks.secured import SECURED, secured_site
from benchmarks.security_costs import SECURITY_COSTS
from benchmarks.targets import at_most, ratio_at_least, ratio_at_most
from benchmarks.wire import exchange
from benchmarks.workloads import BATCHES, LARGE_BATCHES, ONE_A_REQUEST, Load, Site, Workload, consume

__all__ = ["SECURITY_SCENARIOS", "SECURITY_WORKLOADS", "warm_up_security"]

_CPU = ratio_at_most("broker CPU s", 0.9)
_PLAIN = Load("tls", 2_000_000, 100, BATCHES)
_LARGE = Load("tls-large", 400_000, 1024, LARGE_BATCHES)
_SINGLE = Load("tls-single", 60_000, 100, ONE_A_REQUEST)
_WARM_UP = (Load("tls-warm-up", 400_000, 100, BATCHES), Load("tls-warm-up-single", 60_000, 100, ONE_A_REQUEST))
_IDLE_CONNECTIONS = 1000
_LONG_MESSAGE_BYTES = 200_000


def warm_up_security(site: Site) -> None:
    """As `workloads.warm_up`, over TLS."""
    for load in _WARM_UP:
        load.fill(site)
    consume(site, _WARM_UP[0].topic, int(_WARM_UP[0].records * site.scale))


def _produces(name: str, load: Load, ratio: float) -> Workload:
    return Workload(f"security: {name}", (ratio_at_least("records/s", ratio), _CPU), load.make_topic, load.produce)


def _consumes(name: str, load: Load) -> Workload:
    return Workload(f"security: {name}", (ratio_at_least("records/s", 1.0), _CPU), load.fill, load.consume)


SECURITY_WORKLOADS = (
    _produces("produce 2 M x 100 B over TLS 1.3, 64 KiB batches", _PLAIN, 1.0),
    _consumes("consume them over TLS", _PLAIN),
    _produces("produce 400 K x 1 KiB over TLS 1.3, 256 KiB batches", _LARGE, 1.0),
    _consumes("consume them over TLS (1 KiB)", _LARGE),
    _produces("produce 60 K x 100 B over TLS 1.3, one record a request", _SINGLE, 1.1),
    *CONNECTION_WORKLOADS,
)


def idle_connections(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    secured = {contestant.name: contestant for contestant in SECURED}
    figures = {}
    for contestant in contestants:
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            broker, stop = secured[contestant.name].start(Path(directory))
            try:
                figures[contestant.name] = _idle_figures(broker, scale)
            finally:
                stop()
    return figures


def _idle_figures(broker: Running, scale: float) -> dict[str, float]:
    """Returns the growth of the process by idle connections, new ones and after long messages in both directions."""
    count = max(int(_IDLE_CONNECTIONS * min(scale, 1.0)), 10)
    allow_connections(count)
    site = secured_site(broker, scale)
    site.create_topic("idle", 1)
    one = TlsClient(site.tls_port, resumes=False).open()
    _send_long_messages(one)  # what the first client needs once is not counted
    wait_until_quiet(broker.pid)
    before_mib = resident_mib(broker.pid)

    def kib_of_each() -> float:
        wait_until_quiet(broker.pid)
        return (resident_mib(broker.pid) - before_mib) * 1024 / count

    client_of_all = TlsClient(site.tls_port, resumes=False)
    connections = [client_of_all.open() for _ in range(count)]
    for connection in connections:
        exchange(connection, ApiKey.API_VERSIONS, 2, ApiVersionsRequest())
    figures = {"KiB of a new one": kib_of_each()}
    for connection in connections:
        _send_long_messages(connection)
    figures["KiB after long messages"] = kib_of_each()
    for connection in (one, *connections):
        connection.close()
    return figures


def _send_long_messages(connection: ssl.SSLSocket) -> None:
    batch = build_batch([Record(offset=0, timestamp_ms=0, key=None, value=bytes(_LONG_MESSAGE_BYTES))])
    answer = exchange(connection, ApiKey.PRODUCE, 3, produce_request("idle", batch, acks=1))
    assert not decode(ProduceResponse, answer, 3).responses[0].partition_responses[0].error_code
    wanted = FetchTopic(topic="idle", partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])
    request = FetchRequest(max_wait_ms=0, max_bytes=_LONG_MESSAGE_BYTES, session_epoch=-1, topics=[wanted])
    fetched = decode(FetchResponse, exchange(connection, ApiKey.FETCH, 11, request), 11).responses[0].partitions[0]
    assert not fetched.error_code
    assert isinstance(fetched.records, bytes | memoryview)
    assert len(fetched.records) >= _LONG_MESSAGE_BYTES


SECURITY_SCENARIOS = (
    Scenario(
        "security: 1,000 idle TLS connections",
        (at_most("KiB of a new one", 48), at_most("KiB after long messages", 48)),
        idle_connections,
    ),
    *SECURITY_COSTS,
)
