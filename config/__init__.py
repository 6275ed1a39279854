"""The settings of brokers and topics: the table, their sources and their checks. Imports no other folder."""
