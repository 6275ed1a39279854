"""Writes kafka-4.2.0.log: the log of __consumer_offsets of a Kafka 4.2.0 with share groups.

groups.json says how the broker described the groups before it stopped. Run it with `tests` on Python's path.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from interop.side_by_side.consumer_group_scenarios import topic_of_groups
from interop.side_by_side.conversation import Conversation
from pybroker.protocol.codec.json_form import to_json
from pybroker.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pybroker.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from support.processes.kafka_versions import KRaftProcess, libs_of

FOLDER = Path(__file__).resolve().parent
VERSION = "4.2.0"
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
GROUPS = ("spread", "shared", "mixed", "empty", "altered")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        kafka = KRaftProcess(Path(directory), libs_of(VERSION), SETTINGS)
        try:
            kafka.start()
            host, _, port = kafka.bootstrap_servers.partition(":")
            talk = Conversation((host, int(port)), "golden")
            groups = described(talk)
            talk.close()
        finally:
            kafka.stop()
        (FOLDER / "groups.json").write_text(json.dumps(groups, indent=1) + "\n")
        log = kafka.log_directory / "__consumer_offsets-0" / f"{0:020}.log"
        shutil.copyfile(log, FOLDER / f"kafka-{VERSION}.log")


class Group:
    """A share group of a running broker. ``epochs``: of its members."""

    def __init__(self, talk: Conversation, group_id: str) -> None:
        self._talk = talk
        self._id = group_id
        self.epochs: dict[str, int] = {}

    def beat(self, member: str, *names: str, epoch: int | None = None, rack: str | None = None) -> Any:
        request = ShareGroupHeartbeatRequest(
            group_id=self._id,
            member_id=member,
            member_epoch=self.epochs.get(member, 0) if epoch is None else epoch,
            rack_id=rack,
            subscribed_topic_names=list(names) or None,
        )
        answer = self._talk.unrecorded(request, 1)
        assert answer.error_code == 0, answer
        self.epochs[member] = answer.member_epoch
        return answer

    def settle(self, partitions: int) -> None:
        """Send heartbeats until the members have so many partitions, all together, and nothing changes."""
        while True:
            before = dict(self.epochs)
            for member in before:
                self.beat(member)
            request = ShareGroupDescribeRequest(group_ids=[self._id])
            (group,) = self._talk.unrecorded(request, 1).groups
            topics = [topic for member in group.members for topic in member.assignment.topic_partitions]
            if self.epochs == before and sum(len(topic.partitions) for topic in topics) == partitions:
                return


def described(talk: Conversation) -> list[Any]:
    """Make the groups; return their descriptions."""
    one, two = topic_of_groups(talk, "one", 4), topic_of_groups(talk, "two", 1)
    groups = {name: Group(talk, name) for name in (*GROUPS, "deleted")}
    groups["spread"].beat("a", one, two, rack="rack")
    groups["spread"].settle(5)
    groups["spread"].beat("b", one, two)
    groups["spread"].settle(5)
    for member in "abc":
        groups["shared"].beat(member, two)
    groups["shared"].settle(3)
    groups["mixed"].beat("a", one)
    groups["mixed"].beat("b", one, two)
    groups["mixed"].settle(5)
    for name in ("empty", "deleted"):
        groups[name].beat("a", one)
        groups[name].settle(4)
        groups[name].beat("a", epoch=-1)
    deleted = talk.unrecorded(DeleteGroupsRequest(groups_names=["deleted"]), 2)
    topic = DeleteShareGroupOffsetsRequestTopic(topic_name=one)
    forgotten = talk.unrecorded(DeleteShareGroupOffsetsRequest(group_id="empty", topics=[topic]), 0)
    partitions = [AlterShareGroupOffsetsRequestPartition(partition_index=1, start_offset=0)]
    altered_topic = AlterShareGroupOffsetsRequestTopic(topic_name=one, partitions=partitions)
    altered = talk.unrecorded(AlterShareGroupOffsetsRequest(group_id="altered", topics=[altered_topic]), 0)
    assert (deleted.results[0].error_code, forgotten.error_code, altered.error_code) == (0, 0, 0)
    answer = talk.unrecorded(ShareGroupDescribeRequest(group_ids=list(GROUPS)), 1)
    found: list[Any] = to_json(answer, 1)["groups"]
    return found


if __name__ == "__main__":
    main()
