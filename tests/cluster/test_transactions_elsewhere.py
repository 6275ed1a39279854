"""Tests whether a cluster serves transactions: until that is known, clients get retriable errors."""

from pathlib import Path

from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.in_process.broker_cluster import BrokerCluster, until
from support.in_process.silent_broker import SilentBroker


async def test_transactions_are_refused_only_after_every_broker_is_known(tmp_path: Path) -> None:
    cluster, silent = BrokerCluster(tmp_path, {"controller.socket.timeout.ms": "200"}), SilentBroker()
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=["t"])

    async def answer() -> int:
        return int((await cluster.ask(1, request, 4)).coordinators[0].error_code)

    await cluster.start(1)
    await until(lambda: cluster[1]._cache.broker_ids == [1], "it was told that it is alone")
    assert await answer() == ErrorCode.UNSUPPORTED_VERSION
    await silent.join(cluster.zookeeper)
    await until(lambda: silent.broker_id in cluster[1]._cache.broker_ids, "it is known")
    assert await answer() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    await cluster.close()
    await silent.leave()


async def test_broker_without_metadata_does_not_assume_it_is_alone(tmp_path: Path) -> None:
    cluster = BrokerCluster(tmp_path)
    await cluster.start(1)
    links = cluster[1]._links
    assert links is not None
    await until(lambda: cluster[1]._cache.broker_ids == [1], "it was told")
    assert await links.meets_kafka() is False
    links._cache = MetadataCache()  # the state before the controller's first UpdateMetadata
    assert await links.meets_kafka() is None
    await cluster.close()
