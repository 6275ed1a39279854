"""What an audit found: as JSON for programs, as one page without any other file for people."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import Any

from ...storage.verify.fault import Fault
from .audit import Audit
from .group_summary import GroupState
from .partition_audit import PartitionAudit

_BAR_WIDTH = 320
_BAR_HEIGHT = 18
_LABEL_WIDTH = 260
_MOST_BARS = 40

_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222 }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100%; font-size: 14px }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
td.path { overflow-wrap: anywhere }
.verdict { padding: .6rem 1rem; border-radius: .4rem; font-weight: 600 }
.sound { background: #e3f4e6; color: #14532d } .wrong { background: #fbe4e4; color: #7f1d1d }
svg text { font: 13px system-ui, sans-serif; fill: #222 } svg rect { fill: #4a7fb5 }"""


def report_json(audit: Audit) -> dict[str, Any]:
    """Everything that was found."""
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
    """A page of HTML that loads nothing."""
    verdict = (
        f'<p class="verdict wrong">{_counted(len(audit.faults), "fault")} found</p>'
        if audit.faults
        else '<p class="verdict sound">no fault found</p>'
    )
    looked_at = (
        f"{_counted(len(audit.partitions), 'partition')} in {_counted(len(audit.directories), 'log directory')}, "
        f"{_size(audit.size_bytes)}"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Audit of log directories</title>\n'
        f"<style>\n{_STYLE}\n</style></head><body>\n<h1>Audit of log directories</h1>\n{verdict}\n"
        f"<p>{looked_at}</p>\n{_faults(audit.faults)}{_chart(audit)}{_partitions(audit)}{_groups(audit)}</body></html>\n"
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
    }


def _faults(faults: tuple[Fault, ...]) -> str:
    if not faults:
        return ""
    rows = [
        [_path(fault.path), _number("" if fault.position is None else fault.position), _text(fault.what)]
        for fault in faults
    ]
    return "<h2>What is wrong</h2>\n" + _table(["File", "#Byte", "What"], rows)


def _chart(audit: Audit) -> str:
    """Bytes of each topic, all replicas of it."""
    sizes: dict[str, int] = defaultdict(int)
    for partition in audit.partitions:
        sizes[partition.topic_partition.topic] += sum(replica.size_bytes for replica in partition.replicas)
    largest = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:_MOST_BARS]
    if not largest or largest[0][1] == 0:
        return ""
    bars = []
    for number, (topic, size) in enumerate(largest):
        y = number * (_BAR_HEIGHT + 6)
        width = max(round(_BAR_WIDTH * size / largest[0][1]), 1)
        bars.append(
            f'<text x="{_LABEL_WIDTH - 8}" y="{y + 14}" text-anchor="end">{escape(_shortened(topic))}</text>'
            f'<rect x="{_LABEL_WIDTH}" y="{y}" width="{width}" height="{_BAR_HEIGHT}"/>'
            f'<text x="{_LABEL_WIDTH + width + 8}" y="{y + 14}">{_size(size)}</text>'
        )
    height = len(largest) * (_BAR_HEIGHT + 6)
    width = _LABEL_WIDTH + _BAR_WIDTH + 120
    title = "Size by topic" if len(sizes) <= _MOST_BARS else f"Size by topic, the {_MOST_BARS} largest"
    return f'<h2>{title}</h2>\n<svg width="{width}" height="{height}" role="img">{"".join(bars)}</svg>\n'


def _partitions(audit: Audit) -> str:
    rows = [
        [
            _text(partition.topic_partition),
            _path(replica.directory),
            _number(replica.start),
            _number("hidden" if replica.end is None else replica.end),
            _number("" if replica.high_watermark is None else replica.high_watermark),
            _number(replica.segments),
            _number(_size(replica.size_bytes)),
        ]
        for partition in audit.partitions
        for replica in partition.replicas
    ]
    columns = ["Partition", "Replica", "#Start", "#End", "#High watermark", "#Segments", "#Size"]
    return "<h2>Partitions</h2>\n" + _table(columns, rows)


def _groups(audit: Audit) -> str:
    if not audit.groups:
        return ""
    ends = audit.ends()
    rows = [
        [
            _text(group.group),
            _text(group.protocol_type or "offsets only"),
            _number("" if group.generation < 0 else group.generation),
            _number(group.members),
            _number(len(group.offsets)),
            _number(_lag(group, ends)),
        ]
        for group in audit.groups
    ]
    return "<h2>Consumer groups</h2>\n" + _table(
        ["Group", "Kind", "#Generation", "#Members", "#Partitions with offsets", "#Records behind"], rows
    )


def _lag(group: GroupState, ends: Any) -> int:
    return sum(max(ends[at] - offset, 0) for at, offset in group.offsets if at in ends)


def _table(columns: list[str], rows: list[list[str]]) -> str:
    """Columns with # hold numbers."""
    heads = "".join(
        f'<th class="number">{escape(column[1:])}</th>' if column.startswith("#") else f"<th>{escape(column)}</th>"
        for column in columns
    )
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table>\n"


def _text(content: object) -> str:
    return f"<td>{escape(str(content))}</td>"


def _path(content: str) -> str:
    return f'<td class="path">{escape(content)}</td>'


def _number(content: object) -> str:
    shown = f"{content:,}" if isinstance(content, int) else str(content)
    return f'<td class="number">{escape(shown)}</td>'


def _shortened(text: str) -> str:
    return text if len(text) <= 36 else f"{text[:35]}…"


def _size(size_bytes: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:,.1f} {unit}"
    return f"{size_bytes} B"


def _counted(count: int, noun: str) -> str:
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
