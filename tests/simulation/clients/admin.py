"""Administration by Kafka's requests: creates, grows, moves and deletes topics, elects leaders, changes settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pybroker.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from pybroker.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pybroker.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pybroker.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from simulation.checkers.history import Place
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient

__all__ = ["Admin"]

_TOPIC = 2
_GROUP = 32
_SET = 0
_TIMEOUT_MS = 5_000
_ATTEMPTS = 100
_DECIDED = (
    ErrorCode.NONE,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.TOPIC_ALREADY_EXISTS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""Error codes after which a request has no further effect."""


class Admin:
    """Sends administrative requests, mostly to the controller, and notes their results."""

    def __init__(self, client: ClusterClient) -> None:
        self.client = client

    async def ask(self, request: Message, version: int) -> Any | None:
        await self.client.refresh()
        try:
            return await self.client.ask(self.client.controller_id, request, version, _TIMEOUT_MS / 1000 + 1)
        except UnansweredError:
            return None

    async def create(
        self, topic: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str], attempts: int = _ATTEMPTS
    ) -> bool:
        """Create a topic. Returns False if it does not exist after all attempts."""
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=topic,
                    num_partitions=-1,
                    replication_factor=-1,
                    assignments=[
                        CreatableReplicaAssignment(partition_index=number, broker_ids=list(replicas))
                        for number, replicas in enumerate(assignment)
                    ],
                    configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
                )
            ],
            timeout_ms=_TIMEOUT_MS,
        )
        for _ in range(attempts):
            answer = await self.ask(request, 5)
            code = None if answer is None else ErrorCode(answer.topics[0].error_code)
            self._note_topic(topic, code, is_there=True)
            if code is not None:
                self.client.note(f"create {topic}: {code.name}")
                if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    return True
            await self.client.back_off()
        return False

    async def delete(self, topic: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=_TIMEOUT_MS)
        answer = await self.ask(request, 6)
        code = None if answer is None else ErrorCode(answer.responses[0].error_code)
        self._note_topic(topic, code, is_there=False)
        self._tell(f"delete {topic}", code)

    def _note_topic(self, topic: str, code: ErrorCode | None, *, is_there: bool) -> None:
        """A request with an unknown outcome makes the topic's state unknown for the rest of the run."""
        topics = self.client.history.topics
        if code not in _DECIDED:
            topics[topic] = None
        elif code is ErrorCode.NONE and topics.get(topic, is_there) is not None:
            topics[topic] = is_there

    async def grow(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """Add partitions to a topic of one. `assignment`: the replicas of the new partitions."""
        request = CreatePartitionsRequest(
            topics=[
                CreatePartitionsTopic(
                    name=topic,
                    count=1 + len(assignment),
                    assignments=[CreatePartitionsAssignment(broker_ids=list(replicas)) for replicas in assignment],
                )
            ],
            timeout_ms=_TIMEOUT_MS,
        )
        answer = await self.ask(request, 2)
        self._tell(f"grow {topic}", None if answer is None else answer.results[0].error_code)

    async def delete_records(self, place: Place, offset: int) -> None:
        """Delete the records before `offset`, by a request to the leader."""
        history = self.client.history
        history.deletions[place] = max(offset, history.deletions.get(place, 0))
        request = DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(
                    name=place[0], partitions=[DeleteRecordsPartition(partition_index=place[1], offset=offset)]
                )
            ],
            timeout_ms=_TIMEOUT_MS,
        )
        await self.client.refresh(place[0])
        try:
            leader, _ = self.client.leaders.get(place, (-1, -1))
            answer = await self.client.ask(leader, request, 2, _TIMEOUT_MS / 1000 + 1)
        except UnansweredError:
            answer = None
        told = None if answer is None else answer.topics[0].partitions[0]
        self._tell(f"delete-records {place[0]}-{place[1]} before {offset}", None if told is None else told.error_code)
        if told is not None and told.error_code == 0 and told.low_watermark < offset:
            history.violations.append(
                f"{place}: records before {offset} are deleted, it begins at {told.low_watermark}"
            )

    async def reassign(self, place: Place, replicas: Sequence[int] | None) -> None:
        """Reassign a partition; `None` cancels a running reassignment."""
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=_TIMEOUT_MS,
            topics=[
                ReassignableTopic(
                    name=place[0],
                    partitions=[
                        ReassignablePartition(
                            partition_index=place[1], replicas=None if replicas is None else list(replicas)
                        )
                    ],
                )
            ],
        )
        answer = await self.ask(request, 0)
        code = None
        if answer is not None:
            code = answer.error_code or answer.responses[0].partitions[0].error_code
        self._tell(f"reassign {place[0]}-{place[1]} to {replicas}", code)

    async def reassignments(self) -> int | None:
        """The number of running reassignments; None if unknown."""
        answer = await self.ask(ListPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS, topics=None), 0)
        if answer is None or answer.error_code:
            return None
        return sum(len(topic.partitions) for topic in answer.topics)

    async def elect(self, places: Sequence[Place], *, unclean: bool) -> None:
        topics: dict[str, list[int]] = {}
        for topic, number in places:
            topics.setdefault(topic, []).append(number)
        request = ElectLeadersRequest(
            election_type=int(unclean),
            topic_partitions=[TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in topics.items()],
            timeout_ms=_TIMEOUT_MS,
        )
        answer = await self.ask(request, 2)
        self._tell(f"elect {'unclean' if unclean else 'preferred'}", None if answer is None else answer.error_code)

    async def set_group_config(self, group_id: str, name: str, value: str) -> bool:
        """Returns whether the change was accepted; otherwise it may still come."""
        resource = AlterConfigsResource(
            resource_type=_GROUP,
            resource_name=group_id,
            configs=[AlterableConfig(name=name, config_operation=_SET, value=value)],
        )
        answer = await self.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        code = None if answer is None else answer.responses[0].error_code
        self._tell(f"set {name}={value} of group {group_id}", code)
        return code == 0

    async def set_config(self, topic: str, name: str, value: str) -> None:
        request = IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=_TOPIC,
                    resource_name=topic,
                    configs=[AlterableConfig(name=name, config_operation=_SET, value=value)],
                )
            ]
        )
        answer = await self.ask(request, 1)
        self._tell(f"set {name}={value} of {topic}", None if answer is None else answer.responses[0].error_code)

    def _tell(self, what: str, code: int | None) -> None:
        self.client.note(f"{what}: {'no answer' if code is None else ErrorCode(code).name}")
        self.client.history.counts[f"admin: {what.split()[0]}"] += code == 0
