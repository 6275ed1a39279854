"""Groups as their coordinators list and describe them: classic groups, consumer groups (KIP-848), share groups."""

from collections.abc import Callable, Sequence
from typing import Any

from ...base.command_parser import FAILED, CommandError
from ...base.frozen import frozen
from ...client.admin_cluster import AdminCluster
from ...client.response_error import response_error
from ...protocol.apis import ApiKey
from ...protocol.codec import Message
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.list_groups import ListGroupsRequest
from ..exit_codes import NOT_THERE
from ..suggestions import did_you_mean
from .described_members import classic_member, consumer_member, share_member
from .shapes import GroupListed, GroupMember

__all__ = [
    "CLASSIC",
    "DEAD",
    "SHARE",
    "DescribedGroup",
    "described_by",
    "described_group",
    "listed_groups",
    "missing_group",
]

CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
DEAD = "Dead"
"""The state of a group that does not exist."""
_GROUPS_IN_A_REQUEST = 500
_OTHER_TYPE = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION, ErrorCode.INVALID_GROUP_ID)
"""The answers to a newer API about a group that is not of its type, from brokers that may not serve the type."""


@frozen
class DescribedGroup:
    """A group with its members, at one moment."""

    group: str
    state: str
    protocol_type: str
    protocol: str | None
    group_type: str
    coordinator: int
    members: tuple[GroupMember, ...]


def listed_groups(cluster: AdminCluster) -> tuple[list[GroupListed], list[Exception]]:
    """The groups of all brokers by name, and why brokers did not list theirs."""
    found: dict[str, GroupListed] = {}
    failures: list[Exception] = []
    for broker in cluster.metadata().brokers:
        try:
            answer = cluster.ask_broker(broker.node_id, ListGroupsRequest())
            if answer.error_code:
                raise error_for(answer.error_code, f"broker {broker.node_id}: {error_for(answer.error_code)}")
        except (KafkaError, OSError) as error:
            failures.append(error)
            continue
        for each in answer.groups:
            found[each.group_id] = GroupListed(
                group=each.group_id,
                state=each.group_state or None,
                protocol_type=each.protocol_type,
                group_type=each.group_type.lower() or None,
                coordinator=broker.node_id,
                members=None,
                lag=None,
            )
    return [found[name] for name in sorted(found)], failures


def missing_group(cluster: AdminCluster, name: str) -> CommandError:
    """The refusal of a group that no API describes: it does not exist, or its type is unknown here."""
    known = {each.group: each for each in listed_groups(cluster)[0]}
    if name in known:
        kind = known[name].group_type or known[name].protocol_type
        return CommandError(f"group {name} has the type {kind}, which this command does not know", FAILED)
    return CommandError(f"group {name} does not exist{did_you_mean(name, list(known))}", NOT_THERE)


def described_group(cluster: AdminCluster, name: str) -> DescribedGroup:
    """A group; one that does not exist is in state Dead. Raises KafkaError."""

    def described() -> DescribedGroup:
        found, failures = described_by(cluster, cluster.coordinator_of(name), [name])
        if failures:
            raise failures[0]
        return found[name]

    return cluster.retried(described)


def described_by(
    cluster: AdminCluster, coordinator: int, names: Sequence[str]
) -> tuple[dict[str, DescribedGroup], list[KafkaError]]:
    """Groups by name, as their coordinator describes them, and why it does not describe others. Raises KafkaError."""
    from ...protocol.messages.describe_groups import DescribeGroupsRequest

    found: dict[str, DescribedGroup] = {}
    failures: list[KafkaError] = []
    for start in range(0, len(names), _GROUPS_IN_A_REQUEST):
        some = list(names[start : start + _GROUPS_IN_A_REQUEST])
        for each in cluster.ask_broker(coordinator, DescribeGroupsRequest(groups=some)).groups:
            if each.error_code and each.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                failures.append(response_error(each, f"group {each.group_id}"))
            else:
                found[each.group_id] = _classic_group(each, coordinator)
    newest_version = cluster.connection_to(coordinator).newest_version
    for api, describe in _NEWER_TYPES:
        missing = [name for name, group in found.items() if group.state == DEAD]
        if not missing or newest_version(api) is None:
            continue
        for each in cluster.ask_broker(coordinator, describe.request(missing)).groups:
            if not each.error_code:
                found[each.group_id] = describe.group(each, coordinator)
            elif each.error_code not in _OTHER_TYPE:
                failures.append(response_error(each, f"group {each.group_id}"))
                found.pop(each.group_id, None)
    return found, failures


def _classic_group(group: Any, coordinator: int) -> DescribedGroup:
    is_missing = group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    return DescribedGroup(
        group=group.group_id,
        state=DEAD if is_missing else group.group_state,
        protocol_type=group.protocol_type,
        protocol=group.protocol_data or None,
        group_type=CLASSIC,
        coordinator=coordinator,
        members=tuple(classic_member(each) for each in group.members),
    )


@frozen
class _NewerType:
    """A type of groups with a request of its own, and how its members are told."""

    name: str
    request: Callable[[list[str]], Message]
    member: Callable[[Any], GroupMember]

    def group(self, group: Any, coordinator: int) -> DescribedGroup:
        return DescribedGroup(
            group=group.group_id,
            state=group.group_state,
            protocol_type=self.name,
            protocol=group.assignor_name or None,
            group_type=self.name,
            coordinator=coordinator,
            members=tuple(self.member(each) for each in group.members),
        )


def _consumer_request(names: list[str]) -> Message:
    from ...protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest

    return ConsumerGroupDescribeRequest(group_ids=names)


def _share_request(names: list[str]) -> Message:
    from ...protocol.messages.share_group_describe import ShareGroupDescribeRequest

    return ShareGroupDescribeRequest(group_ids=names)


_NEWER_TYPES = (
    (ApiKey.CONSUMER_GROUP_DESCRIBE, _NewerType(CONSUMER, _consumer_request, consumer_member)),
    (ApiKey.SHARE_GROUP_DESCRIBE, _NewerType(SHARE, _share_request, share_member)),
)
