"""Findings about rebalances, from looks at a group and from what a broker tells."""

from typing import Any

from pybroker.base.topic_partition import TopicPartition
from pybroker.cli.explain.evidence import Evidence, Look, Told
from pybroker.cli.explain.explain_group import explanation_of
from pybroker.cli.explain.shapes import Finding
from pybroker.cli.groups.described_groups import DescribedGroup
from pybroker.cli.groups.shapes import GroupMember
from pybroker.views.groups import TimelineEvent

NOW_MS = 1_000_000_000


def member(name: str, instance_id: str | None = None) -> GroupMember:
    return GroupMember(
        member_id=name, client_id="client", host="/10.0.0.7", instance_id=instance_id, topics=None, assignment=None
    )


def evidence(*looks: tuple[str, tuple[GroupMember, ...]], told: Told | None = None) -> Evidence:
    """Looks a second apart, as (state, members)."""
    return Evidence(
        tuple(
            Look(float(at), DescribedGroup("billing", state, "consumer", None, "classic", 1, members), {})
            for at, (state, members) in enumerate(looks)
        ),
        {TopicPartition("orders", 0): 1},
        {},
        told,
        5.0,
    )


def told(*events: TimelineEvent, waits_for: dict[str, Any] | None = None, **members: int | None) -> Told:
    """``members``: how long ago each sent its last heartbeat, in ms."""
    rows = {
        name: {
            "member_id": name,
            "client_id": "client",
            "host": "/10.0.0.7",
            "session_timeout_ms": 45_000,
            "last_heartbeat_ms": None if ago_ms is None else NOW_MS - ago_ms,
        }
        for name, ago_ms in members.items()
    }
    return Told(1, NOW_MS, {}, waits_for, rows, events)


def event(kind: str, minutes_ago: float, **fields: Any) -> TimelineEvent:
    values: dict[str, Any] = dict.fromkeys(TimelineEvent.__dataclass_fields__)
    values |= {"time_ms": NOW_MS - round(minutes_ago * 60_000), "generation": 7, "kind": kind, "text": "", "times": 1}
    return TimelineEvent(**values | {"client_id": "client", "host": "/10.0.0.7"} | fields)


def findings(given: Evidence, kind: str) -> list[Finding]:
    return [each for each in explanation_of("billing", given).findings if each.kind == kind]


def waiting(since_s: float, *members: str) -> dict[str, Any]:
    return {
        "phase": "join",
        "since_ms": NOW_MS - round(since_s * 1000),
        "until_ms": NOW_MS + 48_000,
        "members": list(members),
    }


def test_member_that_hangs_is_told_from_a_member_that_does_not_poll() -> None:
    rebalancing = ("PreparingRebalance", (member("gone"), member("slow")))
    given = evidence(rebalancing, told=told(waits_for=waiting(30, "gone", "slow"), gone=29_000, slow=1_000))
    gone, slow = findings(given, "member_awaited")
    assert "has sent nothing for 29 s" in gone.text
    assert "it is removed in 48 s" in gone.text
    assert "still sends heartbeats" in slow.text
    assert (gone.culprit, slow.culprit) == ("client at /10.0.0.7 (member gone)", "client at /10.0.0.7 (member slow)")


def test_rebalance_that_has_just_begun_is_no_trouble() -> None:
    rebalancing = ("PreparingRebalance", (member("slow"),))
    young = evidence(rebalancing, told=told(waits_for=waiting(4.9, "slow"), slow=1_000))
    assert explanation_of("billing", young).is_healthy
    old = evidence(rebalancing, told=told(waits_for=waiting(5.1, "slow"), slow=1_000))
    assert not explanation_of("billing", old).is_healthy


def test_member_that_is_removed_while_the_group_is_watched_is_named() -> None:
    both = ("PreparingRebalance", (member("slow"), member("new")))
    (found,) = findings(evidence(both, both, ("CompletingRebalance", (member("new"),))), "member_removed")
    assert found.culprit == "client at /10.0.0.7 (member slow)"


def test_static_members_that_take_turns_are_named() -> None:
    given = evidence(("Stable", (member("a", "shelf"),)), ("Stable", (member("b", "shelf"),)))
    (found,) = findings(given, "instance_id_shared")
    assert found.culprit == "instance shelf"
    assert not findings(given, "member_removed"), "the member was replaced"


def test_explain_sees_no_conflict_in_a_static_member_that_restarts_once() -> None:
    stable = ("Stable", (member("a", "shelf"),))
    once = told(event("member_replaced", 1, instance_id="shelf"))
    assert not findings(evidence(stable, told=once), "instance_id_shared")
    often = told(event("member_replaced", 1, instance_id="shelf", times=3))
    assert findings(evidence(stable, told=often), "instance_id_shared")


def test_rebalances_of_the_last_hour_are_counted_by_client_and_reason() -> None:
    events = [event("rebalance", minute, reason="session_expired", client_id="eu-7") for minute in range(4)]
    events += [event("rebalance", 5, reason="member_joined"), event("rebalance", 61, reason="member_left")]
    (found,) = findings(evidence(("Stable", (member("a"),)), told=told(*events)), "rebalances_often")
    assert found.culprit == "eu-7 at /10.0.0.7"
    assert found.text.startswith("5 rebalances in the last hour, 4 of them")
    assert "session_expired 4" in found.text
    assert "session.timeout.ms" in found.remedies[0]
    few = told(*events[1:])
    assert not findings(evidence(("Stable", (member("a"),)), told=few), "rebalances_often")
