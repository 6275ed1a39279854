"""A controller over a real tree, with brokers that record the requests they receive."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.controller.broker_channel import ControlRequest, ControlResponse
from pybroker.controller.controller import Controller
from pybroker.controller.controller_settings import ControllerSettings
from pybroker.controller.leader_balance import LeaderBalance
from pybroker.controller.tree import znodes
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr
from pybroker.controller.tree.metadata_store import Create, Delete, MetadataStore
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.topic_ids import new_topic_id
from pybroker.controller.tree.znodes import BrokerInfo, RegisteredEndpoint, TopicInfo
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from pybroker.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from pybroker.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse


class FakeBroker:
    """A broker that records every request. ``errors``: the error code it returns for a partition. ``full``: partitions
    in full log directories, which it can only delete. While ``reachable`` is cleared, requests wait.
    """

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.requests: list[ControlRequest] = []
        self.roles: dict[TopicPartition, LeaderAndIsrPartitionState] = {}
        self.deleted: list[TopicPartition] = []
        self.metadata = MetadataCache()
        self.errors: dict[TopicPartition, ErrorCode] = {}
        self.full: set[TopicPartition] = set()
        self.errors_told = 0
        self.reachable = asyncio.Event()
        self.reachable.set()
        self.registration: Callable[[], BrokerInfo | None] = lambda: None
        """Returns the broker's registration for the controller."""

    async def send(self, request: ControlRequest) -> ControlResponse:
        await self.reachable.wait()
        self.requests.append(request)
        match request:
            case LeaderAndIsrRequest():
                return self._take_roles(request)
            case UpdateMetadataRequest():
                self.metadata.update(request)
                return UpdateMetadataResponse()
            case StopReplicaRequest():
                return self._stop(request)

    def kill(self) -> None:
        """Called when the controller closes its connection at once."""

    async def close(self) -> None:
        """Called when the controller closes its connection."""

    def forget_requests(self) -> None:
        self.requests.clear()

    def sent(self, kind: type[ControlRequest]) -> list[ControlRequest]:
        return [request for request in self.requests if isinstance(request, kind)]

    def _take_roles(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        response = LeaderAndIsrResponse()
        for topic in request.topic_states:
            errors = LeaderAndIsrTopicError(topic_id=topic.topic_id)
            for state in topic.partition_states:
                partition = TopicPartition(topic.topic_name, state.partition_index)
                self.roles[partition] = state
                without_error = ErrorCode.KAFKA_STORAGE_ERROR if partition in self.full else ErrorCode.NONE
                error = self.errors.get(partition, without_error)
                self.errors_told += error is not ErrorCode.NONE
                errors.partition_errors.append(
                    LeaderAndIsrPartitionError(partition_index=state.partition_index, error_code=error)
                )
            response.topics.append(errors)
        return response

    def _stop(self, request: StopReplicaRequest) -> StopReplicaResponse:
        response = StopReplicaResponse()
        for topic in request.topic_states:
            for state in topic.partition_states:
                partition = TopicPartition(topic.topic_name, state.partition_index)
                error = self.errors.get(partition, ErrorCode.NONE)
                response.partition_errors.append(
                    StopReplicaPartitionError(
                        topic_name=topic.topic_name, partition_index=state.partition_index, error_code=error
                    )
                )
                if error is ErrorCode.NONE:
                    self.roles.pop(partition, None)
                    if state.delete_partition:
                        self.deleted.append(partition)
        return response


class ControlPlane:
    """Broker ``broker_id``'s controller. A broker is up when its node exists; `settled` waits until the controller
    is idle.
    """

    def __init__(
        self,
        store: MetadataStore,
        broker_id: int,
        *,
        delete_topic_enable: bool = True,
        leader_balance: LeaderBalance | None = None,
    ) -> None:
        self.store = store
        self.tree = ClusterTree(store)
        self.brokers: dict[int, FakeBroker] = {}
        self.failures: list[Exception] = []
        self.settled_deletions: list[str] = []
        self.random = Random(7)
        self.now_ms = 1_700_000_000_000
        self.unclean = False
        self.controller = Controller(
            ControllerSettings(
                broker_id=broker_id,
                inter_broker_listener="PLAINTEXT",
                protocol_version="3.9",
                unclean_by_default=lambda: self.unclean,
                delete_topic_enable=delete_topic_enable,
                leader_balance=leader_balance,
            ),
            self.tree,
            channel_to=self._channel_to,
            clock_ms=lambda: self.now_ms,
            random=self.random,
            fatal=self.failures.append,
            on_deletion_settled=self.settled_deletions.append,
        )

    @classmethod
    async def start(
        cls,
        path: Path,
        broker_ids: tuple[int, ...],
        *,
        delete_topic_enable: bool = True,
        leader_balance: LeaderBalance | None = None,
    ) -> "ControlPlane":
        """Start a controller on the first of ``broker_ids``; all these brokers are live."""
        store = await EmbeddedStore.open(path, clock_ms)
        plane = cls(store, broker_ids[0], delete_topic_enable=delete_topic_enable, leader_balance=leader_balance)
        await plane.tree.create_persistent_paths()
        for broker_id in broker_ids:
            await plane.bring_up(broker_id)
        await plane.start_controller()
        return plane

    async def start_controller(self) -> None:
        """Start a controller, which sends its first requests to all brokers."""
        await self.controller.start()
        await self.settled()

    async def stop(self) -> None:
        await self.controller.stop()
        await self.store.close()
        assert self.failures == []

    async def crash(self) -> None:
        """Stop as if killed: without any further message."""
        assert isinstance(self.store, EmbeddedStore)
        await self.store.abandon()
        await self.controller.stop()

    async def bring_up(self, broker_id: int, rack: str | None = None) -> None:
        self.brokers.setdefault(broker_id, FakeBroker(broker_id))
        endpoint = RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", f"host-{broker_id}", 9092)
        info = BrokerInfo(broker_id, (endpoint,), self.now_ms, rack)
        await self.store.create(info.path, info.encode(), ephemeral=True)

    async def bounce(self, broker_id: int) -> None:
        """Restart a broker so fast that the controller sees only the new node."""
        path = znodes.broker_path(broker_id)
        data, _ = await self.store.get(path)
        await self.store.multi([Delete(path), Create(path, data, ephemeral=True)])

    async def take_down(self, broker_id: int) -> None:
        await self.store.delete(znodes.broker_path(broker_id))

    async def create_topic(self, topic: str, assignment: Mapping[int, tuple[int, ...]], **settings: str) -> None:
        partitions = {index: ReplicaAssignment(replicas) for index, replicas in assignment.items()}
        info = TopicInfo(topic, new_topic_id(self.random), partitions)
        names = {name.replace("_", "."): value for name, value in settings.items()}
        await self.tree.create_topic(info, names)

    async def nap(self) -> None:
        """Let other tasks of the loop run."""
        await asyncio.sleep(0)

    async def settled(self) -> None:
        await self.controller.drained()

    async def state(self, topic: str, partition: int = 0) -> LeaderAndIsr:
        """The partition's state in the tree."""
        wanted = TopicPartition(topic, partition)
        return (await self.tree.partition_states([wanted]))[wanted].leader_and_isr

    def _channel_to(self, broker_id: int, info: Callable[[], BrokerInfo | None]) -> FakeBroker:
        broker = self.brokers[broker_id]
        broker.registration = info
        return broker


def clock_ms() -> int:
    return 1_700_000_000_000
