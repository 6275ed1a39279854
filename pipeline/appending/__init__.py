"""Rows appended to partitions of a target, each once, whoever is killed; without transactions.

Each batch of records says which rows it holds: by a producer id that is the job's own, and sequences that count rows. A
broker takes the next ones only (KIP-98), and keeps them in the log for whoever comes later to read.

sequenced_batches.py    rows into batches
written_batches.py      what is in the log already
partition_append.py     sends batches to one partition, looks into the log before it sends one again
pace.py                 how fast
"""
