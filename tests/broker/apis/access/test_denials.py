"""Denials of single topics and ids: nothing denied is done or shown, and the rest of the request is served."""

from collections.abc import Iterator
from typing import Any

import pytest
from pybroker.broker.apis.topics.create_topics import CreateTopics
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.requests.context import RequestContext
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import NULL_UUID
from pybroker.protocol.errors import ErrorCode
from support.in_process.authorized_broker import AuthorizedBroker, RecordingAuthorizer, authorized_broker
from support.in_process.replicas import batch_of
from support.in_process.rights_table import (
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    READ,
    TOPIC_DENIED,
    TRANSACTIONAL,
    WRITE,
    Ask,
    Row,
    cluster,
    fetched,
    produced,
    topic,
    transaction,
)
from support.in_process.served_apis import Anything

TEMPLATE_VERSION = 9


@pytest.fixture(scope="module")
def running() -> Iterator[AuthorizedBroker]:
    with authorized_broker() as broker:
        yield broker


class Client:
    """Sends requests while some rights are denied."""

    def __init__(self, broker: AuthorizedBroker) -> None:
        self._broker = broker

    def __call__(self, key: ApiKey, version: int, *denied: Ask, **fields: Any) -> Any:
        return self._broker.ask(key, Row(version, fields, (), None), RecordingAuthorizer(set(denied)))

    def create(self, name: str) -> None:
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1}]
        response = self(ApiKey.CREATE_TOPICS, 5, topics=topics, timeout_ms=60_000)
        assert response.topics[0].error_code == ErrorCode.NONE

    def end_offset(self, name: str = "records") -> int:
        topics = [{"name": name, "partitions": [{"partition_index": 0, "timestamp": -1}]}]
        response = self(ApiKey.LIST_OFFSETS, 5, replica_id=-1, topics=topics)
        return int(response.topics[0].partitions[0].offset)

    def described(self, name: str) -> Any:
        return self(ApiKey.METADATA, 12, topics=[{"name": name}], allow_auto_topic_creation=False).topics[0]


@pytest.fixture
def ask(running: AuthorizedBroker) -> Client:
    return Client(running)


def produce_code(response: Any) -> int:
    return int(response.responses[0].partition_responses[0].error_code)


def test_produce_that_a_template_decodes_is_denied_before_anything_is_appended(ask: Client) -> None:
    request = produced(batch_of(b"value"))
    for _ in range(2):  # the first one makes the template
        assert produce_code(ask(ApiKey.PRODUCE, TEMPLATE_VERSION, **request)) == ErrorCode.NONE
    before = ask.end_offset()
    denied = ask(ApiKey.PRODUCE, TEMPLATE_VERSION, topic(WRITE), **request)
    assert produce_code(denied) == TOPIC_DENIED
    assert ask.end_offset() == before
    assert produce_code(ask(ApiKey.PRODUCE, TEMPLATE_VERSION, **request)) == ErrorCode.NONE


@pytest.mark.parametrize("denied", [(), (topic(WRITE),)])
def test_transactional_batch_without_an_id_is_refused_also_where_a_template_decodes(
    ask: Client, denied: tuple[Ask, ...]
) -> None:
    assert produce_code(ask(ApiKey.PRODUCE, TEMPLATE_VERSION, **produced(batch_of(b"value")))) == ErrorCode.NONE
    before = ask.end_offset()
    response = ask(ApiKey.PRODUCE, TEMPLATE_VERSION, *denied, **produced(TRANSACTIONAL))
    assert produce_code(response) == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert ask.end_offset() == before


def test_produce_appends_to_the_topics_that_are_not_denied(ask: Client) -> None:
    ask.create("forbidden")
    data = [{"index": 0, "records": batch_of(b"value")}]
    topics = [{"name": name, "partition_data": data} for name in ("forbidden", "records")]
    before = ask.end_offset()
    response = ask(ApiKey.PRODUCE, 7, topic(WRITE, "forbidden"), acks=1, timeout_ms=100, topic_data=topics)
    codes = {each.name: each.partition_responses[0].error_code for each in response.responses}
    assert codes == {"forbidden": TOPIC_DENIED, "records": ErrorCode.NONE}
    assert (ask.end_offset("forbidden"), ask.end_offset()) == (0, before + 1)


