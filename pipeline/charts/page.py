"""Builds HTML pages with tables and charts that load no other file, for wide and narrow screens, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .charts import BarChart, TimeChart, shortened, time_of

_TIME_HEIGHT = 140
_LONG_TABLE = 40
"""Rows from which on a table scrolls in a frame and can be filtered."""
_LONG_CHART = 20
"""Bars from which on a chart scrolls in a frame."""

_STYLE = """\
:root { color-scheme: light dark; --text: #222; --quiet: #59606a; --line: #ddd; --ground: #fff; --mark: #3d78b0;
  --sound: #14532d; --on-sound: #e3f4e6; --wrong: #7f1d1d; --on-wrong: #fbe4e4 }
@media (prefers-color-scheme: dark) { :root { --text: #dcdfe4; --quiet: #9aa3ae; --line: #3a3f47; --ground: #16181c;
  --mark: #6fa8dc; --sound: #b7e4c3; --on-sound: #12351f; --wrong: #ffd5d5; --on-wrong: #4a1717 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: var(--text); background: var(--ground) }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem; overflow-wrap: anywhere }
.scrolled { overflow-x: auto }
.long { overflow: auto; max-height: 32rem; border: 1px solid var(--line) }
.long th { position: sticky; top: 0; background: var(--ground) }
.filter { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: center; margin: 0 0 .4rem }
.filter input { font: inherit; min-width: 0; width: 18rem; max-width: 100% }
@media print { .long { max-height: none; border: 0 } .filter { display: none } }
summary { cursor: pointer; margin-top: 2rem; font-weight: 600 }
table { border-collapse: collapse; min-width: 100%; font-size: 14px }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
th { color: var(--quiet); font-weight: 600 }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.moment { white-space: nowrap }
td.text { overflow-wrap: anywhere; min-width: 7rem } td.path { overflow-wrap: anywhere; min-width: 12rem }
.verdict { padding: .6rem 1rem; border-radius: .4rem; font-weight: 600 }
.sound { color: var(--sound); background: var(--on-sound) }
.wrong { color: var(--wrong); background: var(--on-wrong) }
svg { display: block; width: 100% } svg rect { fill: var(--mark) }
.bars { list-style: none; margin: 0; padding: 0; font-size: 14px }
.bars li { display: grid; grid-template-columns: 16rem 1fr 12rem; gap: 0 .8rem; align-items: center }
.bars .label { overflow-wrap: anywhere } .bars .words { color: var(--quiet); font-variant-numeric: tabular-nums }
figure { margin: 0 } svg.times { border-bottom: 1px solid var(--line) }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem }
figcaption, .rest, .filter output { font-size: 13px; color: var(--quiet) }
@media (max-width: 45rem) { .bars li { grid-template-columns: 1fr auto; padding: .25rem 0 }
  .bars svg { grid-column: 1 / -1; grid-row: 2 } }"""

_FILTER = '<p class="filter">'
_SCRIPT = """\
for (const filter of document.querySelectorAll('.filter')) {
  const rows = [...filter.nextElementSibling.querySelectorAll('tbody tr')];
  const texts = rows.map(row => [...row.cells].map(cell => cell.textContent).join(' ').toLowerCase());
  const [input, shown] = [filter.querySelector('input'), filter.querySelector('output')];
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\\s+/);
    let count = 0;
    rows.forEach((row, at) => { row.hidden = !words.every(word => texts[at].includes(word)); count += !row.hidden });
    shown.textContent = `${count.toLocaleString('en')} of ${rows.length.toLocaleString('en')} rows`;
  });
}"""


def page(title: str, *parts: str) -> str:
    """Returns the whole page. `parts` are HTML."""
    content = "".join(parts)
    script = f"<script>\n{_SCRIPT}\n</script>" if _FILTER in content else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{_STYLE}\n</style></head><body>\n<h1>{escape(title)}</h1>\n{content}{script}</body></html>\n"
    )


def section(title: str, content: str) -> str:
    """Returns a heading and its content."""
    return f"<h2>{escape(title)}</h2>\n{content}"


def chart(content: BarChart | TimeChart) -> str:
    """Returns a chart below its title. Each amount is one `rect`."""
    match content:
        case BarChart():
            return section(content.title, _bars(content))
        case TimeChart():
            return section(content.title, _times(content))


def _bars(content: BarChart) -> str:
    """Bar widths are percentages of the available width; text stays outside the SVG so that it is not scaled."""
    most = max((bar.amount for bar in content.bars), default=0) or 1
    drawn = "\n".join(
        f'<li><span class="label" title="{escape(bar.label)}">{escape(shortened(bar.label))}</span>'
        f'<svg height="14" aria-hidden="true"><rect width="{_percent(bar.amount / most)}" height="14" rx="2"/></svg>'
        f'<span class="words">{escape(bar.words)}</span></li>'
        for bar in content.bars
    )
    rest = f'<p class="rest">and {content.left_out:,} more</p>\n' if content.left_out else ""
    is_long = ' tabindex="0"' if len(content.bars) > _LONG_CHART else ""
    return f'<ul class="bars{" long" if is_long else ""}"{is_long}>\n{drawn}\n</ul>\n{rest}'


def _times(content: TimeChart) -> str:
    span = max(content.end_ms - content.first_ms, 1)
    most = max((step.amount for step in content.steps), default=0) or 1
    drawn = []
    for step in content.steps:
        height = max(round(_TIME_HEIGHT * step.amount / most, 1), 1)
        drawn.append(
            f'<rect x="{_percent((step.ms - content.first_ms) / span)}" y="{_TIME_HEIGHT - height:g}" '
            f'width="{_percent(0.92 * content.step_ms / span)}" height="{height:g}">'
            f"<title>{escape(time_of(step.ms))}: {escape(step.words)}</title></rect>"
        )
    highest = "" if content.highest is None else f"at most {content.highest.words}"
    labels = (time_of(content.first_ms), highest, time_of(content.end_ms))
    caption = "".join(f"<span>{escape(label)}</span>" for label in labels)
    return (
        f'<figure><svg class="times" height="{_TIME_HEIGHT}" role="img" aria-label="{escape(content.title)}">'
        f"{''.join(drawn)}</svg><figcaption>{caption}</figcaption></figure>\n"
    )


def _percent(share: float) -> str:
    """Returns a percentage of the width; at least 0.2 for a share above 0, so that it stays visible."""
    return f"{max(100 * share, 0 if share == 0 else 0.2):.2f}%"


def folded(title: str, content: str) -> str:
    """Returns content that is hidden until the reader clicks its title."""
    return f"<details><summary>{escape(title)}</summary>\n{content}</details>\n"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table. Columns whose name begins with # hold numbers. Cells are HTML.

    A long table scrolls in a frame, below a field that filters its rows by words.
    """
    heads = "".join(
        f'<th class="number">{escape(column[1:])}</th>' if column.startswith("#") else f"<th>{escape(column)}</th>"
        for column in columns
    )
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    drawn = f"<table><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>\n"
    if len(rows) <= _LONG_TABLE:
        return f'<div class="scrolled">{drawn}'
    field = '<label>Filter <input type="search" placeholder="words in a row"></label>'
    return f'{_FILTER}{field}<output>{len(rows):,} rows</output></p>\n<div class="long" tabindex="0">{drawn}'


def text(content: object) -> str:
    """Returns a cell with text."""
    return f'<td class="text">{escape(str(content))}</td>'


def path(content: str) -> str:
    """Returns a cell whose text may wrap anywhere."""
    return f'<td class="path">{escape(content)}</td>'


def number(content: object) -> str:
    """Returns a right-aligned cell, with commas in whole numbers."""
    shown = f"{content:,}" if isinstance(content, int) else str(content)
    return f'<td class="number">{escape(shown)}</td>'


def moment(ms: int) -> str:
    """Returns a cell with a timestamp."""
    return f'<td class="moment">{escape(time_of(ms))}</td>'


def size(size_bytes: int) -> str:
    """Returns a size as text, such as '1.5 MiB'."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:,.1f} {unit}"
    return f"{size_bytes} B"


def counted(count: int, noun: str) -> str:
    """Returns a count with its noun, such as '2 partitions'."""
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith("ch") else "s")
    return f"{count:,} {noun if count == 1 else plural}"
