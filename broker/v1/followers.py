"""Facts about followers, as their leader knows them."""

from ...replication.partition.remote_replica import NEVER_MS, RemoteReplica

__all__ = ["caught_up_ms_ago"]


def caught_up_ms_ago(replica: RemoteReplica, now_ms: int) -> int | None:
    """Return how long ago the follower had everything; None when never since this broker leads."""
    if replica.last_caught_up_ms == NEVER_MS:
        return None
    return max(now_ms - replica.last_caught_up_ms, 0)
