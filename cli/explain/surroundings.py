"""The surroundings of a group: the partition that keeps it, dead replicas, and its clients' users, rights and quotas.

**Limits.** Kafka's protocol does not tell as which user a member logged in, nor whether a quota delays it; a pybroker
tells both under /v1. Facts that the cluster refuses to tell are left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import NamedTuple

from ...base.coordinator_partition import partition_for_key
from ...base.frozen import frozen
from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import KafkaError
from ..configs.found_settings import found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..connecting.v1_reader import V1Reader
from ..groups.shapes import GroupMember
from ..quotas.entities import DEFAULT, KEYS, Entity
from ..quotas.shapes import Quota
from ..topics.found_topics import MIN_ISR

__all__ = ["ClientUse", "Keeper", "MissingRight", "Surroundings", "client_of", "clients_told", "surroundings_of"]

_MOST_CLIENTS = 10
_MOST_TOPICS = 20


class ClientName(NamedTuple):
    """The name by which a broker counts a client."""

    client_id: str
    host: str


@frozen
class ClientUse:
    """A client of a pybroker. ``principal``: None when clients of several users have the name."""

    principal: str | None
    throttled_ms: int


@frozen
class Keeper:
    """The partition of ``__consumer_offsets`` that keeps the group."""

    partition: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    min_isr: int


@frozen
class MissingRight:
    """A right that a member needs and its user does not have. ``resource``: as ``topic orders``."""

    member: GroupMember
    principal: str
    resource: str
    option: str
    reason: str


@frozen
class Surroundings:
    """The facts.

    Attributes:
        dead_replicas: the brokers that are not alive, of each partition without a leader.
        throttled_ms: how long quotas delayed each client while the group was watched.
        throttled_before_ms: how long they had delayed it before.
    """

    keeper: Keeper | None = None
    dead_replicas: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    throttled_ms: Mapping[ClientName, int] = field(default_factory=dict)
    throttled_before_ms: Mapping[ClientName, int] = field(default_factory=dict)
    missing_rights: tuple[MissingRight, ...] = ()
    quotas: Mapping[ClientName, Quota] = field(default_factory=dict)


def client_of(member: GroupMember) -> ClientName:
    """The name of a member's client."""
    return ClientName(member.client_id, member.host.lstrip("/"))


def clients_told(reader: V1Reader | None) -> dict[ClientName, ClientUse]:
    """The clients that the pybrokers know; nothing without ``--v1``."""
    found: dict[ClientName, ClientUse] = {}
    for document in () if reader is None else reader.documents("clients"):
        for row in document.get("items") or ():
            try:
                name = ClientName(str(row["client_id"]), str(row["host"]))
                use = ClientUse(str(row["principal"]), int(row["throttle_ms"]))
            except (KeyError, TypeError, ValueError):
                continue
            known = found.get(name, ClientUse(use.principal, 0))
            principal = use.principal if known.principal == use.principal else None
            found[name] = ClientUse(principal, known.throttled_ms + use.throttled_ms)
    return found


def surroundings_of(
    cluster: AdminCluster,
    group: str,
    members: tuple[GroupMember, ...],
    leaderless: Iterable[TopicPartition],
    before: Mapping[ClientName, ClientUse],
    after: Mapping[ClientName, ClientUse],
) -> Surroundings:
    """The facts about a group. ``before`` and ``after``: its clients when the watch began and ended."""
    names = list(dict.fromkeys(map(client_of, members)))[:_MOST_CLIENTS]
    throttled = {
        name: after[name].throttled_ms - before[name].throttled_ms for name in names if name in after and name in before
    }
    return Surroundings(
        keeper=_keeper_of(cluster, group),
        dead_replicas=_dead_replicas(cluster, leaderless),
        throttled_ms={name: delay_ms for name, delay_ms in throttled.items() if delay_ms > 0},
        throttled_before_ms={name: before[name].throttled_ms for name in names if name in before},
        missing_rights=_missing_rights(cluster, group, members, after),
        quotas=_quotas(cluster, names, after),
    )


def _keeper_of(cluster: AdminCluster, group: str) -> Keeper | None:
    try:
        (topic,) = cluster.metadata([CONSUMER_OFFSETS_TOPIC]).topics
        number = partition_for_key(group, len(topic.partitions)) if topic.partitions else 0
        resource = NamedResource(ResourceKind.TOPIC, CONSUMER_OFFSETS_TOPIC)
        (min_isr,) = found_settings(cluster, [resource], [MIN_ISR])[resource]
        for each in topic.partitions:
            if each.partition_index == number:
                return Keeper(number, tuple(each.replica_nodes), tuple(each.isr_nodes), int(min_isr.value or 1))
    except (KafkaError, OSError, ValueError):  # this user may not describe the topic
        return None
    return None