@pytest.mark.parametrize("denied", [topic(WRITE), transaction(WRITE)])
def test_denied_produce_without_acknowledgement_closes_the_connection(denied: Ask) -> None:
    row = Row(7, produced(TRANSACTIONAL, transactional_id="t", acks=0), (), None)
    with authorized_broker() as broker, pytest.raises(AssertionError, match="closed the connection"):
        broker.ask(ApiKey.PRODUCE, row, RecordingAuthorizer({denied}))


def test_fetch_returns_the_topics_that_are_not_denied_and_keeps_its_session(ask: Client) -> None:
    ask.create("hidden")
    assert produce_code(ask(ApiKey.PRODUCE, 7, **produced(batch_of(b"value")))) == ErrorCode.NONE
    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    topics = [{"topic": name, "partitions": [wanted]} for name in ("hidden", "records")]
    request = {**fetched(), "max_bytes": 10_000, "min_bytes": 1, "topics": topics, "session_epoch": 0}
    first = ask(ApiKey.FETCH, 11, topic(READ, "hidden"), **request)
    by_topic = {each.topic: each.partitions[0] for each in first.responses}
    assert by_topic["hidden"].error_code == TOPIC_DENIED
    assert (by_topic["records"].error_code, bool(by_topic["records"].records)) == (ErrorCode.NONE, True)
    request = {**request, "topics": [], "session_id": first.session_id, "session_epoch": 1}
    again = ask(ApiKey.FETCH, 11, **request)
    assert (again.error_code, again.session_id) == (ErrorCode.NONE, first.session_id)


def test_fetch_with_a_replica_id_needs_the_right_of_brokers_whatever_it_may_read(ask: Client) -> None:
    response = ask(ApiKey.FETCH, 11, cluster(CLUSTER_ACTION), **fetched(replica_id=2))
    (partition,) = response.responses[0].partitions
    assert (partition.error_code, bool(partition.records)) == (TOPIC_DENIED, False)


def test_metadata_by_id_hides_the_name_of_a_denied_topic(ask: Client) -> None:
    topic_id = ask.described("records").topic_id
    asked = [{"name": None, "topic_id": topic_id}]
    (shown,) = ask(ApiKey.METADATA, 12, topic(DESCRIBE), topics=asked, include_topic_authorized_operations=True).topics
    assert (shown.error_code, shown.name, shown.topic_id) == (TOPIC_DENIED, None, topic_id)
    assert (shown.partitions, shown.topic_authorized_operations) == ([], -(2**31))


def test_metadata_by_name_says_nothing_of_a_denied_topic_whether_it_exists_or_not(ask: Client) -> None:
    names = ("records", "missing")
    denied = [topic(DESCRIBE, name) for name in names]
    response = ask(ApiKey.METADATA, 12, *denied, topics=[{"name": name} for name in names])
    shown = [(each.error_code, each.topic_id, each.is_internal, each.partitions) for each in response.topics]
    assert shown == [(TOPIC_DENIED, NULL_UUID, False, [])] * 2


def test_metadata_creates_no_topic_that_the_client_may_not_create(ask: Client) -> None:
    denied = (cluster(CREATE, is_quiet=True), topic(CREATE, "uncreated"))
    (shown,) = ask(ApiKey.METADATA, 9, *denied, topics=[{"name": "uncreated"}], allow_auto_topic_creation=True).topics
    assert shown.error_code == TOPIC_DENIED
    assert ask.described("uncreated").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_create_topics_hides_settings_that_the_client_may_not_describe(ask: Client) -> None:
    topics = [{"name": "unseen", "num_partitions": 1, "replication_factor": 1}]
    denied = topic(DESCRIBE_CONFIGS, "unseen", is_quiet=True)
    (result,) = ask(ApiKey.CREATE_TOPICS, 7, denied, topics=topics, timeout_ms=60_000).topics
    assert (result.error_code, result.topic_config_error_code) == (ErrorCode.NONE, TOPIC_DENIED)
    assert (result.num_partitions, result.replication_factor, result.configs) == (-1, -1, [])
    assert ask.described("unseen").error_code == ErrorCode.NONE


