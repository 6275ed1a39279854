"""Tests that the checker of ownership reports its violations, by small histories in which one thing is wrong."""

from uuid import UUID

from simulation.checkers.ownership import Grant, MemberCommit, OwnedPartition, OwnershipHistory

PARTITION = OwnedPartition(UUID(int=7), 0)


class Clients:
    """The clients of a group with one partition."""

    def __init__(self) -> None:
        self.reported: list[str] = []
        self.history = OwnershipHistory(self.reported.append)

    def commit(self, member_id: str, offset: int, acquired_s: float, asked_s: float) -> None:
        commit = MemberCommit(member_id, 5, PARTITION, offset, acquired_s, asked_s)
        self.history.asks(commit)
        self.history.accepts(commit)

    def lose_commit(self, member_id: str, offset: int) -> None:
        self.history.asks(MemberCommit(member_id, 5, PARTITION, offset, 0.0, 1.0))


def test_commit_accepted_after_another_member_committed_is_reported() -> None:
    clients = Clients()
    clients.commit("one", 1, acquired_s=0.0, asked_s=1.0)
    clients.commit("two", 2, acquired_s=2.0, asked_s=3.0)
    assert clients.reported == []
    clients.commit("one", 3, acquired_s=0.0, asked_s=4.0)
    assert "a commit of one in epoch 5 is accepted" in clients.reported[0]


def test_commit_of_a_member_that_got_the_partition_anew_is_not_reported() -> None:
    clients = Clients()
    clients.commit("one", 1, acquired_s=0.0, asked_s=1.0)
    clients.commit("two", 2, acquired_s=2.0, asked_s=3.0)
    clients.commit("one", 3, acquired_s=3.5, asked_s=4.0)
    assert clients.reported == []


def test_member_that_commits_a_partition_after_another_got_it_is_reported() -> None:
    clients = Clients()
    clients.commit("one", 1, acquired_s=0.0, asked_s=3.0)
    clients.commit("two", 2, acquired_s=2.0, asked_s=4.0)
    assert "a commit of two in epoch 5 is accepted, but one got the partition" in clients.reported[0]


def test_member_whose_first_commit_follows_the_last_of_the_owner_before_is_not_reported() -> None:
    """However late the coordinator's answers come."""
    clients = Clients()
    clients.commit("two", 2, acquired_s=2.0, asked_s=3.0)
    clients.commit("one", 1, acquired_s=0.0, asked_s=1.0)
    clients.commit("two", 3, acquired_s=2.0, asked_s=4.0)
    assert clients.reported == []


def test_member_that_reads_beyond_what_the_group_has_read_is_reported() -> None:
    clients = Clients()
    clients.history.reads(PARTITION, 0, 5)
    clients.history.reads(PARTITION, 3, 8)
    assert clients.reported == []
    assert clients.history.read_to(PARTITION) == 8
    clients.history.reads(PARTITION, 9, 9)
    assert clients.reported == [f"{PARTITION}: a member reads from offset 9, but the group has read up to 8 only"]


def test_member_epoch_that_falls_is_reported() -> None:
    clients = Clients()
    clients.history.granted(4, Grant("one", 5, None))
    assert clients.reported == []
    clients.history.granted(5, Grant("one", 4, None))
    assert clients.reported == ["member one was in epoch 5, and is told 4"]


def test_committed_offset_that_went_back_is_reported() -> None:
    clients = Clients()
    clients.commit("one", 8, acquired_s=0.0, asked_s=1.0)
    clients.history.check_offset(PARTITION, clients.history.committed(PARTITION), 7)
    assert clients.reported == [f"{PARTITION}: offset 8 was committed, 7 is known"]


def test_committed_offset_of_a_late_commit_is_not_reported() -> None:
    clients = Clients()
    clients.lose_commit("one", 7)
    clients.commit("one", 8, acquired_s=0.0, asked_s=1.0)
    clients.history.check_offset(PARTITION, 8, 7)
    assert clients.reported == []
