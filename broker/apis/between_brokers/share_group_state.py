"""The APIs of the share coordinator (KIP-932): brokers reach the state of share partitions that this broker stores.

Each partition of a request has a result of its own. v1 of WriteShareGroupState and ReadShareGroupStateSummary: the
number of offsets whose delivery is complete (KIP-1226).
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ....base.yielding import with_yields
from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode, error_for
from ....protocol.messages import delete_share_group_state as deleting
from ....protocol.messages import initialize_share_group_state as initializing
from ....protocol.messages import read_share_group_state as reading
from ....protocol.messages import read_share_group_state_summary as summarizing
from ....protocol.messages import write_share_group_state as writing
from ...coordinator.share.ports import SharePartitionKey, ShareState, StateRead, StateSummary, StateWrite
from ...coordinator.share.state_batch import StateBatch
from ...requests.context import Handler, RequestContext

__all__ = ["share_state_apis"]

Done = Callable[[Any], None]


def share_state_apis(states: ShareState) -> Mapping[ApiKey, Handler]:
    """The handlers. ``states``: those that this broker stores."""

    def initialize(key: SharePartitionKey, asked: initializing.PartitionData, done: Done) -> None:
        states.initialize(key, asked.state_epoch, asked.start_offset, done)

    def read(key: SharePartitionKey, asked: reading.PartitionData, done: Done) -> None:
        states.read(key, asked.leader_epoch, done)

    def write(key: SharePartitionKey, asked: writing.PartitionData, done: Done) -> None:
        states.write(key, _write_of(asked), done)

    def delete(key: SharePartitionKey, asked: deleting.PartitionData, done: Done) -> None:
        states.delete(key, done)

    def summarize(key: SharePartitionKey, asked: summarizing.PartitionData, done: Done) -> None:
        states.read_summary(key, asked.leader_epoch, done)

    return {
        ApiKey.INITIALIZE_SHARE_GROUP_STATE: _ForEachPartition(
            initialize,
            initializing.PartitionResult,
            initializing.InitializeStateResult,
            initializing.InitializeShareGroupStateResponse,
        ),
        ApiKey.READ_SHARE_GROUP_STATE: _ForEachPartition(
            read, reading.PartitionResult, reading.ReadStateResult, reading.ReadShareGroupStateResponse
        ),
        ApiKey.WRITE_SHARE_GROUP_STATE: _ForEachPartition(
            write, writing.PartitionResult, writing.WriteStateResult, writing.WriteShareGroupStateResponse
        ),
        ApiKey.DELETE_SHARE_GROUP_STATE: _ForEachPartition(
            delete, deleting.PartitionResult, deleting.DeleteStateResult, deleting.DeleteShareGroupStateResponse
        ),
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _ForEachPartition(
            summarize,
            summarizing.PartitionResult,
            summarizing.ReadStateSummaryResult,
            summarizing.ReadShareGroupStateSummaryResponse,
        ),
    }


class _ForEachPartition:
    """A handler: ``ask`` is called with the key and the request's data of each partition. The others are the types of
    a partition's result, of a topic's results and of the response."""

    def __init__(
        self,
        ask: Callable[[SharePartitionKey, Any, Done], None],
        partition_result: Callable[..., Any],
        topic_result: Callable[..., Any],
        response: Callable[..., Any],
    ) -> None:
        self._ask = ask
        self._partition_result = partition_result
        self._topic_result = topic_result
        self._response = response

    async def __call__(self, context: RequestContext, request: Any) -> Any:
        loop = asyncio.get_running_loop()
        answers: list[tuple[SharePartitionKey, asyncio.Future[Any]]] = []
        async for key, asked in with_yields(_partitions(request)):
            future: asyncio.Future[Any] = loop.create_future()
            answers.append((key, future))
            code = _refusal(key)
            if code is ErrorCode.NONE:
                self._ask(key, asked, partial(_set, future))
            else:
                future.set_result(code)
        topics: dict[Any, list[Any]] = {}
        for key, future in answers:
            fields = _fields(await future)
            topics.setdefault(key.topic_id, []).append(self._partition_result(partition=key.partition, **fields))
        return self._response(
            results=[self._topic_result(topic_id=topic_id, partitions=found) for topic_id, found in topics.items()]
        )


def _partitions(request: Any) -> Iterator[tuple[SharePartitionKey, Any]]:
    for topic in request.topics:
        for asked in topic.partitions:
            yield SharePartitionKey(request.group_id, topic.topic_id, asked.partition), asked


def _refusal(key: SharePartitionKey) -> ErrorCode:
    if not key.group_id:
        return ErrorCode.INVALID_GROUP_ID
    return ErrorCode.NONE if key.partition >= 0 else ErrorCode.INVALID_REQUEST


def _fields(answer: ErrorCode | StateRead | StateSummary) -> dict[str, Any]:
    """The fields of a partition's result."""
    match answer:
        case StateRead():
            batches = [reading.StateBatch(**batch._asdict()) for batch in answer.batches]
            return {
                "state_epoch": answer.state_epoch,
                "start_offset": answer.start_offset,
                "state_batches": batches,
            }
        case StateSummary():
            return answer._asdict()
        case ErrorCode.NONE:
            return {}
        case _:
            return {"error_code": answer, "error_message": error_for(answer).description}


def _write_of(asked: writing.PartitionData) -> StateWrite:
    batches = [
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in asked.state_batches
    ]
    return StateWrite(asked.state_epoch, asked.leader_epoch, asked.start_offset, asked.delivery_complete_count, batches)


def _set(future: "asyncio.Future[Any]", answer: Any) -> None:
    if not future.done():  # a closed connection cancels it
        future.set_result(answer)
