"""/v1/explain/acl tells what the authorizer decides, and the rule that decides it."""

import asyncio
from typing import Any
from urllib.parse import urlencode

from pybroker.base.acls import AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.broker.library.broker import Broker
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.http_client import HttpClient
from support.clients.wire_client import WireClient
from support.load.request_of_each_api import plain_request

HTTP = {"pybroker.http.listeners": "HTTP://127.0.0.1:0"}
GUARDED = {**HTTP, "authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:ANONYMOUS"}
ASKED = {"user": "bob", "operation": "WRITE", "resource-type": "TOPIC", "resource": "orders.eu"}


async def explained(broker: Broker, **changes: str) -> tuple[int, Any]:
    assert broker.http_url is not None
    async with HttpClient(int(broker.http_url.rpartition(":")[2])) as client:
        response = await client.get(f"/v1/explain/acl?{urlencode(ASKED | changes)}")
        return response.status, response.json()


def create_acls(broker: Broker) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        for permission, name, pattern_type, host in (
            (AclPermission.ALLOW, "orders.", PatternType.PREFIXED, "*"),
            (AclPermission.DENY, "orders.eu", PatternType.LITERAL, "10.0.0.7"),
        ):
            creation = {
                "resource_type": AclResourceType.TOPIC,
                "resource_name": name,
                "resource_pattern_type": pattern_type,
                "principal": "User:bob",
                "host": host,
                "operation": AclOperation.WRITE,
                "permission_type": permission,
            }
            (result,) = client.ask(plain_request(ApiKey.CREATE_ACLS, creations=[creation]), 3).results
            assert result.error_code == ErrorCode.NONE


async def test_the_rule_that_decides_now_is_told() -> None:
    async with Broker(GUARDED) as broker:
        status, view = await explained(broker)
        assert (status, view["allowed"], view["decided_by"], view["rule"]) == (200, False, "NO_ACL", None)
        await asyncio.to_thread(create_acls, broker)
        _, view = await explained(broker)
        rule = {"principal": "User:bob", "host": "*", "operation": "WRITE", "permission": "ALLOW"}
        assert (view["allowed"], view["decided_by"]) == (True, "ALLOW")
        assert view["rule"] == rule | {"resource_type": "TOPIC", "resource": "orders.", "pattern_type": "PREFIXED"}
        assert view["text"].endswith("User:bob may Write from host * on Topic:PREFIXED:orders.")
        _, view = await explained(broker, host="10.0.0.7", user="User:bob")
        assert (view["allowed"], view["decided_by"], view["rule"]["resource"]) == (False, "DENY", "orders.eu")
        _, view = await explained(broker, user="ANONYMOUS", operation="DELETE")
        assert (view["allowed"], view["decided_by"]) == (True, "SUPER_USER")


async def test_without_an_authorizer_everything_is_allowed() -> None:
    async with Broker(HTTP) as broker:
        _, view = await explained(broker)
        assert (view["allowed"], view["decided_by"]) == (True, "NO_AUTHORIZER")
        assert (await explained(broker, operation="CLUSTER_ACTION"))[0] == 404
        assert (await explained(broker, **{"resource-type": "CLUSTER"}))[0] == 404
        status, view = await explained(broker, operation="READS")
        assert (status, list(view)) == (400, ["error"])
