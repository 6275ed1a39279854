"""A coordinator of share groups with all partitions of a topic in memory, virtual time, and states in memory."""

from collections.abc import Callable

from pybroker.broker.coordinator.group.consumer.consumer_groups import NO_TOPICS
from pybroker.broker.coordinator.group.coordinator import GroupCoordinator
from pybroker.broker.coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from pybroker.broker.coordinator.group.share.share_group import ShareGroup
from pybroker.broker.coordinator.group.share.share_groups import ShareGroups, SharePorts
from pybroker.broker.coordinator.group.share.share_offsets import ShareOffsets
from pybroker.broker.coordinator.share.ports import SharePartitionKey, StateRead, StateSummary, StateWrite
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import NO_DELAY
from support.in_process.consumer_groups import Topics
from support.in_process.offsets_topic import AwaitedOffsetsTopic, OffsetsTopic
from support.share_groups.decisions import GROUP, SHARE_SETTINGS, share_heartbeat
from support.time.virtual_time import VirtualTime

__all__ = ["ShareGroupWorld", "StatesInMemory"]


class StatesInMemory:
    """A `ShareState`. ``error``: the result of each call. ``stored``: state epochs and start offsets.

    ``complete_count``: of each summary.
    """

    def __init__(self) -> None:
        self.stored: dict[SharePartitionKey, tuple[int, int]] = {}
        self.error = ErrorCode.NONE
        self.complete_count = -1

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Callable[[ErrorCode], None]
    ) -> None:
        if self.error is ErrorCode.NONE:
            self.stored[key] = state_epoch, start_offset
        done(self.error)

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateRead | ErrorCode], None]) -> None:
        raise NotImplementedError

    def write(self, key: SharePartitionKey, write: StateWrite, done: Callable[[ErrorCode], None]) -> None:
        raise NotImplementedError

    def delete(self, key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        if self.error is ErrorCode.NONE:
            self.stored.pop(key, None)
        done(self.error)

    def read_summary(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateSummary | ErrorCode], None]
    ) -> None:
        state_epoch, start_offset = self.stored.get(key, (0, -1))
        done(StateSummary(state_epoch, 0, start_offset, self.complete_count))


class ShareGroupWorld:
    """A coordinator of all partitions. `ShareGroupWorld(..., log=other.log)` takes over from another."""

    def __init__(
        self, topics: Topics, *, log: AwaitedOffsetsTopic | None = None, states: StatesInMemory | None = None
    ) -> None:
        self.time = VirtualTime()
        self.topics = topics
        self.log = log or AwaitedOffsetsTopic(OffsetsTopic())
        self.states = states or StatesInMemory()
        self.loads: list[tuple[int, int]] = []
        ports = SharePorts(SHARE_SETTINGS, topics, self.states)
        self.coordinator = GroupCoordinator(
            NO_DELAY, self.log, self.time, self.time.now_ms, lambda: "id", NO_TOPICS, ports
        )
        self.coordinator.load_again_by(lambda partition, epoch: self.loads.append((partition, epoch)))

    @classmethod
    async def loaded(
        cls, topics: Topics, *, log: AwaitedOffsetsTopic | None = None, states: StatesInMemory | None = None
    ) -> "ShareGroupWorld":
        world = cls(topics, log=log, states=states)
        for partition in range(world.log.partition_count):
            await world.coordinator.partitions.load(partition, 0)
        return world

    @property
    def shares(self) -> ShareGroups:
        assert self.coordinator.shares is not None
        return self.coordinator.shares

    @property
    def offsets(self) -> ShareOffsets:
        assert self.coordinator.share_offsets is not None
        return self.coordinator.share_offsets

    @property
    def group(self) -> ShareGroup:
        group = self.coordinator.registry.get(GROUP)
        assert isinstance(group, ShareGroup)
        return group

    def key(self, topic: str, partition: int) -> SharePartitionKey:
        return SharePartitionKey(GROUP, self.topics.topic_id(topic), partition)

    async def beat(self, member_id: str, epoch: int, *names: str, **fields: object) -> HeartbeatAnswer:
        """Send a heartbeat and wait until its records are written."""
        answers: list[HeartbeatAnswer] = []
        self.shares.heartbeat(share_heartbeat(member_id, epoch, *names, **fields), answers.append)
        await self.settled()
        (answer,) = answers
        return answer

    async def settled(self) -> None:
        """Wait until nothing is written, and no call of the share coordinator is under way."""
        for _ in range(3):
            await self.coordinator.settled()
            self.time.advance(0)
        await self.coordinator.settled()
