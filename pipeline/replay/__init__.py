"""Rows of an archive back into topics, each once, however often the job is killed and started again.

archived_rows.py        which rows
replay_plan.py          how many of them go where, written down before the first goes out
partition_replay.py     in a task: the rows of one partition
replay.py               the whole, on Spark
"""
