"""Kafka's messages, one file for each API."""
