"""Tests of ``explain lag``: verdicts and rates from several looks at a group."""

import time
from collections.abc import Callable, Sequence

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.cli.explain.evidence import Evidence, Look, Told
from pybroker.cli.explain.explain_lag import lag_explanation_of
from pybroker.cli.explain.shapes import LagExplanation
from pybroker.cli.groups.described_groups import DescribedGroup
from pybroker.cli.groups.shapes import GroupMember, GroupPartition
from pybroker.views.groups import Assignment
from support.clients.commands import Pybroker, rows_of

NOW_MS = round(time.time() * 1000)
HOUR_MS = 3_600_000
MEMBER = GroupMember(
    member_id="member-1",
    client_id="client",
    host="/10.0.0.7",
    instance_id=None,
    topics=("orders",),
    assignment=(Assignment(topic="orders", partitions=(0, 1)),),
)


def row(partition: int, committed: int, end: int, lag_seconds: float) -> GroupPartition:
    return GroupPartition(
        group="billing",
        topic="orders",
        partition=partition,
        committed=committed,
        leader_epoch=None,
        metadata="",
        leader=1,
        start_offset=0,
        end_offset=end,
        lag=end - committed,
        lag_seconds=lag_seconds,
        is_offset_lost=False,
        problem=None,
        member_id=MEMBER.member_id,
        client_id=MEMBER.client_id,
        host=MEMBER.host,
    )


def explained(
    *partitions: Sequence[tuple[int, int]], lag_seconds: float = 5.0, told: Told | None = None
) -> LagExplanation:
    """Looks a second apart, as (committed, end) of each partition."""
    group = DescribedGroup("billing", "Stable", "consumer", "range", "classic", 1, (MEMBER,))
    looks = [
        Look(
            float(second),
            group,
            {
                TopicPartition("orders", number): row(number, *places[second], lag_seconds)
                for number, places in enumerate(partitions)
            },
        )
        for second in range(len(partitions[0]))
    ]
    leaders = {TopicPartition("orders", number): 1 for number in (0, 1)}
    return lag_explanation_of("billing", Evidence(tuple(looks), leaders, {}, told, 5.0))


def kinds(view: LagExplanation) -> list[str]:
    return [each.kind for each in view.findings]


def test_group_that_reads_faster_than_records_come_catches_up() -> None:
    view = explained([(0, 1000), (300, 1100), (600, 1200)], lag_seconds=90)
    assert (view.verdict, view.is_healthy) == ("catching_up", True)
    assert (view.read_per_second, view.written_per_second, view.seconds_to_catch_up) == (300, 100, 3.0)


def test_group_that_reads_slower_than_records_come_falls_behind() -> None:
    view = explained([(0, 1000), (100, 1300), (200, 1600)])
    assert (view.verdict, view.is_healthy, view.seconds_to_catch_up) == ("falling_behind", False, None)
    assert "too_slow" in kinds(view)


def test_group_without_commits_has_stopped_when_its_records_are_old() -> None:
    young = explained([(10, 100), (10, 110), (10, 120)], lag_seconds=5)
    assert (young.verdict, kinds(young)) == ("ok", [])
    old = explained([(10, 100), (10, 110), (10, 120)], lag_seconds=61)
    assert (old.verdict, kinds(old)) == ("stopped", ["member_silent"])
    assert old.findings[0].culprit == "client at /10.0.0.7 (member member-1)"


def test_record_that_a_member_cannot_read_is_told_from_a_silent_member() -> None:
    view = explained([(10, 100), (10, 100), (10, 100)], [(0, 50), (20, 60), (40, 70)], lag_seconds=61)
    assert kinds(view) == ["partition_silent"]
    assert "the record at offset 10" in view.findings[0].text


def test_verdict_of_the_broker_comes_before_that_of_the_looks() -> None:
    told = Told(1, NOW_MS, {"verdict": "rewound"}, None, {}, ())
    assert explained([(0, 1000), (300, 1100), (600, 1200)]).verdict == "catching_up"
    assert explained([(0, 1000), (300, 1100), (600, 1200)], told=told).verdict == "rewound"


def test_lag_of_one_partition_is_told() -> None:
    assert "lag_skewed" in kinds(explained([(0, 1000)] * 3, [(10, 11)] * 3, [(10, 11)] * 3))
    assert "lag_skewed" not in kinds(explained([(0, 1000)] * 3, [(10, 11)] * 3))


def test_group_without_lag_is_healthy(pybroker: Pybroker, filled: Callable[..., str], group: str) -> None:
    topic = filled(1, [NOW_MS - HOUR_MS])
    pybroker("groups", "reset", group, "--to", "latest", "--topics", topic, "--execute")
    ran = pybroker("explain", "lag", group, "-o", "json")
    (view,) = rows_of(ran.out, LagExplanation)
    assert (ran.code, view["verdict"], view["lag"]) == (0, "ok", 0)
    pybroker("groups", "reset", group, "--to", "earliest", "--execute")
    ran = pybroker("explain", "lag", group)
    assert ran.code == 10
    assert ran.out.startswith(f"{group} does NOT READ: it has no members")


@pytest.mark.parametrize("columns", ["60", "200"])
def test_records_that_were_deleted_unread_are_no_success(
    columns: str, pybroker: Pybroker, filled: Callable[..., str], group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    topic = filled(1, [NOW_MS - HOUR_MS] * 5)
    pybroker("groups", "reset", group, "--to", "2", "--topics", topic, "--execute")
    pybroker("topics", "empty", topic, "--yes")
    ran = pybroker("explain", "lag", group)
    assert ran.code == 10
    assert ran.out.startswith(f"{group} has LOST 3 records unread; all others are read")
    deleted = "3 records that the group had not read were deleted, by retention or by DeleteRecords"
    assert deleted in " ".join(ran.out.split())
    assert all(len(line) <= int(columns) for line in ran.out.splitlines()[1:])
    of_topic = " ".join(pybroker("explain", "topic", topic).out.split())
    assert f"group {group} has offsets outside the log in partition 0" in of_topic


def test_command_says_which_subjects_there_are(pybroker: Pybroker) -> None:
    shown = pybroker("explain", "--help").out
    assert all(f"\n  {subject} " in shown for subject in ("group", "lag", "acl"))
    assert pybroker("explain", "grup", "x").code == 2
