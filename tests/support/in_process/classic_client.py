"""A client of the classic protocol in a group of `ConsumerWorld`: joins, syncs, and leads classic groups."""

from collections.abc import Iterable

from pybroker.broker.coordinator.group.joining import JoinRequest
from pybroker.broker.coordinator.group.member import MemberProtocol
from pybroker.broker.coordinator.group.results import JoinResult, LeavingMember
from pybroker.broker.coordinator.group.syncing import SyncRequest
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.consumer_protocol import (
    AssignmentTopicPartition,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    SubscriptionTopicPartition,
)
from support.clients.group_clients import REBALANCE_MS, SESSION_MS, JoinCall, SyncCall
from support.in_process.consumer_groups import GROUP
from support.in_process.consumer_world import ConsumerWorld

__all__ = ["ClassicClient", "assignment", "share"]

VERSION = 3
Partition = tuple[str, int]


def subscription(topics: Iterable[str], owned: Iterable[Partition] = ()) -> bytes:
    by_topic = [SubscriptionTopicPartition(topic=topic, partitions=[number]) for topic, number in sorted(owned)]
    value = ConsumerProtocolSubscription(topics=list(topics), owned_partitions=by_topic)
    return VERSION.to_bytes(2, "big") + encode(value, VERSION)


def assignment(partitions: Iterable[Partition], user_data: bytes | None = None) -> bytes:
    by_topic = [AssignmentTopicPartition(topic=topic, partitions=[number]) for topic, number in sorted(partitions)]
    value = ConsumerProtocolAssignment(assigned_partitions=by_topic, user_data=user_data)
    return VERSION.to_bytes(2, "big") + encode(value, VERSION)


class ClassicClient:
    """``keeps``: it gives back only what it loses (the cooperative protocol), not all at each rebalance."""

    def __init__(
        self, world: ConsumerWorld, name: str, *topics: str, keeps: bool = True, instance_id: str | None = None
    ) -> None:
        self.world = world
        self.name = name
        self.topics = topics
        self.keeps = keeps
        self.instance_id = instance_id
        self.protocol = "cooperative-sticky" if keeps else "range"
        self.member_id = ""
        self.generation_id = -1
        self.owned: set[Partition] = set()
        self.joining: JoinCall | None = None
        self.protocol_metadata: bytes | None = None
        """Sent in place of its subscription."""

    def send_join(self) -> JoinCall:
        """Send a JoinGroup; in a classic group its response waits for the other members."""
        if not self.keeps:
            self.owned.clear()
        call = self.joining = JoinCall()
        metadata = self.protocol_metadata or subscription(self.topics, self.owned)
        protocols = (MemberProtocol(self.protocol, metadata),)
        self.world.coordinator.membership.join(
            JoinRequest(
                GROUP,
                self.member_id,
                self.instance_id,
                self.name,
                "/h",
                REBALANCE_MS,
                SESSION_MS,
                "consumer",
                protocols,
                requires_known_member_id=True,
                supports_skipping_assignment=True,
            ),
            call,
        )
        return call

    async def joined(self) -> JoinResult:
        """The result of a join, with the id that the first response gave."""
        await self.world.coordinator.settled()
        assert self.joining is not None
        result = self.joining.result
        if result.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = result.member_id
            self.send_join()
            return await self.joined()
        if result.error is ErrorCode.NONE:
            self.member_id, self.generation_id = result.member_id, result.generation_id
        return result

    async def sync(self, shares: dict[str, bytes] | None = None) -> ErrorCode:
        """Send a SyncGroup, and have what it says."""
        call = SyncCall()
        request = SyncRequest(
            GROUP, self.generation_id, self.member_id, self.instance_id, "consumer", self.protocol, shares
        )
        self.world.coordinator.membership.sync(request, call)
        await self.world.coordinator.settled()
        result = call.result
        if result.error is ErrorCode.NONE:
            body = memoryview(result.assignment)[2:]
            value = decode(ConsumerProtocolAssignment, body, VERSION)
            self.owned = {(each.topic, number) for each in value.assigned_partitions for number in each.partitions}
        return result.error

    async def join(self) -> JoinResult:
        """Join the group, which has members of the consumer protocol, and get an assignment."""
        self.send_join()
        result = await self.joined()
        if result.error is ErrorCode.NONE:
            await self.sync()
        return result

    def beat(self) -> ErrorCode:
        return self.world.coordinator.membership.heartbeat(GROUP, self.member_id, self.instance_id, self.generation_id)

    async def follow(self) -> None:
        """Send a heartbeat, and join again when the response says so."""
        if self.beat() is ErrorCode.REBALANCE_IN_PROGRESS:
            await self.join()

    def leave(self) -> ErrorCode:
        leaving = [LeavingMember(self.member_id, self.instance_id)]
        return self.world.coordinator.membership.leave(GROUP, leaving).members[0].error


async def share(world: ConsumerWorld, clients: list[ClassicClient], partitions: Iterable[Partition]) -> None:
    """Make the clients a stable classic group that shares these partitions."""
    for client in clients:
        client.send_join()
        if client.joining is not None and client.joining.is_answered:
            result = client.joining.result
            if result.error is ErrorCode.MEMBER_ID_REQUIRED:
                client.member_id = result.member_id
                client.send_join()
    for client in clients:
        if client.joining is not None and client.joining.is_answered:  # it was alone when it joined
            client.send_join()
    await world.coordinator.settled()
    by_number = sorted(partitions)
    shares = {client.member_id: by_number[number :: len(clients)] for number, client in enumerate(clients)}
    results = [await client.joined() for client in clients]
    leader_id = results[0].leader_id
    if leader_id:  # of a classic group
        for client in sorted(clients, key=lambda each: each.member_id != leader_id):
            given = {member_id: assignment(own) for member_id, own in shares.items()}
            error = await client.sync(given if client.member_id == leader_id else None)
            assert error is ErrorCode.NONE
