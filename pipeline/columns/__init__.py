"""Converts record batches to Arrow columns, without a Python object for each record.

`batch_decoder.py` decodes a range of offsets, batch by batch. A walk over a batch's records fills `row_buffers.py`:
`compiled_walk.py` (by numba), or `plain_walk.py` (old formats, no numba, and the oracle in tests).
`row_schema.py` and `row_ddl.py` have the columns and types of both data sources.
`worker_memory.py` keeps garbage collection short in Spark's Python workers.
"""
