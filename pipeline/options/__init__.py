"""Options of the data sources, checked and turned into plain values.

options.py              options as Spark passes them: text by name
kafka_settings.py       the `kafka.` options of a reader
security_settings.py    the `kafka.ssl.` and `kafka.sasl.` options
read_options.py         options for reading topics
offset_limits.py        options for the first and the last offset of a query
write_options.py        options for writing topics
log_options.py          options for reading log directories
partition_json.py       partitions, offsets and timestamps as JSON
data_loss.py            the effect of `failOnDataLoss`
"""
