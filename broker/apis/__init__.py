"""Handlers of APIs: one file for each API, and in each folder a table of its handlers."""
