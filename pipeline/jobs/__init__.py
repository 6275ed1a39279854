"""The command `pybroker-pipeline`: its subcommands, their Spark session, and how a running query is watched and
stopped.
"""
