"""Tests of what the job `mirror` carries beside records: settings and ACLs of topics, offsets of groups."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pybroker.base.acls import AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.acl_messages import bindings_in
from pybroker.client.admin_cluster import AdminCluster
from pybroker.client.committed_offsets import committed_offsets
from pybroker.client.target_cluster import TargetCluster
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pybroker.protocol.messages.describe_acls import DescribeAclsRequest
from support.clients.produced import KEEPS_OLD_RECORDS, numbered, produce
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.spark.gathered_rows import need_columns
from support.spark.pipeline_commands import run_command

need_columns()

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {**KEEPS_OLD_RECORDS, "authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:ANONYMOUS"}
OWN = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime", "segment.ms": "123456"}


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[list[str]]:
    """The source and the target."""
    with ExitStack() as stack:
        brokers = [stack.enter_context(BrokerProcess(tmp_path / name, SETTINGS)) for name in ("east", "west")]
        yield [broker.bootstrap_servers for broker in brokers]


def cluster_at(servers: str) -> AdminCluster:
    from pybroker.pipeline.options.kafka_settings import reader_settings

    return AdminCluster(reader_settings({"bootstrap.servers": servers}))


def commit(servers: str, group: str, topic: str, offset: int) -> None:
    with cluster_at(servers) as cluster:
        cluster.commit(group, {TopicPartition(topic, 0): offset})


def offsets_at(servers: str, group: str) -> dict[TopicPartition, int]:
    with cluster_at(servers) as cluster:
        return {at: each.offset for at, each in committed_offsets(cluster, group).items()}


def allow(servers: str, topic: str, principal: str, operation: AclOperation) -> None:
    acl = AclCreation(
        resource_type=AclResourceType.TOPIC,
        resource_name=topic,
        resource_pattern_type=PatternType.LITERAL,
        principal=principal,
        host="*",
        operation=operation,
        permission_type=AclPermission.ALLOW,
    )
    with cluster_at(servers) as cluster:
        (result,) = cluster.ask_controller(CreateAclsRequest(creations=[acl])).results
    assert result.error_code == 0


def acls_at(servers: str) -> set[tuple[str, str, str]]:
    everything = DescribeAclsRequest(
        resource_type_filter=AclResourceType.TOPIC,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=AclOperation.ANY,
        permission_type=AclPermission.ANY,
    )
    with cluster_at(servers) as cluster:
        found = bindings_in(cluster.ask_any(everything))
    return {(each.pattern.name, each.entry.principal, each.entry.operation.name) for each in found}


def test_settings_acls_and_group_offsets_are_carried_to_the_target(
    spark: "SparkSession", clusters: list[str], tmp_path: Path
) -> None:
    east, west = clusters
    create_topic(east, "t", 1, OWN)
    create_topic(east, "empty", 2)
    allow(east, "empty", "User:carol", AclOperation.READ)
    allow(east, "t", "User:alice", AclOperation.READ)
    allow(east, "t", "User:bob", AclOperation.WRITE)
    produce(east, numbered("t", [0], 20))
    commit(east, "readers", "t", 12)
    commit(east, "slow", "t", 3)
    arguments = ["mirror", "--source", east, "--target", west, "--topics", "t,empty", "--prefix", "of.", "--acls"]
    arguments += ["--carry-groups", "readers,slow", "--checkpoint", str(tmp_path / "mirror"), "--available-now"]
    assert run_command(spark, *arguments, "--metrics-file", str(tmp_path / "of.prom")) == 0
    metrics = (tmp_path / "of.prom").read_text()
    assert f'pybroker_pipeline_rows_total{{pipeline="mirror",target="{west}"}} 20\n' in metrics

    with TargetCluster(cluster_at(west).settings) as cluster:
        kept = {name: value for name, value in OWN.items() if name != "message.timestamp.type"}
        assert cluster.topic_settings(["of.t"], own=True) == {"of.t": kept}
        assert len(cluster.partitions(["of.empty"])) == 2
    assert acls_at(west) == {("of.t", "User:alice", "READ"), ("of.empty", "User:carol", "READ")}
    at = TopicPartition("of.t", 0)
    assert (offsets_at(west, "readers"), offsets_at(west, "slow")) == ({at: 12}, {at: 3})

    commit(west, "slow", "of.t", 15)
    commit(east, "slow", "t", 4)
    commit(east, "readers", "t", 20)
    assert run_command(spark, *arguments) == 0
    assert offsets_at(west, "readers") == {at: 20}
    assert offsets_at(west, "slow") == {at: 15}, "offsets of the target never go back"
