"""A running broker with an authorizer that records what it is asked, and denies what the test says."""

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any

from pybroker import Broker
from pybroker.base.acls import AclOperation, AclResourceType
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.broker.security.acl.verdicts import Question
from pybroker.broker.security.principal import Principal
from pybroker.protocol.apis import ApiKey
from support.clients.wire_client import WireClient
from support.in_process.rights_table import RIGHTS, Ask, Row
from support.in_process.served_apis import error_codes
from support.load.request_of_each_api import plain_request

__all__ = ["AuthorizedBroker", "RecordingAuthorizer", "authorized_broker", "row_of"]


class RecordingAuthorizer:
    """Denies what is in ``denied``; None: everything."""

    def __init__(self, denied: Set[Ask] | None) -> None:
        self.asked: list[Ask] = []
        self.counts: list[int] = []
        self.clients: set[tuple[Principal, str]] = set()
        self._denied = denied
        self.known: Mapping[Question, bool] = {}

    def may(
        self,
        principal: Principal,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str | None,
        *,
        is_quiet: bool,
        api_key: int,
        count: int = 1,
    ) -> bool:
        ask = Ask(operation, resource_type, name, is_quiet)
        self.asked.append(ask)
        self.counts.append(count)
        self.clients.add((principal, host))
        return self._denied is not None and ask not in self._denied

    def may_by_resource_type(
        self, principal: Principal, host: str, operation: AclOperation, resource_type: AclResourceType, *, api_key: int
    ) -> bool:
        return self.may(principal, host, operation, resource_type, None, is_quiet=False, api_key=api_key)


class AuthorizedBroker:
    """A running broker whose authorizer the test replaces."""

    def __init__(self, broker: Broker, client: WireClient) -> None:
        assert broker._server is not None
        assert broker._server._listeners is not None
        dispatcher = broker._server._listeners._resources.gate.handler
        assert isinstance(dispatcher, Dispatcher)
        self._dispatcher = dispatcher
        self.client = client

    def ask(self, key: ApiKey, row: Row, authorizer: RecordingAuthorizer) -> Any:
        self._dispatcher._authorizer = authorizer
        try:
            return self.client.ask(plain_request(key, **row.fields), row.version)
        finally:
            self._dispatcher._authorizer = None


def row_of(key: ApiKey, version: int) -> Row:
    rows = RIGHTS[key]
    assert not isinstance(rows, str)
    return next(row for row in rows if row.version == version)


SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


@contextmanager
def authorized_broker() -> Iterator[AuthorizedBroker]:
    """With topic records, groups g and known, and transactional ids t and known."""
    made = Broker(SETTINGS)
    with made as broker, WireClient(broker.bootstrap_servers) as client:
        created = {"topics": [{"name": "records", "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 60_000}
        client.ask(plain_request(ApiKey.CREATE_TOPICS, **created), 5)
        for key_type, name in ((0, "g"), (1, "t")):
            found = {"key": name, "key_type": key_type}
            while client.ask(plain_request(ApiKey.FIND_COORDINATOR, **found), 2).error_code:
                pass
        for name in ("g", "known"):
            fields = {**row_of(ApiKey.OFFSET_COMMIT, 7).fields, "group_id": name}
            response = client.ask(plain_request(ApiKey.OFFSET_COMMIT, **fields), 7)
            assert not any(error_codes(response, 7))
        for name in ("t", "known"):
            fields = {"transactional_id": name, "transaction_timeout_ms": 60_000}
            assert not client.ask(plain_request(ApiKey.INIT_PRODUCER_ID, **fields), 4).error_code
        yield AuthorizedBroker(made, client)
