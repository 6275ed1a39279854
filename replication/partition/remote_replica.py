"""A follower as its leader knows it from its fetches."""

__all__ = ["NEVER_MS", "UNKNOWN_OFFSET", "RemoteReplica"]

UNKNOWN_OFFSET = -1
NEVER_MS = -(1 << 62)
"""Longer ago than any lag: 0 would mean 'just now' on a clock that starts at 0."""


class RemoteReplica:
    """A follower's log end offset, and when it was last caught up (Kafka: Replica, ReplicaState)."""

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "last_caught_up_ms",
        "last_fetch_leader_end_offset",
        "last_fetch_ms",
        "last_refused_fetch_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.last_fetch_leader_end_offset = 0
        self.last_fetch_ms = NEVER_MS
        self.last_refused_fetch_ms = NEVER_MS
        self.last_caught_up_ms = NEVER_MS
        self.broker_epoch = -1

    def record_fetch(
        self, fetch_offset: int, log_start_offset: int, now_ms: int, leader_end_offset: int, broker_epoch: int
    ) -> None:
        """The follower fetched from ``fetch_offset``, so it has everything below.

        It was caught up *now* if that is the leader's end, and *at its previous fetch* if it is the leader's end of
        that time. A follower that fetches everything each time therefore stays in sync under a steady stream of
        appends.
        """
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_fetch_leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.last_fetch_leader_end_offset = max(leader_end_offset, self.last_fetch_leader_end_offset)
        self.last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def is_caught_up(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> bool:
        return self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= max_lag_ms

    def is_silent(self, now_ms: int, silence_ms: int) -> bool:
        """Whether the follower has neither fetched for ``silence_ms`` nor entered the ISR by an election meanwhile. A
        fetch that a suspended leader refused counts too."""
        return now_ms - max(self.last_fetch_ms, self.last_refused_fetch_ms, self.last_caught_up_ms) >= silence_ms

    def begin_leadership(self, now_ms: int, leader_end_offset: int, *, is_new_leader: bool, in_isr: bool) -> None:
        """A new leader epoch: members of the ISR count as caught up now, others as never.

        ``is_new_leader``: this broker did not lead before, so it forgets what it knew of the follower.
        """
        self.last_caught_up_ms = now_ms if in_isr else NEVER_MS
        if is_new_leader:
            self.log_end_offset = UNKNOWN_OFFSET
            self.log_start_offset = UNKNOWN_OFFSET
            self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
            self.last_fetch_ms = NEVER_MS
            self.last_refused_fetch_ms = NEVER_MS
            self.broker_epoch = -1
        else:
            self.last_fetch_leader_end_offset = leader_end_offset
            self.last_fetch_ms = now_ms if in_isr else NEVER_MS

    def __repr__(self) -> str:
        return f"RemoteReplica(broker {self.broker_id}, end {self.log_end_offset}, caught up {self.last_caught_up_ms})"
