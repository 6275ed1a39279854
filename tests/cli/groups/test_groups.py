"""Tests of ``pybroker groups``."""

import time
from collections.abc import Callable
from pathlib import Path

from pybroker.cli.groups.shapes import (
    CommittedOffset,
    GroupChange,
    GroupDescription,
    GroupListed,
    GroupPartition,
    OffsetChange,
)
from support.clients.commands import Pybroker, rows_of
from support.clients.wire_member import WireMember, wait_for_coordinator

Fill = Callable[..., str]
NOW_MS = round(time.time() * 1000)
HOUR_MS = 3_600_000


def cells(line: str) -> list[str]:
    return line.split()


def test_reset_shows_a_plan_and_stores_it_only_with_execute(pybroker: Pybroker, filled: Fill, group: str) -> None:
    topic = filled(2, [NOW_MS] * 10)
    planned = pybroker("groups", "reset", group, "--to", "4", "--topics", topic)
    assert [cells(line) for line in planned.out.splitlines()[1:]] == [
        [topic, "0", "-", "4", "new", "-"],
        [topic, "1", "-", "4", "new", "-"],
    ]
    assert pybroker("groups", "describe", group).code == 3, "the plan stored nothing"
    assert pybroker("groups", "reset", group, "--to", "4", "--topics", topic, "--execute", "--dry-run").code == 0
    assert pybroker("groups", "describe", group).code == 3, "neither did the dry run"
    assert pybroker("groups", "reset", group, "--to", "4", "--topics", topic, "--execute").code == 0
    (view,) = rows_of(pybroker("groups", "describe", group, "-o", "json").out, GroupDescription)
    assert (view["lag"], [each["committed"] for each in view["partitions"]]) == (12, [4, 4])


def test_reset_finds_offsets_by_time_shift_and_file(
    pybroker: Pybroker, filled: Fill, group: str, tmp_path: Path
) -> None:
    topic = filled(1, [NOW_MS - 5 * HOUR_MS, NOW_MS - 3 * HOUR_MS, NOW_MS - HOUR_MS])
    pybroker("groups", "reset", group, "--to", "1", "--topics", topic, "--execute")
    file = tmp_path / "offsets.csv"
    file.write_text(f"{topic},0,2\n")

    def plan(to: str) -> tuple[int, int, int, str | None]:
        (row,) = rows_of(pybroker("groups", "reset", group, "--to", to, "-o", "json").out, OffsetChange)
        return row["new_offset"], row["skipped"], row["read_again"], row["note"]

    assert plan("earliest") == (0, 0, 1, None)
    assert plan("latest") == (3, 2, 0, None)
    assert plan("4h") == (1, 0, 0, None)
    assert plan("2h") == (2, 1, 0, None)
    assert plan("1m") == (3, 2, 0, "no record is so new: the end")
    assert plan(f"@{NOW_MS - 5 * HOUR_MS}") == (0, 0, 1, None)
    assert plan("+1") == (2, 1, 0, None)
    assert plan("-7") == (0, 0, 1, "-6 is below the start")
    assert plan(str(file)) == (2, 1, 0, None)


