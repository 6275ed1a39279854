"""Prints the table of a run: medians, the ratio of pybroker to Kafka, targets and verdicts."""

import statistics
from collections.abc import Mapping, Sequence

from benchmarks.targets import Target

__all__ = ["NO", "OTHER_WORK", "TARGETS_MISSED", "Figures", "missed", "report"]

OTHER_WORK = "other work on the machine meanwhile"
"""The row of other work on the machine, which tells how reliable the other rows are."""

_QUIET_PERCENT = 5
NO = "**no**"
"""Verdict of a missed target."""
TARGETS_MISSED = 1
"""Exit code if a target was missed."""

Figures = dict[str, dict[str, dict[str, list[float]]]]
"""Row name → contestant → figure name → one value for each round."""


def report(figures: Figures, targets: Mapping[str, Sequence[Target]]) -> str:
    """Prints the table. `targets`: the targets of each row, by its name."""
    is_compiled_too = any("compiled" in by_contestant for by_contestant in figures.values())
    compiled_column = ["compiled"] * is_compiled_too
    titles = ["work", "figure", "pybroker", *compiled_column, "Kafka", "pybroker : Kafka", "target", "reached"]
    rulers = ["---", "---", "---:", *["---:" for _ in compiled_column], "---:", "---:", "---", "---"]
    lines = [f"| {' | '.join(titles)} |", f"|{'|'.join(rulers)}|"]
    for row in sorted(figures, key=lambda row: row == OTHER_WORK):  # the noise row comes last
        by_contestant = figures[row]
        wanted = {target.figure: target for target in targets.get(row, ())}
        for name in by_contestant["pybroker"]:
            ours, compiled, theirs = (median(by_contestant, who, name) for who in ("pybroker", "compiled", "kafka"))
            assert ours is not None
            ratio = f"{ours / theirs:.2f}" if theirs else "-"
            cells = [row, name, number(ours), *([number(compiled)] * is_compiled_too), number(theirs), ratio]
            target = wanted.get(name)
            if target is None:
                cells += ["", ""]
            else:
                cells += [str(target), "yes" if _is_reached(by_contestant, target) else NO]
            lines.append(f"| {' | '.join(cells)} |")
    target_count, not_reached = sum(map(len, targets.values())), missed(figures, targets)
    lines += ["", f"{target_count - len(not_reached)} of {target_count} targets reached."]
    lines += [f"Missed: {each}" for each in not_reached]
    noise = [value for by_figure in figures.get(OTHER_WORK, {}).values() for value in by_figure["% of CPU"]]
    if noise and max(noise) > _QUIET_PERCENT:
        lines.append(f"The machine was not quiet: other work took up to {max(noise):.0f} % of it during a row.")
    return "\n".join(lines)


def missed(figures: Figures, targets: Mapping[str, Sequence[Target]]) -> list[str]:
    """Returns the targets that were missed or whose figures were not measured."""
    return [
        f"{row}: {target.figure} {target}"
        for row, wanted in targets.items()
        for target in wanted
        if not _is_reached(figures.get(row, {}), target)
    ]


def _is_reached(by_contestant: Mapping[str, Mapping[str, Sequence[float]]], target: Target) -> bool:
    ours, theirs = (median(by_contestant, who, target.figure) for who in ("pybroker", "kafka"))
    if ours is None or (theirs is None and target.is_ratio):
        return False
    return target.is_reached(ours, theirs or 0.0)


def median(by_contestant: Mapping[str, Mapping[str, Sequence[float]]], contestant: str, figure: str) -> float | None:
    """Returns the median of a figure; None if it was not measured for this contestant."""
    values = by_contestant.get(contestant, {}).get(figure)
    return statistics.median(values) if values else None


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
