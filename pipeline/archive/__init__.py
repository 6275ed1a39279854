"""Topics as Parquet tables that hold each record exactly once.

A table has `data/`, `dead-letters/` (values that do not match the schema), `manifest/` (one file a new commit),
`staging/` and `compacting/` (files being written or moved), and `checkpoint/` (of Spark's query).
Commits: `manifest.py`, `commit_reader.py`, `table_commits.py`, `done_commits.py`; summaries in place of old ones:
`summary.py`, `manifest_shortening.py`. Filling: `archive_query.py`, `batch_ranges.py`,
`day_files.py` (in a task). Merging: `compaction_plan.py`, `compaction.py`. Files and rows: `table_files.py`,
`footers.py`, `archive_rows.py`. Check: `archive_check.py`. Delta Lake, Iceberg: `table_formats.py`, `table_log.py`.
"""
