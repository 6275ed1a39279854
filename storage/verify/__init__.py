"""Verifies the files of log directories: `pybroker log verify`."""
