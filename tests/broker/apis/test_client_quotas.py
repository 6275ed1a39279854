"""DescribeClientQuotas and AlterClientQuotas against the embedded metadata store."""

import math
from collections.abc import AsyncIterator, Mapping
from itertools import product
from pathlib import Path

import pytest
from pybroker.broker.apis.configs.alter_client_quotas import AlterClientQuotas
from pybroker.broker.apis.configs.describe_client_quotas import DescribeClientQuotas
from pybroker.controller.tree.client_entities import change_client_entity, read_client_entities
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode, InvalidRequestError, UnknownServerError, UnsupportedVersionError
from pybroker.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from pybroker.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from support.in_process.embedded_tree import embedded_tree
from support.in_process.group_handlers import call, versions

Entity = tuple[tuple[str, str | None], ...]
EXACT, DEFAULT, ANY = 0, 1, 2


class Handlers:
    def __init__(self, tree: ClusterTree) -> None:
        self.tree = tree
        self.awaited = 0
        self._alter = AlterClientQuotas(tree, self._caught_up)
        self._describe = DescribeClientQuotas(tree)

    async def _caught_up(self) -> None:
        self.awaited += 1

    async def alter(
        self, *entries: RequestEntryData, version: int = 1, validate_only: bool = False
    ) -> list[tuple[Entity, ErrorCode, str | None]]:
        request = AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
        answered = (await call(self._alter, version, request)).entries
        return [
            (tuple((each.entity_type, each.entity_name) for each in one.entity), one.error_code, one.error_message)
            for one in answered
        ]

    async def describe(
        self, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
    ) -> dict[Entity, dict[str, float]]:
        request = DescribeClientQuotasRequest(
            components=[ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components],
            strict=strict,
        )
        response = await call(self._describe, version, request)
        assert (response.error_code, response.error_message) == (ErrorCode.NONE, "")
        return {
            tuple((each.entity_type, each.entity_name) for each in one.entity): {
                each.key: each.value for each in one.values
            }
            for one in response.entries
        }

    async def nodes(self) -> dict[tuple[str, str], Mapping[str, str]]:
        return {key: settings for key, settings in (await read_client_entities(self.tree)).items() if settings}


@pytest.fixture
async def handlers(tmp_path: Path) -> AsyncIterator[Handlers]:
    async with embedded_tree(tmp_path) as tree:
        yield Handlers(tree)


def entry(*entity: tuple[str, str | None], **changes: float | None) -> RequestEntryData:
    """An entry that sets quotas; None removes a quota."""
    ops = [OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes.items()]
    return RequestEntryData(
        entity=[RequestEntityData(entity_type=kind, entity_name=name) for kind, name in entity], ops=ops
    )


@pytest.mark.parametrize("version", versions(ApiKey.ALTER_CLIENT_QUOTAS))
async def test_quotas_are_set_described_and_removed(handlers: Handlers, version: int) -> None:
    pair = (("user", "a/b"), ("client-id", None))
    done = await handlers.alter(
        entry(*pair, producer_byte_rate=1e6, request_percentage=12.5),
        entry(("ip", "10.0.0.1"), connection_creation_rate=3.0),
        version=version,
    )
    assert [code for _, code, _ in done] == [ErrorCode.NONE] * 2
    assert await handlers.nodes() == {
        ("users", "a%2Fb/clients/<default>"): {"producer_byte_rate": "1000000", "request_percentage": "12.5"},
        ("ips", "10.0.0.1"): {"connection_creation_rate": "3"},
    }
    assert await handlers.describe(version=version) == {
        pair: {"producer_byte_rate": 1e6, "request_percentage": 12.5},
        (("ip", "10.0.0.1"),): {"connection_creation_rate": 3.0},
    }
    await handlers.alter(entry(*pair, producer_byte_rate=None, consumer_byte_rate=7.0), version=version)
    assert (await handlers.describe(version=version))[pair] == {"request_percentage": 12.5, "consumer_byte_rate": 7.0}
    await handlers.alter(
        entry(*pair, consumer_byte_rate=None, request_percentage=None),
        entry(("ip", "10.0.0.1"), connection_creation_rate=None),
        version=version,
    )
    assert await handlers.nodes() == {}
    assert handlers.awaited == 3


async def test_quotas_that_are_only_validated_change_nothing(handlers: Handlers) -> None:
    (good, bad) = await handlers.alter(
        entry(("user", "ann"), producer_byte_rate=1.0), entry(("user", "bob"), nonsense=1.0), validate_only=True
    )
    assert (good[1], bad[1]) == (ErrorCode.NONE, ErrorCode.INVALID_REQUEST)
    assert await handlers.nodes() == {}
    assert await handlers.tree.config_changes() == []
    assert handlers.awaited == 0


async def test_an_invalid_entry_spoils_no_other_entry(handlers: Handlers) -> None:
    bad, good = await handlers.alter(
        entry(("user", "bob"), producer_byte_rate=1.0, nonsense=1.0), entry(("user", "ann"), producer_byte_rate=1.0)
    )
    assert (bad[1], good[1]) == (ErrorCode.INVALID_REQUEST, ErrorCode.NONE)
    assert await handlers.nodes() == {("users", "ann"): {"producer_byte_rate": "1"}}


