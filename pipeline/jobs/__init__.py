"""The command `pybroker-pipeline`: its subcommands, the session they run in, how a query is watched and stopped."""
