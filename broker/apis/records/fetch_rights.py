"""Which partitions of a fetch the client may not read, and the errors of partitions that are not read."""

from collections.abc import Sequence, Set

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode
from ....replication.leader.fetch_session import FetchContext
from ....replication.partition.fetch import FetchResult, FetchResults, PartitionFetch, PartitionKey
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED

__all__ = ["denied_partitions", "fetch_errors"]

_NO_KEYS: frozenset[PartitionKey] = frozenset()


def denied_partitions(
    context: RequestContext, session: FetchContext, known: Sequence[PartitionFetch], *, is_follower: bool
) -> Set[PartitionKey]:
    """The partitions that the client may not read. ``known``: those of the session whose topics are known.

    A fetch with a replica id acts as a broker: all of its partitions are denied or none, whatever it may read.
    """
    if context.authorizer is None:
        return _NO_KEYS
    if is_follower:
        may_follow = context.may_on_cluster(AclOperation.CLUSTER_ACTION)
        return _NO_KEYS if may_follow else {fetch.key for fetch in session.partitions}
    if len(known) == 1 and known[0].topic_partition is not None:  # the usual fetch of a small consumer
        is_allowed = context.may(AclOperation.READ, AclResourceType.TOPIC, known[0].topic_partition.topic)
        return _NO_KEYS if is_allowed else {known[0].key}
    topics = (fetch.topic_partition.topic for fetch in known if fetch.topic_partition is not None)
    denied = context.denied(AclOperation.READ, AclResourceType.TOPIC, topics)
    if not denied:
        return _NO_KEYS
    return {fetch.key for fetch in known if fetch.topic_partition and fetch.topic_partition.topic in denied}


def fetch_errors(session: FetchContext, denied: Set[PartitionKey]) -> FetchResults:
    """An error for each partition that the client may not read, or whose topic id is unknown: our metadata may be
    behind.

    The errors are made together with the response: a session may have very many, and no limit counts them while its
    fetch waits.
    """
    errors: FetchResults = []
    for fetch in session.partitions:
        if fetch.key in denied:
            errors.append((fetch, FetchResult(TOPIC_DENIED)))
        elif fetch.topic_partition is None and fetch.topic_id is not None:
            errors.append((fetch, FetchResult(ErrorCode.UNKNOWN_TOPIC_ID)))
    return errors
