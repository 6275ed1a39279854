"""Tests that the table of rights is complete and says what Kafka 3.9.1 does."""

from pathlib import Path

from pybroker.base.acls import AclOperation, ResourceType
from pybroker.broker.security.acl.operations_of_types import OPERATIONS_OF_TYPES
from pybroker.broker.security.acl.required_rights import NOT_SERVED, OPEN_APIS, REQUIRED_RIGHTS, Denied
from pybroker.protocol.apis import API_SPECS, ApiKey, Listener
from pybroker.protocol.errors import ErrorCode
from support.in_process.served_apis import served_apis

REFERENCE = Path(__file__).parents[3] / "reference" / "rights.txt"
ERROR_OF_TYPE = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
# A follower's fetch without the right on the cluster, and an idempotent producer without one on any topic.
ERRORS_OF_ANOTHER_TYPE = {(ApiKey.FETCH, ResourceType.CLUSTER), (ApiKey.INIT_PRODUCER_ID, ResourceType.TOPIC)}


def rights_of_kafka() -> dict[ApiKey, set[tuple[AclOperation, ResourceType]]]:
    rights: dict[ApiKey, set[tuple[AclOperation, ResourceType]]] = {}
    for line in REFERENCE.read_text().splitlines():
        if not line.startswith("#"):
            name, _, listed = line.partition(": ")
            pairs = (right.split() for right in listed.split(", "))
            rights[ApiKey[name]] = {(AclOperation[operation], ResourceType[kind]) for operation, kind in pairs}
    return rights


def test_each_api_has_rights_or_is_open_or_is_not_served() -> None:
    rooms = (REQUIRED_RIGHTS.keys(), OPEN_APIS, NOT_SERVED)
    assert {key: sum(key in room for room in rooms) for key in ApiKey} == dict.fromkeys(ApiKey, 1)


def test_apis_of_other_modes_are_the_only_ones_not_served() -> None:
    assert NOT_SERVED.isdisjoint(served_apis())
    assert all(Listener.ZK_BROKER not in API_SPECS[key].listeners for key in NOT_SERVED)


def test_rights_are_those_that_kafka_asks_for() -> None:
    asked = {
        key: {
            (right.operation, right.resource_type) for requirement in requirements for right in requirement.any_of
        }
        for key, requirements in REQUIRED_RIGHTS.items()
    }  # fmt: skip
    assert asked == rights_of_kafka()


def test_each_right_exists_for_its_resource_type() -> None:
    for key, requirements in REQUIRED_RIGHTS.items():
        for requirement in requirements:
            for right in requirement.any_of:
                assert right.operation in OPERATIONS_OF_TYPES[right.resource_type], key


def test_error_is_that_of_the_last_resource_asked_for() -> None:
    for key, requirements in REQUIRED_RIGHTS.items():
        for requirement in requirements:
            kind = requirement.any_of[-1].resource_type
            assert (requirement.error is None) is (requirement.denied is Denied.HIDDEN), key
            if requirement.error is not None and (key, kind) not in ERRORS_OF_ANOTHER_TYPE:
                assert requirement.error is ERROR_OF_TYPE[kind], key


def test_only_a_right_that_another_may_replace_is_quiet() -> None:
    loud_first = [
        (key, requirement)
        for key, requirements in REQUIRED_RIGHTS.items()
        for requirement in requirements
        if len(requirement.any_of) > 1 and not requirement.any_of[0].is_quiet
    ]
    assert [key for key, _ in loud_first] == [ApiKey.DESCRIBE_DELEGATION_TOKEN]
