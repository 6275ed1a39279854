"""Copies topics to another cluster: records, partitions and timestamps unchanged, with a map of offsets.

mirror.py               the streaming query
partition_mirror.py     in a task: copies a range of offsets of one partition
mirror_batch.py         producer id and start offsets of a micro-batch, stored before it is written
offset_map.py           the map from source to target offsets
group_offsets.py        commits the offsets of groups at the target
topic_rules.py          settings of new topics, ACLs
"""
