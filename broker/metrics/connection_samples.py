"""Samples of connections, logins, memory, and of how busy the event loop and the worker threads are."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from ..network.listener import Listeners
from ..network.listener_counters import ListenerCounters
from ..requests.request_watch import RequestWatch
from .labels import labels
from .registry import Registry, Sample
from .series.table import series_named

__all__ = ["add_connection_samples"]

_SOCKETS = "kafka_server_socket_server_metrics"
_PROCESSOR = "0"
_MOST_SOFTWARE = 32
_OTHER = "other"
_UNKNOWN = "unknown"
_CONNECTIONS_BETWEEN_SLICES = 100
_SHORTEST_RATE_S = 1.0


def add_connection_samples(
    registry: Registry,
    listeners: Listeners,
    watch: RequestWatch,
    failed_handshakes: Callable[[str], int],
    certificate_ends: Callable[[], Mapping[str, int]],
    offences: Sequence[Callable[[], Counter[str]]],
) -> None:
    """Add the sources of Kafka's SocketServer, RequestChannel and KafkaRequestHandlerPool.

    ``failed_handshakes``: of TLS, by listener. ``certificate_ends``: when certificates end, by listener. ``offences``:
    the parts beside the listeners that count offences.
    """
    loop = watch.loop

    def by_listener(value: Callable[[ListenerCounters], float]) -> Iterator[Sample]:
        for name, counters in listeners.counters.items():
            yield labels(listener=name, networkProcessor=_PROCESSOR), value(counters)

    for name, value in _OF_LISTENERS.items():
        registry.add(series_named(f"{_SOCKETS}_{name}"), partial(by_listener, value))

    def failed_logins() -> Iterator[Sample]:
        for name, counters in listeners.counters.items():
            failed = counters.logins_failed + failed_handshakes(name)
            yield labels(listener=name, networkProcessor=_PROCESSOR), failed

    def ends() -> Iterator[Sample]:
        for name, end_s in certificate_ends().items():
            yield labels(listener=name), end_s

    registry.add(series_named(f"{_SOCKETS}_failed_authentication_total"), failed_logins)
    registry.add(series_named("pybroker_certificate_end_seconds"), ends)
    registry.add(series_named(f"{_SOCKETS}_connection_creation_rate"), _CreationRates(listeners).samples)
    registry.add(series_named(f"{_SOCKETS}_connections_software"), partial(_software, listeners))

    def one(name: str, value: Callable[[], float]) -> None:
        registry.add(series_named(name), lambda: [("", value())])

    one("kafka_network_requestchannel_requestqueuesize", lambda: listeners.waiting_requests + watch.pool().waiting)
    registry.add(series_named("kafka_network_requestchannel_responsequeuesize"), partial(_waiting_responses, listeners))
    one("kafka_network_socketserver_networkprocessoravgidle_percent", lambda: loop.loop_idle)
    one("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", lambda: loop.pool_idle)
    one("kafka_network_socketserver_memorypoolavailable", lambda: listeners.available_request_bytes)
    one("kafka_network_socketserver_memorypoolused", lambda: listeners.request_bytes)
    one(
        "kafka_network_socketserver_expiredconnectionskilledcount",
        lambda: sum(counters.expired_sessions for counters in listeners.counters.values()),
    )
    registry.add(series_named("pybroker_refused_total"), partial(_offences, [listeners.offences, *offences]))
    one("pybroker_loop_stall_seconds", loop.take_longest_stall_s)


_OF_LISTENERS: dict[str, Callable[[ListenerCounters], float]] = {
    "connection_count": lambda counters: counters.connections,
    "connection_creation_total": lambda counters: counters.accepted,
    "successful_authentication_total": lambda counters: counters.logins_succeeded,
}


class _CreationRates:
    """New connections a second since the last scrape that was at least a second ago."""

    def __init__(self, listeners: Listeners) -> None:
        self._listeners = listeners
        self._before = (time.perf_counter(), Counter[str]())
        self._rates: dict[str, float] = {}

    def samples(self) -> Iterator[Sample]:
        now_s = time.perf_counter()
        before_s, before = self._before
        accepted = Counter({name: counters.accepted for name, counters in self._listeners.counters.items()})
        if now_s - before_s >= _SHORTEST_RATE_S:
            self._rates = {name: (accepted[name] - before[name]) / (now_s - before_s) for name in accepted}
            self._before = now_s, accepted
        for name in accepted:
            yield labels(listener=name, networkProcessor=_PROCESSOR), self._rates.get(name, 0.0)


def _offences(counts: Sequence[Callable[[], Counter[str]]]) -> Iterator[Sample]:
    for offence, count in sum((each() for each in counts), Counter[str]()).items():
        yield labels(offence=offence), count


def _software(listeners: Listeners) -> Iterator[Sample | None]:
    """Connections by the client's library. Clients choose these names, so only the most frequent ones are told."""
    counts: Counter[tuple[str, str]] = Counter()
    for number, connection in enumerate(listeners.connections(), 1):
        counts[connection.info.listener_name, connection.info.software or _UNKNOWN] += 1
        if not number % _CONNECTIONS_BETWEEN_SLICES:
            yield None
    told: Counter[tuple[str, str]] = Counter()
    for number, ((listener, software), count) in enumerate(counts.most_common()):
        told[listener, software if number < _MOST_SOFTWARE else _OTHER] += count
    for (listener, software), count in told.items():
        name, _, version = software.rpartition(" ")
        yield (
            labels(
                clientSoftwareName=name or software,
                clientSoftwareVersion=version if name else _UNKNOWN,
                listener=listener,
                networkProcessor=_PROCESSOR,
            ),
            count,
        )


def _waiting_responses(listeners: Listeners) -> Iterator[Sample | None]:
    waiting = 0
    for number, connection in enumerate(listeners.connections(), 1):
        waiting += connection.waiting_responses
        if not number % _CONNECTIONS_BETWEEN_SLICES:
            yield None
    yield "", waiting
