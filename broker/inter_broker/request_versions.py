"""The version of each request between brokers, by ``inter.broker.protocol.version``.

Brokers of that release and all later ones can read these versions. The first seven follow Kafka's MetadataVersion and
ControllerChannelManager. For requests to the controller Kafka negotiates by ApiVersions; here it is the newest version
that the controller of that release reads.
"""

from collections.abc import Mapping

from ...base.frozen import frozen
from ...config.versions import is_at_least
from ..coordinator.transaction.states import EPOCH_BUMP_VERSION

__all__ = ["RequestVersions"]


@frozen(kw_only=True)
class RequestVersions:
    # The controller to brokers
    leader_and_isr: int
    stop_replica: int
    update_metadata: int

    # Followers to leaders
    fetch: int
    list_offsets: int
    offset_for_leader_epoch: int

    # Coordinators to leaders
    write_txn_markers: int

    # Brokers to the controller
    alter_partition: int
    allocate_producer_ids: int
    controlled_shutdown: int
    create_topics: int

    @classmethod
    def of(cls, protocol_version: str) -> "RequestVersions":
        """``protocol_version``: 3.0 to 3.9, in any spelling that Kafka accepts."""
        versions = dict(_FROM_3_0)
        for since, raised in _RAISED:
            if is_at_least(protocol_version, since):
                versions.update(raised)
        return cls(**versions)

    def write_txn_markers_at(self, transaction_version: int) -> int:
        """From this level of the feature on, every broker reads the transaction version of a marker (KIP-1228)."""
        return 2 if transaction_version >= EPOCH_BUMP_VERSION else self.write_txn_markers


_FROM_3_0: Mapping[str, int] = {
    "leader_and_isr": 5,
    "stop_replica": 3,
    "update_metadata": 7,
    "fetch": 12,
    "list_offsets": 6,
    "offset_for_leader_epoch": 4,
    "write_txn_markers": 1,
    "alter_partition": 0,
    "allocate_producer_ids": 0,
    "controlled_shutdown": 3,
    "create_topics": 7,
}

_RAISED: tuple[tuple[str, Mapping[str, int]], ...] = (
    ("3.0-IV1", {"list_offsets": 7}),
    ("3.1-IV0", {"fetch": 13}),  # topic ids (KIP-516)
    ("3.2-IV0", {"leader_and_isr": 6, "alter_partition": 1}),  # leader recovery state (KIP-704)
    ("3.3-IV0", {"alter_partition": 2}),  # KIP-841
    ("3.4-IV0", {"leader_and_isr": 7, "stop_replica": 4, "update_metadata": 8}),  # KIP-866
    ("3.5-IV0", {"fetch": 14, "list_offsets": 8, "alter_partition": 3}),  # KIP-405, KIP-903
    ("3.5-IV1", {"fetch": 15}),  # the follower's broker epoch (KIP-903)
    ("3.7-IV4", {"fetch": 16}),  # KIP-951
    ("3.9-IV0", {"fetch": 17, "list_offsets": 9}),  # KIP-853, KIP-1005
)
