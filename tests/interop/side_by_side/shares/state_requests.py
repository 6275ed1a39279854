"""Requests for the states of share partitions: the APIs 83 to 87, which brokers ask of share coordinators (KIP-932)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from interop.side_by_side.consumer_group_scenarios import topic_of_groups
from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_group, topic_id
from pybroker.base.uuid_text import uuid_text
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import delete_share_group_state as deleting
from pybroker.protocol.messages import initialize_share_group_state as initializing
from pybroker.protocol.messages import read_share_group_state as reading
from pybroker.protocol.messages import read_share_group_state_summary as summarizing
from pybroker.protocol.messages import write_share_group_state as writing
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest

__all__ = ["ABSENT", "ACKNOWLEDGED", "ARCHIVED", "AVAILABLE", "States"]

SHARE = 2
"""A type of key of FindCoordinator."""
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
NOT_READY = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
ABSENT = UUID(int=7)
Batch = tuple[int, int, int, int]
"""First and last offset, delivery state, delivery count."""


class States:
    """Requests for the states of a topic with two partitions in a group."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self.group = a_group(talk)
        self.topic = topic_id(talk, topic_of_groups(talk, "topic", 2))
        self.find(f"{self.group}:{uuid_text(self.topic)}:0", is_recorded=False)
        while talk.unrecorded(self._summary(0, -1), 1).results[0].partitions[0].error_code in NOT_READY:
            pass

    def find(self, *keys: str, is_recorded: bool = True, note: str = "") -> None:
        request = FindCoordinatorRequest(key_type=SHARE, coordinator_keys=list(keys))
        if is_recorded:
            self._talk.ask(request, 6, note=note, see=lambda value: _without_id(value, uuid_text(self.topic)))
        else:
            while any(each.error_code for each in self._talk.unrecorded(request, 6).coordinators):
                pass

    def begin(self, epoch: int, offset: int, partition: int = 0, **fields: Any) -> None:
        asked = initializing.PartitionData(partition=partition, state_epoch=epoch, start_offset=offset)
        self._ask(initializing.InitializeShareGroupStateRequest, initializing.InitializeStateData, asked, 0, **fields)

    def read(self, leader_epoch: int, partition: int = 0, **fields: Any) -> None:
        asked = reading.PartitionData(partition=partition, leader_epoch=leader_epoch)
        self._ask(reading.ReadShareGroupStateRequest, reading.ReadStateData, asked, 0, **fields)

    def write(
        self,
        epochs: tuple[int, int],
        offset: int,
        *batches: Batch,
        partition: int = 0,
        count: int = -1,
        version: int = 1,
        **fields: Any,
    ) -> None:
        """`epochs`: of the state and of the leader."""
        asked = writing.PartitionData(
            partition=partition,
            state_epoch=epochs[0],
            leader_epoch=epochs[1],
            start_offset=offset,
            delivery_complete_count=count,
            state_batches=[
                writing.StateBatch(
                    first_offset=first, last_offset=last, delivery_state=state, delivery_count=deliveries
                )
                for first, last, state, deliveries in batches
            ],
        )
        self._ask(writing.WriteShareGroupStateRequest, writing.WriteStateData, asked, version, **fields)

    def delete(self, partition: int = 0, **fields: Any) -> None:
        asked = deleting.PartitionData(partition=partition)
        self._ask(deleting.DeleteShareGroupStateRequest, deleting.DeleteStateData, asked, 0, **fields)

    def summarize(self, leader_epoch: int, partition: int = 0, note: str = "") -> None:
        """In version 1: Kafka sends a field of it in version 0, too."""
        self._talk.ask(self._summary(partition, leader_epoch), 1, note=note)

    def _summary(self, partition: int, leader_epoch: int) -> summarizing.ReadShareGroupStateSummaryRequest:
        asked = summarizing.PartitionData(partition=partition, leader_epoch=leader_epoch)
        topic = summarizing.ReadStateSummaryData(topic_id=self.topic, partitions=[asked])
        return summarizing.ReadShareGroupStateSummaryRequest(group_id=self.group, topics=[topic])

    def _ask(
        self,
        request: Any,
        data: Any,
        asked: Any,
        version: int,
        *,
        group: str | None = None,
        topics: Sequence[UUID] | None = None,
        note: str = "",
    ) -> None:
        found = [data(topic_id=each, partitions=[asked]) for each in (topics or [self.topic])]
        group_id = self.group if group is None else group
        self._talk.ask(request(group_id=group_id, topics=found), version, note=note)


def _without_id(value: Json, topic_id_text: str) -> Json:
    """The response without the topic's id in the keys."""
    coordinators = [{**each, "key": each["key"].replace(topic_id_text, "ID")} for each in value["coordinators"]]
    return {**value, "coordinators": coordinators}
