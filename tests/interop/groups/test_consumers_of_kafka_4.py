"""Java's consumers of Kafka 4 in the consumer protocol (KIP-848): patterns, static members, and paused partitions."""

from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from pybroker import Broker
from support.clients.member_processes import MemberProcess, Members
from support.clients.topics import create_topic

pytestmark = pytest.mark.long

SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "offsets.topic.num.partitions": "1",
}
RECORDS = 100


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker(SETTINGS) as broker:
        yield broker.bootstrap_servers


class Sent:
    """Sends records whose values are numbers, and waits until members have read them."""

    def __init__(self, servers: str, members: Members) -> None:
        self.values: list[str] = []
        self._servers = servers
        self._members = members

    def send(self, topic: str, partitions: int, count: int = RECORDS) -> None:
        producer = Producer({"bootstrap.servers": self._servers})
        for number in range(count):
            self.values.append(str(len(self.values)))
            producer.produce(topic, self.values[-1], partition=number % partitions)
        assert producer.flush() == 0

    def are_read_by(self, *members: MemberProcess) -> None:
        self._members.wait_until(lambda: {*self.values} <= {value for each in members for value in each.read})


@pytest.mark.parametrize("version", ["4.1.1", "4.2.0"])
def test_members_with_a_pattern_read_every_record_through_the_restart_of_a_static_one(
    version: str, servers: str
) -> None:
    """The restarted member gets its partitions back; the other member's stay. A killed one keeps its instance id until
    its session ends, as in Kafka."""
    group = name = f"patterns-{version}"
    create_topic(servers, f"{name}.one", 2)
    create_topic(servers, f"not-{name}.one", 2)
    with Members(servers, group) as members:
        sent = Sent(servers, members)
        sent.send(f"{name}.one", 2)
        pattern = f"^{name}\\..*"
        first, second = (members.start(f"java {version}", pattern, group_instance_id=each) for each in ("a", "b"))
        members.wait_until(lambda: members.shares() == [1, 1])
        create_topic(servers, f"{name}.two", 4)
        members.wait_until(lambda: members.shares() == [3, 3])
        sent.send(f"{name}.two", 4)
        sent.are_read_by(first, second)
        kept, owned = list(second.taken), set(first.owned)
        first.leave()
        sent.send(f"{name}.two", 4)
        again = members.start(f"java {version}", pattern, group_instance_id="a")
        sent.are_read_by(first, second, again)
        members.wait_until(lambda: again.owned == owned)
        assert second.taken == kept
        assert Counter(first.read + second.read + again.read) == Counter(sent.values)
        second.kill()
        refused = members.start(f"java {version}", pattern, group_instance_id="b")
        members.wait_until(lambda: refused.error is not None)
        assert (refused.error or "").startswith("UnreleasedInstanceIdException"), refused.error


@pytest.mark.parametrize("version", ["4.1.1", "4.2.0"])
def test_paused_partition_is_read_once_after_it_is_resumed(version: str, servers: str) -> None:
    topic = f"paused-{version}"
    create_topic(servers, topic, 2)
    with Members(servers, topic) as members:
        sent = Sent(servers, members)
        sent.send(topic, 1)
        member = members.start(f"java {version}", topic, paused_partition=0)
        members.wait_until(lambda: len(member.owned) == 2)
        producer = Producer({"bootstrap.servers": servers})
        producer.produce(topic, "resume", partition=1)
        assert producer.flush() == 0
        sent.are_read_by(member)
        assert member.read == ["resume", *sent.values]
