"""Says which PySpark the data sources need."""

TOO_OLD = "this PySpark is too old: pybroker's data sources need 4.0 or newer"
