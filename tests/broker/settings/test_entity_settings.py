"""Settings of users reach the part that keeps their credentials, and quotas, from the start on and when they change."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from pybroker.broker.quotas.client_quotas import ClientQuotas
from pybroker.broker.quotas.connection_rates import ConnectionRates
from pybroker.broker.quotas.quota_settings import QuotaSettings
from pybroker.broker.quotas.quota_type import QuotaType
from pybroker.broker.quotas.sampled_rate import Windows
from pybroker.broker.settings.entity_settings import EntitySettings
from pybroker.controller.tree.client_entities import change_client_entity
from pybroker.controller.tree.cluster_tree import ClusterTree
from support.in_process.embedded_tree import embedded_tree

SECRET = {"SCRAM-SHA-256": "salt=c2FsdA==,iterations=4096"}


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[ClusterTree]:
    async with embedded_tree(tmp_path) as opened:
        yield opened


class Users(EntitySettings):
    """Settings in force; ``told``: what the part that keeps users was told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, dict[str, str]]] = []
        self.quotas = QuotaSettings(ClientQuotas(Windows(), Windows()), ConnectionRates(Windows()), self._no_host)
        self.on_user(lambda name, settings: self.told.append((name, dict(settings))))

    async def _no_host(self, host: str) -> list[str]:
        raise OSError(host)

    def is_limited(self, user: str) -> bool:
        return self.quotas.clients.rates[QuotaType.PRODUCE].record(user, "c", 1e9, 0) > 0


async def set_settings(tree: ClusterTree, entity_type: str, name: str, settings: Mapping[str, str]) -> None:
    await change_client_entity(tree, entity_type, name, lambda _old: settings)


async def test_users_are_told_at_the_start_under_their_own_names(tree: ClusterTree) -> None:
    await set_settings(tree, "users", "J%C3%BCrgen%2F1", {**SECRET, "producer_byte_rate": "1"})
    for path in ("users/<default>", "users/ann/clients/c", "clients/c", "ips/10.0.0.1"):
        entity_type, _, name = path.partition("/")
        await set_settings(tree, entity_type, name, {"producer_byte_rate": "5"})
    users = Users()
    await users.load(tree, users.quotas)
    assert ("Jürgen/1", {**SECRET, "producer_byte_rate": "1"}) in users.told
    assert {name for name, settings in users.told if settings} == {"Jürgen/1"}
    assert users.is_limited("Jürgen/1")


async def test_changes_of_a_user_reach_quotas_and_credentials(tree: ClusterTree) -> None:
    users = Users()
    await users.load(tree, users.quotas)
    take = users.takers["users"]
    await take("ann", {**SECRET, "producer_byte_rate": "1"})
    assert users.is_limited("ann")
    await take("ann", {})
    assert not users.is_limited("ann")
    assert users.told == [("ann", {**SECRET, "producer_byte_rate": "1"}), ("ann", {})]


async def test_only_users_are_told(tree: ClusterTree) -> None:
    users = Users()
    await users.load(tree, users.quotas)
    await users.takers["users"]("<default>", SECRET)
    await users.takers["users"]("ann/clients/c", SECRET)
    await users.takers["users"]("ann/other/c", SECRET)
    await users.takers["clients"]("ann", SECRET)
    await users.takers["ips"]("10.0.0.1", SECRET)
    assert users.told == []
