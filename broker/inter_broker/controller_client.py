"""Asks the controller for the things that clients of this broker need: missing topics and producer ids."""

from collections.abc import Callable, Mapping, Sequence

from ...base.chunks import chunks
from ...config.config import Config
from ...controller.topics.topic_admin import USE_DEFAULT, NewTopic, TopicAdmin
from ...controller.tree.znodes import ProducerIdBlock
from ...protocol.errors import CoordinatorLoadInProgressError, ErrorCode, KafkaError, LeaderNotAvailableError, error_for
from ...protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from ...protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from .controller_link import ControllerChannel

__all__ = ["ProducerIdClient", "TopicCreationClient"]

_TIMEOUT_MS = 5_000
"""How long the controller is asked again and again before a request of a client may ask anew."""
_NO_WAIT_FOR_LEADERS = 0
"""With this timeout the controller answers when the topics are in the metadata tree."""


_TOPICS_IN_A_REQUEST = 100
"""The controller creates so many in much less than `_TIMEOUT_MS`, after which the connection would be closed."""


class TopicCreationClient:
    """Creates topics by ``admin`` if this broker is the controller, else by a CreateTopics request to it."""

    def __init__(
        self,
        controller: ControllerChannel,
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

    async def create_all(self, topics: Sequence[NewTopic]) -> Mapping[str, KafkaError | None]:
        """Like `TopicAdmin.create_all`. Raises LeaderNotAvailableError when no controller answers in time."""
        if self._is_active():
            return await self._admin.create_all(topics)
        results: dict[str, KafkaError | None] = {}
        for portion in chunks(topics, _TOPICS_IN_A_REQUEST):
            results |= await self._ask_for(portion)
        return results

    async def _ask_for(self, topics: Sequence[NewTopic]) -> dict[str, KafkaError | None]:
        request = CreateTopicsRequest(topics=[self._wish(topic) for topic in topics], timeout_ms=_NO_WAIT_FOR_LEADERS)
        try:
            answer: CreateTopicsResponse = await self._controller.ask(
                request, self._version, give_up_after_ms=_TIMEOUT_MS
            )
        except (ConnectionError, TimeoutError) as error:
            raise LeaderNotAvailableError(f"no controller: {error}") from error
        return {result.name: _error_of(result) for result in answer.topics}

    def _wish(self, topic: NewTopic) -> CreatableTopic:
        """The topic with this broker's defaults, as in Kafka: the controller's may differ."""
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


def _error_of(result: CreatableTopicResult) -> KafkaError | None:
    match result.error_code:
        case ErrorCode.NONE | ErrorCode.REQUEST_TIMED_OUT:  # the topic exists, but has no leaders yet
            return None
        case ErrorCode.NOT_CONTROLLER:
            return LeaderNotAvailableError("the controller has changed")
        case code:
            return error_for(code, result.error_message)


class ProducerIdClient:
    """Blocks of producer ids (AllocateProducerIds, KIP-730)."""

    def __init__(
        self, controller: ControllerChannel, version: int, broker_id: int, broker_epoch: Callable[[], int]
    ) -> None:
        self._controller = controller
        self._version = version
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch

    async def next_block(self) -> ProducerIdBlock:
        """Raises CoordinatorLoadInProgressError, on which clients retry, while no block is available."""
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        try:
            answer: AllocateProducerIdsResponse = await self._controller.ask(
                request, self._version, give_up_after_ms=_TIMEOUT_MS
            )
        except (ConnectionError, TimeoutError) as error:
            raise CoordinatorLoadInProgressError(f"no controller: {error}") from error
        if answer.error_code:
            raise CoordinatorLoadInProgressError(f"no producer ids: {error_for(answer.error_code)}")
        first = answer.producer_id_start
        return ProducerIdBlock(self._broker_id, first, first + answer.producer_id_len - 1)
