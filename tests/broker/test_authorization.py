"""A running broker obeys the ACLs in its metadata store."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pybroker import Broker
from pybroker.base.acls import AclOperation, AclPermission, AclResourceType
from pybroker.broker.security.acl.authorizer_log import AUTHORIZER_LOGGER
from pybroker.broker.start_error import StartError
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.config.config import METADATA_STORE_FILE
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.in_process.authorized_broker import row_of
from support.load.request_of_each_api import plain_request

AUTHORIZER = {"authorizer.class.name": ACL_AUTHORIZER}
OPEN = {**AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
EVERY_ACL = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


@contextmanager
def client_of(settings: dict[str, str], directory: Path) -> Iterator[WireClient]:
    with Broker({**settings, "log.dirs": str(directory)}) as broker, WireClient(broker.bootstrap_servers) as client:
        yield client


def deny(operation: AclOperation, resource_type: AclResourceType = AclResourceType.TOPIC) -> dict[str, Any]:
    name = "kafka-cluster" if resource_type is AclResourceType.CLUSTER else "records"
    return {
        "resource_type": resource_type,
        "resource_name": name,
        "principal": "User:ANONYMOUS",
        "host": "127.0.0.1",
        "operation": operation,
        "permission_type": AclPermission.DENY,
    }


def create_acl(client: WireClient, acl: dict[str, Any]) -> int:
    (result,) = client.ask(plain_request(ApiKey.CREATE_ACLS, creations=[acl]), 3).results
    return int(result.error_code)


def create_topic(client: WireClient) -> None:
    topic = {"name": "records", "num_partitions": 1, "replication_factor": 1}
    client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=[topic], timeout_ms=60_000), 5)


def produce(client: WireClient) -> int:
    row = row_of(ApiKey.PRODUCE, 7)
    response = client.ask(plain_request(ApiKey.PRODUCE, **row.fields), row.version)
    return int(response.responses[0].partition_responses[0].error_code)


def test_acls_are_obeyed_at_once_and_after_a_restart(tmp_path: Path) -> None:
    with client_of(OPEN, tmp_path) as client:
        create_topic(client)
        assert produce(client) == ErrorCode.NONE
        assert create_acl(client, deny(AclOperation.WRITE)) == ErrorCode.NONE
        assert produce(client) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with client_of(OPEN, tmp_path) as client:
        assert produce(client) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        (deleted,) = client.ask(plain_request(ApiKey.DELETE_ACLS, filters=[EVERY_ACL]), 3).filter_results
        assert len(deleted.matching_acls) == 1
        assert produce(client) == ErrorCode.NONE
        assert create_acl(client, deny(AclOperation.ALTER, AclResourceType.CLUSTER)) == ErrorCode.NONE
        assert create_acl(client, deny(AclOperation.WRITE)) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_without_acls_only_super_users_may_do_anything(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with client_of({**AUTHORIZER, "super.users": "User:root;User:CN=a, O=b"}, tmp_path) as client:
        assert "no certificate makes its client the super user 'User:CN=a, O=b': write User:CN=a,O=b" in caplog.text
        assert produce(client) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert create_acl(client, deny(AclOperation.WRITE)) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    with client_of({**AUTHORIZER, "super.users": "User:ANONYMOUS"}, tmp_path) as client:
        create_topic(client)
        assert create_acl(client, deny(AclOperation.WRITE)) == ErrorCode.NONE
        assert produce(client) == ErrorCode.NONE


def test_broker_without_an_authorizer_answers_that_security_is_disabled(tmp_path: Path) -> None:
    with client_of({}, tmp_path) as client:
        assert create_acl(client, deny(AclOperation.WRITE)) == ErrorCode.SECURITY_DISABLED


def test_acls_that_cannot_be_decoded_stop_the_start(tmp_path: Path) -> None:
    with client_of(OPEN, tmp_path) as client:
        assert create_acl(client, deny(AclOperation.WRITE)) == ErrorCode.NONE
    with closing(sqlite3.connect(tmp_path / METADATA_STORE_FILE)) as database, database:
        changed = database.execute("UPDATE znode SET data = ? WHERE path = ?", (b"{", "/kafka-acl/Topic/records"))
        assert changed.rowcount == 1
    with pytest.raises(StartError, match=r"/kafka-acl/Topic/records.* is damaged"), client_of(OPEN, tmp_path):
        pass


def test_allowed_accesses_are_logged_as_soon_as_the_level_asks_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def set_level(level: str) -> None:
        configs = [{"name": AUTHORIZER_LOGGER, "config_operation": 0, "value": level}]
        resource = {"resource_type": 8, "resource_name": "1001", "configs": configs}
        request = plain_request(ApiKey.INCREMENTAL_ALTER_CONFIGS, resources=[resource], validate_only=False)
        assert client.ask(request, 1).responses[0].error_code == ErrorCode.NONE

    def logged_writes() -> int:
        return sum("Allowed Operation = Write" in message for message in caplog.messages)

    with client_of(OPEN, tmp_path) as client:
        create_topic(client)
        try:
            for level, lines in (("INFO", 0), ("DEBUG", 1), ("INFO", 1)):
                set_level(level)
                assert produce(client) == ErrorCode.NONE
                assert logged_writes() == lines
        finally:
            logging.getLogger(AUTHORIZER_LOGGER).setLevel(logging.NOTSET)
