"""Writes states-of-kafka-4.2.0.log: the log of __share_group_state of a Kafka 4.2.0 whose share coordinator was asked.

states.json has the states that the broker read at the end. Run it with `tests` on Python's path.
"""

import json
import shutil
import tempfile
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from interop.side_by_side.consumer_group_scenarios import topic_of_groups
from interop.side_by_side.conversation import Conversation
from pybroker.base.uuid_text import uuid_text
from pybroker.protocol.codec.json_form import to_json
from pybroker.protocol.messages import delete_share_group_state as deleting
from pybroker.protocol.messages import initialize_share_group_state as initializing
from pybroker.protocol.messages import read_share_group_state as reading
from pybroker.protocol.messages import write_share_group_state as writing
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.processes.kafka_versions import KRaftProcess, libs_of

FOLDER = Path(__file__).resolve().parent
VERSION = "4.2.0"
SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,consumer,share",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "4",
}
GROUPS = ("written", "begun", "again", "deleted")
ROUNDS = 30
RETRIABLE = (14, 15, 16)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        kafka = KRaftProcess(Path(directory), libs_of(VERSION), SETTINGS)
        try:
            kafka.start()
            host, _, port = kafka.bootstrap_servers.partition(":")
            states = States(Conversation((host, int(port)), "golden"))
            read = states.play()
        finally:
            kafka.stop()
        (FOLDER / "states.json").write_text(json.dumps(read, indent=1) + "\n")
        log = kafka.log_directory / "__share_group_state-0" / f"{0:020}.log"
        shutil.copyfile(log, FOLDER / f"states-of-kafka-{VERSION}.log")


class States:
    """The states of partition 0 of one topic, by group."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        name = topic_of_groups(talk, "one", 1)
        topics = talk.unrecorded(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), 12).topics
        self._topic_id: UUID = topics[0].topic_id
        self._random = Random(7)

    def play(self) -> list[Any]:
        """Change the states; return what the broker then reads."""
        key = f"written:{uuid_text(self._topic_id)}:0"
        self._talk.unrecorded(FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), 6)  # creates the state topic
        for group_id in GROUPS:
            self._initialize(group_id, 1)
        self._read("written", 0)
        for number in range(ROUNDS):
            self._write("written", number)
            if number % 7 == 0:
                self._read("written", number)
            if number < 3:
                self._write("again", number)
        self._initialize("again", 5)
        self._ask(
            deleting.DeleteShareGroupStateRequest(
                group_id="deleted",
                topics=[
                    deleting.DeleteStateData(topic_id=self._topic_id, partitions=[deleting.PartitionData(partition=0)])
                ],
            ),
            0,
        )
        return [
            {"group": group_id, "topicId": uuid_text(self._topic_id), **self._read(group_id, ROUNDS)}
            for group_id in GROUPS[:3]
        ]

    def _initialize(self, group_id: str, state_epoch: int) -> None:
        partition = initializing.PartitionData(partition=0, state_epoch=state_epoch, start_offset=0)
        topic = initializing.InitializeStateData(topic_id=self._topic_id, partitions=[partition])
        self._ask(initializing.InitializeShareGroupStateRequest(group_id=group_id, topics=[topic]), 0)

    def _write(self, group_id: str, number: int) -> None:
        batches = [
            writing.StateBatch(
                first_offset=first,
                last_offset=first + self._random.randrange(6),
                delivery_state=self._random.choice([0, 2, 4]),
                delivery_count=self._random.randrange(1, 6),
            )
            for first in (number * 3 + self._random.randrange(20) for _ in range(3))
        ]
        partition = writing.PartitionData(
            partition=0,
            state_epoch=1,
            leader_epoch=number,
            start_offset=number if number % 3 == 0 else -1,
            delivery_complete_count=number,
            state_batches=batches,
        )
        topic = writing.WriteStateData(topic_id=self._topic_id, partitions=[partition])
        self._ask(writing.WriteShareGroupStateRequest(group_id=group_id, topics=[topic]), 1)

    def _read(self, group_id: str, leader_epoch: int) -> Any:
        partition = reading.PartitionData(partition=0, leader_epoch=leader_epoch)
        topic = reading.ReadStateData(topic_id=self._topic_id, partitions=[partition])
        answer = self._ask(reading.ReadShareGroupStateRequest(group_id=group_id, topics=[topic]), 0)
        return to_json(answer, 0)["results"][0]["partitions"][0]

    def _ask(self, request: Any, version: int) -> Any:
        """The response, when the coordinator is ready."""
        while True:
            answer = self._talk.unrecorded(request, version)
            (result,) = answer.results[0].partitions
            if result.error_code not in RETRIABLE:
                assert result.error_code == 0, answer
                return answer


if __name__ == "__main__":
    main()
