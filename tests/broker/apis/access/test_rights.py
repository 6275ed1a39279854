"""Each API asks for the rights of the table, in its order, and answers a denial without doing anything."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pybroker.base.acls import AclOperation, AclResourceType
from pybroker.broker.apis.between_brokers.table import between_brokers_apis
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.requests.between_brokers import BetweenBrokers
from pybroker.broker.requests.context import RequestContext
from pybroker.broker.requests.served_versions import OWN_VERSIONS
from pybroker.broker.security.principal import ANONYMOUS
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.errors import ClusterAuthorizationError, ErrorCode
from support.in_process.authorized_broker import AuthorizedBroker, RecordingAuthorizer, authorized_broker, row_of
from support.in_process.rights_table import (
    ALTER_CONFIGS,
    CLUSTER_ACTION,
    OPEN,
    RIGHTS,
    TOPIC_DENIED,
    Ask,
    Row,
    cluster,
    topic,
)
from support.in_process.served_apis import broker_parts, error_codes, handler_table
from support.load.request_of_each_api import plain_request

BETWEEN_BROKERS = {
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
}


@pytest.fixture(scope="module")
def authorized() -> Iterator[AuthorizedBroker]:
    with authorized_broker() as broker:
        yield broker


def cases(keys: Mapping[ApiKey, Any] | set[ApiKey]) -> list[Any]:
    return [
        pytest.param(key, row, id=f"{API_SPECS[key].name} v{row.version} {row.what}".strip())
        for key, rows in RIGHTS.items()
        if key in keys and not isinstance(rows, str)
        for row in rows
    ]


SERVED = handler_table()


def test_each_api_has_a_row_or_is_open() -> None:
    assert RIGHTS.keys() == SERVED.keys() | BETWEEN_BROKERS
    assert all(rows == OPEN or rows for rows in RIGHTS.values())


def expected(row: Row, asks: tuple[Ask, ...]) -> list[Ask]:
    return list(asks) if row.is_ordered else sorted(asks, key=str)


def asked(row: Row, authorizer: RecordingAuthorizer) -> list[Ask]:
    return expected(row, tuple(authorizer.asked))


@pytest.mark.parametrize(("key", "row"), cases(SERVED))
def test_each_api_asks_for_the_rights_of_the_table(authorized: AuthorizedBroker, key: ApiKey, row: Row) -> None:
    authorizer = RecordingAuthorizer(denied=set())
    authorized.ask(key, row, authorizer)
    assert asked(row, authorizer) == expected(row, row.asks)
    assert authorizer.clients <= {(ANONYMOUS, "127.0.0.1")}


@pytest.mark.parametrize(("key", "row"), cases(SERVED))
def test_each_api_answers_a_denial_as_the_table_says(authorized: AuthorizedBroker, key: ApiKey, row: Row) -> None:
    authorizer = RecordingAuthorizer(denied=None)
    response = authorized.ask(key, row, authorizer)
    assert asked(row, authorizer) == expected(row, row.asks if row.denied_asks is None else row.denied_asks)
    codes = set(error_codes(response, row.version))
    if row.code is None:
        assert codes <= {ErrorCode.NONE}
    else:
        assert row.code in codes
        assert codes <= {row.code, ErrorCode.NONE}
    assert not any(f"'{name}'" in repr(response) for name in row.hides)


@pytest.mark.parametrize("key", [key for key, rows in RIGHTS.items() if rows == OPEN])
def test_an_open_api_asks_nothing(authorized: AuthorizedBroker, key: ApiKey) -> None:
    authorizer = RecordingAuthorizer(denied=None)
    authorized.ask(key, Row(OWN_VERSIONS.accepted[key].last, {}, (), None), authorizer)
    assert authorizer.asked == []


@pytest.mark.parametrize(("key", "row"), cases(BETWEEN_BROKERS))
def test_apis_between_brokers_ask_for_cluster_action(key: ApiKey, row: Row) -> None:
    called = []
    handler = BetweenBrokers(lambda _context, request: called.append(request), ())
    info = ConnectionInfo("CLIENTS", "PLAINTEXT", ("here", 9092), ("there", 1))
    for denied in (set[Ask](), None):
        authorizer = RecordingAuthorizer(denied)
        context = RequestContext(row.version, 0, None, info, 0, authorizer=authorizer)
        if denied is None:
            with pytest.raises(ClusterAuthorizationError):
                handler(context, plain_request(key, **row.fields))
        else:
            handler(context, plain_request(key, **row.fields))
        assert authorizer.asked == list(row.asks) == [cluster(CLUSTER_ACTION)]
    assert len(called) == 1


def test_each_api_between_brokers_is_behind_that_right() -> None:
    table = between_brokers_apis(broker_parts({"group.coordinator.rebalance.protocols": "classic"}))
    assert table.keys() == BETWEEN_BROKERS
    assert all(isinstance(handler, BetweenBrokers) for handler in table.values())


def test_this_broker_itself_needs_no_right() -> None:
    authorizer = RecordingAuthorizer(denied=None)
    here = ConnectionInfo.of_this_broker("INTERNAL")
    context = RequestContext(0, 0, None, here, 0, authorizer=authorizer)
    context.require_on_cluster(CLUSTER_ACTION)
    assert context.may(ALTER_CONFIGS, AclResourceType.TOPIC, "t")
    assert context.may_by_resource_type(ALTER_CONFIGS, AclResourceType.TOPIC)
    assert not context.denied(ALTER_CONFIGS, AclResourceType.TOPIC, ["t"])
    assert authorizer.asked == []


def test_each_name_is_asked_about_once_and_without_an_authorizer_none_is() -> None:
    authorizer = RecordingAuthorizer(denied={topic(ALTER_CONFIGS, "b")})
    info = ConnectionInfo("CLIENTS", "PLAINTEXT", ("here", 9092), ("there", 1))
    context = RequestContext(0, 0, None, info, 0, authorizer=authorizer)
    assert context.denied(ALTER_CONFIGS, AclResourceType.TOPIC, ["a", "b", "a", "b"]) == {"b"}
    assert authorizer.asked == [topic(ALTER_CONFIGS, "a"), topic(ALTER_CONFIGS, "b")]
    assert context.denied(ALTER_CONFIGS, AclResourceType.TOPIC, dict.fromkeys(["a"])) == set()
    assert authorizer.counts == [2, 2, 1]
    names = iter(["a"])
    assert not RequestContext(0, 0, None, info, 0).denied(ALTER_CONFIGS, AclResourceType.TOPIC, names)
    assert list(names) == ["a"]


def test_a_topic_that_may_be_described_but_not_read_is_denied_per_topic(authorized: AuthorizedBroker) -> None:
    """Rights of the group are there; of two topics one is denied, and the other is committed."""
    row = row_of(ApiKey.OFFSET_COMMIT, 7)
    (mine,) = row.fields["topics"]
    fields = {**row.fields, "topics": [mine, {**mine, "name": "x"}]}
    denied = RecordingAuthorizer({topic(AclOperation.READ, "x")})
    response = authorized.ask(ApiKey.OFFSET_COMMIT, Row(7, fields, (), None), denied)
    codes = {each.name: each.partitions[0].error_code for each in response.topics}
    assert codes == {"records": ErrorCode.NONE, "x": TOPIC_DENIED}
