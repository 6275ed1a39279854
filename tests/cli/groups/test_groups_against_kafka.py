"""Commands about groups against Apache Kafka 3.9."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.cli.explain.shapes import GroupExplanation
from pybroker.cli.groups.shapes import GroupDescription, GroupListed, GroupPartition, OffsetChange
from support.clients.commands import Pybroker, rows_of
from support.clients.produced import Produced, produce
from support.clients.wire_member import WireMember
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

pytestmark = pytest.mark.long


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[str]:
    zookeeper = ZooKeeperProcess(tmp_path / "zookeeper").start()
    kafka = KafkaProcess(tmp_path / "kafka", zookeeper, {"group.initial.rebalance.delay.ms": "0"}).start()
    try:
        yield kafka.bootstrap_servers
    finally:
        kafka.stop()
        zookeeper.kill()


def test_groups_are_shown_changed_and_explained(pybroker: Pybroker, servers: str, topic: str, tmp_path: Path) -> None:
    now_ms = round(time.time() * 1000)
    assert pybroker("topics", "create", topic, "-p", "2").code == 0
    produce(
        servers,
        [Produced(topic, part, -1, now_ms - 7_200_000 + each, None, b"x") for part in (0, 1) for each in range(10)],
        compression_type="lz4",
    )
    reset = pybroker("groups", "reset", "billing", "--to", "3", "--topics", topic, "--execute", "-o", "json")
    assert [row["new_offset"] for row in rows_of(reset.out, OffsetChange)] == [3, 3]
    (listed,) = rows_of(pybroker("groups", "list", "--lag", "-o", "json").out, GroupListed)
    assert (listed["state"], listed["lag"]) == ("Empty", 14)
    lag = pybroker("groups", "lag", "billing", "--fail-above", "1h", "-o", "json")
    assert lag.code == 10
    assert all(7_200 <= row["lag_seconds"] < 7_300 for row in rows_of(lag.out, GroupPartition))
    with WireMember(servers, "billing", [topic]) as slow, WireMember(servers, "billing", [topic]) as new:
        slow.join_alone({topic: [0, 1]})
        (described,) = rows_of(pybroker("groups", "describe", "billing", "-o", "json").out, GroupDescription)
        assert [row["member_id"] for row in described["partitions"]] == [slow.member_id] * 2
        assert pybroker("groups", "reset", "billing", "--to", "latest", "--execute").code == 1
        silent = pybroker("explain", "group", "billing", "--for", "0.5", "-o", "json")
        (explained,) = rows_of(silent.out, GroupExplanation)
        assert [each["kind"] for each in explained["findings"]] == ["member_silent"]
        new.begin_join()
        stuck = pybroker("explain", "group", "billing", "--for", "0.5", "--stuck-after", "0.5")
        assert (stuck.code, "is STUCK in PreparingRebalance" in stuck.out) == (10, True)
        assert pybroker("groups", "kick", "billing", "--member", slow.member_id, "--yes").code == 0
        assert new.finish_join().error_code == 0
        new.leave()
    file = tmp_path / "offsets.csv"
    file.write_text(pybroker("groups", "export", "billing").out)
    assert pybroker("groups", "import", "copy", str(file), "--execute").code == 0
    assert pybroker("groups", "delete", "billing", "copy", "--yes").code == 0
    assert pybroker("groups", "list").out == ""
