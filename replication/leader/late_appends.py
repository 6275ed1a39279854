"""Tells in words for what the acknowledgement of an append waits, or waited."""

from ..partition.hosted_partition import HostedPartition

__all__ = ["reason_of_late_append"]

_REMOVAL_IS_THE_REASON_MS = 1000


def reason_of_late_append(hosted: HostedPartition, acks: int, now_ms: int) -> str:
    """For one partition, when its append has just been acknowledged or has timed out. ``now_ms``: the clock of the ISR.

    A follower that has just left the ISR is named; else the follower in the ISR that is furthest behind; else the one
    that copied the records last.
    """
    place, leader = hosted.topic_partition, hosted.partition.leader
    if leader is None:
        return f"the end of the leadership of {place}"
    isr = leader.isr.committed
    if acks == -1 and isr.left and now_ms - isr.since_ms < _REMOVAL_IS_THE_REASON_MS:
        return f"follower {', '.join(map(str, sorted(isr.left)))} of {place}, which then left the in-sync replicas"
    followers = [replica for broker_id, replica in leader.replicas.items() if broker_id in isr.members]
    if acks != -1 or not followers:
        return f"the log of {place}, its disk or the worker threads"
    end = hosted.log.log_end_offset
    last = min(followers, key=lambda replica: replica.log_end_offset)
    behind = end - max(last.log_end_offset, 0)
    if behind > 0:
        records = "1 record" if behind == 1 else f"{behind:,} records"
        return f"follower {last.broker_id} of {place} is {records} behind"
    if hosted.high_watermark_mover >= 0:
        return f"follower {hosted.high_watermark_mover} of {place} was the last one to copy the records"
    return f"the followers of {place}"
