"""Tests of `group.max.size` (KIP-389): an additional member gets an error, and the others continue."""

import pytest
from support.clients.member_processes import Members, mostly
from support.clients.topics import create_topic
from support.processes.started_broker import StartBroker

TOLD = {
    "java": "GroupMaxSizeReachedException",
    "confluent": "GROUP_MAX_SIZE_REACHED",
    "kafka-python": "GroupMaxSizeReachedError",
}


@pytest.mark.parametrize("client", mostly("kafka-python"))
def test_member_above_group_max_size_is_refused_until_another_leaves(
    client: str, start_broker: StartBroker, topic: str, group: str
) -> None:
    servers = start_broker({"group.max.size": "2"}).bootstrap_servers
    create_topic(servers, topic, 2)
    with Members(servers, group) as members:
        one, two = members.start("confluent", topic), members.start("confluent", topic)
        members.wait_until(lambda: members.shares() == [1, 1])
        taken = list(one.taken), list(two.taken)
        refused = members.start(client, topic)
        members.wait_until(lambda: refused.has_ended)
        assert refused.error is not None
        assert refused.error.startswith(TOLD[client])
        assert (one.taken, two.taken) == taken
        two.leave()
        members.start(client, topic)
        members.wait_until(lambda: members.shares() == [1, 1])
