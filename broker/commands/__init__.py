"""The command `pybroker` and its subcommands."""
