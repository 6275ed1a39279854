"""Checks log directories of all replicas against the rules of their files, and compares replicas with each other.

replica.py              one replica of a partition: its directory and its checkpoints
missing_segments.py     gaps between segments of logs that were never compacted
replica_comparison.py   comparison of two replicas, record by record, below the high watermark
partition_audit.py      the audit of all replicas of one partition, in a task
compiled_check.py       fast check of a batch's records
group_summary.py        groups in `__consumer_offsets`
audit.py                the whole audit, on Spark
report.py               the findings as JSON and as an HTML page
"""