def test_group_with_members_is_neither_reset_nor_deleted(
    pybroker: Pybroker, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(2, [NOW_MS] * 3)
    pybroker("groups", "reset", group, "--to", "1", "--topics", topic, "--execute")
    with WireMember(servers, group, [topic]) as member:
        member.join_alone({topic: [0]})
        for command in (("reset", group, "--to", "latest", "--execute"), ("delete", group, "--yes")):
            refused = pybroker("groups", *command)
            assert refused.code == 1
            assert f"group {group} has 1 member (wire at /127.0.0.1)" in refused.err
        assert pybroker("groups", "reset", group, "--to", "latest").code == 0, "a plan is shown all the same"
        (view,) = rows_of(pybroker("groups", "describe", group, "-o", "json").out, GroupDescription)
        assert [each["member_id"] for each in view["partitions"]] == [member.member_id, None]
        assert [each["committed"] for each in view["partitions"]] == [1, 1]
        assert view["members"][0]["topics"] == [topic]
        assert view["members"][0]["assignment"] == [{"topic": topic, "partitions": [0]}]


def test_kick_removes_one_member(pybroker: Pybroker, filled: Fill, servers: str, group: str) -> None:
    topic = filled(1, [NOW_MS])
    with WireMember(servers, group, [topic]) as member:
        member.join_alone({topic: [0]})
        assert pybroker("groups", "kick", group, "--member", "nobody", "--yes").code == 3
        assert "would be removed" in pybroker("groups", "kick", group, "--member", "wire", "--dry-run").out
        assert member.heartbeat() == 0
        (change,) = rows_of(
            pybroker("groups", "kick", group, "--member", "wire", "--yes", "-o", "json").out, GroupChange
        )
        assert change["member_id"] == member.member_id
        assert member.heartbeat() != 0


def test_lag_is_told_in_records_and_by_the_age_of_the_oldest_unread(
    pybroker: Pybroker, filled: Fill, group: str
) -> None:
    topic = filled(2, [NOW_MS - 2 * HOUR_MS, NOW_MS - HOUR_MS])
    pybroker("groups", "reset", group, "--to", "1", "--topics", f"{topic}:0", "--execute")
    pybroker("groups", "reset", group, "--to", "2", "--topics", f"{topic}:1", "--execute")
    first, second = rows_of(pybroker("groups", "lag", group, "--all", "-o", "json").out, GroupPartition)
    assert (first["lag"], second["lag"], second["lag_seconds"]) == (1, 0, 0)
    assert 3600 <= first["lag_seconds"] < 3600 + (time.time() * 1000 - NOW_MS) / 1000 + 1
    assert f"{topic}-1" not in pybroker("groups", "lag", group, "-o", "name").out, "it has no lag"
    above = pybroker("groups", "lag", group, "--fail-above", "59m")
    assert above.code == 10
    assert f"{topic}-0: the oldest unread record is 1 h" in above.err
    assert pybroker("groups", "lag", group, "--fail-above", "2h").code == 0
    assert pybroker("groups", "lag", group, "--fail-above", "0").code == 10
    assert pybroker("groups", "lag", group, "--fail-above", "1").code == 0
    assert pybroker("groups", "lag", group, "--fail-above", "soon").code == 2


def test_bound_of_lag_fails_for_lost_records_and_for_unknown_offsets(
    pybroker: Pybroker, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(2, [NOW_MS] * 5)
    pybroker("groups", "reset", group, "--to", "2", "--topics", f"{topic}:0", "--execute")
    assert pybroker("topics", "truncate", f"{topic}:0", "--before", "5", "--yes").code == 0
    for bound in ("200", "1s"):
        above = pybroker("groups", "lag", group, "--fail-above", bound)
        assert (above.code, cells(above.out.splitlines()[-1])) == (10, [group, topic, "0", "0", "3", "lost", "-"])
        assert f"{topic}-0 has lost 3 records that the group had not read" in above.err
    assert "lag 0 and 3 records lost unread" in pybroker("groups", "describe", group).out
    moved = pybroker("groups", "reset", group, "--to", "0", "--execute", "--dry-run")
    assert cells(moved.out.splitlines()[1])[:5] == [topic, "0", "2", "5", "moved"]
    assert "This is a plan; leave out --dry-run to store it." in moved.err
    with WireMember(servers, f"{group}-fresh", [topic]) as member:
        member.join_alone({topic: [0, 1]})
        unknown = pybroker("groups", "lag", f"{group}-fresh", "--fail-above", "1000")
        assert unknown.code == 10
        assert f"{topic}-1 has records, but the group has committed no offset" in unknown.err
        assert f"{topic}-0" not in unknown.err, "an empty partition has no lag"


def test_exported_offsets_are_imported_into_another_group(
    pybroker: Pybroker, filled: Fill, group: str, tmp_path: Path
) -> None:
    topic = filled(3, [NOW_MS] * 5)
    pybroker("groups", "reset", group, "--to", "3", "--topics", f"{topic}:0-1", "--execute")
    exported = pybroker("groups", "export", group).out
    assert exported == f"{topic},0,3\n{topic},1,3\n"
    rows_of(pybroker("groups", "export", group, "-o", "json").out, CommittedOffset)
    file = tmp_path / "offsets.csv"
    file.write_text(exported)
    assert pybroker("groups", "import", f"{group}-copy", str(file), "--execute").code == 0
    assert pybroker("groups", "export", f"{group}-copy").out == exported
    file.write_text("orders,x,3\n")
    assert "line 1: must be topic,partition,offset" in pybroker("groups", "import", group, str(file)).err


def test_list_shows_state_members_and_lag(pybroker: Pybroker, filled: Fill, servers: str, group: str) -> None:
    topic = filled(1, [NOW_MS] * 4)
    pybroker("groups", "reset", group, "--to", "1", "--topics", topic, "--execute")
    (row,) = rows_of(pybroker("groups", "list", group, "--lag", "-o", "json").out, GroupListed)
    assert (row["state"], row["members"], row["lag"]) == ("Empty", 0, 3)
    assert pybroker("groups", "list", group, "--state", "stable").out == ""
    assert pybroker("groups", "list", group, "--state", "empty", "-o", "name").out == f"{group}\n"
    assert pybroker("groups", "delete", group, "--yes").code == 0
    assert pybroker("groups", "list", group).out == ""


def test_missing_group_is_named_with_a_suggestion(pybroker: Pybroker, filled: Fill, group: str) -> None:
    topic = filled(1, [NOW_MS])
    pybroker("groups", "reset", group, "--to", "latest", "--topics", topic, "--execute")
    for command in ("describe", "export", "delete"):
        ran = pybroker("groups", command, f"{group}x")
        assert ran.code == 3
        assert f"group {group}x does not exist; did you mean " in ran.err


def test_timeline_needs_the_address_of_a_pybroker(
    pybroker: Pybroker, filled: Fill, servers: str, group: str, http: str
) -> None:
    topic = filled(1, [NOW_MS])
    wait_for_coordinator(servers, group)
    with WireMember(servers, group, [topic]) as member:
        member.join_alone({topic: [0]})
    assert "--v1 URL" in pybroker("groups", "timeline", group).err
    shown = pybroker("groups", "timeline", group, "--v1", http)
    assert f"member {member.member_id} joins" in shown.out


def test_hostile_names_cannot_reach_the_terminal(pybroker: Pybroker, filled: Fill, servers: str, group: str) -> None:
    topic = filled(1, [NOW_MS])
    hostile = f"{group}\x1b[31m"
    assert pybroker("groups", "reset", hostile, "--to", "earliest", "--topics", topic, "--execute").code == 0
    with WireMember(servers, hostile, [topic], instance_id="\x1b]0;x\x07") as member:
        member.join_alone({topic: [0]})
        for command in (
            ("list", "-o", "wide"),
            ("list", "-o", "name"),
            ("describe", hostile, "-o", "wide"),
            ("lag", hostile),
            ("delete", hostile, "--yes"),
            ("kick", hostile, "--member", "nobody", "--yes"),
            ("describe", f"{hostile}x"),
        ):
            ran = pybroker("groups", *command)
            assert "\x1b" not in ran.out + ran.err
            assert f"{group}\\x1b[31m" in ran.out + ran.err
