"""Appends rows to partitions of a target cluster, each row exactly once, without transactions.

Each batch (`sequenced_batches.py`) carries a producer id of the job and sequence numbers that count rows. A broker
accepts only the next sequence (KIP-98). A restarted job finds its batches in the log (`written_batches.py`), and so
which rows are written. `partition_append.py` sends the batches of one partition, at a limited rate (`client/pace.py`).
"""