def _dead_replicas(
    cluster: AdminCluster, leaderless: Iterable[TopicPartition]
) -> dict[TopicPartition, tuple[int, ...]]:
    wanted = set(leaderless)
    if not wanted:
        return {}
    metadata = cluster.metadata(sorted({at.topic for at in wanted}))
    alive = {broker.node_id for broker in metadata.brokers}
    return {
        at: tuple(replica for replica in each.replica_nodes if replica not in alive)
        for topic in metadata.topics
        for each in topic.partitions
        if (at := TopicPartition(topic.name or "", each.partition_index)) in wanted
    }


def _missing_rights(
    cluster: AdminCluster, group: str, members: tuple[GroupMember, ...], clients: Mapping[ClientName, ClientUse]
) -> tuple[MissingRight, ...]:
    """The rights to read that the ACLs deny, by the rules of a broker's authorizer."""
    by_user: dict[ClientName, dict[str, GroupMember]] = defaultdict(dict)
    for member in members:
        use = clients.get(client_of(member))
        if use is not None and use.principal is not None:
            by_user[ClientName(use.principal, client_of(member).host)].setdefault(member.client_id, member)
    if not by_user:
        return ()
    from ...base.acl_rules.question import AclQuestion
    from ...base.acls import AclOperation, AclResourceType
    from ...client.acl_messages import acls_request, bindings_in
    from ...client.explained_acl import judged
    from ..acls.authorizer_settings import authorizer_settings

    found = []
    try:
        settings = authorizer_settings(cluster)
        for (principal, host), of_user in list(by_user.items())[:_MOST_CLIENTS]:
            member = next(iter(of_user.values()))
            wanted = [(AclResourceType.GROUP, group)]
            wanted += [(AclResourceType.TOPIC, topic) for topic in (member.topics or ())[:_MOST_TOPICS]]
            for kind, name in wanted:
                question = AclQuestion(principal, host, AclOperation.READ, kind, name)
                judgement = judged(question, bindings_in(cluster.ask_any(acls_request(question))), settings)
                if judgement.allowed is False:
                    word, reason = kind.name.lower(), str(judgement.explanation)
                    found.append(MissingRight(member, principal, f"{word} {name}", word, reason))
    except (KafkaError, OSError):  # this user may not see the ACLs, or there is no authorizer
        return ()
    return tuple(found)


def _quotas(
    cluster: AdminCluster, names: list[ClientName], clients: Mapping[ClientName, ClientUse]
) -> dict[ClientName, Quota]:
    """The quota of consumers that applies to each client; a client whose user is unknown has none of a user."""
    from ..quotas.found_quotas import found_quotas

    principals = {name: clients[name].principal for name in names if name in clients}
    users = [_user_name(principal) for principal in dict.fromkeys(principals.values()) if principal is not None]
    ids = dict.fromkeys(name.client_id for name in names)
    entities: list[Entity] = [{"client-id": each} for each in ids if each]
    entities += [{"user": each} for each in users]
    entities += [{"client-id": None}, {"user": None}] if names else []
    rows: dict[tuple[str | None, str | None], Quota] = {}
    try:
        for entity in entities:
            for row in found_quotas(cluster, entity, is_strict=False):
                if row.quota == KEYS["consume"] and row.ip is None:
                    rows[row.user, row.client_id] = row
    except (KafkaError, OSError):  # this user may not see quotas, or the brokers are older than Kafka 2.6
        return {}
    found = {}
    for name in names:
        principal = principals.get(name)
        quota = _applying(rows, None if principal is None else _user_name(principal), name.client_id)
        if quota is not None:
            found[name] = quota
    return found


def _applying(rows: Mapping[tuple[str | None, str | None], Quota], user: str | None, client_id: str) -> Quota | None:
    """The quota that Kafka chooses: that of a user before that of a client id, an exact name before the default."""
    users = [DEFAULT] if user is None else [user, DEFAULT]
    order: list[tuple[str | None, str | None]] = []
    for each in users:
        order += [(each, client_id), (each, DEFAULT), (each, None)]
    order += [(None, client_id), (None, DEFAULT)]
    return next((rows[key] for key in order if key in rows), None)


def _user_name(principal: str) -> str:
    return principal.partition(":")[2] or principal
