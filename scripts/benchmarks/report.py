"""The table of a run: medians of both brokers, their ratio, what is to be reached and whether it was."""

import statistics
from collections.abc import Mapping, Sequence

from benchmarks.targets import Target

__all__ = ["OTHER_WORK", "Figures", "report"]

OTHER_WORK = "other work on the machine meanwhile"
"""The row that says how far the others can be trusted."""

_QUIET_PERCENT = 5

Figures = dict[str, dict[str, dict[str, list[float]]]]
"""Row name → contestant → figure name → one value a round."""


def report(figures: Figures, targets: Mapping[str, Sequence[Target]]) -> str:
    """``targets`` are those of each row, by its name."""
    lines = [
        "| work | figure | pybroker | Kafka 3.9.1 | pybroker : Kafka | target | reached |",
        "|---|---|---:|---:|---:|---|---|",
    ]
    outcomes: list[bool] = []
    for row in sorted(figures, key=lambda row: row == OTHER_WORK):  # that one last
        by_contestant = figures[row]
        wanted = {target.figure: target for target in targets.get(row, ())}
        for name in by_contestant["pybroker"]:
            ours = statistics.median(by_contestant["pybroker"][name])
            measured = by_contestant["kafka"].get(name)  # some rows are about pybroker alone
            theirs = statistics.median(measured) if measured else 0.0
            ratio = f"{ours / theirs:.2f}" if theirs else "-"
            cells = [row, name, number(ours), number(theirs) if measured else "-", ratio]
            target = wanted.get(name)
            if target is None:
                cells += ["", ""]
            else:
                outcomes.append(target.is_reached(ours, theirs))
                cells += [str(target), "yes" if outcomes[-1] else "**no**"]
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", f"{sum(outcomes)} of {len(outcomes)} targets reached."]
    noise = [value for by_figure in figures.get(OTHER_WORK, {}).values() for value in by_figure["% of CPU"]]
    if noise and max(noise) > _QUIET_PERCENT:
        lines.append(f"The machine was not quiet: other work took up to {max(noise):.0f} % of it during a row.")
    return "\n".join(lines)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
