"""FindCoordinator: group coordinators are found; transactions are refused or found on other brokers."""

import pytest
from pybroker.broker.apis.groups.find_coordinator import CoordinatorType, FindCoordinator
from pybroker.broker.coordinator.coordinator_directory import CoordinatorDirectory
from pybroker.broker.metadata.leader_hints import BrokerEndpoint
from pybroker.broker.network.request import ConnectionInfo
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.in_process.group_handlers import call, versions

ALL = versions(ApiKey.FIND_COORDINATOR)


class Cluster:
    """Three partitions of the topic; broker 10 + p leads partition p once the topic is there."""

    def __init__(self, exists: bool = True) -> None:
        self.exists = exists
        self.creations = 0
        self.can_create = True
        self.directory = CoordinatorDirectory(lambda key: len(key) % 3, self.node_of, self.ensure_topic)

    def node_of(self, partition: int, address: ConnectionInfo) -> BrokerEndpoint | None:
        return BrokerEndpoint(10 + partition, address.local_host, 9092) if self.exists else None

    async def ensure_topic(self) -> bool:
        self.creations += 1
        self.exists = self.can_create
        return True


def ask(version: int, *keys: str, key_type: int = 0) -> FindCoordinatorRequest:
    if version >= 4:
        return FindCoordinatorRequest(coordinator_keys=list(keys), key_type=key_type)
    return FindCoordinatorRequest(key=keys[0], key_type=key_type)


@pytest.mark.parametrize("version", ALL)
async def test_the_leader_of_the_groups_partition_is_its_coordinator(version: int) -> None:
    cluster = Cluster()
    response = await call(FindCoordinator(cluster.directory), version, ask(version, "four"))
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 11, "10.0.0.1", 9092)
    assert cluster.creations == 0


@pytest.mark.parametrize(("version", "expected"), [(1, "NONE"), (3, "NONE"), (4, ""), (6, "")])
async def test_a_found_coordinator_has_the_error_message_of_kafka(version: int, expected: str) -> None:
    response = await call(FindCoordinator(Cluster().directory), version, ask(version, "four"))
    found = response.coordinators[0] if version >= 4 else response
    assert found.error_message == expected


async def test_version_4_finds_the_coordinators_of_many_groups() -> None:
    response = await call(FindCoordinator(Cluster().directory), 4, ask(4, "a", "bb", "ccc"))
    assert [(one.key, one.node_id) for one in response.coordinators] == [("a", 11), ("bb", 12), ("ccc", 10)]


@pytest.mark.parametrize("version", ALL)
async def test_a_missing_offsets_topic_is_created_before_the_response(version: int) -> None:
    cluster = Cluster(exists=False)
    response = await call(FindCoordinator(cluster.directory), version, ask(version, "a"))
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id) == (0, 11)
    assert cluster.creations == 1


@pytest.mark.parametrize("version", ALL)
async def test_a_partition_without_a_leader_gets_coordinator_not_available(version: int) -> None:
    cluster = Cluster(exists=False)
    cluster.can_create = False
    response = await call(FindCoordinator(cluster.directory), version, ask(version, "a"))
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id, found.host, found.port) == (15, -1, "", -1)


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR, first=1))
async def test_transactional_ids_get_a_fatal_error_when_transactions_are_not_served(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    request = ask(version, "tx", key_type=CoordinatorType.TRANSACTION)
    response = await call(FindCoordinator(Cluster().directory), version, request)
    found = response.coordinators[0] if version >= 4 else response
    # On a retriable code a producer would retry for a minute. librdkafka sends versions up to 2 and retries on nearly
    # all codes.
    final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if version <= 2 else ErrorCode.UNSUPPORTED_VERSION
    assert found.error_code == final
    assert "transactions" in found.error_message
    assert "needs transactions, which this broker does not serve" in caplog.text


async def test_the_coordinator_of_a_transactional_id_is_found_when_transactions_are_served() -> None:
    groups, transactions = Cluster(), Cluster()
    handler = FindCoordinator(groups.directory, transactions.directory)
    response = await call(handler, 2, ask(2, "tx", key_type=1))
    assert (response.error_code, response.node_id) == (0, 12)


class MixedCluster(Cluster):
    """Broker 10 serves no transactions. Other brokers may serve them, when ``is_mixed``."""

    def __init__(self, exists: bool, is_mixed: bool = True) -> None:
        super().__init__(exists)
        self.is_mixed = is_mixed
        self.directory = CoordinatorDirectory(
            lambda key: len(key) % 3, self.node_of, self.ensure_topic, lambda node_id: node_id != 10
        )

    async def ensure_topic(self) -> bool:
        return self.is_mixed and await super().ensure_topic()


@pytest.mark.parametrize("exists", [True, False], ids=["topic is there", "topic is made"])
async def test_a_transaction_coordinator_on_another_broker_is_found(exists: bool) -> None:
    cluster = MixedCluster(exists)
    handler = FindCoordinator(Cluster().directory, cluster.directory)
    response = await call(handler, 4, ask(4, "a", "bb", "ccc", key_type=1))
    assert [(one.key, one.error_code, one.node_id) for one in response.coordinators] == [
        ("a", ErrorCode.NONE, 11),
        ("bb", ErrorCode.NONE, 12),
        ("ccc", ErrorCode.UNSUPPORTED_VERSION, -1),  # by this broker
    ]
    assert cluster.creations == (0 if exists else 1)


async def test_transactional_ids_get_a_fatal_error_when_no_broker_of_the_cluster_serves_them() -> None:
    cluster = MixedCluster(exists=False, is_mixed=False)
    handler = FindCoordinator(Cluster().directory, cluster.directory)
    response = await call(handler, 2, ask(2, "a", key_type=1))
    assert response.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert cluster.creations == 0


@pytest.mark.parametrize(("version", "error"), [(5, ErrorCode.INVALID_REQUEST), (6, ErrorCode.UNSUPPORTED_VERSION)])
async def test_find_coordinator_refuses_share_groups(version: int, error: ErrorCode) -> None:
    response = await call(FindCoordinator(Cluster().directory), version, ask(version, "a", "b", key_type=2))
    assert [one.error_code for one in response.coordinators] == [error, error]


async def test_find_coordinator_refuses_an_unknown_key_type() -> None:
    response = await call(FindCoordinator(Cluster().directory), 1, ask(1, "a", key_type=9))
    assert response.error_code == ErrorCode.INVALID_REQUEST
