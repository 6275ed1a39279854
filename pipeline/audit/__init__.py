"""Log directories of all replicas held against the rules of their files, and against each other.

replica.py              one replica of a partition: its directory and what checkpoints say of it
missing_segments.py     gaps between segments of logs that were never compacted
replica_comparison.py   two replicas, record by record, below the high watermark
partition_audit.py      all replicas of one partition: a task
group_summary.py        what `__consumer_offsets` says of groups
audit.py                the whole, on Spark
report.py               what was found, as JSON and as a page
"""
