"""Whether a user sees all topics and groups of a cluster: brokers leave out those that the user may not describe."""

from ..client.admin_cluster import AdminCluster
from ..protocol.errors import ErrorCode, KafkaError
from ..protocol.messages.describe_acls import DescribeAclsRequest

__all__ = ["UNSEEN", "none_of", "sees_all"]

UNSEEN = "there is no topic that this user may see"
_ANY = 1
_CLUSTER = 4
_TOLD = (ErrorCode.NONE, ErrorCode.SECURITY_DISABLED)


def sees_all(cluster: AdminCluster) -> bool:
    """False: the cluster has an authorizer, and the user may not describe the cluster. Ask it when nothing is seen."""
    request = DescribeAclsRequest(
        resource_type_filter=_CLUSTER,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    try:
        return cluster.ask_any(request).error_code in _TOLD
    except (KafkaError, ConnectionError):  # an old broker
        return True


def none_of(cluster: AdminCluster, what: str) -> str:
    """The line for an empty list of topics or groups."""
    return f"there are no {what}" + ("" if sees_all(cluster) else " that this user may see")
