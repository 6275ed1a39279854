"""Tells in words for what the acknowledgement of an append waits, or waited."""

from ..partition.hosted_partition import HostedPartition

__all__ = ["reason_of_late_append"]


def reason_of_late_append(hosted: HostedPartition, acks: int) -> str:
    """For one partition, when its append has just been acknowledged or has timed out.

    A follower in the ISR that is behind is named, the furthest first, else the one that copied the records last.
    """
    place, leader = hosted.topic_partition, hosted.partition.leader
    if leader is None:
        return f"the end of the leadership of {place}"
    followers = [replica for broker_id, replica in leader.replicas.items() if broker_id in leader.isr.members]
    if acks != -1 or not followers:
        return f"the log of {place}, its disk or the worker threads"
    end = hosted.log.log_end_offset
    last = min(followers, key=lambda replica: replica.log_end_offset)
    behind = end - max(last.log_end_offset, 0)
    if behind > 0:
        return f"follower {last.broker_id} of {place} is {behind:,} records behind"
    if hosted.high_watermark_mover >= 0:
        return f"follower {hosted.high_watermark_mover} of {place} was the last one to copy the records"
    return f"the followers of {place}"
