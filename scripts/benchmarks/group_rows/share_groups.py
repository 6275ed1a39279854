"""Rows about share groups (KIP-932), which Kafka 4.2's tool reads: `scripts/bench --only "share group"`."""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_versions import KRaftProcess, libs_of

from benchmarks.contestants import NEWER_KAFKA, Contestant, cpu_seconds, with_new_groups
from benchmarks.kafka_tools import run_tool
from benchmarks.scenarios import Scenario
from benchmarks.targets import CPU, ratio_at_least
from benchmarks.workloads import BATCHES, Load, Site

__all__ = ["SHARE_GROUPS"]

_TOOL = "org.apache.kafka.tools.ShareConsumerPerformance"
_GROUP_RESOURCE = 32
_WARM_UP = 0.2
"""Share of the records that a group reads before the clock runs."""
_LOAD = Load("shared", 400_000, 100, BATCHES, partitions=4)
_SETTINGS = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.share.min.heartbeat.interval.ms": "200",  # so that joining, which takes heartbeats, takes little of the time
    "group.share.heartbeat.interval.ms": "200",
    "group.share.partition.max.record.locks": "2000",  # Kafka 4.2's default
}


def share_groups(consumers: int, contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    figures = {}
    for contestant in contestants:
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            broker = with_new_groups(contestant.name, Path(directory) / "broker", _SETTINGS)
            try:
                _LOAD.fill(Site(broker.bootstrap_servers, scale))
                records = int(_LOAD.records * scale)
                _read(broker, "warm-up", consumers, int(records * _WARM_UP))
                figures[contestant.name] = _read(broker, "measured", consumers, records)
            finally:
                broker.kill()
    return figures


def _read(broker: BrokerProcess | KRaftProcess, group: str, consumers: int, records: int) -> dict[str, float]:
    _begin_at_the_start(broker.bootstrap_servers, group)
    used_s = cpu_seconds(broker.pid)
    output = run_tool(
        _TOOL,
        *("--bootstrap-server", broker.bootstrap_servers, "--topic", _LOAD.topic, "--group", group),
        *("--num-records", str(records), "--threads", str(consumers), "--timeout", "60000"),
        heap="1g",
        libs=libs_of(NEWER_KAFKA),
    )
    fields = [field.strip() for field in output.strip().splitlines()[-1].split(",")]
    used_s = cpu_seconds(broker.pid) - used_s
    return {"records/s": float(fields[4]), "broker CPU s": used_s}


def _begin_at_the_start(servers: str, group: str) -> None:
    setting = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    resource = AlterConfigsResource(resource_type=_GROUP_RESOURCE, resource_name=group, configs=[setting])
    with WireClient(servers) as client:
        (response,) = client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    assert not response.error_code, response


def _row(consumers: int) -> Scenario:
    return Scenario(
        f"share group of {consumers} consumer{'s' * (consumers > 1)}, 400 K x 100 B over 4 partitions (Kafka 4.2)",
        (ratio_at_least("records/s", 1.0), CPU),
        partial(share_groups, consumers),
    )


SHARE_GROUPS = (_row(1), _row(10))