async def test_credentials_of_a_user_survive_changes_of_quotas_and_are_not_described(handlers: Handlers) -> None:
    await change_client_entity(handlers.tree, "users", "ann", lambda _old: {"SCRAM-SHA-256": "salt=x"})
    assert await handlers.describe() == {}
    await handlers.alter(entry(("user", "ann"), producer_byte_rate=1.0))
    assert await handlers.describe() == {(("user", "ann"),): {"producer_byte_rate": 1.0}}
    await handlers.alter(entry(("user", "ann"), producer_byte_rate=None))
    assert await handlers.nodes() == {("users", "ann"): {"SCRAM-SHA-256": "salt=x"}}


@pytest.mark.parametrize(
    "bad",
    [
        entry(producer_byte_rate=1.0),
        entry(("shoe", "x"), producer_byte_rate=1.0),
        entry(("user", ""), producer_byte_rate=1.0),
        entry(("user", ".."), producer_byte_rate=1.0),
        entry(("client-id", "."), producer_byte_rate=1.0),
        entry(("user", "x"), ("ip", "10.0.0.1"), connection_creation_rate=1.0),
        entry(("user", "x"), nonsense=1.0),
        entry(("user", "x"), connection_creation_rate=1.0),
        entry(("user", "x"), producer_byte_rate=1.5),
        entry(("user", "x"), producer_byte_rate=-1.0),
        entry(("user", "x"), producer_byte_rate=math.nan),
        entry(("user", "x"), request_percentage=math.nan),
        entry(("ip", "10.0.0.1"), request_percentage=1.0),
        entry(("ip", "10.0.0.1"), connection_creation_rate=2.0**31),
        entry(("ip", "::1"), connection_creation_rate=None),
        entry(("ip", "not an address"), connection_creation_rate=None),
    ],
    ids=str,
)
async def test_invalid_quotas_are_refused_as_invalid(handlers: Handlers, bad: RequestEntryData) -> None:
    ((entity, code, message),) = await handlers.alter(bad)
    assert (code, bool(message)) == (ErrorCode.INVALID_REQUEST, True)
    assert entity == tuple((each.entity_type, each.entity_name) for each in bad.entity)
    assert await handlers.nodes() == {}


async def test_a_quota_entity_with_two_entries_gets_both_and_the_result_of_the_last_entry(handlers: Handlers) -> None:
    done = await handlers.alter(
        entry(("user", "ann"), ("client-id", "c"), producer_byte_rate=1.0),
        entry(("user", "bob"), producer_byte_rate=1.0),
        entry(("client-id", "c"), ("user", "ann"), nonsense=1.0),
    )
    found = [({name for _, name in entity}, code) for entity, code, _ in done]
    assert found == [({"ann", "c"}, ErrorCode.INVALID_REQUEST), ({"bob"}, ErrorCode.NONE)]
    assert ("users", "ann/clients/c") in await handlers.nodes()


# -- filters

STORED: list[Entity] = [
    *((("user", name),) for name in ("a", "b", None)),
    *((("client-id", name),) for name in ("a", "b", None)),
    *((("user", user), ("client-id", client_id)) for user, client_id in product(("a", "b", None), ("a", "b", None))),
    *((("ip", name),) for name in ("10.0.0.1", None)),
]
NAMES = {EXACT: "a", DEFAULT: None, ANY: "ignored"}


def expected(filters: dict[str, int], *, strict: bool) -> set[Entity]:
    """KIP-546: entities with all types of the filter, each name matching; strict ones with no other type."""
    found = set()
    for entity in STORED:
        parts = dict(entity)
        fits = all(
            kind in parts and (how == ANY or parts[kind] == (None if how == DEFAULT else "a"))
            for kind, how in filters.items()
        )
        if fits and (not strict or len(parts) == len(filters)):
            found.add(entity)
    return found


@pytest.mark.parametrize("strict", [False, True])
async def test_the_filter_selects_entities(handlers: Handlers, strict: bool) -> None:
    entries = []
    for entity in STORED:
        is_address = entity[0][0] == "ip"
        entries.append(entry(*entity, **{"connection_creation_rate" if is_address else "request_percentage": 5.0}))
    assert {code for _, code, _ in await handlers.alter(*entries)} == {ErrorCode.NONE}
    hows: tuple[int | None, ...] = (None, EXACT, DEFAULT, ANY)
    filters = [{"user": user, "client-id": client_id} for user, client_id in product(hows, hows)]
    filters += [{"ip": how} for how in hows]
    for each in filters:
        asked = {kind: how for kind, how in each.items() if how is not None}
        found = await handlers.describe(*((kind, how, NAMES[how]) for kind, how in asked.items()), strict=strict)
        assert set(found) == expected(asked, strict=strict)


@pytest.mark.parametrize(
    ("components", "error", "message"),
    [
        ([("shoe-size", 2, None)], UnsupportedVersionError, "'shoe-size' not supported"),
        ([("", 2, None)], InvalidRequestError, "empty"),
        ([("user", 2, None), ("user", 1, None)], InvalidRequestError, "Duplicate user"),
        ([("user", 2, None), ("ip", 2, None)], InvalidRequestError, "IP filter"),
        ([("user", 9, None)], UnknownServerError, None),
        ([("user", 0, None)], UnknownServerError, None),
    ],
)
async def test_an_invalid_filter_is_refused(
    handlers: Handlers, components: list[tuple[str, int, str | None]], error: type[Exception], message: str | None
) -> None:
    with pytest.raises(error, match=message):
        await handlers.describe(*components)
