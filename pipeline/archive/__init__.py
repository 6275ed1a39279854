"""Topics as Parquet tables, each record exactly once.

    ROOT/data/topic=T/date=D/…parquet             rows of committed micro-batches, by topic and day (UTC) of their time
    ROOT/dead-letters/topic=T/date=D/…parquet     rows whose value is no JSON of the schema, where one is asked for
    ROOT/manifest/batch-<20 digits>.json          one commit: ranges of offsets, and the files that hold their rows
    ROOT/manifest/compaction-<20 digits>.json     one that only has files in place of others
    ROOT/staging/                                 what is being written or moved
    ROOT/compacting/                              the same, of a compaction
    ROOT/checkpoint/                              Spark's, of the query

manifest.py         commits and their files, as JSON
table_commits.py    how a commit becomes visible, whatever interrupts it
table_files.py      files on whatever Hadoop's file systems reach
day_files.py        in a task: Parquet files by day, written from Arrow
batch_ranges.py     which offsets a micro-batch has, by the checkpoint
archive_rows.py     rows into the table's columns, and back
archive_query.py    the streaming query
done_commits.py     what it has committed, for whoever tells of it
compaction_plan.py  which small files become one
compaction.py       how they do
archive_check.py    whether manifest and data agree
"""
