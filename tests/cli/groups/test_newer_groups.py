"""``pybroker groups`` and ``explain group`` with share groups, and with consumer groups of KIP-848."""

import json
import urllib.request
from collections.abc import Callable

import pytest
from pybroker import Broker
from pybroker.cli.explain.shapes import GroupExplanation
from pybroker.cli.groups.group_partitions import lag_in
from pybroker.cli.groups.shapes import GroupDescription, GroupListed, OffsetChange
from pybroker.client.committed_offsets import Committed
from pybroker.config.authorization import ACL_AUTHORIZER
from support.clients.commands import Pybroker, checked_json, rows_of, run
from support.clients.newer_members import join_consumer_group, join_share_group, leave_share_group
from support.clients.topics import create_topic
from support.clients.wire_client import WireClient
from support.clients.wire_member import wait_for_coordinator

Fill = Callable[..., str]
NOW_MS = 1_750_000_000_000


def test_share_group_is_shown_reset_and_deleted(
    pybroker: Pybroker, filled: Fill, servers: str, http: str, group: str
) -> None:
    topic = filled(2, [NOW_MS] * 5)
    wait_for_coordinator(servers, group)
    with WireClient(servers) as client:
        member_id = join_share_group(client, group, [topic])
        (row,) = rows_of(pybroker("groups", "list", group, "--lag", "-o", "json").out, GroupListed)
        assert (row["members"], row["group_type"]) == (1, "share")
        (view,) = rows_of(pybroker("groups", "describe", group, "-o", "json").out, GroupDescription)
        assert (view["state"], view["group_type"]) == ("Stable", "share")
        (member,) = view["members"]
        assert (member["member_id"], member["topics"]) == (member_id, [topic])
        assert member["assignment"] == [{"topic": topic, "partitions": [0, 1]}]
        for command in (("reset", "--to", "1", "--topics", topic, "--execute"), ("delete", "--yes")):
            refused = pybroker("groups", command[0], group, *command[1:])
            assert (refused.code, f"group {group} has 1 member (wire at " in refused.err) == (1, True)
        kicked = pybroker("groups", "kick", group, "--member", member_id, "--yes")
        assert kicked.err == f"pybroker: {group} is a share group; only a member itself can leave it\n"
        (explained,) = rows_of(pybroker("explain", "group", group, "-o", "json").out, GroupExplanation)
        assert (explained["is_healthy"], explained["members"], explained["findings"]) == (True, 1, [])
        with urllib.request.urlopen(f"{http}/v1/groups/{group}", timeout=60) as response:
            (told,) = json.load(response)["members"]
        assert (told["member_id"], told["subscribed_topics"]) == (member_id, [topic])
        assert told["session_timeout_ms"] == 45_000
        leave_share_group(client, group, member_id)
    rows = rows_of(
        pybroker("groups", "reset", group, "--to", "2", "--topics", topic, "--execute", "-o", "json").out, OffsetChange
    )
    assert [row["new_offset"] for row in rows] == [2, 2]
    (view,) = rows_of(pybroker("groups", "describe", group, "-o", "json").out, GroupDescription)
    assert [(each["committed"], each["end_offset"]) for each in view["partitions"]] == [(2, 5), (2, 5)]
    assert pybroker("groups", "export", group).out == f"{topic},0,2\n{topic},1,2\n"
    assert pybroker("groups", "delete", group, "--yes").code == 0
    assert pybroker("groups", "describe", group).code == 3


def test_lag_of_a_share_group_is_that_which_its_coordinator_tells() -> None:
    told = Committed(2, None, "", 3)
    assert (lag_in("share", told, 0, 9), lag_in("share", told._replace(lag=None), 0, 9)) == (3, None)
    assert lag_in("consumer", told._replace(lag=None), 0, 9) == 7


def test_partition_that_share_members_have_together_names_none_of_them(
    pybroker: Pybroker, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(1, [NOW_MS])
    wait_for_coordinator(servers, group)
    with WireClient(servers) as client:
        for _ in range(2):
            join_share_group(client, group, [topic])
        (view,) = rows_of(pybroker("groups", "describe", group, "-o", "json").out, GroupDescription)
    assert len(view["members"]) == 2
    assert [each["member_id"] for each in view["partitions"]] == [None]


def test_pattern_of_a_member_is_shown_and_its_topics_are_explained(
    pybroker: Pybroker, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    with WireClient(servers) as client:
        join_consumer_group(client, group, pattern=f"{topic}.*")
        (view,) = rows_of(pybroker("groups", "describe", group, "-o", "json").out, GroupDescription)
        assert [(each["topics"], each["pattern"]) for each in view["members"]] == [([], f"{topic}.*")]
        assert f"pattern {topic}.*" in pybroker("groups", "describe", group, "-o", "wide").out
        (explained,) = rows_of(pybroker("explain", "group", group, "-o", "json").out, GroupExplanation)
    assert (explained["is_healthy"], explained["findings"]) == (True, [])


@pytest.mark.parametrize("joins", [join_consumer_group, join_share_group])
def test_group_with_a_topic_that_may_not_be_described_is_refused_and_not_missing(
    joins: Callable[[WireClient, str, list[str]], str],
) -> None:
    settings = {"authorizer.class.name": ACL_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
    one = {f"{name}.num.partitions": "1" for name in ("offsets.topic", "share.coordinator.state.topic")}
    with Broker(settings | one) as broker:
        servers = broker.bootstrap_servers
        create_topic(servers, "denied", 1)
        wait_for_coordinator(servers, "g")
        with WireClient(servers) as client:
            joins(client, "g", ["denied"])
            assert run(servers, "acls", "add", "--deny", "ANONYMOUS", "--describe", "--topic", "denied").code == 0
            for command in ("describe", "delete"):
                refused = run(servers, "groups", command, "g")
                assert (refused.code, refused.err.count("\n")) == (4, 1)
                assert refused.err.startswith("pybroker: group g: ")
                assert "TOPIC_AUTHORIZATION_FAILED" in refused.err
            listed = run(servers, "groups", "list", "--lag", "-o", "json")
            assert (listed.code, "group g: " in listed.err) == (4, True)
            (row,) = rows_of(listed.out, GroupListed)
            assert (row["group"], row["members"]) == ("g", None)
            assert checked_json(servers, GroupListed, "groups", "list")[0]["group"] == "g"
