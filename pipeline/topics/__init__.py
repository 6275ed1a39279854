"""The data source "pybroker": topics of a Kafka cluster, read and written by Spark.

Spark registers `data_source.py`. It opens a batch query (`topic_reader.py`), a streaming query
(`topic_stream_reader.py`) or a sink (`topic_writer.py`). On the driver, `source_offsets.py` finds partitions and
offsets, `micro_batches.py` decides where a micro-batch ends, `offset_ranges.py` splits it into tasks, and
`stream_position.py` converts offsets for the checkpoint. In a task, `range_reader.py` fetches one range of offsets.
"""
