"""Why a topic has records that its retention seems to forbid: a pure judgement of settings, offsets and sizes."""

from collections.abc import Iterator, Sequence

from ..output.columns import bytes_text, duration_text
from .shapes import Finding, RetentionExplanation, RetentionPartition

__all__ = ["explained_retention", "kept_text"]


def explained_retention(
    topic: str, policy: str, kept_ms: int, kept_bytes: int, segment_bytes: int, partitions: Sequence[RetentionPartition]
) -> RetentionExplanation:
    """The explanation of a topic with these settings: cleanup.policy, retention.ms, retention.bytes, segment.bytes."""
    findings = tuple(_findings(policy, kept_ms, kept_bytes, segment_bytes, partitions))
    deletes = "delete" in policy
    text = f"{topic} {kept_text(policy, kept_ms, kept_bytes)}"
    if late := sum(each.expired_records or 0 for each in partitions if deletes):
        text += f"; yet {late:,} {'offset is' if late == 1 else 'offsets are'} older"
    return RetentionExplanation(
        topic=topic,
        is_healthy=not any(each.is_trouble for each in findings),
        text=text,
        cleanup_policy=policy,
        retention_ms=None if kept_ms < 0 else kept_ms,
        retention_bytes=None if kept_bytes < 0 else kept_bytes,
        segment_bytes=segment_bytes,
        partitions=tuple(partitions),
        findings=findings,
    )


def kept_text(policy: str, kept_ms: int, kept_bytes: int) -> str:
    """For how long a topic keeps records, as the end of a sentence. The arguments are as in `explained_retention`."""
    if "delete" not in policy:
        return "keeps the newest record of each key for ever (cleanup.policy=compact)"
    if kept_ms < 0 and kept_bytes < 0:
        return "keeps all records for ever"
    time_text = "any time" if kept_ms < 0 else duration_text(kept_ms / 1000)
    size_text = "any size" if kept_bytes < 0 else f"{bytes_text(kept_bytes)} a partition"
    return f"keeps {time_text} and {size_text}"


def _findings(
    policy: str, kept_ms: int, kept_bytes: int, segment_bytes: int, partitions: Sequence[RetentionPartition]
) -> Iterator[Finding]:
    yield from _kept_without_retention(policy, partitions)
    if "delete" not in policy:
        return
    for each in partitions:
        if kept_ms >= 0 and each.future_offset is not None:
            yield Finding(
                kind="timestamp_in_future",
                is_trouble=True,
                text=f"partition {each.partition} has a record with a timestamp in the future at offset "
                f"{each.future_offset}: its segment goes only {duration_text(kept_ms / 1000)} after that timestamp, "
                "and nothing behind it goes before",
                culprit=f"the producer of offset {each.future_offset}",
                remedies=(
                    "message.timestamp.after.max.ms refuses such records (Kafka 3.6 or newer)",
                    f"pybroker topics truncate deletes records up to an offset, such as {each.future_offset + 1}",
                ),
            )
        elif each.expired_records:
            yield Finding(
                kind="shared_segment",
                is_trouble=False,
                text=f"partition {each.partition}: up to {each.expired_records:,} records before offset "
                f"{each.start_offset + each.expired_records} are older than retention.ms. A segment goes as a whole, "
                "when its newest record is too old and the broker looks (log.retention.check.interval.ms)",
                culprit=None,
                remedies=("smaller segment.ms or segment.bytes",),
            )
        if kept_bytes >= 0 and each.size is not None and each.size > kept_bytes + segment_bytes:
            yield Finding(
                kind="above_size",
                is_trouble=True,
                text=f"partition {each.partition} has {bytes_text(each.size)}, more than retention.bytes and a segment",
                culprit=None,
                remedies=("wait for log.retention.check.interval.ms, and look at the log of the leader",),
            )
        elif kept_bytes >= 0 and each.size is not None and each.size > kept_bytes:
            yield _note(
                "whole_segments",
                f"partition {each.partition} has {bytes_text(each.size)}, more than retention.bytes: the newest "
                "segment stays until it is full (segment.bytes) or older than segment.ms, and others go as a whole, as "
                "long as retention.bytes are left",
                "smaller segment.bytes or segment.ms",
            )


def _kept_without_retention(policy: str, partitions: Sequence[RetentionPartition]) -> Iterator[Finding]:
    """Bytes that stay until the broker compacts or deletes their segment."""
    if "compact" in policy and any(each.end_offset - each.start_offset > 1 for each in partitions):
        yield _note(
            "not_yet_compacted",
            "older records of a key stay until the broker compacts their segment: never the newest segment, and "
            "others when the share of records not yet compacted reaches min.cleanable.dirty.ratio",
            "smaller segment.ms or segment.bytes, and a smaller min.cleanable.dirty.ratio",
        )
    for each in partitions:
        if each.start_offset == each.end_offset and each.size:
            yield _note(
                "deleted_in_segment",
                f"partition {each.partition} has no records, but {bytes_text(each.size)}: deleted records use disk "
                "space until their segment goes as a whole, and the newest segment goes only after it is full or "
                "older than segment.ms",
            )


def _note(kind: str, text: str, *remedies: str) -> Finding:
    return Finding(kind=kind, is_trouble=False, text=text, culprit=None, remedies=remedies)
