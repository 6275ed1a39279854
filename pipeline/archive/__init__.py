"""Topics as Parquet tables that hold each record exactly once.

    ROOT/data/topic=T/date=D/…parquet             rows of committed micro-batches, by topic and day (UTC)
    ROOT/dead-letters/topic=T/date=D/…parquet     rows whose value does not match the JSON schema of the job
    ROOT/manifest/batch-<20 digits>.json          one commit: ranges of offsets, and the files that hold their rows
    ROOT/manifest/compaction-<20 digits>.json     a commit that only replaces files by others
    ROOT/staging/                                 files being written or moved by an archive job
    ROOT/compacting/                              files being written or moved by a compaction
    ROOT/checkpoint/                              the checkpoint of Spark's query

manifest.py         commits and their files, as JSON
table_commits.py    makes a commit visible atomically, also after a crash
table_files.py      files on any file system that Hadoop reaches
day_files.py        in a task: Parquet files by day, written from Arrow
batch_ranges.py     ranges of offsets of a micro-batch, read from the checkpoint
archive_rows.py     rows as columns of the table, and back
archive_query.py    the streaming query
done_commits.py     counts of committed rows and files, for progress reports
footers.py          rows of written files, read from their Parquet footers
compaction_plan.py  groups of small files to merge
compaction.py       the merge of small files
archive_check.py    comparison of manifest and data
"""
