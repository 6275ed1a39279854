"""Carries the settings of topics to the target cluster when they are created there, and their ACLs."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from ...base.acls import AclBinding, AclOperation, AclPermission, AclResourceType, PatternType, ResourcePattern
from ...client.acl_messages import acl_creation, bindings_in
from ...client.admin_cluster import AdminCluster
from ...client.client_settings import ClientSettings
from ...client.given_options import OptionError
from ...client.response_error import response_error
from ...client.target_cluster import TargetCluster
from ...protocol.errors import KafkaError
from ...protocol.messages.create_acls import CreateAclsRequest
from ...protocol.messages.describe_acls import DescribeAclsRequest
from ..options.options import Options
from ..options.read_options import KNOWN, ReadOptions, stream_options
from ..options.subscription import Subscription, reads_topic

logger = logging.getLogger(__name__)

_STAYS = frozenset(
    {
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.timestamp.type",
        "min.insync.replicas",
        "unclean.leader.election.enable",
    }
)
"""Settings about brokers of the source, and the type of timestamps, which a mirror keeps."""
_SPLITTING = ("minPartitions", "maxRecordsPerPartition")
_WHAT_READERS_DO = frozenset({AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS})


class MirrorError(Exception):
    """A topic can't be mirrored; the message says why."""


def mirrored_source(given: Mapping[str, str]) -> ReadOptions:
    """Checks the options of a mirror's source. In a micro-batch one task copies a partition: two tasks would write as
    the same producer with the same sequence numbers, and the broker would take one's records for repeated ones.

    Raises OptionError, also for options that split partitions into tasks.
    """
    for name in Options(given, KNOWN).given(_SPLITTING):
        raise OptionError(f"Option '{name}' can't be used for a mirror: one task copies each partition")
    return replace(stream_options(given), min_partitions=1)


def check_copies(subscription: Subscription, topics: Iterable[str], prefix: str) -> None:
    """Checks a mirror within one cluster. Raises MirrorError if it reads a copy, because it would copy that again,
    without end.
    """
    for topic in sorted(topics):
        if reads_topic(subscription, copy := f"{prefix}{topic}"):
            raise MirrorError(
                f"source and target are the same cluster, and the mirror reads {copy}, its copy of {topic}: choose "
                f"topics or a pattern without the copies, such as '^{topic}$'"
            )


def make_topics(source: TargetCluster, target: TargetCluster, topics: Iterable[str], prefix: str) -> None:
    """Creates the topics and partitions that the target lacks. Raises KafkaError, ConnectionError."""
    names = sorted(topics)
    counts = {f"{prefix}{topic}": 0 for topic in names}
    for at in source.partitions(names):
        counts[f"{prefix}{at.topic}"] += 1
    target.make_partitions(counts, partial(new_topic_settings, source, prefix))


def new_topic_settings(source: TargetCluster, prefix: str, topics: list[str]) -> dict[str, dict[str, str]]:
    """Returns the settings with which to create topics at the target, by their names there. Without the right to read
    them at the source, a warning is logged, and the topics get the settings of the brokers.

    Raises KafkaError, ConnectionError.
    """
    if not topics:
        return {}
    try:
        found = source.topic_settings([topic.removeprefix(prefix) for topic in topics], own=True)
    except KafkaError as error:
        logger.warning("Settings of new topics not carried to the target: %s", error)
        return {}
    return {
        f"{prefix}{topic}": {name: value for name, value in settings.items() if name not in _STAYS}
        for topic, settings in found.items()
    }


def carry_acls(source: ClientSettings, target: ClientSettings, topics: Collection[str], prefix: str) -> int:
    """Creates the ACLs of topics at the target, and returns their number. ACLs that are there already stay.

    Raises KafkaError, ConnectionError.
    """
    with AdminCluster(source) as cluster:
        found = bindings_in(cluster.ask_any(_all_topic_acls()), "the ACLs of the source")
    wanted = sorted(set(mirrored_acls(found, topics, prefix)), key=str)
    if wanted:
        request = CreateAclsRequest(creations=[acl_creation(*each) for each in wanted])
        with AdminCluster(target) as cluster:
            for result in cluster.ask_controller(request).results:
                if result.error_code:
                    raise response_error(result, "an ACL of the target")
    return len(wanted)


def mirrored_acls(found: Iterable[AclBinding], topics: Collection[str], prefix: str) -> Iterator[AclBinding]:
    """Returns the ACLs of the target's topics: whatever applies to a topic at the source, but not rights to change it.

    Only the mirror writes there. ACLs for a prefix or for all topics become ACLs of single topics, because they would
    apply to other topics of the target too.
    """
    for binding in found:
        entry = binding.entry
        if entry.permission is AclPermission.ALLOW:
            if entry.operation is AclOperation.ALL:
                entry = entry._replace(operation=AclOperation.READ)
            elif entry.operation not in _WHAT_READERS_DO:
                continue
        for topic in topics:
            if binding.pattern.matches(topic):
                yield AclBinding(ResourcePattern(AclResourceType.TOPIC, f"{prefix}{topic}", PatternType.LITERAL), entry)


def _all_topic_acls() -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=AclResourceType.TOPIC,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=AclOperation.ANY,
        permission_type=AclPermission.ANY,
    )
