"""The data source "pybroker-log": rows of the segment files in log directories.

log_data_source.py  the class that Spark registers
log_reader.py       the reader of a query
log_segments.py     on the driver: one task for each segment
segment_rows.py     in a task: the rows of one segment
"""
