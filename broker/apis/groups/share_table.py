"""The APIs of share groups that the group coordinator serves (KIP-932), with their handlers."""

from collections.abc import Mapping

from ....protocol.apis import ApiKey
from ...requests.context import Handler
from ...requests.group_features import WhileServed
from ..broker_parts import BrokerParts
from .alter_share_group_offsets import AlterShareGroupOffsets
from .delete_share_group_offsets import DeleteShareGroupOffsets
from .describe_share_group_offsets import DescribeShareGroupOffsets
from .share_group_describe import ShareGroupDescribe
from .share_group_heartbeat import ShareGroupHeartbeat

__all__ = ["share_group_apis"]


def share_group_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    """No handlers where share groups are not served."""
    coordinators, feature = parts.coordinators, parts.group_features.share
    groups, share = coordinators.groups, coordinators.share
    if not feature.is_asked_for or share is None or groups.shares is None or groups.share_offsets is None:
        return {}
    table: Mapping[ApiKey, Handler] = {
        ApiKey.SHARE_GROUP_HEARTBEAT: ShareGroupHeartbeat(groups.shares),
        ApiKey.SHARE_GROUP_DESCRIBE: ShareGroupDescribe(groups.shares),
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: DescribeShareGroupOffsets(groups.share_offsets, share.end_offsets),
        ApiKey.ALTER_SHARE_GROUP_OFFSETS: AlterShareGroupOffsets(groups.share_offsets),
        ApiKey.DELETE_SHARE_GROUP_OFFSETS: DeleteShareGroupOffsets(groups.share_offsets),
    }
    return {key: WhileServed(handler, feature) for key, handler in table.items()}
