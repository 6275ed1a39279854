"""Finds faults of a manifest by itself: missing commits, gaps between offsets, wrong compactions. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from .commit_reader import MANIFEST
from .manifest import BATCH, COMPACTION, Commit, batch_name, compaction_name, rows_of_partitions
from .summary import NONE_YET, Summary


def manifest_faults(commits: Sequence[Commit]) -> Iterator[str]:
    """Yields a line for each fault. Commits that a summary covers were checked before it was written."""
    yield from _range_faults(commits)
    yield from _compaction_faults(commits)


def _range_faults(commits: Sequence[Commit]) -> Iterator[str]:
    """Yields faults of the batches: a missing one, or one that does not begin where the previous one ended."""
    batches = [commit for commit in commits if commit.is_batch]
    for number, commit in enumerate(batches, _covered(commits, BATCH) + 1):
        if commit.name != batch_name(number):
            yield f"{MANIFEST}/{batch_name(number)}.json is missing"
            return
    for last, commit in itertools.pairwise(batches):
        for at, (start, _) in commit.ranges.items():
            if at in last.ranges and last.ranges[at][1] != start:
                yield f"{commit.name} has {at} from {start} on, {last.name} ended at {last.ranges[at][1]}"


def _compaction_faults(commits: Sequence[Commit]) -> Iterator[str]:
    """Yields faults of compactions: a missing one, a replaced file that is unknown or was replaced before, or other
    rows than before.
    """
    compactions = [commit for commit in commits if commit.kind == COMPACTION]
    known = {file.path: file for commit in commits for file in commit.files}
    replaced = {path for commit in commits if isinstance(commit, Summary) for path in commit.replaces}
    for number, commit in enumerate(compactions, _covered(commits, COMPACTION) + 1):
        if commit.name != compaction_name(number):
            yield f"{MANIFEST}/{compaction_name(number)}.json is missing"
            return
        for path in commit.replaces:
            if path not in known or path in replaced:
                why = "was replaced before" if path in known else "is in no commit"
                yield f"{commit.name} replaces {path}, which {why}"
        replaced.update(commit.replaces)
        before = rows_of_partitions(known[path] for path in commit.replaces if path in known)
        if rows_of_partitions(commit.files) != before:
            yield f"{commit.name} has other rows than the files that it replaces"


def _covered(commits: Sequence[Commit], kind: str) -> int:
    return max((each.through[kind] for each in commits if isinstance(each, Summary)), default=NONE_YET)
