"""Quotas in the metadata tree come into force, at a start and while the broker runs."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from pybroker.broker.quotas.client_quotas import ClientQuotas
from pybroker.broker.quotas.connection_rates import ConnectionRates
from pybroker.broker.quotas.quota_settings import QuotaSettings
from pybroker.broker.quotas.quota_type import QuotaType
from pybroker.broker.quotas.sampled_rate import Windows
from pybroker.controller.tree.client_entities import change_client_entity, read_client_entities
from pybroker.controller.tree.cluster_tree import ClusterTree
from support.in_process.embedded_tree import embedded_tree


class User(NamedTuple):
    name: str


ANN = User("ann")
HOSTS = {"two.example": ["10.0.0.1", "::ffff:10.0.0.2"]}


async def addresses_of(host: str) -> Sequence[str]:
    if host in HOSTS:
        return HOSTS[host]
    if host[0].isdigit():
        return [host]
    raise OSError("no such host")


@pytest.fixture
def quotas() -> QuotaSettings:
    return QuotaSettings(ClientQuotas(Windows(), Windows()), ConnectionRates(Windows()), addresses_of)


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[ClusterTree]:
    async with embedded_tree(tmp_path) as opened:
        yield opened


def is_throttled(quotas: QuotaSettings, client_id: str, quota_type: QuotaType = QuotaType.PRODUCE) -> bool:
    return quotas.clients.rates[quota_type].record(ANN.name, client_id, 1e6, 0) > 0


async def test_quotas_in_the_tree_are_in_force_after_the_start(quotas: QuotaSettings, tree: ClusterTree) -> None:
    for entity_type, name, key in (
        ("users", "ann/clients/c", "producer_byte_rate"),
        ("clients", "<default>", "consumer_byte_rate"),
        ("ips", "10.0.0.9", "connection_creation_rate"),
    ):
        await change_client_entity(tree, entity_type, name, lambda _old, key=key: {key: "0"})  # type: ignore[misc]
    await quotas.load(await read_client_entities(tree))
    assert is_throttled(quotas, "c")
    assert not is_throttled(quotas, "d")
    assert is_throttled(quotas, "d", QuotaType.FETCH)
    assert quotas.connections.record("10.0.0.9", 0)
    assert not quotas.connections.record("10.0.0.8", 0)


async def test_quotas_are_replaced_and_removed_while_the_broker_runs(quotas: QuotaSettings) -> None:
    take = partial(quotas.take, "users")
    await take("ann", {"producer_byte_rate": "1", "consumer_byte_rate": "1", "SCRAM-SHA-256": "salt=secret"})
    await take("ann", {"producer_byte_rate": "1"})
    assert is_throttled(quotas, "c")
    assert not is_throttled(quotas, "c", QuotaType.FETCH)
    await take("ann", {})
    assert not is_throttled(quotas, "c")


async def test_only_a_change_of_quotas_is_logged(quotas: QuotaSettings, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for settings in (
        {"SCRAM-SHA-256": "salt=a"},
        {"producer_byte_rate": "1"},
        {"producer_byte_rate": "1", "x": "y"},
        {},
    ):
        await quotas.take("users", "ann", settings)
    assert caplog.messages == ["quotas of users/ann: producer_byte_rate=1", "quotas of users/ann: none"]


async def test_bad_entities_and_values_are_ignored_and_logged_without_secrets(
    quotas: QuotaSettings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await quotas.take("users", "ann/topics/c", {"producer_byte_rate": "1"})
    await quotas.take(
        "users", "ann", {"producer_byte_rate": "x" * 500, "consumer_byte_rate": "1", "SCRAM-SHA-256": "salt=secret"}
    )
    assert not is_throttled(quotas, "c")
    assert is_throttled(quotas, "c", QuotaType.FETCH)
    await quotas.take("users", "a\nERROR forged" + "x" * 500, {"consumer_byte_rate": "1"})
    lines = [record.getMessage() for record in caplog.records]
    assert [line[:40] for line in lines] == [
        "quotas of users/ann/topics/c are ignored",
        "producer_byte_rate of users/ann is ignor",
        "quotas of users/ann: consumer_byte_rate=",
        "quotas of users/a\\nERROR forgedxxxxxxxxx",
    ]
    assert all(len(line) < 350 for line in lines)
    assert "secret" not in caplog.text


async def test_a_quota_of_a_host_name_holds_for_its_addresses(
    quotas: QuotaSettings, caplog: pytest.LogCaptureFixture
) -> None:
    take = partial(quotas.take, "ips")
    await take("nowhere.invalid", {"connection_creation_rate": "0"})
    assert "nowhere.invalid is ignored" in caplog.text
    await take("two.example", {"connection_creation_rate": "0"})
    assert [quotas.connections.record(f"10.0.0.{each}", 0) > 0 for each in (1, 2, 3)] == [True, True, False]
    await take("two.example", {})
    assert [quotas.connections.record(f"10.0.0.{each}", 0) > 0 for each in (1, 2, 3)] == [False, False, False]
    await take("<default>", {"connection_creation_rate": "0"})
    assert quotas.connections.record("10.0.0.3", 0)
