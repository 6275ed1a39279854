"""Topics of one cluster in another: records, partitions and timestamps as they are, offsets mapped.

partition_mirror.py     in a task: a range of offsets of one partition
mirror_batch.py         what a micro-batch is written as, written down before anything goes out
offset_map.py           which offset became which
mirror.py               the streaming query
"""
