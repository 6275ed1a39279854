"""Record batches as Arrow columns: whole batches at a time, without a Python object for a record.

batch_decoder.py    which batches hold rows: control batches, aborted transactions, offsets outside a range
row_buffers.py      the columns of the rows that are being gathered, and the Arrow batch made of them
compiled_walk.py    the walk over a batch's records that fills them, compiled by numba
plain_walk.py       the same in plain Python: where there is no numba, for old formats, and as the oracle
row_schema.py       the rows of both data sources: their columns and types
worker_memory.py    keeps garbage collection in Spark's Python workers short
transaction_filter.py    hides the records of aborted transactions
"""
