"""Writes kafka-4.1.1.log: the log of __consumer_offsets of a Kafka 4.1.1 with groups of the consumer protocol.

groups.json says how the broker described the groups before it stopped. Run it with `tests` on Python's path.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from interop.side_by_side.consumer_group_scenarios import beat, joining, owned_in, topic_of_groups
from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import commit
from pybroker.protocol.codec.json_form import to_json
from pybroker.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from support.processes.kafka_versions import KRaftProcess, libs_of

FOLDER = Path(__file__).resolve().parent
VERSION = "4.1.1"
GROUPS = ("stable", "revoking", "released", "static", "pattern", "empty")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        settings = {"offsets.topic.num.partitions": "1"}
        kafka = KRaftProcess(Path(directory), libs_of(VERSION), settings)
        try:
            kafka.start()
            host, _, port = kafka.bootstrap_servers.partition(":")
            talk = Conversation((host, int(port)), "golden")
            groups = describe(talk)
            talk.close()
        finally:
            kafka.stop()
        (FOLDER / "groups.json").write_text(json.dumps(groups, indent=1) + "\n")
        log = kafka.log_directory / "__consumer_offsets-0" / f"{0:020}.log"
        shutil.copyfile(log, FOLDER / f"kafka-{VERSION}.log")


def describe(talk: Conversation) -> list[Any]:
    """Make the groups; return their descriptions."""

    def ask(request: Any) -> Any:
        return talk.unrecorded(request, 1)

    one, two = topic_of_groups(talk, "one", 4), topic_of_groups(talk, "two", 2)
    for group in ("stable", "revoking", "released"):
        fields = {"server_assignor": "range", "rack_id": "rack"} if group == "stable" else {}
        first = ask(joining(group, "a", one, two, **fields))
        second = ask(joining(group, "b", one, **fields))
        kept = ask(beat(group, "a", first.member_epoch))
        if group != "revoking":
            ask(beat(group, "a", first.member_epoch, owned=owned_in(kept)))
        if group == "stable":
            ask(beat(group, "b", second.member_epoch))
            talk.unrecorded(commit(group, one, 5, generation=second.member_epoch, member="b"), 9)
    ask(joining("static", "a", one, instance_id="i"))
    ask(beat("static", "a", -2, instance_id="i"))
    answer = ask(joining("pattern", "a", names=None, subscribed_topic_regex=r"golden\.(one|t.*)"))
    while answer.assignment is None or not answer.assignment.topic_partitions:
        answer = ask(beat("pattern", "a", answer.member_epoch))
    for group in ("empty", "deleted"):
        ask(joining(group, "a", one))
        ask(beat(group, "a", -1))
    talk.unrecorded(DeleteGroupsRequest(groups_names=["deleted"]), 2)
    described = ask(ConsumerGroupDescribeRequest(group_ids=list(GROUPS)))
    found: list[Any] = to_json(described, 1)["groups"]
    return found


if __name__ == "__main__":
    main()
