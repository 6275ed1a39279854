"""FindCoordinator: the coordinators of groups and of transactional ids."""

import pytest
from pybroker.broker.apis.groups.find_coordinator import CoordinatorType, FindCoordinator
from pybroker.broker.coordinator.coordinator_directory import CoordinatorDirectory
from pybroker.broker.metadata.leader_hints import BrokerEndpoint
from pybroker.broker.network.request import ConnectionInfo
from pybroker.controller.topics.permit import Permit
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.in_process.group_handlers import call, versions
from support.in_process.quotas import unthrottled

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

    async def ensure_topic(self, _permit: Permit) -> None:
        self.creations += 1
        self.exists = self.can_create


def handler_of(groups: Cluster) -> FindCoordinator:
    return FindCoordinator(groups.directory, Cluster().directory, unthrottled())


def ask(version: int, *keys: str, key_type: int = 0) -> FindCoordinatorRequest:
    if version >= 4:
        return FindCoordinatorRequest(coordinator_keys=list(keys), key_type=key_type)
    return FindCoordinatorRequest(key=keys[0], key_type=key_type)


@pytest.mark.parametrize("version", ALL)
async def test_the_leader_of_the_groups_partition_is_its_coordinator(version: int) -> None:
    cluster = Cluster()
    response = await call(handler_of(cluster), version, ask(version, "four"))
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 11, "10.0.0.1", 9092)
    assert cluster.creations == 0


@pytest.mark.parametrize(("version", "expected"), [(1, "NONE"), (3, "NONE"), (4, ""), (6, "")])
async def test_a_found_coordinator_has_the_error_message_of_kafka(version: int, expected: str) -> None:
    response = await call(handler_of(Cluster()), version, ask(version, "four"))
    found = response.coordinators[0] if version >= 4 else response
    assert found.error_message == expected


async def test_version_4_finds_the_coordinators_of_many_groups() -> None:
    response = await call(handler_of(Cluster()), 4, ask(4, "a", "bb", "ccc"))
    assert [(one.key, one.node_id) for one in response.coordinators] == [("a", 11), ("bb", 12), ("ccc", 10)]


@pytest.mark.parametrize("version", ALL)
async def test_a_missing_offsets_topic_is_created_before_the_response(version: int) -> None:
    cluster = Cluster(exists=False)
    response = await call(handler_of(cluster), version, ask(version, "a"))
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id) == (0, 11)
    assert cluster.creations == 1


@pytest.mark.parametrize("version", ALL)
async def test_a_partition_without_a_leader_gets_coordinator_not_available(version: int) -> None:
    cluster = Cluster(exists=False)
    cluster.can_create = False
    response = await call(handler_of(cluster), version, ask(version, "a"))
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id, found.host, found.port) == (15, -1, "", -1)


@pytest.mark.parametrize("exists", [True, False], ids=["topic exists", "topic is created"])
@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR, first=1))
async def test_the_leader_of_the_transactional_ids_partition_is_its_coordinator(version: int, exists: bool) -> None:
    groups, transactions = Cluster(), Cluster(exists)
    handler = FindCoordinator(groups.directory, transactions.directory, unthrottled())
    response = await call(handler, version, ask(version, "tx", key_type=CoordinatorType.TRANSACTION))
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id) == (0, 12)
    assert (groups.creations, transactions.creations) == (0, 0 if exists else 1)


@pytest.mark.parametrize(("version", "error"), [(5, ErrorCode.INVALID_REQUEST), (6, ErrorCode.UNSUPPORTED_VERSION)])
async def test_find_coordinator_refuses_share_groups(version: int, error: ErrorCode) -> None:
    response = await call(handler_of(Cluster()), version, ask(version, "a", "b", key_type=2))
    assert [one.error_code for one in response.coordinators] == [error, error]


async def test_the_leader_of_the_share_partitions_state_is_its_coordinator() -> None:
    share = Cluster(exists=False)
    handler = FindCoordinator(Cluster().directory, Cluster().directory, unthrottled(), share.directory)
    key = f"g:{'A' * 22}:0"
    found, refused = (await call(handler, 6, ask(6, key, "g", key_type=CoordinatorType.SHARE))).coordinators
    assert (found.error_code, found.node_id, share.creations) == (ErrorCode.NONE, 10 + len(key) % 3, 1)
    assert (refused.error_code, refused.node_id) == (ErrorCode.INVALID_REQUEST, -1)


async def test_find_coordinator_refuses_an_unknown_key_type() -> None:
    response = await call(handler_of(Cluster()), 1, ask(1, "a", key_type=9))
    assert response.error_code == ErrorCode.INVALID_REQUEST
