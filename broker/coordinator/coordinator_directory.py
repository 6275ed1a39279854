"""Where the coordinators of one kind are: the leaders of an internal topic's partitions."""

from collections.abc import Awaitable, Callable

from ...base.frozen import frozen
from ...controller.topics.permit import Permit
from ..metadata.leader_hints import BrokerEndpoint
from ..network.request import ConnectionInfo

__all__ = ["CoordinatorDirectory"]


@frozen
class CoordinatorDirectory:
    """How to find the coordinators of groups, or of transactions.

    Attributes:
        partition_for: the partition of the internal topic that a group id or transactional id belongs to.
        node_of: the leader of that partition, at an address for the client's connection; None: no leader known.
        ensure_topic: begins to create the internal topic if it is missing, and waits for a moment until its leaders
            are known here; counts its partitions by the permit.
    """

    partition_for: Callable[[str], int]
    node_of: Callable[[int, ConnectionInfo], BrokerEndpoint | None]
    ensure_topic: Callable[[Permit], Awaitable[None]]