def test_delete_topics_deletes_only_what_the_client_may_delete(ask: Client) -> None:
    for name in ("kept", "deleted"):
        ask.create(name)
    request = {"topic_names": ["kept", "deleted"], "timeout_ms": 60_000}
    response = ask(ApiKey.DELETE_TOPICS, 5, topic(DELETE, "kept"), **request)
    assert [each.error_code for each in response.responses] == [TOPIC_DENIED, ErrorCode.NONE]
    assert ask.described("kept").error_code == ErrorCode.NONE


def test_delete_topics_by_id_does_not_tell_the_name_of_a_topic_that_may_not_be_described(ask: Client) -> None:
    topic_id = ask.described("records").topic_id
    asked = [{"name": None, "topic_id": topic_id}]
    (result,) = ask(ApiKey.DELETE_TOPICS, 6, topic(DESCRIBE), topics=asked, timeout_ms=100).responses
    assert (result.error_code, result.name, result.topic_id) == (TOPIC_DENIED, None, topic_id)
    (result,) = ask(ApiKey.DELETE_TOPICS, 6, topic(DELETE), topics=asked, timeout_ms=100).responses
    assert (result.error_code, result.name) == (TOPIC_DENIED, "records")


@pytest.mark.parametrize("version", [0, 5])
def test_offset_fetch_fails_for_topics_that_the_client_may_not_describe(ask: Client, version: int) -> None:
    topics = [{"name": name, "partition_indexes": [0]} for name in ("records", "secret")]
    denied = topic(DESCRIBE, "secret")
    response = ask(ApiKey.OFFSET_FETCH, version, denied, group_id="known", topics=topics)
    codes = {each.name: each.partitions[0].error_code for each in response.topics}
    assert codes["secret"] == TOPIC_DENIED
    assert codes["records"] != TOPIC_DENIED


def test_offset_fetch_of_all_topics_hides_those_that_the_client_may_not_describe(ask: Client) -> None:
    asked = [{"group_id": "known", "topics": None}]
    shown, hidden = (ask(ApiKey.OFFSET_FETCH, 8, *denied, groups=asked) for denied in ((), (topic(DESCRIBE),)))
    assert [each.name for each in shown.groups[0].topics] == ["records"]
    assert (hidden.groups[0].error_code, hidden.groups[0].topics) == (ErrorCode.NONE, [])


