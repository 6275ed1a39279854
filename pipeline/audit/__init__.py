"""Checks log directories of all replicas against the rules of their files, and compares replicas with each other.

The whole audit on Spark: `audit.py`. One partition, in a task: `partition_audit.py`, with the replica's directory and
checkpoints (`replica.py`), gaps between segments (`missing_segments.py`), a fast check of records
(`compiled_check.py`), the comparison of replicas (`replica_comparison.py`) and groups in `__consumer_offsets`
(`group_summary.py`). The findings as JSON and HTML: `report.py`.
"""
