"""Appends rows to partitions of a target cluster, each row exactly once, without transactions.

Each batch carries a producer id of the job and sequence numbers that count rows. A broker accepts only the next
sequence (KIP-98). A restarted job reads its batches in the log to find which rows are written.

sequenced_batches.py    rows as batches with sequence numbers
written_batches.py      the job's batches in the log
partition_append.py     sends batches to one partition, and searches the log before it sends one again
pace.py                 rate limit of rows
"""
