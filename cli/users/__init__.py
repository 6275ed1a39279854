"""``pybroker users``: users of a cluster that log in by SCRAM."""
