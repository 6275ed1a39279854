"""Pages of HTML that load nothing else: tables, bar charts, numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_BAR_WIDTH = 320
_BAR_HEIGHT = 18
_LABEL_WIDTH = 260
_MOST_BARS = 60

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


def page(title: str, *parts: str) -> str:
    """The whole page. Parts are HTML."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f"<style>\n{_STYLE}\n</style></head><body>\n<h1>{escape(title)}</h1>\n{''.join(parts)}</body></html>\n"
    )


def section(title: str, content: str) -> str:
    """A heading and what stands below it."""
    return f"<h2>{escape(title)}</h2>\n{content}"


def bars(labelled: Sequence[tuple[str, int, str]]) -> str:
    """A bar for each (label, amount, amount in words), the longest for the greatest amount; the first 60."""
    shown = labelled[:_MOST_BARS]
    most = max((amount for _, amount, _ in shown), default=0)
    drawn = []
    for index, (label, amount, words) in enumerate(shown):
        y = index * (_BAR_HEIGHT + 6)
        width = max(round(_BAR_WIDTH * amount / most), 1) if most else 1
        drawn.append(
            f'<text x="{_LABEL_WIDTH - 8}" y="{y + 14}" text-anchor="end">{escape(_shortened(label))}</text>'
            f'<rect x="{_LABEL_WIDTH}" y="{y}" width="{width}" height="{_BAR_HEIGHT}"/>'
            f'<text x="{_LABEL_WIDTH + width + 8}" y="{y + 14}">{escape(words)}</text>'
        )
    height = len(shown) * (_BAR_HEIGHT + 6)
    return f'<svg width="{_LABEL_WIDTH + _BAR_WIDTH + 160}" height="{height}" role="img">{"".join(drawn)}</svg>\n'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns with # hold numbers. Cells are HTML."""
    heads = "".join(
        f'<th class="number">{escape(column[1:])}</th>' if column.startswith("#") else f"<th>{escape(column)}</th>"
        for column in columns
    )
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table>\n"


def text(content: object) -> str:
    """A cell."""
    return f"<td>{escape(str(content))}</td>"


def path(content: str) -> str:
    """A cell that may break anywhere."""
    return f'<td class="path">{escape(content)}</td>'


def number(content: object) -> str:
    """A cell, with commas in whole numbers."""
    shown = f"{content:,}" if isinstance(content, int) else str(content)
    return f'<td class="number">{escape(shown)}</td>'


def _shortened(text: str) -> str:
    return text if len(text) <= 36 else f"{text[:35]}…"


def size(size_bytes: int) -> str:
    """Like 1.5 MiB."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:,.1f} {unit}"
    return f"{size_bytes} B"


def counted(count: int, noun: str) -> str:
    """Like 2 partitions."""
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
