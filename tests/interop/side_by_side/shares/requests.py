"""A member of a share group in a conversation: its heartbeats, fetches and acknowledgements (KIP-932)."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from interop.side_by_side.consumer_group_scenarios import topic_of_groups
from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_group, produce, records, topic_id
from pybroker.protocol.messages import incremental_alter_configs as ic
from pybroker.protocol.messages import share_acknowledge as sa
from pybroker.protocol.messages import share_fetch as sf
from pybroker.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pybroker.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import build_batch

__all__ = ["ACCEPT", "GAP", "GROUP", "NO_WAIT_MS", "REJECT", "RELEASE", "RENEW", "Said", "SharingMember", "add_records",
           "beat", "change_group", "filled_topic", "offsets_of", "reading_group", "sharing"]  # fmt: skip

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
GROUP = 32
"""The type of a configuration resource."""
NO_WAIT_MS, LONG_WAIT_MS = 200, 30_000
SET = 0
Said = tuple[int, int, Sequence[int]]
"""First offset, last offset and types of acknowledged records."""


def beat(group: str, member: str, epoch: int, *names: str, rack: str | None = None) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=epoch,
        rack_id=rack,
        subscribed_topic_names=list(names) or None,
    )


def change_group(group: str, **settings: str) -> ic.IncrementalAlterConfigsRequest:
    """`settings` has _ for dots."""
    configs = [
        ic.AlterableConfig(config_operation=SET, name=name.replace("_", "."), value=value)
        for name, value in settings.items()
    ]
    resource = ic.AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=configs)
    return ic.IncrementalAlterConfigsRequest(resources=[resource])


def reading_group(talk: Conversation, what: str = "group", **settings: str) -> str:
    """A group that begins with the first record; waits until the broker acts on its settings."""
    group = a_group(talk, what)
    wanted = {"share_auto_offset_reset": "earliest", **settings}
    answer = talk.unrecorded(change_group(group, **wanted), 1)
    assert not answer.responses[0].error_code, answer
    asked = DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=GROUP, resource_name=group)])
    while True:
        (result,) = talk.unrecorded(asked, 4).results
        found = {each.name.replace(".", "_"): each.value for each in result.configs}
        if wanted.items() <= found.items():
            return group


def filled_topic(talk: Conversation, what: str, *counts: int, partitions: int = 1) -> str:
    """A topic that the coordinator knows, with batches of so many records in its first partition."""
    name = topic_of_groups(talk, what, partitions)
    add_records(talk, name, *counts)
    return name


def add_records(talk: Conversation, topic: str, *counts: int) -> None:
    for count in counts:
        request = produce(topic, build_batch(records(count)))
        while talk.unrecorded(request, 9).responses[0].partition_responses[0].error_code:
            pass  # the broker does not lead the partition yet


def offsets_of(group: str, topics: Mapping[str, Sequence[int]] | None) -> DescribeShareGroupOffsetsRequest:
    asked = None
    if topics is not None:
        asked = [
            DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=list(each))
            for name, each in topics.items()
        ]
    return DescribeShareGroupOffsetsRequest(
        groups=[DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=asked)]
    )


def sharing(talk: Conversation, group: str, member: str, *topics: str) -> "SharingMember":
    """A member whose topics all have a state in the group."""
    epoch = 0
    while True:
        answer = talk.unrecorded(beat(group, member, epoch, *(topics if not epoch else ())), 1)
        epoch = answer.member_epoch if not answer.error_code else 0
        (described,) = talk.unrecorded(offsets_of(group, None), 1).groups
        if len(described.topics) == len(topics):
            return SharingMember(talk, group, member, {name: topic_id(talk, name) for name in topics})


class SharingMember:
    """Sends the requests of a member on its own connection. `epoch`: of its next request."""

    def __init__(self, talk: Conversation, group: str, member: str, topics: Mapping[str, Any]) -> None:
        self.epoch = 0
        self.topics = dict(topics)
        self._talk = talk
        self._group = group
        self._member = member

    def fetch(
        self,
        *partitions: int,
        said: Mapping[int, Sequence[Said]] | None = None,
        forgotten: Sequence[int] = (),
        epoch: int | None = None,
        topic: str | None = None,
        version: int = 2,
        note: str = "",
        **fields: Any,
    ) -> Any:
        """Fetch, and record the response. `topic`: None is the first."""
        of_partitions = {index: sf.FetchPartition(partition_index=index) for index in (*partitions, *(said or ()))}
        for index, batches in (said or {}).items():
            of_partitions[index].acknowledgement_batches = [
                sf.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
                for first, last, types in batches
            ]
        id_ = self.topics[topic or next(iter(self.topics))]
        request = sf.ShareFetchRequest(
            group_id=self._group,
            member_id=self._member,
            share_session_epoch=self._next(epoch),
            topics=[sf.FetchTopic(topic_id=id_, partitions=list(of_partitions.values()))] if of_partitions else [],
            forgotten_topics_data=[sf.ForgottenTopic(topic_id=id_, partitions=list(forgotten))] if forgotten else [],
            **{
                "max_wait_ms": LONG_WAIT_MS,
                "min_bytes": 1,
                "max_bytes": 1 << 20,
                "max_records": 100,
                "batch_size": 100,
                **fields,
            },
        )
        return self._talk.ask(request, version, on=self._member, note=note, see=seen)

    def acknowledge(
        self,
        *said: Said,
        partition: int = 0,
        epoch: int | None = None,
        topic: str | None = None,
        version: int = 2,
        note: str = "",
        **fields: Any,
    ) -> Any:
        batches = [
            sa.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
            for first, last, types in said
        ]
        asked = sa.AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches)
        id_ = self.topics[topic or next(iter(self.topics))]
        request = sa.ShareAcknowledgeRequest(
            group_id=self._group,
            member_id=self._member,
            share_session_epoch=self._next(epoch),
            topics=[sa.AcknowledgeTopic(topic_id=id_, partitions=[asked])] if said else [],
            **fields,
        )
        return self._talk.ask(request, version, on=self._member, note=note, see=seen)

    def disconnect(self) -> None:
        self._talk.forget(self._member)

    def _next(self, epoch: int | None) -> int:
        """The epoch to send: the given one, or the next one of the session."""
        if epoch is not None:
            if epoch == 0:
                self.epoch = 1
            return epoch
        self.epoch += 1
        return self.epoch - 1


def seen(value: Json) -> Json:
    """The response with the offsets of the batches in place of their bytes."""
    if isinstance(value, dict):
        return {name: _batches(item) if name == "records" else seen(item) for name, item in value.items()}
    return [seen(item) for item in value] if isinstance(value, list) else value


def _batches(value: str | None) -> Json:
    found = iter_batches(base64.b64decode(value or ""))
    return [[batch.base_offset, batch.last_offset] for batch in found]
