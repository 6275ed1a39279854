"""Tests of a group with a pattern subscription when a topic and then partitions are added, eager and cooperative."""

from collections import Counter
from itertools import count

import pytest
from confluent_kafka import Producer
from support.clients.member_processes import Members, mostly
from support.clients.topics import create_topic, grow_topic


@pytest.mark.parametrize("assignor", [pytest.param("range", marks=pytest.mark.long), "cooperative-sticky"])
@pytest.mark.parametrize("client", mostly("java", "kafka-python"))
def test_two_members_with_pattern_share_a_new_topic_and_new_partitions(
    client: str, assignor: str, servers: str, topic: str, group: str
) -> None:
    """With cooperative rebalancing (KIP-429) no record is read twice, and no member loses a partition when partitions
    are added. When a topic is added a member may lose one, because until all have seen the topic their patterns match
    different topics.
    """
    numbers = count()
    sent: list[str] = []

    def produce(name: str, partitions: int) -> None:
        """Sends a record to each partition and waits until a member has read it."""
        producer = Producer({"bootstrap.servers": servers})  # an existing producer does not know new partitions
        for partition in range(partitions):
            sent.append(f"{next(numbers)}")
            producer.produce(name, sent[-1], partition=partition)
        assert producer.flush() == 0
        members.wait_until(lambda: set(sent) <= {*one.read, *two.read})

    first, second = f"{topic}-first", f"{topic}-second"
    create_topic(servers, first, 2)
    create_topic(servers, f"not-{topic}", 2)
    with Members(servers, group) as members:
        one, two = (members.start(client, f"^{topic}-.*", partition_assignment_strategy=assignor) for _ in range(2))
        members.wait_until(lambda: members.shares() == [1, 1])
        produce(first, 2)
        create_topic(servers, second, 2)
        members.wait_until(lambda: members.shares() == [2, 2])
        produce(second, 2)
        taken = list(one.taken), list(two.taken)
        grow_topic(servers, second, 4)
        members.wait_until(lambda: members.shares() == [3, 3])
        produce(second, 4)
        assert one.owned | two.owned == {(first, 0), (first, 1), *((second, n) for n in range(4))}
        if assignor == "cooperative-sticky":
            assert (one.taken, two.taken) == taken
            # When a rebalance overtakes librdkafka 2.16's first ListOffsets of a partition, it asks again and reads
            # from the
            # start.
            if client != "confluent":
                assert Counter(one.read + two.read) == Counter(sent)
