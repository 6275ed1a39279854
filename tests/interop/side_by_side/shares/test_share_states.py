"""Sends the requests of brokers for states of share partitions to a cluster of pybroker and to Apache Kafka 4.2.0, and
compares the responses. A pybroker without a cluster does not serve them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from interop.side_by_side.allowed_differences import ANY, Allowed
from interop.side_by_side.differences import differences
from interop.side_by_side.scenarios import Scenario
from interop.side_by_side.shares.state_scenarios import SCENARIOS
from interop.side_by_side.shares.test_share_groups import SAYS_WHY, SETTINGS
from interop.side_by_side.test_consumer_groups import record
from pybroker import Cluster
from pybroker.config.authorization import ACL_AUTHORIZER
from support.clients.feature_levels import raise_level
from support.processes.kafka_versions import KRaftProcess, libs_of

pytestmark = pytest.mark.long

EVERYBODY_IS_A_BROKER = {"authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:ANONYMOUS"}
UNKNOWN = "the code says what is wrong: Kafka looks for a state first"
GONE = "a state whose topic is gone is deleted, too"
NO_GROUP = "Kafka's response is empty; here it has an error"
ALLOWED: dict[str, list[Allowed]] = {
    "requests_for_wrong_states": [
        *(
            Allowed(f"{step} *(an absent *.errorCode", UNKNOWN, "INVALID_REQUEST", "UNKNOWN_TOPIC_OR_PARTITION")
            for step in (5, 6, 7, 8)
        ),
        *(Allowed(f"{step} Delete*.errorCode", GONE, "UNKNOWN_TOPIC_OR_PARTITION", "NONE") for step in (9, 10)),
        Allowed("* Delete*.errorMessage", GONE, "some text", None),
        *(Allowed(f"{step} *(no group): results", NO_GROUP, [], ANY) for step in (12, 13, 14, 15)),
        Allowed("* FindCoordinator *.errorMessage", SAYS_WHY.reason, "", "some text"),
    ],
}
"""The permanent differences by scenario, with the reasons."""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, int]]]:
    kafka = KRaftProcess(tmp_path_factory.mktemp("kafka"), libs_of("4.2.0"), SETTINGS)
    try:
        kafka.start()
        with Cluster(1, {**SETTINGS, **EVERYBODY_IS_A_BROKER}) as cluster:
            for feature in ("group.version", "share.version"):
                raise_level(cluster.bootstrap_servers, feature)
            servers = [each.partition(":") for each in (kafka.bootstrap_servers, cluster.bootstrap_servers)]
            yield [(host, int(port)) for host, _, port in servers]
    finally:
        kafka.stop()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_states_of_share_partitions_are_kept_as_by_kafka(addresses: list[tuple[str, int]], scenario: Scenario) -> None:
    with ThreadPoolExecutor() as pool:
        of_kafka, of_pybroker = pool.map(record, addresses, [scenario] * 2)
    for step in of_kafka:  # pytest shows this output if the test fails
        print(f"{step.name} -> {step.answer}")
    allowed = ALLOWED.get(scenario.__name__, [])
    found = differences(of_kafka, of_pybroker)
    unexpected = [each for each in found if not any(one.covers(each) for one in [SAYS_WHY, *allowed])]
    assert not unexpected, "\n".join(map(str, unexpected))
    vanished = [one for one in allowed if not any(one.covers(each) for each in found)]
    assert not vanished, f"these differ no longer: take them out of the list: {vanished}"
