"""`pybroker cluster features` against a broker in this process, and against a cluster of two."""

from collections.abc import Iterator
from typing import Any

import pytest
from pybroker import Broker, Cluster
from pybroker.cli.cluster.shapes import ClusterFeature, FeatureChange
from pybroker.config.authorization import ACL_AUTHORIZER
from support.clients.commands import checked_json, run


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker({"group.coordinator.rebalance.protocols": "classic,consumer"}) as broker:
        yield broker.bootstrap_servers


def _levels(servers: str) -> dict[str, Any]:
    rows = checked_json(servers, ClusterFeature, "cluster", "features")
    return {row["feature"]: (row["level"], row["lowest"], row["highest"]) for row in rows}


def test_features_are_listed_with_the_levels_that_the_brokers_support(servers: str) -> None:
    assert _levels(servers) == {"group.version": (1, 0, 1), "transaction.version": (2, 0, 2)}


def test_level_is_lowered_and_raised(servers: str) -> None:
    lowered = checked_json(servers, FeatureChange, "cluster", "features", "transaction.version=0", "-y")
    assert [(row["old_level"], row["new_level"], row["change"]) for row in lowered] == [(2, 0, "lowered")]
    assert _levels(servers)["transaction.version"][0] == 0
    raised = checked_json(servers, FeatureChange, "cluster", "features", "transaction.version=2")
    assert [(row["old_level"], row["new_level"], row["change"]) for row in raised] == [(0, 2, "raised")]
    assert _levels(servers)["transaction.version"][0] == 2


def test_dry_run_changes_no_level(servers: str) -> None:
    ran = run(servers, "cluster", "features", "transaction.version=1", "group.version=1", "--dry-run")
    assert ran.code == 0, ran.err
    assert "would be lowered" in ran.out
    assert "would be kept" in ran.out
    assert _levels(servers)["transaction.version"][0] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["group.version"], 2, "must be FEATURE=LEVEL"),
        (["group.version=-1"], 2, "must be FEATURE=LEVEL"),
        (["group.version=40000"], 2, "must be FEATURE=LEVEL"),
        (["group.version=1", "group.version=0"], 2, "named twice"),
        (["transaction.version=1"], 2, "no terminal to ask on"),
        (["transaction.version=3"], 1, "transaction.version not raised: Invalid update version 3"),
        (["share.version=1"], 1, "not supported. See group.coordinator.rebalance.protocols in the brokers' settings."),
        (["group.version=0", "-y"], 1, "group.version not lowered: Can not delete"),
        (["transaction.version=3", "--dry-run"], 1, "only supports versions 0-2"),
    ],
)
def test_refused_level_is_told_in_one_line(servers: str, arguments: list[str], code: int, words: str) -> None:
    ran = run(servers, "cluster", "features", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1), ran.err
    assert words in ran.err


def test_user_without_a_right_on_the_cluster_may_not_change_a_level() -> None:
    authorizer = {"authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:admin"}
    with Broker(authorizer) as broker:
        ran = run(broker.bootstrap_servers, "cluster", "features", "transaction.version=1", "-y")
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert "CLUSTER_AUTHORIZATION_FAILED" in ran.err


def test_cluster_lists_its_features_once_a_level_is_raised() -> None:
    with Cluster(2, {"group.coordinator.rebalance.protocols": "classic,consumer"}) as cluster:
        servers = cluster.bootstrap_servers
        none = run(servers, "cluster", "features")
        assert (none.code, none.out) == (0, "")
        assert "the brokers list no feature" in none.err
        refused = run(servers, "cluster", "features", "group.version=1", "share.version=1")
        assert (refused.code, refused.err.count("\n")) == (1, 1)
        assert refused.out.splitlines()[1].split() == ["group.version", "0", "1", "raised"]
        assert "share.version not raised" in refused.err
        assert _levels(servers) == {"group.version": (1, 0, 1), "transaction.version": (0, 0, 2)}
