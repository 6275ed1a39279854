"""The APIs of the share coordinator: each partition of a request has its own result."""

from typing import Any
from uuid import UUID

from pybroker.broker.apis.between_brokers.share_group_state import share_state_apis
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import delete_share_group_state as deleting
from pybroker.protocol.messages import initialize_share_group_state as initializing
from pybroker.protocol.messages import read_share_group_state as reading
from pybroker.protocol.messages import read_share_group_state_summary as summarizing
from pybroker.protocol.messages import write_share_group_state as writing
from support.in_process.group_handlers import call
from support.shares.share_states import ShareStates

KNOWN, UNKNOWN = UUID(int=1), UUID(int=2)


async def ask(world: ShareStates, key: ApiKey, request: Any, version: int = 0) -> list[Any]:
    """The results of the partitions."""
    response = await call(share_state_apis(world.requests)[key], version, request)
    return [partition for topic in response.results for partition in topic.partitions]


async def initialize(world: ShareStates, *partitions: int, topic_id: UUID = KNOWN, group_id: str = "g") -> list[int]:
    data = [initializing.PartitionData(partition=each, state_epoch=2, start_offset=5) for each in partitions]
    topic = initializing.InitializeStateData(topic_id=topic_id, partitions=data)
    request = initializing.InitializeShareGroupStateRequest(group_id=group_id, topics=[topic])
    return [each.error_code for each in await ask(world, ApiKey.INITIALIZE_SHARE_GROUP_STATE, request)]


async def test_partitions_of_one_request_have_results_of_their_own() -> None:
    world = ShareStates()
    world.missing.add(UNKNOWN)
    assert await initialize(world, 0, -1, 1) == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert await initialize(world, 0, topic_id=UNKNOWN) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert await initialize(world, 0, group_id="") == [ErrorCode.INVALID_GROUP_ID]


async def test_state_that_was_written_is_read() -> None:
    world = ShareStates()
    await initialize(world, 0)
    batch = writing.StateBatch(first_offset=5, last_offset=7, delivery_state=2, delivery_count=1)
    data = writing.PartitionData(
        partition=0, state_epoch=2, leader_epoch=1, start_offset=-1, delivery_complete_count=3, state_batches=[batch]
    )
    topic = writing.WriteStateData(topic_id=KNOWN, partitions=[data])
    request = writing.WriteShareGroupStateRequest(group_id="g", topics=[topic])
    (written,) = await ask(world, ApiKey.WRITE_SHARE_GROUP_STATE, request, 1)
    assert written.error_code == ErrorCode.NONE

    asked = reading.ReadStateData(topic_id=KNOWN, partitions=[reading.PartitionData(partition=0, leader_epoch=1)])
    read_request = reading.ReadShareGroupStateRequest(group_id="g", topics=[asked])
    (read,) = await ask(world, ApiKey.READ_SHARE_GROUP_STATE, read_request)
    assert (read.state_epoch, read.start_offset) == (2, 5)
    assert [(each.first_offset, each.last_offset, each.delivery_state) for each in read.state_batches] == [(5, 7, 2)]

    wanted = summarizing.ReadStateSummaryData(topic_id=KNOWN, partitions=[summarizing.PartitionData(partition=0)])
    summary_request = summarizing.ReadShareGroupStateSummaryRequest(group_id="g", topics=[wanted])
    (summary,) = await ask(world, ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, summary_request, 1)
    assert (summary.leader_epoch, summary.start_offset, summary.delivery_complete_count) == (1, 5, 3)


async def test_deleted_state_cannot_be_read_and_says_why() -> None:
    world = ShareStates()
    await initialize(world, 0)
    topic = deleting.DeleteStateData(topic_id=KNOWN, partitions=[deleting.PartitionData(partition=0)])
    request = deleting.DeleteShareGroupStateRequest(group_id="g", topics=[topic])
    (deleted,) = await ask(world, ApiKey.DELETE_SHARE_GROUP_STATE, request)
    assert deleted.error_code == ErrorCode.NONE
    asked = reading.ReadStateData(topic_id=KNOWN, partitions=[reading.PartitionData(partition=0)])
    read_request = reading.ReadShareGroupStateRequest(group_id="g", topics=[asked])
    (read,) = await ask(world, ApiKey.READ_SHARE_GROUP_STATE, read_request)
    assert read.error_code == ErrorCode.INVALID_REQUEST
    assert read.error_message
