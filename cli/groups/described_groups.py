"""Groups as their coordinators list and describe them, in the classic protocol and in the protocol of KIP-848."""

from collections.abc import Iterable, Sequence
from typing import Any

from ...base.command_parser import CommandError
from ...base.frozen import frozen
from ...client.admin_cluster import AdminCluster
from ...protocol.apis import ApiKey
from ...protocol.codec import DecodeError, Message, decode_prefix
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.list_groups import ListGroupsRequest
from ...views.groups import Assignment
from ..exit_codes import NOT_THERE
from ..suggestions import did_you_mean
from .shapes import GroupListed, GroupMember

__all__ = ["CLASSIC", "DEAD", "DescribedGroup", "described_by", "described_group", "listed_groups", "missing_group"]

CLASSIC, CONSUMER = "classic", "consumer"
DEAD = "Dead"
"""The state of a group that does not exist."""
_GROUPS_IN_A_REQUEST = 500
_VERSION_BYTES = 2


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
    """The refusal of a group that does not exist, with a suggestion."""
    known = [each.group for each in listed_groups(cluster)[0]]
    return CommandError(f"group {name} does not exist{did_you_mean(name, known)}", NOT_THERE)


def described_group(cluster: AdminCluster, name: str) -> DescribedGroup:
    """A group; one that does not exist is in state Dead. Raises KafkaError."""
    return cluster.retried(lambda: described_by(cluster, cluster.coordinator_of(name), [name])[name])


def described_by(cluster: AdminCluster, coordinator: int, names: Sequence[str]) -> dict[str, DescribedGroup]:
    """Groups by name, as their coordinator describes them. Raises KafkaError."""
    from ...protocol.messages.describe_groups import DescribeGroupsRequest

    found: dict[str, DescribedGroup] = {}
    for start in range(0, len(names), _GROUPS_IN_A_REQUEST):
        some = list(names[start : start + _GROUPS_IN_A_REQUEST])
        for each in cluster.ask_broker(coordinator, DescribeGroupsRequest(groups=some)).groups:
            if each.error_code and each.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                raise error_for(each.error_code, f"group {each.group_id}: {error_for(each.error_code)}")
            found[each.group_id] = _classic_group(each, coordinator)
    missing = [name for name, group in found.items() if group.state == DEAD]
    if missing and cluster.connection_to(coordinator).newest_version(ApiKey.CONSUMER_GROUP_DESCRIBE) is not None:
        found |= _consumer_groups(cluster, coordinator, missing)
    return found


def _classic_group(group: Any, coordinator: int) -> DescribedGroup:
    is_missing = group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    return DescribedGroup(
        group=group.group_id,
        state=DEAD if is_missing else group.group_state,
        protocol_type=group.protocol_type,
        protocol=group.protocol_data or None,
        group_type=CLASSIC,
        coordinator=coordinator,
        members=tuple(_classic_member(each) for each in group.members),
    )


def _classic_member(member: Any) -> GroupMember:
    from ...protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

    subscription = _decoded(ConsumerProtocolSubscription, member.member_metadata)
    assignment = _decoded(ConsumerProtocolAssignment, member.member_assignment)
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host,
        instance_id=member.group_instance_id,
        topics=None if subscription is None else tuple(sorted(subscription.topics)),
        assignment=None
        if assignment is None
        else _assignments((each.topic, each.partitions) for each in assignment.assigned_partitions),
    )


def _assignments(parts: Iterable[tuple[str, Iterable[int]]]) -> tuple[Assignment, ...]:
    return tuple(Assignment(topic=topic, partitions=tuple(sorted(numbers))) for topic, numbers in sorted(parts))


def _decoded(form: type[Message], data: bytes) -> Any:
    """The message that a consumer sent; None when the bytes are not those of a consumer."""
    if len(data) < _VERSION_BYTES:
        return None
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    try:
        return decode_prefix(form, bytes(data), min(max(version, 0), form.MESSAGE.versions.last), _VERSION_BYTES)[0]
    except (DecodeError, ValueError):
        return None


def _consumer_groups(cluster: AdminCluster, coordinator: int, names: Sequence[str]) -> dict[str, DescribedGroup]:
    """The groups among ``names`` that use the protocol of KIP-848."""
    from ...protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest

    answer = cluster.ask_broker(coordinator, ConsumerGroupDescribeRequest(group_ids=list(names)))
    return {
        group.group_id: DescribedGroup(
            group=group.group_id,
            state=group.group_state,
            protocol_type=CONSUMER,
            protocol=group.assignor_name or None,
            group_type=CONSUMER,
            coordinator=coordinator,
            members=tuple(_consumer_member(each) for each in group.members),
        )
        for group in answer.groups
        if not group.error_code
    }


def _consumer_member(member: Any) -> GroupMember:
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host,
        instance_id=member.instance_id,
        topics=tuple(sorted(member.subscribed_topic_names)),
        assignment=_assignments((each.topic_name, each.partitions) for each in member.assignment.topic_partitions),
    )
