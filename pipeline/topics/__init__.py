"""The data source "pybroker": topics of a Kafka cluster, read and written by Spark.

data_source.py          the class that Spark registers
topic_reader.py         a batch query
topic_stream_reader.py  a streaming query
topic_writer.py         the batch and the streaming sink
source_offsets.py       on the driver: partitions of a query and their offsets
offset_ranges.py        ranges of offsets split into tasks, and the limit of a micro-batch shared among partitions
micro_batches.py        where each micro-batch ends
stream_position.py      offsets of a streaming query, as its checkpoint keeps them
range_reader.py         in a task: one range of offsets, fetched from its leader
"""