def test_a_transaction_gets_none_of_its_partitions_when_one_topic_is_denied(ask: Client) -> None:
    response = ask(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        3,
        topic(WRITE, "other"),
        v3_and_below_transactional_id="t",
        v3_and_below_topics=[{"name": name, "partitions": [0]} for name in ("records", "other", "missing")],
    )
    codes = {
        each.name: each.results_by_partition[0].partition_error_code for each in response.results_by_topic_v3_and_below
    }
    assert codes == {
        "records": ErrorCode.OPERATION_NOT_ATTEMPTED,
        "other": TOPIC_DENIED,
        "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_an_unknown_topic_and_a_denied_one_look_alike(ask: Client) -> None:
    """The client does not learn whether a topic exists that it may not use."""
    for name in ("records", "missing"):
        asked = [{"name": name, "partitions": [{"partition_index": 0, "timestamp": -1}]}]
        (listed,) = ask(ApiKey.LIST_OFFSETS, 5, topic(DESCRIBE, name), replica_id=-1, topics=asked).topics
        assert listed.partitions[0].error_code == TOPIC_DENIED
        asked = [{"name": name, "partitions": [{"partition_index": 0, "offset": 0}]}]
        (deleted,) = ask(ApiKey.DELETE_RECORDS, 2, topic(DELETE, name), topics=asked, timeout_ms=100).topics
        assert (deleted.partitions[0].error_code, deleted.partitions[0].low_watermark) == (TOPIC_DENIED, -1)


def everything_denied(running: AuthorizedBroker, key: ApiKey, version: int, **fields: Any) -> Any:
    return running.ask(key, Row(version, fields, (), None), RecordingAuthorizer(None))


@pytest.mark.parametrize(("version", "protocol_name"), [(6, ""), (7, None)])
def test_denied_join_has_the_fields_of_a_failed_join(
    running: AuthorizedBroker, version: int, protocol_name: str | None
) -> None:
    response = everything_denied(running, ApiKey.JOIN_GROUP, version, group_id="g", member_id="m", protocol_type="")
    assert response.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert (response.generation_id, response.protocol_name, response.member_id) == (-1, protocol_name, "")


@pytest.mark.parametrize(("key", "version"), [(ApiKey.ALTER_CONFIGS, 2), (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1)])
def test_settings_that_no_right_could_alter_are_refused_as_invalid(
    running: AuthorizedBroker, key: ApiKey, version: int
) -> None:
    twice = [{"name": "retention.ms", "value": "1"}] * 2
    resources = [
        (8, "1001", []),
        (4, "1001", []),
        (4, "", []),
        (4, "99", []),
        (4, "x", []),
        (77, "a", []),
        (2, "records", twice),
    ]
    fields = [{"resource_type": kind, "resource_name": name, "configs": configs} for kind, name, configs in resources]
    response = everything_denied(running, key, version, resources=fields, validate_only=True)
    denied, invalid = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_REQUEST
    loggers = invalid if key is ApiKey.ALTER_CONFIGS else denied
    assert [each.error_code for each in response.responses] == [loggers] + [denied] * 2 + [invalid] * 4


@pytest.mark.parametrize("transactional_id", ["t", None])
def test_denied_producer_gets_neither_id_nor_epoch(running: AuthorizedBroker, transactional_id: str | None) -> None:
    fields = {"transactional_id": transactional_id, "transaction_timeout_ms": 1000}
    response = everything_denied(running, ApiKey.INIT_PRODUCER_ID, 4, **fields)
    assert (response.producer_id, response.producer_epoch) == (-1, -1)


def test_denied_reassignment_is_answered_at_the_top_and_for_each_partition(running: AuthorizedBroker) -> None:
    topics = [{"name": "records", "partitions": [{"partition_index": 0, "replicas": [0]}]}]
    response = everything_denied(running, ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, topics=topics)
    codes = (response.error_code, response.responses[0].partitions[0].error_code)
    assert codes == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED,) * 2


@pytest.mark.parametrize(
    ("listener", "client_id", "allowed", "may_create"),
    [
        ("INTERNAL", "1", cluster(CLUSTER_ACTION, is_quiet=True), True),
        ("INTERNAL", "1", cluster(CREATE, is_quiet=True), True),
        ("INTERNAL", "1", topic(CREATE, "other"), False),
        ("INTERNAL", "app", cluster(CLUSTER_ACTION, is_quiet=True), False),
        ("INTERNAL", None, cluster(CLUSTER_ACTION, is_quiet=True), False),
        ("CLIENTS", "1", cluster(CLUSTER_ACTION, is_quiet=True), False),
    ],
)
def test_broker_that_creates_a_topic_for_its_client_needs_only_cluster_action(
    listener: str, client_id: str | None, allowed: Ask, may_create: bool
) -> None:
    unused: Any = Anything()
    handler = CreateTopics(unused, lambda: True, unused, unused, unused, unused, unused, ("INTERNAL",))
    asked = {cluster(CREATE, is_quiet=True), cluster(CLUSTER_ACTION, is_quiet=True), topic(CREATE, "t")}
    info = ConnectionInfo(listener, "PLAINTEXT", ("here", 9092), ("there", 1))
    context = RequestContext(5, 0, client_id, info, 0, authorizer=RecordingAuthorizer(asked - {allowed}))
    assert (handler._rights(context, ["t"]).denied == frozenset()) is may_create
