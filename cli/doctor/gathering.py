"""Gathers the facts that the checks judge. A fact that no broker tells becomes ``Unknown``, so the rest goes on."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.client_settings import ClientSettings
from ...client.cluster import NO_OFFSET
from ...client.connection import Connection, TlsError
from ...client.given_options import OptionError
from ...protocol.client.errors import ClientError
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from ..cluster.log_directories import directories_of
from ..cluster.shapes import LogDirectory
from ..configs.found_settings import found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..connecting.v1_reader import V1Reader
from ..groups.partition_offsets import offsets_at
from ..topics.found_topics import MIN_ISR
from ..txns.found_transactions import hanging_among, open_transactions
from ..txns.shapes import HangingTransaction
from ..visible_topics import sees_all
from .host_facts import host_facts
from .judgement import NO_ANSWER, NO_TOPICS
from .port_probe import probe_port
from .shapes import BrokerFacts, ClockFacts, ExpiringGroup, Facts, PortFacts, PortKind, Unknown

__all__ = ["gathered", "protocol_fits"]

T = TypeVar("T")

_HANGS_AFTER_MS = 15 * 60_000
"""The default of transaction.max.timeout.ms."""
_FUTURE_MS = 3_600_000
"""Clocks may differ by so much before a timestamp counts as one of the future."""
_DAY_MS = 86_400_000
_NEEDS_V1 = Unknown("Kafka's protocol does not tell; give --v1 URL, the HTTP address of a pybroker")
_OFFSETS_KEPT = "offsets.retention.minutes"
_LOGIN_REFUSED = (ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.UNSUPPORTED_SASL_MECHANISM)
_ERRORS = (ConnectionError, KafkaError, TlsError, ClientError, OptionError, TimeoutError)


def gathered(cluster: AdminCluster, reader: V1Reader | None, config: Path | None) -> Facts:
    """The facts about a cluster. Asks each address, each broker, and the leaders of all partitions.

    ``reader``: of the pybrokers; None: no address was given. ``config``: a broker's settings file on this machine.
    """
    settings = cluster.settings
    security = settings.security
    wants_tls = security.tls is not None
    mechanism = None if security.sasl is None else getattr(security.sasl, "mechanism", "OAUTHBEARER")
    ports = tuple(probe_port(host, port, settings) for host, port in dict.fromkeys(settings.bootstrap_servers))
    is_login_refused = False
    metadata: MetadataResponse | Unknown = Unknown("no address speaks the protocol that the client does")
    if any(protocol_fits(port, wants_tls=wants_tls) for port in ports):
        try:
            metadata = cluster.metadata(None)
        except _ERRORS as error:
            metadata = Unknown(str(error))
            is_login_refused = isinstance(error, KafkaError) and error.code in _LOGIN_REFUSED
    if isinstance(metadata, Unknown):
        return Facts(
            wants_tls=wants_tls,
            mechanism=mechanism,
            ports=ports,
            metadata=metadata,
            is_login_refused=is_login_refused,
            min_isr=NO_ANSWER,
            directories=NO_ANSWER,
            hanging=NO_ANSWER,
            offsets_kept_minutes=NO_ANSWER,
            clocks=_clocks(reader),
            future=NO_ANSWER,
            expiring=NO_ANSWER,
            host=host_facts(config),
        )
    known = metadata
    hides_topics = not known.topics and not sees_all(cluster)
    kept_minutes = _or_unknown(lambda: _offsets_kept_minutes(cluster, known))
    return Facts(
        wants_tls=wants_tls,
        mechanism=mechanism,
        ports=ports,
        metadata=known,
        brokers=_brokers(known, ports, settings),
        hides_topics=hides_topics,
        min_isr=NO_TOPICS if hides_topics else _or_unknown(lambda: _min_isr(cluster, known)),
        directories=_or_unknown(lambda: _directories(cluster, known)),
        hanging=NO_TOPICS if hides_topics else _or_unknown(lambda: _hanging(cluster, known)),
        offsets_kept_minutes=kept_minutes,
        clocks=_clocks(reader),
        future=NO_TOPICS if hides_topics else _or_unknown(lambda: _future(cluster, known)),
        expiring=_expiring(reader, kept_minutes),
        host=host_facts(config),
    )


def protocol_fits(port: PortFacts, *, wants_tls: bool) -> bool:
    """Whether a port speaks the protocol of a client with or without TLS."""
    return port.kind is (PortKind.TLS if wants_tls else PortKind.PLAIN)


def _or_unknown(ask: Callable[[], T | Unknown]) -> T | Unknown:
    try:
        return ask()
    except _ERRORS as error:
        return Unknown(str(error))


def _brokers(
    metadata: MetadataResponse, ports: tuple[PortFacts, ...], settings: ClientSettings
) -> tuple[BrokerFacts, ...]:
    known = {(port.host, port.port): port for port in ports}
    brokers = sorted(metadata.brokers, key=lambda each: each.node_id)
    return tuple(_broker(broker, known.get((broker.host, broker.port)), settings) for broker in brokers)


def _broker(broker: MetadataResponseBroker, known: PortFacts | None, settings: ClientSettings) -> BrokerFacts:
    port = known or probe_port(broker.host, broker.port, settings)
    if not protocol_fits(port, wants_tls=settings.security.tls is not None):
        return BrokerFacts(broker=broker.node_id, port=port)
    try:
        connection = Connection(broker.host, broker.port, settings)
        try:
            found = connection.ask(MetadataRequest(topics=[], allow_auto_topic_creation=False))
        finally:
            connection.close()
    except _ERRORS as error:
        return BrokerFacts(broker=broker.node_id, port=port, failure=str(error))
    return BrokerFacts(broker=broker.node_id, port=port, cluster_id=found.cluster_id)


def _min_isr(cluster: AdminCluster, metadata: MetadataResponse) -> dict[str, int]:
    topics = [NamedResource(ResourceKind.TOPIC, topic.name or "") for topic in metadata.topics]
    found = found_settings(cluster, topics, [MIN_ISR]) if topics else {}
    return {topic.name: int(each.value or 1) for topic, settings in found.items() for each in settings}


def _directories(cluster: AdminCluster, metadata: MetadataResponse) -> tuple[LogDirectory, ...] | Unknown:
    failures: list[Exception] = []
    found = directories_of(cluster, sorted(each.node_id for each in metadata.brokers), failures)
    return Unknown(str(failures[0])) if failures and not found else tuple(found)


def _hanging(cluster: AdminCluster, metadata: MetadataResponse) -> tuple[HangingTransaction, ...] | Unknown:
    partitions = _led(metadata)
    failures: list[Exception] = []
    found = open_transactions(cluster, partitions, failures)
    least_ms = time.time() * 1000 - _HANGS_AFTER_MS
    hanging = hanging_among(cluster, [each for each in found if each.producer.last_timestamp <= least_ms])
    return Unknown(str(failures[0])) if failures and not hanging else tuple(hanging)


def _offsets_kept_minutes(cluster: AdminCluster, metadata: MetadataResponse) -> int | Unknown:
    for broker in metadata.brokers:
        resource = NamedResource(ResourceKind.BROKER, str(broker.node_id))
        for setting in found_settings(cluster, [resource], [_OFFSETS_KEPT])[resource]:
            if setting.value:
                return int(setting.value)
    return Unknown(f"the brokers do not tell {_OFFSETS_KEPT}")


def _led(metadata: MetadataResponse) -> list[TopicPartition]:
    """The partitions that have a leader."""
    return [
        TopicPartition(topic.name or "", each.partition_index)
        for topic in metadata.topics
        for each in topic.partitions
        if each.leader_id >= 0
    ]


def _future(cluster: AdminCluster, metadata: MetadataResponse) -> tuple[str, ...] | Unknown:
    """The partitions with a record whose timestamp is over an hour ahead."""
    at_ms = round(time.time() * 1000) + _FUTURE_MS
    found, problems = offsets_at(cluster, dict.fromkeys(_led(metadata), at_ms))
    ahead = tuple(f"{at} (offset {offset})" for at, offset in sorted(found.items()) if offset != NO_OFFSET)
    return Unknown(next(iter(problems.values()))) if problems and not found else ahead


def _clocks(reader: V1Reader | None) -> tuple[ClockFacts, ...] | Unknown:
    if reader is None:
        return _NEEDS_V1
    found = {}
    for each in reader.each_address():
        began_s = time.time()
        for document in each.documents("cluster"):
            took_s = time.time() - began_s
            source = document.get("source") or {}
            broker, time_ms = source.get("broker_id"), source.get("time_ms")
            if isinstance(broker, int) and isinstance(time_ms, int):
                ahead_ms = time_ms - (began_s + took_s / 2) * 1000
                found[broker] = ClockFacts(broker=broker, ahead_ms=ahead_ms, within_ms=took_s * 500)
    return tuple(found[broker] for broker in sorted(found)) or Unknown("no pybroker responds at --v1")


def _expiring(reader: V1Reader | None, kept_minutes: int | Unknown) -> tuple[ExpiringGroup, ...] | Unknown:
    """The groups without members whose newest commit is so old that their offsets may expire within a day."""
    if isinstance(kept_minutes, Unknown):
        return kept_minutes
    if reader is None:
        return _NEEDS_V1
    documents = reader.documents("groups", query={"state": "Empty"})
    if not documents:
        return Unknown("no pybroker responds at --v1")
    found = []
    for document in documents:
        now_ms = (document.get("source") or {}).get("time_ms") or 0
        for row in document.get("items") or ():
            if isinstance(row.get("last_commit_ms"), int):
                left_ms = row["last_commit_ms"] + kept_minutes * 60_000 - now_ms
                if left_ms <= _DAY_MS:
                    found.append(ExpiringGroup(group=str(row.get("group")), left_ms=max(0, left_ms)))
    return tuple(sorted(found, key=lambda each: (each.left_ms, each.group)))
