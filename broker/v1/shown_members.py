"""The members of a group as its document shows them, whatever the protocol of the group is."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...views.groups import Member, WaitsFor
from .group_lag import ShownLag

__all__ = ["NO_MEMBERS", "ShownMembers", "lags_of_members"]


class ShownMembers(NamedTuple):
    """``owners``: member ids by partition."""

    members: tuple[Member, ...]
    owners: Mapping[TopicPartition, str]
    waits_for: WaitsFor | None


NO_MEMBERS = ShownMembers((), {}, None)


def lags_of_members(lag: ShownLag, owners: Mapping[TopicPartition, str]) -> Mapping[str, int]:
    """The lag of each member's partitions together, as far as it is known."""
    found: dict[str, int] = defaultdict(int)
    for topic_partition, member_id in owners.items():
        known = lag.partitions.get(topic_partition)
        if known is not None and known.lag is not None:
            found[member_id] += known.lag
    return found
