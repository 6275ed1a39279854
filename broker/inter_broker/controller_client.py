"""What a broker that is not the controller has it do for its clients: topics that are missing, producer ids."""

from collections.abc import Callable
from typing import Any, Protocol

from ...config.config import Config
from ...controller.topic_admin import USE_DEFAULT, NewTopic, TopicAdmin
from ...controller.tree.znodes import ProducerIdBlock
from ...protocol.codec import Message
from ...protocol.errors import CoordinatorLoadInProgressError, ErrorCode, LeaderNotAvailableError, error_for
from ...protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from ...protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

__all__ = ["ProducerIdsOfController", "TopicsOfController"]

_PATIENCE_MS = 5_000
"""A client waits meanwhile; after that it is told to ask again."""


class Controller(Protocol):
    """A `ControllerLink`."""

    async def ask(self, request: Message, version: int, *, give_up_after_ms: int | None = None) -> Any: ...


class TopicsOfController:
    """Creates topics: by ``admin`` where this broker is controller, else by asking who is (CreateTopics)."""

    def __init__(
        self,
        controller: Controller,
        version: int,
        admin: TopicAdmin,
        is_active: Callable[[], bool],
        config: Callable[[], Config],
    ) -> None:
        self._controller = controller
        self._version = version
        self._admin = admin
        self._is_active = is_active
        self._config = config

    async def create(self, topic: NewTopic) -> None:
        """Raises what `TopicAdmin.create` raises; LeaderNotAvailableError when no controller answers in time."""
        if self._is_active():
            await self._admin.create(topic)
            return
        request = CreateTopicsRequest(topics=[self._wish(topic)], timeout_ms=_PATIENCE_MS)
        try:
            answer: CreateTopicsResponse = await self._controller.ask(
                request, self._version, give_up_after_ms=_PATIENCE_MS
            )
        except (ConnectionError, TimeoutError) as error:
            raise LeaderNotAvailableError(f"no controller: {error}") from error
        for result in answer.topics:
            if result.error_code == ErrorCode.NOT_CONTROLLER:
                raise LeaderNotAvailableError("the controller has changed")
            if result.error_code:
                raise error_for(result.error_code, result.error_message)

    def _wish(self, topic: NewTopic) -> CreatableTopic:
        """With this broker's defaults, as Kafka does it: the controller's may differ."""
        config = self._config()
        count, factor = topic.partition_count, topic.replication_factor
        if not topic.assignments:
            count = config.int("num.partitions") if count == USE_DEFAULT else count
            factor = config.int("default.replication.factor") if factor == USE_DEFAULT else factor
        return CreatableTopic(
            name=topic.name,
            num_partitions=count,
            replication_factor=factor,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
                for index, brokers in topic.assignments.items()
            ],
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.settings.items()],
        )


class ProducerIdsOfController:
    """Blocks of producer ids (AllocateProducerIds, KIP-730)."""

    def __init__(self, controller: Controller, version: int, broker_id: int, broker_epoch: Callable[[], int]) -> None:
        self._controller = controller
        self._version = version
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch

    async def next_block(self) -> ProducerIdBlock:
        """CoordinatorLoadInProgressError, which clients take for 'ask again', while none is to be had."""
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        try:
            answer: AllocateProducerIdsResponse = await self._controller.ask(
                request, self._version, give_up_after_ms=_PATIENCE_MS
            )
        except (ConnectionError, TimeoutError) as error:
            raise CoordinatorLoadInProgressError(f"no controller: {error}") from error
        if answer.error_code:
            raise CoordinatorLoadInProgressError(f"no producer ids: {error_for(answer.error_code)}")
        first = answer.producer_id_start
        return ProducerIdBlock(self._broker_id, first, first + answer.producer_id_len - 1)
