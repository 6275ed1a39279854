"""Converts record batches to Arrow columns, without a Python object for each record.

batch_decoder.py        the rows of a range of offsets, batch by batch
row_buffers.py          the columns being filled, and the Arrow batch made of them
compiled_walk.py        the walk over a batch's records that fills the columns, compiled by numba
plain_walk.py           the same walk in plain Python: for old formats, without numba, and as the oracle in tests
transaction_filter.py   hides the records of aborted transactions
row_schema.py           columns and types of the rows of both data sources
worker_memory.py        keeps garbage collection short in Spark's Python workers
"""
