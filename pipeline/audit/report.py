"""The findings of an audit as JSON for programs, and as one self-contained HTML page for people."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ...storage.verify.fault import Fault
from ..charts.charts import Bar, bar_chart
from ..charts.page import chart, counted, number, page, path, section, size, table, text
from .audit import Audit
from .group_summary import GroupState
from .partition_audit import PartitionAudit


def report_json(audit: Audit) -> dict[str, Any]:
    """Returns all findings as JSON values."""
    ends = audit.ends()
    return {
        "sound": not audit.faults,
        "directories": list(audit.directories),
        "bytes": audit.size_bytes,
        "faults": [{"path": fault.path, "position": fault.position, "what": fault.what} for fault in audit.faults],
        "partitions": [_partition_json(partition) for partition in audit.partitions],
        "groups": [
            {
                "group": group.group,
                "protocolType": group.protocol_type,
                "generation": group.generation,
                "members": group.members,
                "offsets": [
                    {
                        "topic": at.topic,
                        "partition": at.partition,
                        "offset": offset,
                        "lag": max(ends[at] - offset, 0) if at in ends else None,
                    }
                    for at, offset in group.offsets
                ],
            }
            for group in audit.groups
        ],
    }


def report_page(audit: Audit) -> str:
    """Returns an HTML page that loads no other file."""
    count = len(audit.faults)
    verdict = f"{counted(count, 'fault')} found" if count else "no fault found"
    looked_at = (
        f"{counted(len(audit.partitions), 'partition')} in {counted(len(audit.directories), 'log directory')}, "
        f"{size(audit.size_bytes)}"
    )
    return page(
        "Audit of log directories",
        f'<p class="verdict {"wrong" if count else "sound"}">{verdict}</p>\n<p>{looked_at}</p>\n{_not_compared(audit)}',
        _faults(audit.faults),
        _chart(audit),
        _partitions(audit),
        _groups(audit),
    )


def _partition_json(partition: PartitionAudit) -> dict[str, Any]:
    return {
        "topic": partition.topic_partition.topic,
        "partition": partition.topic_partition.partition,
        "replicas": [
            {
                "directory": replica.directory,
                "start": replica.start,
                "end": replica.end,
                "highWatermark": replica.high_watermark,
                "bytes": replica.size_bytes,
                "segments": replica.segments,
            }
            for replica in partition.replicas
        ],
        "notCompared": list(partition.not_compared),
    }


def _not_compared(audit: Audit) -> str:
    count = len(audit.not_compared)
    if not count:
        return ""
    which = counted(count, "replica")
    return f"<p>Not compared with other replicas, because no checkpoint has its high watermark: {which}</p>\n"


def _faults(faults: tuple[Fault, ...]) -> str:
    if not faults:
        return ""
    rows = [
        [path(fault.path), number("" if fault.position is None else fault.position), text(fault.what)]
        for fault in faults
    ]
    return section("Faults", table(["File", "#Byte", "What"], rows))


def _chart(audit: Audit) -> str:
    """Chart of the bytes of each topic, over all its replicas."""
    sizes: dict[str, int] = defaultdict(int)
    for partition in audit.partitions:
        sizes[partition.topic_partition.topic] += sum(replica.size_bytes for replica in partition.replicas)
    largest = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return chart(bar_chart("size", "Size by topic", [Bar(topic, amount, size(amount)) for topic, amount in largest]))


def _partitions(audit: Audit) -> str:
    rows = [
        [
            text(partition.topic_partition),
            path(replica.directory),
            number(replica.start),
            number("hidden" if replica.end is None else replica.end),
            number("" if replica.high_watermark is None else replica.high_watermark),
            number(replica.segments),
            number(size(replica.size_bytes)),
        ]
        for partition in audit.partitions
        for replica in partition.replicas
    ]
    columns = ["Partition", "Replica", "#Start", "#End", "#High watermark", "#Segments", "#Size"]
    return section("Partitions", table(columns, rows))


def _groups(audit: Audit) -> str:
    if not audit.groups:
        return ""
    ends = audit.ends()
    rows = [
        [
            text(group.group),
            text(group.protocol_type or "offsets only"),
            number("" if group.generation < 0 else group.generation),
            number(group.members),
            number(len(group.offsets)),
            number(_lag(group, ends)),
        ]
        for group in audit.groups
    ]
    columns = ["Group", "Kind", "#Generation", "#Members", "#Partitions with offsets", "#Records behind"]
    return section("Consumer groups", table(columns, rows))


def _lag(group: GroupState, ends: Any) -> int:
    return sum(max(ends[at] - offset, 0) for at, offset in group.offsets if at in ends)
