"""Tests that brokers which throttle their clients lose no record, and read nothing sooner than they told the client."""

from collections.abc import Callable
from dataclasses import replace
from weakref import WeakKeyDictionary

import pytest
from pybroker.broker.network.request import ConnectionInfo, Reply, Request
from pybroker.broker.quotas.quota_entity import DEFAULT, QuotaEntity
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.broker.requests.throttling import Throttling
from pybroker.controller.tree.metadata_store import Create
from pybroker.controller.tree.znodes import ConfigEntity
from pybroker.protocol.apis import ApiKey
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.runs.shortening import useful_lines
from simulation.runs.simulation_run import Plan, run_seed

SEEDS = (5, 8, 20, 33)
QUOTAS = {"producer_byte_rate": "120", "consumer_byte_rate": "700"}
"""Less than the clients of a run want."""


class Mutes:
    """Checks at each request that its connection was muted long enough. ``told``: number of throttle times by API."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: dict[ApiKey, int] = {}
        self._now_s: Callable[[], float] = lambda: 0.0
        self._until_s: WeakKeyDictionary[ConnectionInfo, float] = WeakKeyDictionary()
        handle: Callable[[Dispatcher, Request], Reply] = Dispatcher.__call__
        finish = Throttling.finish

        def checked(dispatcher: Dispatcher, request: Request) -> Reply:
            assert self._now_s() >= self._until_s.get(request.connection, 0.0) - 1e-6, "read too soon"
            return handle(dispatcher, request)

        def noted(throttling: Throttling, key: ApiKey, request: Request, *, has_response: bool) -> None:
            finish(throttling, key, request, has_response=has_response)
            if request.throttle_time_ms:
                self.told[key] = self.told.get(key, 0) + 1
                until_s = self._now_s() + request.throttle_time_ms / 1000
                self._until_s[request.connection] = max(until_s, self._until_s.get(request.connection, 0.0))

        monkeypatch.setattr(Dispatcher, "__call__", checked)
        monkeypatch.setattr(Throttling, "finish", noted)

    def prepare(self, cluster: SimulatedCluster) -> None:
        self._now_s = cluster.loop.time
        entity_type, name = QuotaEntity(client_id=DEFAULT).node
        node = ConfigEntity(entity_type, name, QUOTAS).encode()
        paths = ("/config", f"/config/{entity_type}", f"/config/{entity_type}/{name}")
        creates = [Create(path, node if path == paths[-1] else b"") for path in paths]
        cluster.zookeeper._apply(creates, 0)


@pytest.fixture
def mutes(monkeypatch: pytest.MonkeyPatch) -> Mutes:
    return Mutes(monkeypatch)


@pytest.mark.parametrize("seed", SEEDS)
def test_throttled_clients_lose_no_record_and_are_not_read_sooner_than_told(seed: int, mutes: Mutes) -> None:
    result = run_seed(seed, replace(Plan.of_seed(seed), broker_count=3), mutes.prepare)
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))
    assert mutes.told.get(ApiKey.PRODUCE, 0) > 5
    assert mutes.told.get(ApiKey.FETCH, 0) > 5
