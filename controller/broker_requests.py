"""Sends the requests that an event has collected, through the queue of each broker."""

import logging
from collections.abc import Callable, Iterable
from functools import partial

from ..base.topic_partition import TopicPartition
from ..protocol.errors import ErrorCode
from ..protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from .broker_channel import BrokerQueue, ChannelTo, ControlRequest, ControlResponse
from .context import ControllerContext
from .request_batch import RequestBatch
from .tree.znodes import BrokerInfo

__all__ = ["BrokerRequests"]

logger = logging.getLogger(__name__)


class BrokerRequests:
    """``on_answer`` is called with each response, its broker and its request."""

    def __init__(
        self,
        context: ControllerContext,
        batch: RequestBatch,
        channel_to: ChannelTo,
        on_answer: Callable[[int, ControlRequest, ControlResponse], None],
    ) -> None:
        self._context = context
        self._batch = batch
        self._channel_to = channel_to
        self._on_answer = on_answer
        self._queues: dict[int, BrokerQueue] = {}

    def connect(self, info: BrokerInfo) -> None:
        broker_id = info.broker_id
        channel = self._channel_to(broker_id, partial(self._context.broker, broker_id))
        self._queues[broker_id] = BrokerQueue(broker_id, channel, self._on_send_failure)

    async def disconnect(self, broker_id: int) -> None:
        """Drop the broker's queue and cancel its request in flight."""
        queue = self._queues.pop(broker_id, None)
        if queue is not None:
            await queue.close()

    def flush(self) -> None:
        """Send the requests of the batch."""
        for broker_id, request in self._batch.take():
            self._queues[broker_id].put(request, partial(self._on_answer, broker_id, request))

    def tell_all_brokers(self, partitions: Iterable[TopicPartition]) -> None:
        """Send UpdateMetadata with all brokers and ``partitions`` to all brokers."""
        self._batch.add_update_metadata(self._context.live_or_shutting_down_ids, partitions)
        self.flush()

    def are_answered(self, broker_id: int | None = None) -> bool:
        """Whether every request sent so far was answered, by this broker or (None) by all."""
        return all(queue.is_idle for queue in self._queues_of(broker_id))

    async def drained(self, broker_id: int | None = None) -> None:
        """Wait until every request sent so far was answered, by this broker or (None) by all."""
        for queue in self._queues_of(broker_id):
            await queue.drained()

    def _queues_of(self, broker_id: int | None) -> list[BrokerQueue]:
        return [queue for each, queue in self._queues.items() if broker_id in (None, each)]

    async def close(self) -> None:
        """Disconnect from all brokers."""
        queues, self._queues = self._queues, {}
        for queue in queues.values():
            await queue.close()

    def kill(self) -> None:
        """`close` without waiting for cancelled requests to end."""
        for queue in self._queues.values():
            queue.kill()

    def _on_send_failure(self, broker_id: int, request: ControlRequest, error: Exception) -> None:
        logger.error("controller: %s to broker %d failed", type(request).__name__, broker_id, exc_info=error)
        if isinstance(request, StopReplicaRequest):
            response = StopReplicaResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
            self._on_answer(broker_id, request, response)
