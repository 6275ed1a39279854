"""Options of the data sources, checked and turned into plain values.

Each data source has its file: `read_options.py` and `write_options.py` (topics), `log_options.py` (log directories).
They share `options.py` (text by name, as Spark passes it), `kafka_settings.py`, `librdkafka_settings.py`,
`offset_limits.py` (start and end of a query), `partition_json.py` and `data_loss.py` (`failOnDataLoss`).
"""
