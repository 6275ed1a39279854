"""A summary: one entry of the manifest in place of many commits, so that the manifest stays short.

**Why**: a job makes commits for years, and every reader of the table reads the whole manifest.
**How**: a summary has the current files of all commits that it covers. It is written before these commits are deleted,
so a reader ignores covered commits. In its JSON a summary is a commit with two more fields: releases that know no
summaries read the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .manifest import (
    COMPACTION,
    KINDS,
    Commit,
    ManifestError,
    Ranges,
    commit_name,
    current_files,
    decode_commit,
    encode_commit,
)

SUMMARY = "summary"
NONE_YET = -1


@dataclass(frozen=True, slots=True)
class Summary(Commit):
    """The state of a table after some commits. `ranges`: offsets of all batches together.

    Attributes:
        through: numbers of the newest covered commits, by kind.
        replaced_ms: for each path in `replaces` when it was replaced, in ms.
    """

    through: Mapping[str, int] = field(default_factory=dict)
    replaced_ms: tuple[int, ...] = ()

    def covers(self, name: str) -> bool:
        """Returns whether a commit or an older summary need not be read any more."""
        kind, _, number = name.partition("-")
        return self.number > int(number) if kind == SUMMARY else self.through[kind] >= int(number)


def summary_name(number: int) -> str:
    """Returns the name of a summary. `number`: the newest batch that it covers."""
    return commit_name(SUMMARY, number)


def newest(commits: Sequence[Commit], kind: str) -> int:
    """Returns the number of the newest commit of a kind, which a summary may cover; NONE_YET without one."""
    numbers = [commit.number for commit in commits if commit.kind == kind]
    return max([*numbers, *(each.through[kind] for each in commits if isinstance(each, Summary))], default=NONE_YET)


def summary_of(
    commits: Sequence[Commit], replaced_at_ms: Callable[[str], int], exists: Callable[[str], bool]
) -> Summary | None:
    """Returns the summary of all commits but the newest batch; None if there would be nothing new in it.

    The newest batch stays, because a job that was killed compares it with the batch that Spark repeats.
    `replaced_at_ms`: when a compaction was written. `exists`: whether a data file is still on disk.

    A replaced path is kept as long as its file is on disk, for `remove_replaced`, or a commit that is still there
    names the file: a reader that sees the commit must see the replacement too.
    """
    batches = [commit for commit in commits if commit.is_batch][:-1]
    if not batches:
        return None
    before = [commit for commit in commits if isinstance(commit, Summary)]
    compactions = [commit for commit in commits if commit.kind == COMPACTION]
    named = {file.path for commit in commits for file in commit.files}
    replaced = {
        path: ms
        for each in before
        for path, ms in zip(each.replaces, each.replaced_ms, strict=True)
        if path in named or exists(path)
    }
    replaced |= {path: replaced_at_ms(each.name) for each in compactions for path in each.replaces}
    covered = [*before, *batches, *compactions]
    return Summary(
        summary_name(batches[-1].number),
        _all_ranges([*before, *batches]),
        tuple(current_files(covered).values()),
        tuple(replaced),
        {kind: newest(covered, kind) for kind in KINDS},
        tuple(replaced.values()),
    )


def encode_summary(summary: Summary) -> dict[str, Any]:
    """Returns the summary as JSON values."""
    return encode_commit(summary) | {"through": dict(summary.through), "replaced_ms": list(summary.replaced_ms)}


def decode_summary(content: Any) -> Summary:
    """The inverse of `encode_summary`. Raises ManifestError."""
    commit = decode_commit(content)
    try:
        through = {kind: int(content["through"][kind]) for kind in KINDS}
        replaced_ms = tuple(int(each) for each in content["replaced_ms"])
    except (KeyError, TypeError, ValueError) as error:
        raise ManifestError(f"A summary of the manifest has a missing or wrong field: {error}") from None
    if len(replaced_ms) != len(commit.replaces):
        raise ManifestError("A summary of the manifest has other times than replaced files")
    return Summary(commit.name, commit.ranges, commit.files, commit.replaces, through, replaced_ms)


def _all_ranges(batches: Sequence[Commit]) -> Ranges:
    found: Ranges = {}
    for commit in batches:
        for at, (start, end) in commit.ranges.items():
            found[at] = (min(start, found[at][0]) if at in found else start, end)
    return found
