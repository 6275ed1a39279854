"""The APIs of share groups that the group coordinator serves (KIP-932), with their handlers."""

from collections.abc import Mapping

from ....protocol.apis import ApiKey
from ...requests.context import Handler
from ..broker_parts import BrokerParts
from .alter_share_group_offsets import AlterShareGroupOffsets
from .delete_share_group_offsets import DeleteShareGroupOffsets
from .describe_share_group_offsets import DescribeShareGroupOffsets
from .share_group_describe import ShareGroupDescribe
from .share_group_heartbeat import ShareGroupHeartbeat

__all__ = ["share_group_apis"]


def share_group_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    """To be called where the settings ask for share groups."""
    groups, share = parts.coordinators.groups, parts.coordinators.share
    assert share is not None
    assert groups.shares is not None
    assert groups.share_offsets is not None
    return {
        ApiKey.SHARE_GROUP_HEARTBEAT: ShareGroupHeartbeat(groups.shares),
        ApiKey.SHARE_GROUP_DESCRIBE: ShareGroupDescribe(groups.shares),
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: DescribeShareGroupOffsets(groups.share_offsets, share.get().end_offsets),
        ApiKey.ALTER_SHARE_GROUP_OFFSETS: AlterShareGroupOffsets(groups.share_offsets),
        ApiKey.DELETE_SHARE_GROUP_OFFSETS: DeleteShareGroupOffsets(groups.share_offsets),
    }
