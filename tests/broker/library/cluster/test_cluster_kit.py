"""Faults and acts on a cluster whose brokers have processes of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker import Cluster
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.broker.library.cluster.members import BrokerMember
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.load.request_of_each_api import plain_request

SETTINGS = {"pybroker.test.kit": "true", "offsets.topic.num.partitions": "1"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[BlockingCluster]:
    with Cluster(2, SETTINGS, mode="process") as cluster:
        yield cluster


def code(cluster: BlockingCluster, broker: int) -> int:
    with WireClient(cluster.bootstrap_server(broker), 20) as client:
        return int(client.ask(plain_request(ApiKey.API_VERSIONS), 0).error_code)


def test_fault_fires_on_all_brokers_and_is_counted_over_all(cluster: BlockingCluster) -> None:
    with cluster.faults.error("ApiVersions", "NOT_CONTROLLER", client="wi*") as fault:
        assert [code(cluster, broker) for broker in (1, 2, 2)] == [ErrorCode.NOT_CONTROLLER] * 3
        fault.wait_fired(3, 20)
        assert fault.fired == 3
        assert list(cluster.faults.all()) == [fault]
    assert [code(cluster, broker) for broker in (1, 2)] == [0, 0]
    assert fault.fired == 3, "the count outlasts the fault"
    assert list(cluster.faults.all()) == []


def test_fault_of_one_broker_fires_there_alone(cluster: BlockingCluster) -> None:
    with cluster.brokers[2].faults.error("ApiVersions", "NOT_CONTROLLER") as fault:
        assert list(cluster.brokers[1].faults.all()) == []
        assert [code(cluster, broker) for broker in (1, 2)] == [0, ErrorCode.NOT_CONTROLLER]
        assert fault.fired == 1


def test_words_without_meaning_are_refused_before_a_broker_is_asked(cluster: BlockingCluster) -> None:
    with pytest.raises(ValueError, match="there is no API 'Fech'; did you mean Fetch"):
        cluster.faults.hang("Fech")
    with pytest.raises(ValueError, match="there is no word 'tpic'"):
        cluster.faults.hang("Fetch", tpic="t")  # type: ignore[call-arg]
    assert list(cluster.faults.all()) == []


def test_fault_and_its_count_stay_over_a_kill_and_a_start(cluster: BlockingCluster) -> None:
    with cluster.faults.error("ApiVersions", "NOT_CONTROLLER", client="wire") as fault:
        code(cluster, 2)
        cluster.kill(2)
        assert fault.fired == 1
        cluster.start(2)
        assert code(cluster, 2) == ErrorCode.NOT_CONTROLLER
        assert fault.fired == 2


def test_session_of_a_process_expires_and_it_registers_again(cluster: BlockingCluster) -> None:
    cluster.acts.expire_session(2)
    assert code(cluster, 2) == 0
    assert "session with the metadata store has expired" in cluster.log_file(2).read_text()


def test_wait_for_a_removed_fault_ends(cluster: BlockingCluster) -> None:
    fault = cluster.faults.hang("Heartbeat")
    with pytest.raises(TimeoutError, match="has fired 0 times"):
        fault.wait_fired(1, 0.01)
    fault.remove()
    with pytest.raises(TimeoutError, match="was removed after it had fired 0 times"):
        fault.wait_fired(1)


def test_acts_of_processes_refuse_in_plain_words(cluster: BlockingCluster) -> None:
    with pytest.raises(ValueError, match="ms is a whole number from 0 to 60000"):
        cluster.acts.disk(1).slow(-1)
    cluster.acts.disk(1).slow(0)


def test_process_without_the_kit_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"no test kit: set pybroker\.test\.kit=true"):
        BrokerMember(1, tmp_path, {}).act("compact")
