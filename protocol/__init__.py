"""Kafka's protocol: messages, their codec, record batches, a client without I/O. Imports no other folder."""
