"""The states of share partitions that other brokers store, by the APIs of the share coordinator (KIP-932).

Nothing is retried here. Requests to one broker share a connection.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from ...base.background_tasks import BackgroundTasks
from ...base.quiet_lines import QUIET
from ...protocol.codec import Message
from ...protocol.errors import ErrorCode, known_error_code
from ...protocol.messages import delete_share_group_state as deleting
from ...protocol.messages import initialize_share_group_state as initializing
from ...protocol.messages import read_share_group_state as reading
from ...protocol.messages import read_share_group_state_summary as summarizing
from ...protocol.messages import write_share_group_state as writing
from ..coordinator.share.ports import SharePartitionKey, StateRead, StateSummary, StateWrite
from ..coordinator.share.state_batch import StateBatch
from .broker_link import Link
from .links_by_broker import LinksByBroker

__all__ = ["RemoteShareStates"]

logger = logging.getLogger(__name__)

_LAST_VERSIONS: dict[type[Message], int] = {
    writing.WriteShareGroupStateRequest: 1,
    summarizing.ReadShareGroupStateSummaryRequest: 1,
}
"""Other requests have version 0 only. Every broker that serves share groups has these."""

Answered = Callable[[Any], None]
Parse = Callable[[Any], Any]


class RemoteShareStates:
    """``link_to``: a link to a broker. ``timeout_ms``: of a request. ``broken``: see `BackgroundTasks`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        link_to: Callable[[int], Link],
        timeout_ms: int,
        broken: Callable[[Exception], None],
    ) -> None:
        self.link = LinksByBroker(link_to)
        self._timeout_ms = timeout_ms
        self._tasks = BackgroundTasks(loop, broken)
        self._is_killed = False

    def of_broker(self, broker_id: int) -> "_StatesOfBroker":
        """A `ShareState` for the share partitions that the broker coordinates."""
        return _StatesOfBroker(self, broker_id)

    def ask(self, broker_id: int, request: Message, parse: Parse, answered: Answered) -> None:
        """Send a request for one share partition. ``answered`` gets what ``parse`` makes of its result, or the error.

        NETWORK_EXCEPTION: there was no response. Not answered after `kill`.
        """
        if not self._is_killed:
            self._tasks.spawn(self._ask(broker_id, request, parse, answered))

    def kill(self) -> None:
        self._is_killed = True
        self.link.kill()
        self._tasks.cancel()

    async def close(self) -> None:
        self.kill()
        await self._tasks.ended()
        await self.link.close()

    async def _ask(self, broker_id: int, request: Message, parse: Parse, answered: Answered) -> None:
        version = _LAST_VERSIONS.get(type(request), 0)
        answer: Any = ErrorCode.NETWORK_EXCEPTION
        try:
            response: Any = await self.link(broker_id).ask(request, version, self._timeout_ms)
            answer = _answer_in(response, parse)
        except (ConnectionError, TimeoutError) as error:
            logger.info(
                "broker %d cannot be reached for the state of a share partition: %s", broker_id, error, extra=QUIET
            )
        if not self._is_killed:
            answered(answer)


class _StatesOfBroker:
    """Implements `ShareState`, whose docstrings are not repeated."""

    def __init__(self, states: RemoteShareStates, broker_id: int) -> None:
        self._states = states
        self._broker_id = broker_id

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Answered) -> None:
        asked = initializing.PartitionData(partition=key.partition, state_epoch=state_epoch, start_offset=start_offset)
        topic = initializing.InitializeStateData(topic_id=key.topic_id, partitions=[asked])
        self._ask(initializing.InitializeShareGroupStateRequest(group_id=key.group_id, topics=[topic]), _none, done)

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Answered) -> None:
        asked = reading.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
        topic = reading.ReadStateData(topic_id=key.topic_id, partitions=[asked])
        self._ask(reading.ReadShareGroupStateRequest(group_id=key.group_id, topics=[topic]), _read, done)

    def write(self, key: SharePartitionKey, write: StateWrite, done: Answered) -> None:
        asked = writing.PartitionData(
            partition=key.partition,
            state_epoch=write.state_epoch,
            leader_epoch=write.leader_epoch,
            start_offset=write.start_offset,
            delivery_complete_count=write.delivery_complete_count,
            state_batches=[writing.StateBatch(**batch._asdict()) for batch in write.batches],
        )
        topic = writing.WriteStateData(topic_id=key.topic_id, partitions=[asked])
        self._ask(writing.WriteShareGroupStateRequest(group_id=key.group_id, topics=[topic]), _none, done)

    def delete(self, key: SharePartitionKey, done: Answered) -> None:
        topic = deleting.DeleteStateData(
            topic_id=key.topic_id, partitions=[deleting.PartitionData(partition=key.partition)]
        )
        self._ask(deleting.DeleteShareGroupStateRequest(group_id=key.group_id, topics=[topic]), _none, done)

    def read_summary(self, key: SharePartitionKey, leader_epoch: int, done: Answered) -> None:
        asked = summarizing.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
        topic = summarizing.ReadStateSummaryData(topic_id=key.topic_id, partitions=[asked])
        request = summarizing.ReadShareGroupStateSummaryRequest(group_id=key.group_id, topics=[topic])
        self._ask(request, _summary, done)

    def _ask(self, request: Message, parse: Parse, done: Answered) -> None:
        self._states.ask(self._broker_id, request, parse, done)


def _answer_in(response: Any, parse: Parse) -> Any:
    """The result in a response to a request for one share partition."""
    partitions = [partition for topic in response.results for partition in topic.partitions]
    if len(partitions) != 1:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    code = known_error_code(partitions[0].error_code)
    return parse(partitions[0]) if code is ErrorCode.NONE else code


def _none(result: Any) -> ErrorCode:
    return ErrorCode.NONE


def _read(result: reading.PartitionResult) -> StateRead:
    batches = tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in result.state_batches
    )
    return StateRead(result.state_epoch, result.start_offset, batches)


def _summary(result: summarizing.PartitionResult) -> StateSummary:
    return StateSummary(result.state_epoch, result.leader_epoch, result.start_offset, result.delivery_complete_count)
