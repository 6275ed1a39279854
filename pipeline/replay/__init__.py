"""Writes rows of an archive back into topics, each row once, even if the job is killed and started again.

archived_rows.py        the selected rows
replay_plan.py          the plan: number and target of rows, written before the first row is sent
replay_tasks.py         one task for each partition
partition_replay.py     in a task: writes the rows of one partition
replay.py               the whole replay, on Spark
"""
