"""The shell of consumer groups with all partitions of a topic in memory, virtual time, and topics that change."""

from itertools import count

from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.consumer.consumer_groups import ConsumerPorts
from pybroker.broker.coordinator.group.consumer.settings import ConsumerGroupSettings
from pybroker.broker.coordinator.group.coordinator import GroupCoordinator
from pybroker.broker.coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.config.group_config import GroupConfig
from pybroker.config.load import load_config
from support.clients.group_clients import NO_DELAY
from support.in_process.consumer_groups import GROUP, SETTINGS, Topics, heartbeat
from support.in_process.offsets_topic import AwaitedOffsetsTopic, OffsetsTopic
from support.time.virtual_time import VirtualTime

_CONFIG = load_config("")
__all__ = ["ConsumerWorld", "Reply"]


_MOST_TURNS = 1_000


class Reply:
    """Keeps the response of a heartbeat."""

    def __init__(self) -> None:
        self.answers: list[HeartbeatAnswer] = []

    def __call__(self, answer: HeartbeatAnswer) -> None:
        self.answers.append(answer)

    @property
    def answer(self) -> HeartbeatAnswer:
        (answer,) = self.answers
        return answer


class ConsumerWorld:
    """A coordinator of all partitions. `ConsumerWorld(..., log=other.log)` takes over from another."""

    def __init__(
        self,
        topics: Topics,
        settings: GroupSettings = NO_DELAY,
        *,
        log: AwaitedOffsetsTopic | None = None,
        consumer_settings: ConsumerGroupSettings = SETTINGS,
    ) -> None:
        self.time = VirtualTime()
        self.topics = topics
        self.log = log or AwaitedOffsetsTopic(OffsetsTopic())
        self.hidden: frozenset[str] = frozenset()
        """The topics that members may not see."""
        self.loads: list[tuple[int, int]] = []
        numbers = count(1)
        self.own_settings: dict[str, str] = {}
        """The settings of all groups."""
        ports = ConsumerPorts(
            consumer_settings, topics, lambda _group: GroupConfig.in_force(_CONFIG, self.own_settings)
        )
        self.coordinator = GroupCoordinator(
            settings, self.log, self.time, self.time.now_ms, lambda: f"{next(numbers):04}", ports
        )
        self.coordinator.load_again_by(lambda partition, epoch: self.loads.append((partition, epoch)))

    @classmethod
    async def loaded(
        cls,
        topics: Topics,
        settings: GroupSettings = NO_DELAY,
        *,
        log: AwaitedOffsetsTopic | None = None,
        consumer_settings: ConsumerGroupSettings = SETTINGS,
    ) -> "ConsumerWorld":
        world = cls(topics, settings, log=log, consumer_settings=consumer_settings)
        for partition in range(world.log.partition_count):
            await world.coordinator.partitions.load(partition, 0)
        return world

    async def load_again(self) -> None:
        """Read the partitions that have to be loaded anew."""
        loads, self.loads = self.loads, []
        for partition, epoch in loads:
            await self.coordinator.partitions.load(partition, epoch)

    @property
    def group(self) -> ConsumerGroup:
        group = self.coordinator.registry.get(GROUP)
        assert isinstance(group, ConsumerGroup)
        return group

    @property
    def batch_count(self) -> int:
        """How many batches the log has."""
        return sum(map(len, self.log.store.batches))

    def send(self, member_id: str, epoch: int, **fields: object) -> Reply:
        """Send a heartbeat; its response may come later."""
        reply = Reply()
        self.coordinator.consumers.heartbeat(heartbeat(member_id, epoch, **fields), self.hidden.intersection, reply)
        return reply

    async def beat(self, member_id: str, epoch: int, **fields: object) -> HeartbeatAnswer:
        """Send a heartbeat and wait until its records are written, and the target of a large group is computed."""
        reply = self.send(member_id, epoch, **fields)
        await self.coordinator.settled()
        for _ in range(_MOST_TURNS):
            if reply.answers:
                break
            self.time.advance(0)
            await self.coordinator.settled()
        return reply.answer
